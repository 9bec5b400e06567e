import { deepEqual, equal } from "node:assert/strict";
import { concatBytes } from "../src/bytes.ts";

Deno.test("concatBytes() joins pieces in their order", () => {
  deepEqual(concatBytes([]), new Uint8Array());
  const [one, two] = [new Uint8Array([1, 2]), new Uint8Array([3, 4, 5]).subarray(1)];
  equal(concatBytes([one]), one);
  deepEqual(concatBytes([one, new Uint8Array(), two]), new Uint8Array([1, 2, 4, 5]));
});
