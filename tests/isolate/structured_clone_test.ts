import assert from "node:assert/strict";
import { makeStructuredClone } from "../../src/isolate/structured_clone.js";

const clone = makeStructuredClone(() => false) as typeof structuredClone;

/** Values of every kind that both can copy. */
function values(): readonly unknown[] {
  const cyclic: Record<string, unknown> = { a: 1 };
  cyclic.self = cyclic;
  const buffer = Uint8Array.of(1, 2, 3, 4).buffer;
  return [
    ...[1, -0, NaN, 1n, "text", true, null, undefined],
    ...[{}, { a: { b: [1, , 3] } }, [1, [2]], Object.assign([1], { extra: 2 }), cyclic],
    ...[new Date(5), /a+/giu, new Map<unknown, unknown>([[{ k: 1 }, [2]]]), new Set([1, "a"])],
    ...[Object(1), Object("s"), Object(true), Object(1n)],
    ...[buffer, new Uint16Array(buffer, 2, 1), new DataView(buffer, 1, 2), [buffer, new Uint8Array(buffer)]],
    ...[new ArrayBuffer(2, { maxByteLength: 8 }), Float64Array.of(0.5), BigInt64Array.of(1n)],
    ...[new RangeError("over", { cause: { a: 1 } }), Object.assign(new Error("m"), { name: "Other" })],
    JSON.parse('{"__proto__":{"a":1}}'),
    new (class Point {
      x = 1;
      get y(): number {
        return 2;
      }
    })(),
  ];
}

Deno.test("structuredClone() copies as the runtime's own does", () => {
  const theirs = values();
  for (const [index, value] of values().entries()) {
    assert.deepEqual(clone(value), structuredClone(theirs[index]), `value ${index}`);
  }
});

Deno.test("structuredClone() keeps what is one object one object", () => {
  const shared = { a: 1 };
  const copy = clone({ list: [shared, shared], set: new Set([shared]) });
  assert.equal(copy.list[0], copy.list[1]);
  assert.ok(copy.set.has(copy.list[0] as typeof shared));
  assert.notEqual(copy.list[0], shared);
});

Deno.test("structuredClone() refuses what has no copy, with the standard's error", () => {
  const refused = [
    () => 1,
    Symbol("s"),
    Object(Symbol("s")),
    new WeakMap(),
    Promise.resolve(),
    new URL("https://a/"),
    { deep: [() => 1] },
  ];
  for (const value of refused) {
    assert.throws(() => clone(value), (error) => error instanceof DOMException && error.name === "DataCloneError");
  }
  assert.throws(() => makeStructuredClone(() => true)({}), { name: "DataCloneError" });
  assert.throws(() => (clone as () => unknown)(), TypeError);
});

Deno.test("structuredClone() moves a buffer that is to be transferred, and leaves it where the copy fails", () => {
  const buffer = Uint8Array.of(1, 2).buffer;
  assert.throws(() => clone([buffer, () => 1], { transfer: [buffer] }));
  assert.equal(buffer.byteLength, 2);
  const [moved] = clone([buffer], { transfer: [buffer] });
  assert.deepEqual(new Uint8Array(moved as ArrayBuffer), Uint8Array.of(1, 2));
  assert.equal(buffer.byteLength, 0);
  const other = new ArrayBuffer(1);
  for (const transfer of [[buffer], [other, other], [{} as ArrayBuffer]]) {
    assert.throws(() => clone({}, { transfer }), { name: "DataCloneError" });
  }
});

Deno.test("structuredClone() copies an exception of the platform by its words", () => {
  const copy = clone(new DOMException("words", "AbortError"));
  assert.ok(copy instanceof DOMException);
  assert.deepEqual([copy.message, copy.name], ["words", "AbortError"]);
});
