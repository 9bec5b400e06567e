/**
 * `agent.d.ts`: what agent code sees, as TypeScript declarations for editors and `deno check`.
 *
 * @module
 */
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import type { ToolManifest, ToolManifests } from "../tool/manifest.ts";

/** Deepest nesting of a schema that is printed; below it stands `Json`. */
const MAX_DEPTH = 32;

const HEAD = `// Generated: what agent code sees beside the language. Reference it from an agent with
//   /// <reference types="./agent.d.ts" />
//
// From the platform an agent has console (log, info, warn, error, debug; to standard error), setTimeout, setInterval,
// clearTimeout, clearInterval, URL, URLSearchParams, TextEncoder, TextDecoder, atob, btoa and structuredClone. Date and
// Math.random follow the run's clock and seed. Nothing else is there, whatever an editor offers: no Deno, no fetch.

/** Plain data. A property that is \`undefined\` is the same as none. */
type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** Plain data by name. */
interface JsonObject {
  readonly [name: string]: Json | undefined;
}

/** What \`callTool\` rejects with: every outcome of a call but its result. */
interface ToolCallError extends Error {
  readonly name: "ToolCallError";
  /** What became of the call. */
  readonly outcome: "denied" | "invalid" | "error" | "timeout" | "budget";
  /** Stable slug. \`approval_denied\`: a person said no. \`approval_pending\`: nobody said yes yet, and the run ends. */
  readonly code: string;
  /** The tool that was called. */
  readonly tool: string;
}

/** A store of plain data for the length of the run; with the policy's \`session\`, from one run that ended well to the next. */
interface AgentState {
  /** The value under a key, \`null\` where there is none. */
  get(key: string): Promise<Json>;
  set(key: string, value: Json): Promise<null>;
  /** Whether there was a value. */
  delete(key: string): Promise<boolean>;
  /** Keys in the order they were set. */
  list(): Promise<string[]>;
  reset(): Promise<null>;
}

/** The policy's \`context\`, frozen. */
declare const context: JsonObject;

declare const state: AgentState;

/** Emits an event into the log. Events with a \`kind\` count for the policy's \`expectEvents\`; one that does not fit its schema ends the run. */
declare function emit(event: Json): void;

/** Puts a note into the log. */
declare function auditNote(note: Json): void;

/** What this run records and limits: budgets, expected events, state, redaction. */
declare function auditControls(): JsonObject;

/** Gives every authority back: from now on each call is refused. Always \`true\`. */
declare function close(): boolean;
`;

/** Prints the declarations of every global that agent code has, with one overload of `callTool` for each tool. */
export function agentTypes(manifests: ToolManifests): string {
  const tools = Object.values(manifests).toSorted((a, b) => a.name < b.name ? -1 : 1);
  const lines = [HEAD, "/** Arguments and results of the tools, by name. */", "interface AgentTools {"];
  for (const { name, argsSchema, resultSchema } of tools) {
    lines.push(
      `  readonly ${JSON.stringify(name)}: {`,
      `    readonly args: ${typeText(argsSchema, "    ")};`,
      `    readonly result: ${typeText(resultSchema, "    ")};`,
      "  };",
    );
  }
  lines.push("}", "");
  for (const tool of tools) lines.push(...overload(tool));
  return `${lines.join("\n").trimEnd()}\n`;
}

function overload({ name, summary, argsSchema, nonClaims }: ToolManifest): string[] {
  const key = JSON.stringify(name);
  const optional = list(argsSchema.required).length === 0 ? "?" : "";
  const notes = nonClaims.map((text) => ` * Mind: ${comment(text)}.`);
  return [
    "/**",
    ` * ${comment(summary)}.`,
    ...(notes.length === 0 ? [] : [" *", ...notes]),
    " */",
    "declare function callTool(",
    `  name: ${key},`,
    `  args${optional}: AgentTools[${key}]["args"],`,
    `): Promise<AgentTools[${key}]["result"]>;`,
    "",
  ];
}

/**
 * Prints a JSON Schema as a type. What the type system cannot say (bounds, patterns) is left out; a keyword that is not
 * known gives a wider type, never a narrower one.
 *
 * @param indent White space before the line that the type starts on.
 */
export function typeText(schema: Json | undefined, indent = "", depth = 0): string {
  if (schema === false) return "never";
  if (!isJsonObject(schema) || depth > MAX_DEPTH) return "Json";
  if ("const" in schema) return literal(schema.const);
  if (Array.isArray(schema.enum)) return union(schema.enum.map(literal));
  const choices = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(choices)) return union(choices.map((choice) => typeText(choice as Json, indent, depth + 1)));
  if (isJsonObject(schema.not) && Object.keys(schema.not).length === 0) return "never";
  if (Array.isArray(schema.type)) {
    return union(schema.type.map((type) => typeText({ ...schema, type: type as Json }, indent, depth + 1)));
  }
  switch (schema.type) {
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "number":
    case "integer":
      return "number";
    case "array":
      return arrayText(schema, indent, depth);
    case "object":
      return objectText(schema, indent, depth);
    default:
      return "Json";
  }
}

function arrayText({ prefixItems, items }: JsonObject, indent: string, depth: number): string {
  if (Array.isArray(prefixItems)) {
    const parts = prefixItems.map((item) => typeText(item as Json, indent, depth + 1));
    if (items !== false) parts.push(`...(${typeText(items, indent, depth + 1)})[]`);
    return `readonly [${parts.join(", ")}]`;
  }
  const item = typeText(items, indent, depth + 1);
  return `readonly ${isUnion(items) ? `(${item})` : item}[]`;
}

/** Whether a schema may print as several types, so that it needs brackets before `[]`. */
function isUnion(schema: Json | undefined): boolean {
  return isJsonObject(schema) &&
    [schema.anyOf, schema.oneOf, schema.enum, schema.type].some((choices) => Array.isArray(choices));
}

function objectText(schema: JsonObject, indent: string, depth: number): string {
  const properties = Object.entries(isJsonObject(schema.properties) ? schema.properties : {});
  const { additionalProperties: further } = schema;
  if (properties.length === 0) {
    if (further === false) return "Readonly<Record<string, never>>";
    return isJsonObject(further) ? `Readonly<Record<string, ${typeText(further, indent, depth + 1)}>>` : "JsonObject";
  }
  const required = list(schema.required);
  const inner = `${indent}  `;
  const lines = properties.flatMap(([name, property]) => {
    const mark = required.includes(name) ? "" : "?";
    const text = typeText(property, inner, depth + 1);
    const about = isJsonObject(property) && typeof property.description === "string"
      ? [`${inner}/** ${comment(property.description)}. */`]
      : [];
    return [...about, `${inner}readonly ${propertyName(name)}${mark}: ${text};`];
  });
  // The type of one index must hold every property, so it says no more than plain data.
  if (further !== false) lines.push(`${inner}readonly [name: string]: Json | undefined;`);
  return `{\n${lines.join("\n")}\n${indent}}`;
}

function union(types: readonly string[]): string {
  const all = [...new Set(types)];
  return all.length === 0 ? "never" : all.join(" | ");
}

function literal(value: Json | undefined): string {
  if (value === null || typeof value === "boolean" || typeof value === "number" || typeof value === "string") {
    return JSON.stringify(value);
  }
  return "Json";
}

function propertyName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

/** A text that cannot end the comment it stands in, on one line. */
function comment(text: string): string {
  return text.replaceAll("*/", "*\\/").replaceAll(/\s+/g, " ").replace(/\.$/, "");
}

function list(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value as readonly Json[] : [];
}
