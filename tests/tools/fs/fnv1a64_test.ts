import assert from "node:assert/strict";
import fc from "fast-check";
import { fnv1a64 } from "../../../src/tools/fs/fnv1a64.ts";

Deno.test("fnv1a64() gives the published values", () => {
  const hash = (text: string) => fnv1a64(new TextEncoder().encode(text));
  assert.equal(hash(""), "cbf29ce484222325");
  assert.equal(hash("a"), "af63dc4c8601ec8c");
  assert.equal(hash("foobar"), "85944171f73967e8");
});

Deno.test("fnv1a64() agrees with the definition over 64-bit integers", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
    let state = 0xcbf29ce484222325n;
    for (const byte of bytes) state = BigInt.asUintN(64, (state ^ BigInt(byte)) * 0x100000001b3n);
    assert.equal(fnv1a64(bytes), state.toString(16).padStart(16, "0"));
  }));
});
