import assert from "node:assert/strict";
import { breakLine } from "../../src/report/break_line.ts";

Deno.test("breakLine() marks what is behind a break, and leaves a short line as it is", () => {
  assert.deepEqual(breakLine("x".repeat(30), 30), ["x".repeat(30)]);
  assert.deepEqual(breakLine("x".repeat(31), 30), ["x".repeat(30), "        | x"]);
  assert.deepEqual(breakLine("x".repeat(60), 30), [
    "x".repeat(30),
    `        | ${"x".repeat(20)}`,
    `        | ${"x".repeat(10)}`,
  ]);
  assert.deepEqual(breakLine(""), [""]);
});

Deno.test("breakLine() counts two columns for what is not ASCII, and splits no character", () => {
  assert.deepEqual(breakLine("\u{1f600}".repeat(13), 24), ["\u{1f600}".repeat(12), "        | \u{1f600}"]);
  assert.equal(breakLine("x".repeat(100), 1)[0], "x".repeat(24), "a terminal is never too narrow to go on");
});
