/**
 * Reads a policy file: from a path to a parsed policy that knows where each of its values stands.
 *
 * @module
 */
import * as v from "valibot";
import { DataError, InputError, type Position } from "../errors.ts";
import { digest, isJsonObject, type Json, type JsonObject, pointerPart } from "../json.ts";
import { nearest } from "../authority/nearest.ts";
import { isInside, nameOf, parentOf, resolvePath } from "../authority/path.ts";
import { realOf } from "./real_path.ts";
import { type Jsonc, readJsonc } from "./jsonc.ts";
import { type PolicyIssue, refuse } from "./policy_error.ts";
import { knownKeys, type Policy, policySchema } from "./schema.ts";

/** Largest policy file, in bytes: some hundred times a long one. */
const MAX_BYTES = 1024 * 1024;

/** What makes a folder a project. */
const PROJECT_MARKS = ["deno.json", "deno.jsonc", ".git"] as const;

/** A policy as text says it, with the place of each value. */
export interface ParsedPolicy {
  /** The value, checked for shape and bounds only; the compiler checks the rest. */
  readonly policy: Policy;
  /** SHA-256 over the canonical JSON (RFC 8785) of the value, without `$schema`. Comments and white space do not count. */
  readonly sha256: string;
  /** Where the value at a JSON Pointer stands. */
  positionOf(pointer: string): Position;
  /** What its author calls the value at a JSON Pointer: `fs.read[0].root`, or the flag it came from. */
  nameOf(pointer: string): string;
  /** Whether the value is the operator's own word on the command line, which may name places outside the project. */
  isOperators(pointer: string): boolean;
}

/** A policy with its place. */
export interface LoadedPolicy extends ParsedPolicy {
  /** Absolute real path, or `null` for a policy made of flags alone. */
  readonly file: string | null;
  /** Absolute real path of the folder that the policy's paths are relative to. */
  readonly base: string;
  /** Absolute real path of the nearest folder at or above the policy with `deno.json`, `deno.jsonc` or `.git`; else `base`. */
  readonly project: string;
}

/**
 * Parses the text of a policy.
 *
 * @param file Name for the positions.
 * @throws {PolicyError} With everything that is wrong: syntax, keys, types, bounds.
 */
export async function parsePolicy(text: string, file: string): Promise<ParsedPolicy> {
  const source = readJsonc(text.startsWith("\ufeff") ? text.slice(1) : text, file);
  const policy = checkShape(source.value, { ...source, nameOf: dotted });
  return {
    policy,
    sha256: await digestPolicy(source.value as JsonObject),
    positionOf: source.positionOf,
    nameOf: dotted,
    isOperators: () => false,
  };
}

/**
 * Loads a policy file.
 *
 * @throws {InputError} If it does not exist or cannot be read.
 * @throws {DataError} If it is no regular file, larger than 1 MiB, not UTF-8, or a link that leads out of its project.
 * @throws {PolicyError} With everything that is wrong in it.
 */
export async function loadPolicy(path: string): Promise<LoadedPolicy> {
  const file = realFile(path);
  const base = parentOf(file);
  const project = findProject(base);
  const linkedFrom = findProject(realOf(parentOf(resolvePath(Deno.cwd(), path))));
  if (!isInside(linkedFrom, file)) {
    throw new DataError("policy_link_outside", `Cannot use the policy "${path}": it is a link out of its project`, {
      fix: "Name the file itself",
    });
  }
  const parsed = await parsePolicy(readText(file, path), path);
  return { ...parsed, file, base, project };
}

/** Digests a policy's value, without `$schema`. */
export function digestPolicy(value: JsonObject): Promise<string> {
  const { $schema: _, ...rest } = value;
  return digest(rest);
}

/** The nearest folder at or above `folder` that is a project, else `folder` itself. `folder` is an absolute real path. */
export function findProject(folder: string): string {
  for (let at = folder;; at = parentOf(at)) {
    for (const mark of PROJECT_MARKS) {
      if (exists(resolvePath(at, mark))) return at;
    }
    if (at === "/") return folder;
  }
}

/** What {@linkcode checkShape} needs to know of where a value came from. */
export type ShapeSource = Pick<Jsonc, "positionOf" | "keyPositionOf"> & Pick<ParsedPolicy, "nameOf">;

/**
 * Checks the shape of a policy's value.
 *
 * @throws {PolicyError} With every unknown key, wrong type and value out of bounds.
 */
export function checkShape(value: Json, source: ShapeSource): Policy {
  if (!isJsonObject(value)) {
    const message = `Cannot use the policy: it is ${short(value)}, expected an object`;
    refuse([{
      code: "policy_wrong_value",
      message,
      position: source.positionOf(""),
      fix: 'Start with { "version": 1 }',
    }]);
  }
  const result = v.safeParse(policySchema, value, { abortPipeEarly: true });
  if (result.success) return result.output;
  refuse(result.issues.flatMap(innerIssues).map((issue) => toIssue(issue, source)));
  throw new DataError("policy_invalid", "Cannot use the policy: it does not have the right shape");
}

/**
 * The issues inside the object of a union of a plain value and an object: whoever wrote an object meant that one.
 */
