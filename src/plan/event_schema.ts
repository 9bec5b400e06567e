/**
 * The part of JSON Schema (draft 2020-12) that an expected event may be described with, and what is wrong with a schema.
 *
 * A schema comes from the policy's author; the event it meets comes from the agent. So everything is left out whose cost
 * an agent could choose, and a keyword that is not known is a fault: who writes one believes that it is checked.
 *
 * @module
 */
import { nearest } from "../authority/nearest.ts";
import { isJsonObject, type Json, type JsonObject, pointerPart } from "../json.ts";

/** Formats that are checked; every other one is a fault. */
export const EVENT_FORMATS: readonly string[] = Object.freeze([
  "date",
  "date-time",
  "duration",
  "email",
  "hostname",
  "ipv4",
  "ipv6",
  "json-pointer",
  "time",
  "uri",
  "uri-reference",
  "uuid",
]);

/** Most schemas in one schema, itself included. */
export const MAX_SUBSCHEMAS = 2000;

const DRAFT = "https://json-schema.org/draft/2020-12/schema";
const TYPES = ["array", "boolean", "integer", "null", "number", "object", "string"];

/** One thing that is wrong with a schema. */
export interface SchemaFault {
  /** JSON Pointer from the schema's root to what is wrong. */
  readonly at: string;
  /** What is wrong, to stand behind `Cannot use "…": `. */
  readonly problem: string;
  readonly fix: string;
}

/** Options of {@linkcode schemaFaults}. */
export interface SchemaCheck {
  /** Says why a pattern cannot be used in linear time; `null` where it can. */
  patternProblem(pattern: string): string | null;
}

/** What the value of a keyword must be. */
type Kind =
  | "schema"
  | "schemas"
  | "schemaMap"
  | "text"
  | "anything"
  | "flag"
  | "number"
  | "positive"
  | "count"
  | "names"
  | "nameLists"
  | "types"
  | "values"
  | "pattern"
  | "format"
  | "ref"
  | "draft";

const KEYWORDS: Readonly<Record<string, Kind>> = {
  $schema: "draft",
  $comment: "text",
  $defs: "schemaMap",
  $ref: "ref",
  title: "text",
  description: "text",
  default: "anything",
  examples: "anything",
  deprecated: "flag",
  readOnly: "flag",
  writeOnly: "flag",
  type: "types",
  enum: "values",
  const: "anything",
  allOf: "schemas",
  anyOf: "schemas",
  oneOf: "schemas",
  not: "schema",
  if: "schema",
  then: "schema",
  else: "schema",
  properties: "schemaMap",
  additionalProperties: "schema",
  unevaluatedProperties: "schema",
  propertyNames: "schema",
  required: "names",
  dependentRequired: "nameLists",
  dependentSchemas: "schemaMap",
  minProperties: "count",
  maxProperties: "count",
  items: "schema",
  prefixItems: "schemas",
  unevaluatedItems: "schema",
  contains: "schema",
  minContains: "count",
  maxContains: "count",
  minItems: "count",
  maxItems: "count",
  uniqueItems: "flag",
  minLength: "count",
  maxLength: "count",
  pattern: "pattern",
  format: "format",
  minimum: "number",
  maximum: "number",
  exclusiveMinimum: "number",
  exclusiveMaximum: "number",
  multipleOf: "positive",
};

/** Keywords that exist and are not checked here, and what to write in their place. */
const ABSENT: Readonly<Record<string, string>> = {
  $anchor: 'Name the schema by its place: "#/$defs/name"',
  $dynamicAnchor: 'Name the schema by its place: "#/$defs/name"',
  $dynamicRef: 'Write "$ref"',
  $id: "Remove it: a schema stands on its own here",
  $recursiveRef: 'Write "$ref": "#"',
  $vocabulary: "Remove it",
  additionalItems: 'Write "items" beside "prefixItems"',
  definitions: 'Write "$defs"',
  dependencies: 'Write "dependentRequired" or "dependentSchemas"',
  patternProperties: 'Write "propertyNames" with a pattern, and "additionalProperties" for the values',
};

/** Keywords whose schema meets the same value: a circle of them never ends. */
const IN_PLACE = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"];

/**
 * Finds everything that is wrong with a schema.
 *
 * @param schema Plain JSON. A list or a text is a fault, too.
 */
export function schemaFaults(schema: Json, check: SchemaCheck): readonly SchemaFault[] {
  const walk = new Walk(check);
  walk.schema(schema, "");
  return walk.end();
}

