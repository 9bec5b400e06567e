import assert from "node:assert/strict";
import type { Json, JsonObject } from "../../src/json.ts";
import { copySchema, keywordAt, patternsOf, type SchemaCopy, schemaFaults } from "../../src/plan/event_schema.ts";

const faults = (schema: Json) => schemaFaults(schema, { patternProblem: (text) => text === "(" ? "bad" : null });
const places = (schema: Json) => faults(schema).map(({ at }) => at);

Deno.test("schemaFaults() finds nothing wrong with schemas of every keyword that is checked", () => {
  const whole = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $comment: "c",
    title: "t",
    description: "d",
    default: { any: ["thing"] },
    examples: [1],
    deprecated: false,
    $defs: { name: { type: "string", minLength: 1, maxLength: 9, pattern: "^a", format: "date" }, never: false },
    type: ["object", "null"],
    required: ["a"],
    properties: { a: { $ref: "#/$defs/name" }, "x/y~z": { $ref: "#/properties/a" }, properties: true },
    additionalProperties: { type: "number", minimum: 0, exclusiveMaximum: 2.5, multipleOf: 0.5 },
    propertyNames: { maxLength: 20 },
    dependentRequired: { a: ["b"] },
    dependentSchemas: { a: { minProperties: 1, maxProperties: 3 } },
    allOf: [{ if: { const: 1 }, then: true, else: false }],
    anyOf: [{ enum: ["x", 1, null] }, { not: { const: {} } }],
    oneOf: [{ prefixItems: [true], items: { $ref: "#" }, contains: true, minContains: 1, maxContains: 2 }],
    minItems: 0,
    maxItems: 3,
    uniqueItems: true,
    unevaluatedProperties: false,
    unevaluatedItems: false,
  };
  assert.deepEqual(faults(whole), []);
  assert.deepEqual(faults(true), []);
  assert.deepEqual(patternsOf(whole), ["^a"]);
});

Deno.test("schemaFaults() refuses unknown keywords and says what was meant", () => {
  assert.deepEqual(faults({ properties: { a: { tpye: "string" } } }), [
    { at: "/properties/a/tpye", problem: "no such keyword is known", fix: 'Write "type"' },
  ]);
  assert.deepEqual(faults({ patternProperties: {} }).map(({ problem }) => problem), ["this keyword is not checked"]);
  for (const key of ["$id", "$anchor", "$dynamicRef", "definitions", "dependencies", "constructor", "toString"]) {
    assert.deepEqual(places({ [key]: "x" }), [`/${key}`], key);
  }
  // what looks like a keyword inside of data is none
  assert.deepEqual(faults({ const: { tpye: 1 }, enum: [{ $id: 1 }], default: { pattern: "(" } }), []);
});

Deno.test("schemaFaults() refuses values that no keyword can have", () => {
  const wrong: JsonObject = {
    type: "text",
    enum: [],
    required: ["a", "a"],
    properties: [],
    allOf: [],
    items: [true],
    minLength: -1,
    maxItems: 1.5,
    multipleOf: 0,
    minimum: "1",
    uniqueItems: "yes",
    pattern: "(",
    format: "regex",
    $ref: "https://example.com/x",
    $schema: "http://json-schema.org/draft-07/schema#",
    dependentRequired: { a: "b" },
  };
  for (const [key, value] of Object.entries(wrong)) assert.deepEqual(places({ [key]: value }), [`/${key}`], key);
  assert.deepEqual(places([]), [""]);
  assert.deepEqual(places({ properties: { a: 1 } }), ["/properties/a"]);
  assert.deepEqual(places({ $ref: "#/%zz" }), ["/$ref"]);
});

Deno.test("schemaFaults() refuses references to nowhere and circles that never end", () => {
  assert.deepEqual(places({ $ref: "#/$defs/gone" }), ["/$ref"]);
  // a place that holds no schema is nowhere
  assert.deepEqual(places({ const: { a: {} }, $ref: "#/const/a" }), ["/$ref"]);
  assert.equal(faults({ $ref: "#" }).length, 1);
  assert.equal(faults({ $defs: { a: { $ref: "#/$defs/b" }, b: { anyOf: [{ $ref: "#/$defs/a" }] } } }).length, 1);
  assert.equal(faults({ not: { $ref: "#" } }).length, 1);
  assert.equal(faults({ dependentSchemas: { a: { $ref: "#" } } }).length, 1);
  // into the value is no circle
  assert.deepEqual(faults({ properties: { next: { $ref: "#" } }, items: { $ref: "#" } }), []);
  assert.equal(
    faults({ $defs: Object.fromEntries(Array.from({ length: 2001 }, (_, i) => [`d${i}`, true])) }).length,
    1,
  );
});

Deno.test("copySchema() leaves out what says nothing and hands every object on once", () => {
  const seen: SchemaCopy[] = [];
  const schema = { title: "t", default: 1, properties: { a: { const: { title: "kept" } } }, items: false };
  const copy = copySchema(schema, (one) => seen.push(one));
  assert.deepEqual(copy, { properties: { a: { const: { title: "kept" } } }, items: false });
  assert.equal(seen.length, 2);
  assert.equal(seen[1], copy);
});

Deno.test("keywordAt() follows references and escapes", () => {
  const schema = {
    $defs: { "a/b": { type: "string" } },
    properties: { x: { $ref: "#/$defs/a~1b" } },
    allOf: [{ enum: [1] }],
  };
  assert.equal(keywordAt(schema, "#/properties/x/$ref/type"), "string");
  assert.equal(keywordAt(schema, "#/$defs/a~1b/type"), "string");
  assert.deepEqual(keywordAt(schema, "#/allOf/0/enum"), [1]);
  assert.equal(keywordAt(schema, "#/constructor"), undefined);
});
