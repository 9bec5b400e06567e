/**
 * What an operator hands to a run as JSON on the command line.
 *
 * @module
 */
import { UsageError } from "../errors.ts";
import { isJsonObject, type Json, type JsonObject, nestsDeeper, utf8Length } from "../json.ts";

/** UTF-8 bytes of one input, at most; a command line holds little more. */
const MAX_BYTES = 1_048_576;

/** Levels of nesting, at most: what an agent may hand back is no deeper. */
const MAX_DEPTH = 60;

/**
 * Parses an input strictly: a JSON object of plain data, as an agent could have made it itself.
 *
 * @param flag What messages call it. The text is not shown: it may hold what is nobody's business.
 * @throws {UsageError} `usage_json`.
 */
export function parseRunInput(text: string, flag: string): JsonObject {
  const refuse = (what: string): UsageError => new UsageError("usage_json", `Cannot use ${flag}: ${what}`);
  if (utf8Length(text) > MAX_BYTES) throw refuse(`it is larger than ${MAX_BYTES} bytes`);
  if (nestsDeeper(text, MAX_DEPTH)) throw refuse(`it is nested deeper than ${MAX_DEPTH} levels`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw refuse('it is no JSON; expected an object such as {"key":1}');
  }
  if (!isJsonObject(value)) throw refuse("it is no JSON object");
  const fault = faultOf(value);
  if (fault !== undefined) throw refuse(fault);
  return value;
}

function faultOf(value: Json): string | undefined {
  if (typeof value === "string") return value.isWellFormed() ? undefined : "a text in it holds half a character";
  if (typeof value === "number") return Number.isFinite(value) ? undefined : "a number in it is too large";
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    if (key === "__proto__") return "a key in it is __proto__";
    if (!key.isWellFormed()) return "a key in it holds half a character";
    const fault = faultOf(inner);
    if (fault !== undefined) return fault;
  }
  return undefined;
}