/** Lists the patterns in a schema, each once. Does not mind what else is wrong with it. */
export function patternsOf(schema: Json): readonly string[] {
  const found = new Set<string>();
  const stack: Json[] = [schema];
  for (let value = stack.pop(); value !== undefined; value = stack.pop()) {
    if (typeof value !== "object" || value === null) continue;
    if (isJsonObject(value) && typeof value.pattern === "string") found.add(value.pattern);
    stack.push(...Object.values(value));
  }
  return [...found];
}

class Walk {
  readonly #check: SchemaCheck;
  readonly #faults: SchemaFault[] = [];
  /** Every schema by its place. */
  readonly #schemas = new Map<string, Json>();
  readonly #refs: { readonly at: string; readonly target: string }[] = [];

  constructor(check: SchemaCheck) {
    this.#check = check;
  }

  schema(value: Json, at: string): void {
    this.#schemas.set(at, value);
    if (typeof value === "boolean") return;
    if (!isJsonObject(value)) return this.#fault(at, "it is no schema", "Write an object, true or false");
    for (const [key, inner] of Object.entries(value)) {
      const place = at + pointerPart(key);
      const kind = Object.hasOwn(KEYWORDS, key) ? KEYWORDS[key] : undefined;
      if (kind !== undefined) this.#keyword(kind, inner, place);
      else this.#unknown(key, place);
    }
  }

  end(): readonly SchemaFault[] {
    for (const { at, target } of this.#refs) {
      if (this.#schemas.has(target)) continue;
      this.#fault(at, "no schema stands there", 'Name one of this schema: "#" or "#/$defs/name"');
    }
    if (this.#schemas.size > MAX_SUBSCHEMAS) {
      this.#fault("", `it holds ${this.#schemas.size} schemas`, `Keep to ${MAX_SUBSCHEMAS}`);
    } else if (this.#faults.length === 0) this.#refuseCircles();
    return this.#faults;
  }

  #fault(at: string, problem: string, fix: string): void {
    this.#faults.push({ at, problem, fix });
  }

  #unknown(key: string, at: string): void {
    const instead = Object.hasOwn(ABSENT, key) ? ABSENT[key] : undefined;
    if (instead !== undefined) return this.#fault(at, "this keyword is not checked", instead);
    const meant = nearest(key, Object.keys(KEYWORDS));
    this.#fault(at, "no such keyword is known", meant === undefined ? "Remove it" : `Write "${meant}"`);
  }

  #keyword(kind: Kind, value: Json, at: string): void {
    if (kind === "schema") return this.schema(value, at);
    if (kind === "schemas") {
      if (!isList(value) || value.length === 0) return this.#fault(at, "it is no list of schemas", "List one or more");
      return value.forEach((inner, index) => this.schema(inner, at + pointerPart(index)));
    }
    if (kind === "schemaMap") {
      if (!isJsonObject(value)) return this.#fault(at, "it is no object", "Write an object of schemas by name");
      for (const [name, inner] of Object.entries(value)) this.schema(inner, at + pointerPart(name));
      return;
    }
    const expected = problemOf(kind, value);
    if (expected !== undefined) return this.#fault(at, `it is not ${expected}`, `Write ${expected}`);
    if (kind === "ref") this.#refs.push({ at, target: decodeFragment(String(value)) });
    if (kind !== "pattern") return;
    const problem = this.#check.patternProblem(String(value));
    if (problem === null) return;
    this.#fault(at, problem, "Write a pattern that runs in linear time: no look-around, no back-reference");
  }

  /** A schema that leads back to itself without going into the value would be asked for ever. */
  #refuseCircles(): void {
    const done = new Set<string>();
    const open = new Set<string>();
    const visit = (at: string): void => {
      if (done.has(at)) return;
      if (open.has(at)) {
        return this.#fault(at, "it leads back to itself and never ends", "Refer to it from within a property or item");
      }
      open.add(at);
      for (const next of this.#inPlace(at)) visit(next);
      open.delete(at);
      done.add(at);
    };
    for (const at of this.#schemas.keys()) visit(at);
  }

  #inPlace(at: string): string[] {
    const value = this.#schemas.get(at);
    if (!isJsonObject(value)) return [];
    const next = typeof value.$ref === "string" ? [decodeFragment(value.$ref)] : [];
    for (const key of IN_PLACE) {
      const inner = value[key];
      if (inner === undefined) continue;
      const place = at + pointerPart(key);
      if (this.#schemas.has(place)) next.push(place);
      else if (typeof inner === "object" && inner !== null) {
        next.push(...Object.keys(inner).map((part) => place + pointerPart(part)));
      }
    }
    return next;
  }
}

