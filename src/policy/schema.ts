/**
 * The shape of a policy file. Types, published JSON Schema and documentation come from this one schema.
 *
 * It checks shape and bounds; what only makes sense together with the file system and the tools is the compiler's.
 *
 * @module
 */
import * as v from "valibot";
import type { JsonObject } from "../json.ts";
import { REQUIREMENT_KINDS } from "../authority/requirement.ts";
import { DEFAULT_TERMS, TERM_BOUNDS } from "../plan/approval_terms.ts";
import { BUDGETS, type BudgetSpec } from "../plan/budgets.ts";
import { type Budgets, ISOLATIONS } from "../plan/plan.ts";
import type { OutputOf } from "../tool/define.ts";
import { modelBlock } from "./model_schema.ts";
import { githubBlock, networkBlock } from "./network_schema.ts";
import { PACKAGE_NAME } from "./package_lock.ts";
import { accepted, processBlock, processUnsafe } from "./process_schema.ts";
import { path, variable } from "./schema_values.ts";

const pattern = v.pipe(v.string(), v.minLength(1), v.maxLength(1024));
const toolName = v.pipe(v.string(), v.minLength(1), v.maxLength(128));

/** Most events of a kind that can be expected: as many as a run may emit at all. */
const MAX_EVENTS = 10_000_000;

const readRoot = v.strictObject({
  root: v.pipe(
    path,
    v.description("Folder or file, relative to this policy. No pattern, no link. One outside the project needs unsafe"),
  ),
  include: v.optional(v.pipe(
    v.array(pattern),
    v.minLength(1),
    v.maxLength(256),
    v.description(
      "Patterns with the meaning of .gitignore, relative to the root: only what matches is readable. A folder that " +
        "matches brings all below it along. Without this key everything below the root is readable. An empty list is " +
        "refused, because it would admit nothing",
    ),
  )),
  exclude: v.optional(v.pipe(
    v.array(pattern),
    v.maxLength(256),
    v.description("Patterns with the meaning of .gitignore, relative to the root: what matches is never readable"),
  )),
});

const writeRoot = v.strictObject({
  root: v.pipe(
    path,
    v.description("Folder below which new files may be created, relative to this policy; it need not exist yet"),
  ),
});

const fs = v.strictObject({
  read: v.optional(v.pipe(
    v.array(v.pipe(readRoot, v.description("One root that may be read"))),
    v.maxLength(4096),
    v.description("What the reading tools may see. Absent or empty: nothing"),
  )),
  write: v.optional(v.pipe(
    v.array(v.pipe(writeRoot, v.description("One root that may be written"))),
    v.maxLength(256),
    v.description("Where files may be created; the first is the root of writeArtifact. Absent or empty: nowhere"),
  )),
});

const gateRule = v.strictObject({
  kind: v.pipe(v.picklist(REQUIREMENT_KINDS), v.description("What the rule speaks of")),
  tools: v.optional(v.pipe(
    v.array(toolName),
    v.minLength(1),
    v.maxLength(256),
    v.description("Granted tools that the rule speaks of; absent: all"),
  )),
  match: v.pipe(
    pattern,
    v.description(
      "Pattern with the meaning of .gitignore: over the path relative to the project for filesystem.read and " +
        "filesystem.write, over host and path of the URL for network",
    ),
  ),
});

const gate = v.strictObject({
  deny: v.optional(v.pipe(
    v.array(v.pipe(gateRule, v.description("A rule that takes away"))),
    v.maxLength(1024),
    v.description("What is denied although a grant admits it. A rule that cannot match is refused"),
  )),
  ask: v.optional(v.pipe(
    v.array(v.pipe(gateRule, v.description("A rule that asks"))),
    v.maxLength(1024),
    v.description("What needs an approval of the very call although a grant admits it"),
  )),
});

function term(name: keyof typeof TERM_BOUNDS, what: string) {
  const { min, max } = TERM_BOUNDS[name];
  return v.optional(v.pipe(
    v.number(),
    v.integer(),
    v.minValue(min),
    v.maxValue(max),
    v.description(`${what}: milliseconds, ${min} to ${max}, default ${DEFAULT_TERMS[name]}`),
  ));
}

const approvals = v.strictObject({
  require: v.optional(v.pipe(
    v.array(v.pipe(toolName, v.description("Name of a granted tool"))),
    v.maxLength(256),
    v.description("Tools whose every call needs an approval of its own. It holds for that call alone, once"),
  )),
  maxAgeMs: term("maxAgeMs", "Age after which an approval that was not used holds no longer"),
  waitMs: term("waitMs", "Longest wait for a person who is asked; then the call stays pending and the run stops"),
});