function innerIssues(issue: v.BaseIssue<unknown>): v.BaseIssue<unknown>[] {
  const inner = issue.type === "union" && isJsonObject(issue.input)
    ? (issue.issues ?? []).filter(({ path }) => path !== undefined)
    : [];
  const isPlainOrObject = !/^\(?Object\)?$/.test(issue.expected ?? "");
  if (inner.length === 0 || !isPlainOrObject) return [issue];
  return inner.flatMap((one) =>
    innerIssues({ ...one, path: [...issue.path ?? [], ...one.path ?? []] } as v.BaseIssue<unknown>)
  );
}

function toIssue(issue: v.BaseIssue<unknown>, source: ShapeSource): PolicyIssue {
  const path = (issue.path ?? []).map((item) => item.key as string | number);
  const pointer = path.map(pointerPart).join("");
  const name = path.length === 0 ? "the policy" : `"${source.nameOf(pointer)}"`;
  const last = path.at(-1);
  if (issue.type === "strict_object" && issue.expected === "never") {
    const position = source.keyPositionOf(pointer);
    const known = knownKeys(path.slice(0, -1)) ?? [];
    const meant = nearest(String(last), known);
    const fix = meant === undefined ? `Known here: ${known.join(", ")}` : `Write "${meant}"`;
    return { code: "policy_unknown_key", message: `Cannot use ${name}: no such key is known`, position, fix };
  }
  if (issue.type === "strict_object" && issue.received === "undefined") {
    const position = source.positionOf(pointer);
    return {
      code: "policy_missing_key",
      message: `Cannot use the policy: ${name} is missing`,
      position,
      fix: add(last),
    };
  }
  const position = source.positionOf(pointer);
  const expected = describeExpected(issue);
  return {
    code: "policy_wrong_value",
    message: `Cannot use ${name}: it is ${short(issue.input)}, expected ${expected}`,
    position,
    fix: suggestValue(issue, expected),
  };
}

function add(key: string | number | undefined): string {
  return key === "version" ? 'Add "version": 1' : `Add "${key}"`;
}

function describeExpected(issue: v.BaseIssue<unknown>): string {
  if (issue.type === "union") {
    return issue.message.startsWith("Invalid") ? '{ "fromEnv": NAME } or { "file": PATH }' : issue.message;
  }
  if (issue.type === "integer") return "a whole number";
  if (issue.type === "regex") return issue.message;
  if (issue.type === "strict_object" || issue.type === "record") return "an object";
  if (issue.type === "array") return "a list";
  if (issue.type === "min_length") return `a length of at least ${issue.requirement}`;
  if (issue.type === "max_length") return `a length of at most ${issue.requirement}`;
  if (issue.type === "min_value") return `at least ${issue.requirement}`;
  if (issue.type === "max_value") return `at most ${issue.requirement}`;
  return issue.expected?.replace(/^\((.*)\)$/, "$1").replaceAll(" | ", " or ") ?? issue.message;
}

function suggestValue(issue: v.BaseIssue<unknown>, expected: string): string {
  // Whatever can be switched on with true is off where nothing is said
  if (issue.input === false && /^true\b/.test(expected)) return "Remove it: without it there is none";
  if (issue.type === "picklist" && typeof issue.input === "string") {
    const options = [...(issue.expected ?? "").matchAll(/"([^"]+)"/g)].map((match) => match[1] ?? "");
    const meant = nearest(issue.input, options);
    if (meant !== undefined) return `Write "${meant}"`;
  }
  if (issue.type === "min_length" && Array.isArray(issue.input)) {
    return "An empty list would mean nothing at all: remove the key, or list something";
  }
  return `Write ${expected}`;
}

/** A value as JSON, cut where it is long. */
function short(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
}

/** Prints a JSON Pointer as people write it: `fs.read[0].root`. */
export function dotted(pointer: string): string {
  let text = "";
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    text += /^\d+$/.test(key) ? `[${key}]` : text === "" ? key : `.${key}`;
  }
  return text;
}

function realFile(path: string): string {
  if (path === "" || path.includes("\0")) throw new InputError("policy_unreadable", "Cannot read the policy: no path");
  try {
    return Deno.realPathSync(path);
  } catch (cause) {
    const missing = cause instanceof Deno.errors.NotFound;
    const what = missing ? "there is no such file; twokey init writes one" : "it cannot be reached";
    const code = missing ? "policy_missing" : "policy_unreadable";
    throw new InputError(code, `Cannot read the policy "${nameOf(path)}": ${what}`, { cause });
  }
}

function readText(file: string, shown: string): string {
  const { isFile, size } = Deno.statSync(file);
  if (!isFile) throw new DataError("policy_not_a_file", `Cannot use the policy "${shown}": it is not a regular file`);
  if (size > MAX_BYTES) throw tooLarge(shown);
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = Deno.readFileSync(file);
  } catch (cause) {
    throw new InputError("policy_unreadable", `Cannot read the policy "${shown}": it cannot be opened`, { cause });
  }
  if (bytes.length > MAX_BYTES) throw tooLarge(shown);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new DataError("policy_not_utf8", `Cannot use the policy "${shown}": it is not UTF-8 text`, { cause });
  }
}

function tooLarge(shown: string): DataError {
  return new DataError("policy_too_large", `Cannot use the policy "${shown}": it is larger than ${MAX_BYTES} bytes`);
}

function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}
