import assert from "node:assert/strict";
import { numberField, objectField, own, textField } from "../../src/replay/fields.ts";

Deno.test("fields of another type, and inherited ones, are not there", () => {
  const record = { text: "t", number: 1, object: { a: 1 }, list: [1] };
  assert.equal(textField(record, "text"), "t");
  assert.equal(textField(record, "number"), null);
  assert.equal(numberField(record, "number"), 1);
  assert.equal(numberField(record, "text"), null);
  assert.deepEqual(objectField(record, "object"), { a: 1 });
  assert.deepEqual(objectField(record, "list"), {});
  assert.deepEqual(objectField(record, "__proto__"), {});
  assert.equal(own(record, "constructor"), null);
  assert.deepEqual(own(record, "list"), [1]);
});