function budget(spec: BudgetSpec) {
  const { unit, what, value, min, max, why } = spec;
  return v.optional(v.pipe(
    v.number(),
    v.integer(),
    v.minValue(min),
    v.maxValue(max),
    v.description(`${what}: ${unit}, ${min} to ${max}, default ${value}, because ${why}`),
  ));
}

const budgets = v.strictObject(
  Object.fromEntries(Object.entries(BUDGETS).map(([name, spec]) => [name, budget(spec)])) as {
    readonly [K in keyof Budgets]: ReturnType<typeof budget>;
  },
);

const unsafe = v.strictObject({
  outside: v.optional(v.pipe(
    v.array(v.strictObject({
      root: v.pipe(path, v.description("The root outside the project that this entry accepts, or a folder above it")),
      ...accepted,
    })),
    v.maxLength(64),
    v.description("Roots outside the project that the author accepts"),
  )),
  ...processUnsafe,
});

const expectedEvents = v.strictObject({
  min: v.optional(v.pipe(
    v.number(),
    v.integer(),
    v.minValue(0),
    v.maxValue(MAX_EVENTS),
    v.description("The least number of them; default: 1"),
  )),
  max: v.optional(v.pipe(
    v.number(),
    v.integer(),
    v.minValue(1),
    v.maxValue(MAX_EVENTS),
    v.description("The largest number of them; one more ends the run. Default: the budget alone"),
  )),
  schema: v.optional(v.pipe(
    v.union([path, v.record(v.string(), v.unknown())], "the path of a JSON Schema, or the schema itself"),
    v.description(
      "JSON Schema (draft 2020-12) that each of them must fit: a file, relative to this policy, or the schema itself",
    ),
  )),
});

const policyTest = v.strictObject({
  name: v.optional(
    v.pipe(v.string(), v.minLength(1), v.maxLength(200), v.description("What the test shows, for people")),
  ),
  tool: v.pipe(toolName, v.description("The tool that is called; it need not be granted")),
  args: v.optional(v.pipe(v.record(v.string(), v.unknown()), v.description("Its arguments; default: none"))),
  expect: v.pipe(
    v.picklist(["allow", "deny", "ask", "invalid"]),
    v.description("The decision; `invalid` where the arguments are refused before it"),
  ),
  code: v.optional(v.pipe(v.string(), v.description("The reason slug of a denial; absent: any"))),
  target: v.optional(v.pipe(
    path,
    v.description("The file that it must be about, relative to the project, or the request; absent: any"),
  )),
});

/** The schema of a policy file. Every object is strict: an unknown key is an error, never ignored. */
export const policySchema = v.strictObject({
  $schema: v.optional(v.pipe(v.string(), v.description("The JSON Schema, for editors; not part of the digest"))),
  version: v.pipe(v.literal(1), v.description("Version of this format: 1")),
  name: v.optional(v.pipe(
    v.string(),
    v.regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, "a name of letters, digits, . _ - (64 at most)"),
    v.description(
      "Name for people; default: the file's name; the folder's for an agent.policy.jsonc below the project's own folder",
    ),
  )),
  agent: v.optional(v.pipe(
    path,
    v.description("The agent's entry module, relative to this policy; absent where only call is used"),
  )),
  packages: v.optional(v.pipe(
    v.array(v.pipe(
      v.string(),
      v.regex(PACKAGE_NAME, "the name of an npm package, without a version or a path"),
      v.description("Name of an npm package; deno.lock or package-lock.json of the project says which version"),
    )),
    v.maxLength(256),
    v.description(
      "npm packages of plain ES modules that the agent may import, with what the lock says that they depend on. " +
        "Absent: none",
    ),
  )),
  isolation: v.optional(v.pipe(
    v.picklist(ISOLATIONS),
    v.description("Where agent code runs. process (default) is the only one that bounds processor time and memory"),
  )),
  tools: v.optional(v.pipe(
    v.array(v.pipe(toolName, v.description("Name of a registered tool"))),
    v.maxLength(256),
    v.description("The tools that the agent may call. Absent or empty: none. A tool also needs its authority below"),
  )),
  context: v.optional(v.pipe(
    v.record(v.string(), v.unknown()),
    v.description("JSON that the agent sees, frozen, as context. No secrets: it stands in the plan"),
  )),
  fs: v.optional(v.pipe(fs, v.description("Files and folders. Absent: none"))),
  network: v.optional(v.pipe(networkBlock, v.description("How the network tools get their answers"))),
  github: v.optional(v.pipe(githubBlock, v.description("What the github tools may read, and as whom"))),
  secrets: v.optional(v.pipe(
    v.record(toolName, variable),
    v.description("The variable that holds the credential of a tool, by the tool's name. It serves no other tool"),
  )),
  model: v.optional(v.pipe(modelBlock, v.description("Models that may be asked, and by whom they are answered"))),
  process: v.optional(v.pipe(processBlock, v.description("Programs that may be started. Absent: none"))),
  gate: v.optional(v.pipe(gate, v.description("Rules that narrow what the grants above admit"))),
  approvals: v.optional(
    v.pipe(approvals, v.description("Calls that wait for a person's yes. Absent: rules alone ask")),
  ),
  budgets: v.optional(v.pipe(budgets, v.description("Limits of the run, inclusive; each has a default"))),
  redact: v.optional(v.pipe(
    v.array(v.pipe(v.string(), v.minLength(1), v.maxLength(128), v.description("A field name"))),
    v.maxLength(256),
    v.description("Field names whose values never reach the audit log, beside the built-in ones"),
  )),
  expectEvents: v.optional(v.pipe(
    v.record(
      v.pipe(v.string(), v.regex(/^[A-Za-z0-9_.:-]{1,128}$/, "an event kind of letters, digits, _ . : -")),
      v.union([
        v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(MAX_EVENTS), v.description("The least number")),
        v.pipe(expectedEvents, v.description("How many of them, and what each must fit")),
      ], "a number, or an object of min, max and schema"),
    ),
    v.description("Events that the run must emit, by kind: the least number of them, 1 or more, or more about them"),
  )),
  session: v.optional(v.pipe(
    v.union([
      v.literal(true),
      v.strictObject({
        file: v.optional(v.pipe(
          path,
          v.description("File of the session, relative to this policy, one that git ignores; it need not exist yet"),
        )),
      }),
    ], "true, or an object that may name a file"),
    v.description(
      "Keeps the agent's state between runs: true, or with a file of its own. Default file: one for each policy, in the " +
        "user's state folder. Absent: the state ends with the run",
    ),
  )),
  expectDenials: v.optional(v.pipe(
    v.array(v.strictObject({
      tool: v.pipe(toolName, v.description("The tool whose call is denied")),
      code: v.optional(v.pipe(v.string(), v.description("The reason slug; absent: any"))),
    })),
    v.maxLength(256),
    v.description("Denials that belong to the run: they do not fail it, and a missing one does"),
  )),
  tests: v.optional(v.pipe(
    v.array(policyTest),
    v.maxLength(1000),
    v.description("Calls with the decision they must get; `policy test` runs them, nothing is done"),
  )),
  unsafe: v.optional(
    v.pipe(unsafe, v.description("Refusals of the compiler that the author accepts, each with a reason")),
  ),
});

