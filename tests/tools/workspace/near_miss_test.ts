import assert from "node:assert/strict";
import { findNear } from "../../../src/tools/workspace/near_miss.ts";

const FILE = `function add(a, b) {
  return a + b;
}

function sub(a, b) {
  // the order matters
  return a - b;
}
const name = “quoted”;
`;

const near = (text: string, file = FILE) =>
  findNear(new TextEncoder().encode(file), text).map(({ line, endLine, difference }) => [line, endLine, difference]);

Deno.test("findNear() finds what differs in white space, in case, or in look-alikes", () => {
  assert.deepEqual(near("function sub(a, b) {\n    // the order matters\n\treturn a - b;"), [
    [5, 7, "white space differs"],
  ]);
  assert.deepEqual(near("RETURN a  +  b"), [[2, 2, "white space or the case of letters differs"]]);
  assert.deepEqual(near('name = "quoted"'), [[9, 9, "quotes, dashes or other look-alikes differ"]]);
});

Deno.test("findNear() finds where most lines are equal, and which one is not", () => {
  assert.deepEqual(near("function sub(a, b) {\n  // the order is free\n  return a - b;\n}"), [
    [5, 8, "3 of 4 lines are equal, line 6 is not"],
  ]);
});

Deno.test("findNear() finds lines that are alike, the best first", () => {
  const [best, ...rest] = near("function adds(a, b) {");
  assert.deepEqual(best?.slice(0, 2), [1, 1]);
  assert.match(String(best?.[2]), /^\d+ % alike$/);
  assert.deepEqual(rest.map(([line]) => line), [5]);
});

Deno.test("findNear() says nothing where nothing is alike", () => {
  for (const text of ["zzzz qqqq wwww", "\n\n", " ", "ü"]) assert.deepEqual(near(text), []);
  assert.deepEqual(near("x", ""), []);
});

Deno.test("findNear() is bounded for large files and large texts", () => {
  const file = "    return value;\n".repeat(200_000);
  const started = performance.now();
  near("  return valuE;\n".repeat(400), file);
  near("return valeu", file);
  near("a\n".repeat(100_000), file);
  assert.ok(performance.now() - started < 15_000);
});
