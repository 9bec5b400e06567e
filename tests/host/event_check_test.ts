import assert from "node:assert/strict";
import { type EventFault, loadEventChecks, MAX_CHECKED_BYTES } from "../../src/host/event_check.ts";
import type { Json, JsonObject } from "../../src/json.ts";
import { schemaFaults } from "../../src/plan/event_schema.ts";
import { makeRun } from "./run_context.ts";

/** Checks one event against a schema that the compiler would take. */
async function check(value: JsonObject | boolean, event: Json): Promise<EventFault | undefined> {
  assert.deepEqual(schemaFaults(value, { patternProblem: () => null }), []);
  const { plan } = makeRun("/nonexistent");
  const checks = await loadEventChecks({ ...plan, expectEvents: { k: { min: 1, schema: { value } } } });
  return checks.get("k")?.(event, JSON.stringify(event).length);
}

Deno.test("loadEventChecks() makes no check where no schema is", async () => {
  const { plan } = makeRun("/nonexistent");
  assert.equal((await loadEventChecks({ ...plan, expectEvents: { k: { min: 1 } } })).size, 0);
});

Deno.test("an event that fits has no fault, one that does not says where, what was expected and what is there", async () => {
  const schema: JsonObject = {
    type: "object",
    required: ["severity"],
    properties: {
      severity: { enum: ["low", "high"] },
      id: { type: "string", pattern: "^[A-Z]+-\\d+$", maxLength: 6 },
      on: { type: "string", format: "date" },
      "a/b": { items: { $ref: "#/$defs/count" }, maxItems: 2, uniqueItems: true },
      at: { prefixItems: [{ type: "integer" }], items: false },
      not: { not: { const: 1 } },
      some: { anyOf: [{ type: "null" }, { type: "integer" }] },
    },
    additionalProperties: false,
    propertyNames: { maxLength: 8 },
    $defs: { count: { type: "integer", minimum: 0 } },
  };
  const cases: [event: Json, fault: EventFault | undefined][] = [
    [{ severity: "low", id: "AB-1", on: "2026-02-28", "a/b": [0, 1], at: [1], not: 2, some: null }, undefined],
    [[], { reason: "type", field: "", expected: "object", actual: "array" }],
    [{}, { reason: "required", field: "/severity", expected: "present", actual: "absent" }],
    [{ severity: "mid" }, { reason: "enum", field: "/severity", expected: ["low", "high"], actual: "string" }],
    [{ severity: "low", id: "x" }, { reason: "pattern", field: "/id", expected: "^[A-Z]+-\\d+$", actual: "string" }],
    [{ severity: "low", id: "ABCDEFG-1" }, { reason: "max_length", field: "/id", expected: 6, actual: 9 }],
    [{ severity: "low", on: "2026-02-30" }, { reason: "format", field: "/on", expected: "date", actual: "string" }],
    [{ severity: "low", "a/b": [0, -1] }, { reason: "minimum", field: "/a~1b/1", expected: 0, actual: "number" }],
    [{ severity: "low", "a/b": [0, 1, 2] }, { reason: "max_items", field: "/a~1b", expected: 2, actual: 3 }],
    [{ severity: "low", "a/b": [1, 1] }, { reason: "unique_items", field: "/a~1b", expected: true, actual: "array" }],
    [{ severity: "low", at: [1, 2] }, { reason: "items", field: "/at/1", expected: false, actual: "number" }],
    [{ severity: "low", not: 1 }, { reason: "not", field: "/not", expected: { const: 1 }, actual: "number" }],
    [{ severity: "low", more: 1 }, {
      reason: "additional_properties",
      field: "/more",
      expected: false,
      actual: "number",
    }],
    [{ severity: "low", tooLongAName: 1 }, {
      reason: "max_length",
      field: "/tooLongAName",
      expected: 8,
      actual: "number",
    }],
  ];
  for (const [event, fault] of cases) assert.deepEqual(await check(schema, event), fault, JSON.stringify(event));
  const some = await check(schema, { severity: "low", some: "x" });
  assert.equal(some?.reason, "any_of");
  assert.equal(some?.field, "/some");
  assert.deepEqual(await check(false, 1), { reason: "false", field: "", expected: false, actual: null });
});

Deno.test("names that every object inherits are no properties of an event", async () => {
  const schema: JsonObject = { required: ["toString"], properties: { valueOf: false }, additionalProperties: true };
  assert.equal((await check(schema, {}))?.field, "/toString");
  assert.equal(await check(schema, { toString: 1 }), undefined);
  assert.equal((await check({ required: ["hasOwnProperty"] }, { x: 1 }))?.reason, "required");
});

Deno.test("no fault shows a value of the event, only its type or size", async () => {
  const secret = "hunter2-hunter2";
  for (
    const schema of [
      { properties: { a: { const: 1 } } },
      { properties: { a: { enum: [1] } } },
      { properties: { a: { maxLength: 1 } } },
      { properties: { a: { pattern: "^x$" } } },
      { properties: { a: { type: "null" } } },
      { properties: { a: { anyOf: [{ const: 1 }] } } },
    ]
  ) {
    assert.ok(!JSON.stringify(await check(schema, { a: secret })).includes(secret), JSON.stringify(schema));
  }
  const pin = await check({ properties: { a: { maximum: 1 } } }, { a: 73_735 });
  assert.equal(pin?.actual, "number");
});

Deno.test("a pattern that would backtrack for ever is answered at once", async () => {
  const started = performance.now();
  const fault = await check({ properties: { a: { pattern: "^(a+)+$" } } }, { a: `${"a".repeat(100_000)}!` });
  assert.equal(fault?.reason, "pattern");
  assert.ok(performance.now() - started < 5000);
});

Deno.test("a schema that asks itself again and again, and pairs of a long list, are given up after so many steps", async () => {
  // every level of the event doubles what has to be asked
  const doubling: JsonObject = {
    anyOf: [{ properties: { n: { $ref: "#" } }, required: ["x"] }, {
      properties: { n: { $ref: "#" } },
      required: ["y"],
    }],
  };
  let deep: Json = {};
  for (let i = 0; i < 60; i++) deep = { n: deep };
  const started = performance.now();
  assert.equal((await check(doubling, deep))?.reason, "check_too_costly");
  const long = Array.from({ length: 40_000 }, (_, i) => i);
  assert.equal((await check({ items: { type: "integer" }, uniqueItems: true }, long))?.reason, "check_too_costly");
  assert.equal(await check({ uniqueItems: true }, long.slice(0, 500)), undefined);
  assert.ok(performance.now() - started < 10_000);
});

Deno.test("an event that is too large to be checked has failed", async () => {
  const fault = await check(true, "x".repeat(MAX_CHECKED_BYTES));
  assert.equal(fault?.reason, "event_too_large");
});

Deno.test("checks of two kinds do not mix up their patterns, and one check leaves nothing to the next", async () => {
  const { plan } = makeRun("/nonexistent");
  const value = (pattern: string) => ({ min: 1, schema: { value: { properties: { a: { pattern } } } } });
  const checks = await loadEventChecks({ ...plan, expectEvents: { x: value("^x$"), y: value("^y$") } });
  for (let i = 0; i < 3; i++) {
    assert.equal(checks.get("x")?.({ a: "x" }, 9), undefined);
    assert.equal(checks.get("y")?.({ a: "x" }, 9)?.expected, "^y$");
    assert.equal(checks.get("y")?.({ a: "y" }, 9), undefined);
  }
});
