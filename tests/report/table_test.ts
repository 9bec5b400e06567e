import assert from "node:assert/strict";
import { tableLines } from "../../src/report/table.ts";

Deno.test("tableLines() aligns, leaves empty columns out and escapes cells", () => {
  const rows = [["a\u202e", 1, 0, null, "x"], ["bcd", 20, 0, null, null]];
  assert.deepEqual(tableLines(["name", "n", "zero", "none", "last"], rows), [
    "name        n  last",
    "a\\u{202e}   1  x",
    "bcd        20  -",
  ]);
  assert.deepEqual(tableLines(["name"], []), []);
  assert.equal(tableLines(["t"], [["y".repeat(200)]])[1]?.length, 81);
});
