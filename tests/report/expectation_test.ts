import assert from "node:assert/strict";
import { expectationText } from "../../src/report/expectation.ts";

const record = (fields: Record<string, string | number>) => ({
  type: "schema_validation",
  kind: "k",
  status: "fail",
  ...fields,
});

Deno.test("expectationText() says what was not met", () => {
  assert.equal(expectationText({ type: "schema_validation", kind: "k", status: "pass" }), "");
  assert.equal(
    expectationText(record({ reason: "min_events", expected: 2, actual: 0 })),
    "0 events of kind k, expected at least 2",
  );
  assert.equal(
    expectationText(record({ reason: "max_events", expected: 2, actual: 3 })),
    "more than 2 events of kind k",
  );
  assert.equal(
    expectationText(record({ reason: "event_too_large", field: "", expected: 2, actual: 3, event_index: 0 })),
    "event 0 of kind k is too large to check: 3 of 2 bytes",
  );
  assert.equal(
    expectationText(record({ reason: "check_too_costly", field: "", expected: 2, event_index: 0 })),
    "event 0 of kind k takes more than 2 steps to check",
  );
  assert.equal(
    expectationText(record({ reason: "type", field: "/a", expected: "object", actual: "array", event_index: 4 })),
    "event 4 of kind k does not fit its schema: /a is array, expected object (type)",
  );
});

Deno.test("expectationText() escapes what an agent chose and bounds it", () => {
  const text = expectationText(record({
    reason: "additional_properties",
    field: `/\u001b[2J\u202e${"x".repeat(5000)}`,
    expected: "y".repeat(5000),
    actual: "string",
    event_index: 0,
  }));
  // deno-lint-ignore no-control-regex -- control characters are what must not be there
  assert.doesNotMatch(text, /[\u0000-\u001f\u202e]/);
  assert.ok(text.length < 400, String(text.length));
});
