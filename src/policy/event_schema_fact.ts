/**
 * Reads the schema of an expected event and looks for its faults, so that the compiler need not load an engine.
 *
 * @module
 */
import type { Position } from "../errors.ts";
import { isJsonObject, type Json, type JsonObject, sha256 } from "../json.ts";
import { patternsOf, schemaFaults } from "../plan/event_schema.ts";
import { type LinearPattern, loadLinearPatterns } from "../plan/linear_pattern.ts";
import { readJsonc } from "./jsonc.ts";
import { PolicyError, type PolicyIssue } from "./policy_error.ts";

/** Largest schema file, in bytes. */
const MAX_SCHEMA_BYTES = 262_144;

/** A schema as it was found. */
export interface EventSchemaFact {
  /** The schema; `false` where there are issues. */
  readonly value: JsonObject | boolean;
  /** SHA-256 of its file; `null` where it stands in the policy. */
  readonly sha256: string | null;
  /** Everything that is wrong with it, with its place in the file or the policy. */
  readonly issues: readonly PolicyIssue[];
}

/** Where a schema stands: a file's bytes with the name of the file, or a value of the policy. */
export type EventSchemaSource =
  | { readonly bytes: Uint8Array<ArrayBuffer>; readonly file: string }
  | { readonly value: JsonObject; positionOf(pointer: string): Position };

/** Reads a schema. Never throws for what it finds. */
export async function readEventSchema(source: EventSchemaSource): Promise<EventSchemaFact> {
  if ("value" in source) return { ...await examine(source.value, source.positionOf), sha256: null };
  const { bytes, file } = source;
  const hash = await sha256(bytes);
  try {
    const { value, positionOf } = readJsonc(textOf(bytes, file), file, `the schema "${file}"`);
    return { ...await examine(value, positionOf), sha256: hash };
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    return { value: false, sha256: hash, issues: error.issues };
  }
}

function textOf(bytes: Uint8Array<ArrayBuffer>, file: string): string {
  const issue = (what: string, fix: string) =>
    new PolicyError([{
      code: "policy_bad_schema",
      message: `Cannot use the schema "${file}": ${what}`,
      position: { file, line: 1, column: 1 },
      fix,
    }]);
  if (bytes.length > MAX_SCHEMA_BYTES) throw issue(`it is larger than ${MAX_SCHEMA_BYTES} bytes`, "Split the kinds");
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw issue("it is not UTF-8 text", "Write it as UTF-8");
  }
}

/** Says what is wrong with a schema that did not come with a policy: the first fault, or `null`. */
export async function schemaProblem(value: Json): Promise<string | null> {
  const compile = patternsOf(value).length === 0 ? undefined : await loadLinearPatterns();
  const [fault] = schemaFaults(value, { patternProblem: (pattern) => problemOf(compile?.(pattern)) });
  return fault?.problem ?? (typeof value === "boolean" || isJsonObject(value) ? null : "it is no schema");
}

async function examine(
  value: Json,
  positionOf: (pointer: string) => Position,
): Promise<Pick<EventSchemaFact, "value" | "issues">> {
  const compile = patternsOf(value).length === 0 ? undefined : await loadLinearPatterns();
  const faults = schemaFaults(value, { patternProblem: (pattern) => problemOf(compile?.(pattern)) });
  const issues = faults.map(({ at, problem, fix }): PolicyIssue => ({
    code: "policy_bad_schema",
    message: `Cannot use ${at === "" ? "the schema of an event" : `"${at}" in the schema of an event`}: ${problem}`,
    position: positionOf(at),
    fix,
  }));
  const usable = issues.length === 0 && (typeof value === "boolean" || isJsonObject(value));
  return { value: usable ? value : false, issues };
}

function problemOf(pattern: LinearPattern | string | undefined): string | null {
  return typeof pattern === "string" ? pattern : null;
}
