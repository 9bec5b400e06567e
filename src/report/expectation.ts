/**
 * What was not as the policy expects of events, in words.
 *
 * @module
 */
import type { Plan } from "../plan/plan.ts";
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { escapeText } from "./escape.ts";

/** Characters of what was expected, at most. */
const MAX_EXPECTED = 120;

/** Says what a `schema_validation` record says; for one that passed, an empty text. What came from an agent is escaped. */
export function expectationText(record: JsonObject): string {
  const { kind, status, reason, field, expected, actual, event_index } = record;
  if (status !== "fail") return "";
  const name = escapeText(String(kind), { max: 80 });
  if (reason === "min_events") return `${shown(actual)} events of kind ${name}, expected at least ${shown(expected)}`;
  if (reason === "max_events") return `more than ${shown(expected)} events of kind ${name}`;
  if (reason === "event_too_large") {
    return `event ${shown(event_index)} of kind ${name} is too large to check: ${shown(actual)} of ${
      shown(expected)
    } bytes`;
  }
  if (reason === "check_too_costly") {
    return `event ${shown(event_index)} of kind ${name} takes more than ${shown(expected)} steps to check`;
  }
  const place = field === "" || field === undefined ? "the event" : escapeText(String(field), { max: 80 });
  return `event ${shown(event_index)} of kind ${name} does not fit its schema: ${place} is ${shown(actual)}, expected ${
    shown(expected)
  } (${escapeText(String(reason), { max: 40 })})`;
}

function shown(value: Json | undefined): string {
  const text = typeof value === "string" ? value : JSON.stringify(isJsonObject(value) ? "an object" : value ?? null);
  return escapeText(text, { max: MAX_EXPECTED });
}

/** Says what a policy expects of the events of one kind. */
export function expectedText(kind: string, { min, max, schema }: Plan["expectEvents"][string]): string {
  const count = max === undefined ? `at least ${min}` : min === max ? `exactly ${min}` : `${min} to ${max}`;
  const file = schema?.file;
  const where = file === undefined ? "the schema in the policy" : `${file.path} (sha256 ${file.sha256.slice(0, 12)}…)`;
  return `${count} ${(max ?? min) === 1 ? "event" : "events"} of kind ${kind}${
    schema === undefined ? "" : `, each fitting ${where}`
  }`;
}
