/**
 * Checks events against the schemas that the policy expects them to fit. The schema is the author's, the event an
 * agent's: whatever a check may cost is counted, and one that costs too much has failed.
 *
 * @module
 */
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { copySchema, keywordAt, patternsOf, type SchemaCopy } from "../plan/event_schema.ts";
import { type LinearPattern, loadLinearPatterns } from "../plan/linear_pattern.ts";
import type { Plan } from "../plan/plan.ts";

/** UTF-8 bytes of an event that is checked, at most. */
export const MAX_CHECKED_BYTES = 262_144;

/** Steps of one check, at most: a schema asked about a value is one, and so are 64 characters that a pattern looks at. */
const MAX_STEPS = 100_000;

/** Characters of a text that is checked for a format: those that exist are far shorter. */
const MAX_FORMAT_LENGTH = 2048;

/** Characters of what a record says was expected. */
const MAX_SHOWN = 256;

/** Keywords of the checker's report that only lead to the one that was not met. */
const LEADS = new Set([
  "$ref",
  "additionalProperties",
  "allOf",
  "dependentSchemas",
  "if",
  "items",
  "prefixItems",
  "properties",
  "propertyNames",
  "unevaluatedItems",
  "unevaluatedProperties",
]);

/** Why an event does not fit: fields of its record. No value of the event is shown, only types and sizes. */
export interface EventFault {
  /** The keyword that was not met, in snake case; `check_too_costly` where the check was given up. */
  readonly reason: string;
  /** JSON Pointer from the event's root. */
  readonly field: string;
  /** What the schema says there. */
  readonly expected: Json;
  /** Type or size of what is there. */
  readonly actual: Json;
}

/** Checks one event of a kind that has a schema. */
export type EventCheck = (event: Json, bytes: number) => EventFault | undefined;

/** The checker, as far as it is used. */
type Library = typeof import("@cfworker/json-schema");

/**
 * Loads what checks the events of a plan: one check for each kind that has a schema. Loads no library where none has.
 * To be called before a realm is locked down.
 */
export async function loadEventChecks({ expectEvents }: Plan): Promise<ReadonlyMap<string, EventCheck>> {
  const checks = new Map<string, EventCheck>();
  const withSchema = Object.entries(expectEvents).flatMap(([kind, { schema }]) =>
    schema === undefined ? [] : [{ kind, schema: schema.value }]
  );
  if (withSchema.length === 0) return checks;
  const library = await import("@cfworker/json-schema");
  const hasPattern = withSchema.some(({ schema }) => patternsOf(schema).length > 0);
  const compile = hasPattern ? await loadLinearPatterns() : undefined;
  for (const { kind, schema } of withSchema) {
    checks.set(kind, new Checker(library, schema, (pattern) => compiled(compile?.(pattern))).check);
  }
  return checks;
}

function compiled(pattern: LinearPattern | string | undefined): LinearPattern {
  // the compiler of the policy refuses a pattern that has no such form
  return typeof pattern === "object" ? pattern : { test: () => false };
}

/** Thrown inside a check, never out of it. */
class TooCostly extends Error {}

class Checker {
  readonly #library: Library;
  readonly #schema: JsonObject | boolean;
  readonly #prepared: SchemaCopy | boolean;
  readonly #lookup: Record<string, SchemaCopy | boolean>;
  #steps = 0;
  /** Steps that comparing every item of a list with every other one counts for, in the event at hand. */
  #pairSteps = 0;

  constructor(library: Library, schema: JsonObject | boolean, compile: (pattern: string) => LinearPattern) {
    this.#library = library;
    this.#schema = schema;
    this.#prepared = copySchema(schema, (copy) => this.#prepare(copy, compile));
    this.#lookup = library.dereference(this.#prepared) as Record<string, SchemaCopy | boolean>;
  }

  readonly check: EventCheck = (event, bytes) => {
    if (bytes > MAX_CHECKED_BYTES) {
      return { reason: "event_too_large", field: "", expected: MAX_CHECKED_BYTES, actual: bytes };
    }
    this.#steps = 0;
    this.#pairSteps = pairStepsOf(event);
    try {
      const { valid, errors } = this.#library.validate(event, this.#prepared, "2020-12", this.#lookup);
      return valid ? undefined : this.#faultOf(event, errors);
    } catch (error) {
      // a schema that calls itself too often ends in either of the two
      if (!(error instanceof TooCostly) && !(error instanceof RangeError)) throw error;
      return { reason: "check_too_costly", field: "", expected: MAX_STEPS, actual: null };
    } finally {
      this.#steps = 0;
    }
  };

