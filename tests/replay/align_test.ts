import assert from "node:assert/strict";
import fc from "fast-check";
import { align } from "../../src/replay/align.ts";

/** Length of a longest common subsequence, by the table that everybody knows. */
function lcs(left: readonly string[], right: readonly string[]): number {
  let above = new Array<number>(right.length + 1).fill(0);
  for (const a of left) {
    const row = [0];
    for (const [j, b] of right.entries()) {
      row.push(a === b ? (above[j] ?? 0) + 1 : Math.max(above[j + 1] ?? 0, row[j] ?? 0));
    }
    above = row;
  }
  return above.at(-1) ?? 0;
}

Deno.test("align() pairs a longest common subsequence, and keeps the order of both sides", () => {
  const items = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 14 });
  fc.assert(
    fc.property(items, items, (left, right) => {
      const pairs = align(left, right);
      assert.deepEqual(pairs.map(([a]) => a).filter((a) => a !== null), [...left.keys()]);
      assert.deepEqual(pairs.map(([, b]) => b).filter((b) => b !== null), [...right.keys()]);
      let common = 0;
      for (const [a, b] of pairs) {
        if (a === null || b === null) continue;
        assert.equal(left[a], right[b]);
        common++;
      }
      assert.equal(common, lcs(left, right));
    }),
    { numRuns: 2000 },
  );
});

Deno.test("align() gives up on the middle of sequences that have too little in common", () => {
  const left = ["start", ...Array.from({ length: 5000 }, (_, i) => `l${i}`), "end"];
  const right = ["start", ...Array.from({ length: 5000 }, (_, i) => `r${i}`), "end"];
  const pairs = align(left, right);
  assert.equal(pairs.length, 10_002);
  assert.deepEqual(pairs[0], [0, 0]);
  assert.deepEqual(pairs.at(-1), [5001, 5001]);
});