/** A parsed policy: only what the file says; defaults are the compiler's. */
export type Policy = OutputOf<(typeof import("./schema.ts"))["policySchema"]>;

/** One rule of the policy's `gate` block. */
export type PolicyGateRule = v.InferOutput<typeof gateRule>;

/**
 * The published JSON Schema (draft 2020-12) of a policy file. Loads its converter on first use, so that validating a
 * policy does not pay for it.
 */
export async function policyJsonSchema(): Promise<JsonObject> {
  const { toJsonSchema } = await import("@valibot/to-json-schema");
  const converted = toJsonSchema(policySchema, { errorMode: "throw", typeMode: "input", target: "draft-2020-12" });
  const schema = JSON.parse(JSON.stringify(converted)) as {
    properties: { budgets: { properties: Record<string, { default?: number }> } };
  };
  for (const [name, spec] of Object.entries(BUDGETS)) {
    const property = schema.properties.budgets.properties[name];
    if (property !== undefined) property.default = spec.value;
  }
  return { ...schema as unknown as JsonObject, title: "twokey policy", allowComments: true, allowTrailingCommas: true };
}

/**
 * The keys that the object at `path` may have; `undefined` where the schema knows no fixed keys there. A number in
 * `path` is an index of a list.
 */
export function knownKeys(path: readonly (string | number)[]): readonly string[] | undefined {
  let schemas: readonly Walkable[] = [policySchema as unknown as Walkable];
  for (const step of path) {
    schemas = schemas.flatMap(unwrap).flatMap((schema) => {
      const next = typeof step === "number" ? schema.item : schema.entries?.[step];
      return next === undefined ? [] : [next];
    });
  }
  const keys = schemas.flatMap(unwrap).flatMap((schema) => Object.keys(schema.entries ?? {}));
  return keys.length === 0 ? undefined : [...new Set(keys)];
}

/** The parts of a valibot schema that lead from an object to what is in it. */
interface Walkable {
  readonly wrapped?: Walkable;
  readonly options?: readonly Walkable[];
  readonly entries?: Readonly<Record<string, Walkable>>;
  readonly item?: Walkable;
}

function unwrap(schema: Walkable): readonly Walkable[] {
  if (schema.wrapped !== undefined) return unwrap(schema.wrapped);
  // a picklist has options too, but they are values
  if (schema.options?.every((option) => typeof option === "object")) return schema.options.flatMap(unwrap);
  return [schema];
}
