import assert from "node:assert/strict";
import { errorOf, isId, parseHead, refusalOf } from "../../src/host/frame.ts";

Deno.test("parseHead() takes JSON objects of plain data and nothing else", () => {
  assert.deepEqual(parseHead('{"op":"call","id":1}'), { op: "call", id: 1 });
  for (
    const text of ["", "x", "null", "1", '"a"', "[1]", '{"op":"\\ud800"}', '{"__proto__":{"op":"end"}}', '{"op":1e400}']
  ) {
    assert.equal(parseHead(text), undefined, text);
  }
});

Deno.test("isId() takes positive safe integers", () => {
  for (const id of [1, 2 ** 53 - 1]) assert.ok(isId(id));
  for (const id of [0, -1, 1.5, 2 ** 53, "1", null, undefined, NaN, [1]]) assert.ok(!isId(id), String(id));
});

Deno.test("refusalOf() and errorOf() bound what they take and make it well formed", () => {
  assert.equal(refusalOf(null), undefined);
  assert.equal(refusalOf({ path: 1, reason: "x" }), undefined);
  const refusal = refusalOf({ path: "p".repeat(5000), reason: "\ud800", more: 1 });
  assert.deepEqual(refusal, { path: "p".repeat(1000), reason: "\ufffd" });
  assert.deepEqual(errorOf("text"), {});
  assert.deepEqual(errorOf({ name: "n".repeat(900), message: 1, stack: "s\ud800", cause: "c" }), {
    name: "n".repeat(200),
    stack: "s\ufffd",
  });
});