/** What a keyword's value should be; `undefined` where it is. */
function problemOf(kind: Kind, value: Json): string | undefined {
  const expected = (is: boolean, words: string) => is ? undefined : words;
  switch (kind) {
    case "text":
    case "pattern":
      return expected(typeof value === "string", "a text");
    case "flag":
      return expected(typeof value === "boolean", "true or false");
    case "number":
      return expected(typeof value === "number", "a number");
    case "positive":
      return expected(typeof value === "number" && value > 0, "a number above 0");
    case "count":
      return expected(Number.isSafeInteger(value) && Number(value) >= 0, "a whole number of 0 or more");
    case "names":
      return expected(isNames(value), "a list of different names");
    case "nameLists":
      return expected(isJsonObject(value) && Object.values(value).every(isNames), "an object of lists of names");
    case "values":
      return expected(isList(value) && value.length > 0, "a list of one value or more");
    case "types": {
      const names = typeof value === "string" ? [value] : value;
      const known = isNames(names) && names.length > 0 && names.every((name) => TYPES.includes(String(name)));
      return expected(known, `one or more of ${TYPES.join(", ")}`);
    }
    case "format":
      return expected(typeof value === "string" && EVENT_FORMATS.includes(value), `one of ${EVENT_FORMATS.join(", ")}`);
    case "ref":
      return expected(typeof value === "string" && isFragment(value), 'a place in this schema, such as "#/$defs/name"');
    case "draft":
      return expected(value === DRAFT || value === `${DRAFT}#`, `"${DRAFT}"`);
    default:
      return undefined;
  }
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

function isNames(value: Json): value is readonly Json[] {
  return isList(value) && value.every((name) => typeof name === "string") && new Set(value).size === value.length;
}

function isFragment(text: string): boolean {
  if (text !== "#" && !text.startsWith("#/")) return false;
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** The JSON Pointer in a reference. */
function decodeFragment(text: string): string {
  return decodeURIComponent(text.slice(1));
}

/** What a schema says at a place that the checker names: `#/properties/a/$ref/type`, references followed. */
export function keywordAt(schema: JsonObject | boolean, location: string): Json | undefined {
  let at: Json = schema;
  for (const part of location.split("/").slice(1)) {
    const key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof at !== "object" || at === null) return undefined;
    const next: Json | undefined = isList(at) ? at[Number(key)] : Object.hasOwn(at, key) ? at[key] as Json : undefined;
    if (next === undefined) return undefined;
    at = key === "$ref" && typeof next === "string" ? placeIn(schema, decodeFragment(next)) : next;
  }
  return at;
}

function placeIn(schema: Json, pointer: string): Json {
  let at: Json = schema;
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof at !== "object" || at === null) return null;
    at = (isList(at) ? at[Number(key)] : at[key] as Json | undefined) ?? null;
  }
  return at;
}

/** Keywords that say nothing about a value. */
const ANNOTATIONS: readonly string[] = [
  "$schema",
  "$comment",
  "title",
  "description",
  "default",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly",
];

/** A schema while it is copied: an object that may still be changed. */
export type SchemaCopy = { [keyword: string]: unknown };

/**
 * Copies a schema without what says nothing about a value.
 *
 * @param schema One without faults.
 * @param each Is handed the copy of every schema that is an object, before it is put into the one around it.
 */
export function copySchema(schema: Json, each: (copy: SchemaCopy) => void): SchemaCopy | boolean {
  if (!isJsonObject(schema)) return schema === true;
  const copy: SchemaCopy = {};
  for (const [key, value] of Object.entries(schema)) {
    if (!ANNOTATIONS.includes(key)) copy[key] = copyKeyword(KEYWORDS[key], value, each);
  }
  each(copy);
  return copy;
}

function copyKeyword(kind: Kind | undefined, value: Json, each: (copy: SchemaCopy) => void): unknown {
  if (kind === "schema") return copySchema(value, each);
  if (kind === "schemas" && isList(value)) return value.map((inner) => copySchema(inner, each));
  if (kind === "schemaMap" && isJsonObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, copySchema(inner, each)]));
  }
  return structuredClone(value);
}
