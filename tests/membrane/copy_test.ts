import assert from "node:assert/strict";
import fc from "fast-check";
import { utf8Length } from "../../src/json.ts";
import { checkPlain, copyIn, MAX_DEPTH } from "../../src/membrane/copy.ts";

const nest = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

Deno.test("copyIn() takes whatever JSON.stringify() makes of well-formed data", () => {
  fc.assert(fc.property(fc.jsonValue({ maxDepth: 8, noUnicodeString: false }), (value) => {
    const text = JSON.stringify(value);
    const copied = copyIn(text);
    if (text.includes('"__proto__":')) return;
    assert.deepEqual(copied, { ok: true, value: JSON.parse(text) });
  }));
});

Deno.test("copyIn() refuses what is not plain data, with the path of the value", () => {
  const cases: readonly [string, string, string][] = [
    ["", "", "not JSON"],
    ["{", "", "not JSON"],
    ["undefined", "", "not JSON"],
    ['{"a":[1,1e400]}', "/a/1", "Infinity"],
    ['{"a":-1e400}', "/a", "-Infinity"],
    ['{"a/b":{"c~d":"\\ud800"}}', "/a~1b/c~0d", "a lone surrogate"],
    ['["\\udc00x"]', "/0", "a lone surrogate"],
    ['{"\\ud800":1}', "", "a key with a lone surrogate"],
    ['{"a":{"__proto__":{}}}', "/a/__proto__", "a key named __proto__"],
    [nest(MAX_DEPTH + 1), "/0".repeat(MAX_DEPTH), `nested deeper than ${MAX_DEPTH}`],
  ];
  for (const [text, path, reason] of cases) {
    assert.deepEqual(copyIn(text), { ok: false, refusal: { path, reason } }, text.slice(0, 40));
  }
  assert.equal(copyIn(nest(MAX_DEPTH)).ok, true);
});

Deno.test("copyIn() takes a million levels without using up the stack", () => {
  assert.equal(copyIn(nest(1_000_000)).ok, false);
  const deep = copyIn(`{"a":`.repeat(1_000_000) + "1" + "}".repeat(1_000_000));
  assert.equal(deep.ok, false);
});

Deno.test("copyIn() keeps keys that objects inherit, and the last of a key that comes twice", () => {
  const copied = copyIn('{"constructor":1,"toString":2,"hasOwnProperty":3,"a":1,"a":2}');
  assert.ok(copied.ok);
  assert.deepEqual(copied.value, { constructor: 1, toString: 2, hasOwnProperty: 3, a: 2 });
});

Deno.test("checkPlain() names the first wrong value in the order of the text", () => {
  assert.equal(checkPlain([1, [Infinity], NaN])?.path, "/1/0");
  assert.equal(checkPlain({ a: "x", b: [] }), undefined);
});

Deno.test("utf8Length() counts what an encoder writes for every well-formed text", () => {
  const encoder = new TextEncoder();
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => {
    if (text.isWellFormed()) assert.equal(utf8Length(text), encoder.encode(text).length);
  }));
});