  #spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > MAX_STEPS) throw new TooCostly();
  }

  /** Makes the checker count its steps, and takes the patterns out of its hands: it would run them by backtracking. */
  #prepare(copy: SchemaCopy, compile: (pattern: string) => LinearPattern): void {
    const { $ref, uniqueItems, pattern, format } = copy;
    // Read once whenever the schema is asked about a value
    Object.defineProperty(copy, "$ref", {
      enumerable: $ref !== undefined,
      get: () => {
        this.#spend(1);
        return $ref;
      },
    });
    if (uniqueItems === true) {
      Object.defineProperty(copy, "uniqueItems", {
        enumerable: true,
        get: () => {
          this.#spend(this.#pairSteps);
          return true;
        },
      });
    }
    if (typeof pattern !== "string" && typeof format !== "string") return;
    const matcher = typeof pattern === "string" ? compile(pattern) : undefined;
    const isFormat = typeof format === "string" ? this.#library.format[format] : undefined;
    delete copy.pattern;
    const name = `${this.#nameSpace}${this.#formats++}`;
    copy.format = name;
    this.#library.format[name] = (text) => {
      if (isFormat !== undefined && !(text.length <= MAX_FORMAT_LENGTH && isFormat(text))) return false;
      if (matcher === undefined) return true;
      this.#spend(Math.ceil(text.length / 64));
      return matcher.test(text);
    };
  }

  /** Names of this checker's own formats: the library keeps all of them in one table. */
  readonly #nameSpace = `twokey:${crypto.randomUUID()}:`;
  #formats = 0;

  #faultOf(event: Json, errors: readonly Reported[]): EventFault {
    let at = 0;
    while (LEADS.has(errors[at]?.keyword ?? "") && at + 1 < errors.length) at++;
    const last = errors[at];
    // `false` says only that nothing may be there; the keyword before it says why
    const told = last?.keyword === "false" ? errors[at - 1] : last;
    if (last === undefined || told === undefined) return { reason: "false", field: "", expected: false, actual: null };
    const field = decodeURIComponent(last.instanceLocation.slice(1));
    const value = valueAt(event, field);
    const said = keywordAt(this.#schema, told.keywordLocation);
    if (told.keyword === "required" && Array.isArray(said)) {
      const name = said.find((key) => !isJsonObject(value) || !Object.hasOwn(value, String(key)));
      const part = String(name).replaceAll("~", "~0").replaceAll("/", "~1");
      return { reason: "required", field: clip(`${field}/${part}`), expected: "present", actual: "absent" };
    }
    if (told.keyword === "format") return { ...this.#textFault(told, value), field: clip(field) };
    return {
      reason: told.keyword.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      field: clip(field),
      expected: shown(said),
      actual: told.keyword.startsWith("m") ? sizeOf(told.keyword, value) : typeOf(value),
    };
  }

  #textFault({ keywordLocation }: Reported, value: Json | undefined): Omit<EventFault, "field"> {
    const around = keywordAt(this.#schema, keywordLocation.slice(0, -"/format".length));
    const { format, pattern } = isJsonObject(around) ? around : {};
    const isFormat = typeof format === "string" ? this.#library.format[format] : undefined;
    const fits = typeof value === "string" && value.length <= MAX_FORMAT_LENGTH && isFormat?.(value);
    if (isFormat !== undefined && !fits) return { reason: "format", expected: shown(format), actual: typeOf(value) };
    return { reason: "pattern", expected: shown(pattern), actual: typeOf(value) };
  }
}

/** One line of the library's report. */
interface Reported {
  readonly keyword: string;
  readonly keywordLocation: string;
  readonly instanceLocation: string;
}

/** The longest list times everything that could be compared, in thousands: what `uniqueItems` may cost. */
function pairStepsOf(event: Json): number {
  let values = 0;
  let longest = 0;
  const stack: Json[] = [event];
  for (let value = stack.pop(); value !== undefined; value = stack.pop()) {
    values++;
    if (typeof value !== "object" || value === null) continue;
    if (Array.isArray(value)) longest = Math.max(longest, value.length);
    for (const inner of Object.values(value)) stack.push(inner);
  }
  return Math.ceil(longest * values / 1000);
}

function valueAt(event: Json, pointer: string): Json | undefined {
  let at: Json | undefined = event;
  for (const part of pointer.split("/").slice(1)) {
    if (typeof at !== "object" || at === null) return undefined;
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    at = Object.hasOwn(at, key) ? (at as JsonObject)[key] : undefined;
  }
  return at;
}

function typeOf(value: Json | undefined): string {
  if (value === undefined) return "absent";
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

/** Length of what has a bound on its length; of a number only that it is one, since it may be a secret. */
function sizeOf(keyword: string, value: Json | undefined): Json {
  if (typeof value === "string" && /Length$/.test(keyword)) return [...value].length;
  if (Array.isArray(value) && /(?:Items|Contains)$/.test(keyword)) return value.length;
  if (isJsonObject(value) && /Properties$/.test(keyword)) return Object.keys(value).length;
  return typeOf(value);
}

function shown(value: Json | undefined): Json {
  if (value === undefined) return null;
  const text = JSON.stringify(value);
  return text.length <= MAX_SHOWN ? value : clip(text);
}

function clip(text: string): string {
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}…`.toWellFormed();
}
