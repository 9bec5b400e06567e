import { deepEqual, equal, throws } from "node:assert/strict";
import { ratioOf, spreadOf } from "./ratio.ts";

Deno.test("spreadOf() takes the middle of an odd row, whatever its order", () => {
  deepEqual(spreadOf([9, 1, 5]), { min: 1, median: 5, p90: 9 });
});

Deno.test("spreadOf() takes the mean of the two middle samples of an even row", () => {
  deepEqual(spreadOf([4, 1, 3, 2]), { min: 1, median: 2.5, p90: 4 });
});

Deno.test("spreadOf() sorts by number, not by text", () => {
  deepEqual(spreadOf([10, 9, 100]), { min: 9, median: 10, p90: 100 });
});

Deno.test("spreadOf() leaves a tenth of the samples above p90", () => {
  equal(spreadOf(Array.from({ length: 10 }, (_, i) => i + 1)).p90, 9);
  equal(spreadOf(Array.from({ length: 20 }, (_, i) => i + 1)).p90, 18);
  equal(spreadOf([7]).p90, 7);
});

Deno.test("spreadOf() does not change the row it is given", () => {
  const row = [3, 1, 2];
  spreadOf(row);
  deepEqual(row, [3, 1, 2]);
});

Deno.test("spreadOf() refuses an empty row and a sample that is no number", () => {
  throws(() => spreadOf([]), RangeError);
  throws(() => spreadOf([1, NaN]), RangeError);
  throws(() => spreadOf([1, Infinity]), RangeError);
});

Deno.test("ratioOf() compares medians, so that one bad sample decides nothing", () => {
  const product = spreadOf([1, 1, 1, 1, 1000]);
  const peer = spreadOf([4, 4, 4, 4, 4]);
  deepEqual(ratioOf(product, peer, 0.3), { ratio: 0.25, bound: 0.3, held: true });
});

Deno.test("ratioOf() holds at its bound and not above it", () => {
  const peer = spreadOf([2]);
  equal(ratioOf(spreadOf([3]), peer, 1.5).held, true);
  equal(ratioOf(spreadOf([3.001]), peer, 1.5).held, false);
});

Deno.test("ratioOf() refuses a peer that took no time", () => {
  throws(() => ratioOf(spreadOf([1]), spreadOf([0]), 1), RangeError);
});
