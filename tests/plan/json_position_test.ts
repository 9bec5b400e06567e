import assert from "node:assert/strict";
import fc from "fast-check";
import { positionAt, positionOf, syntaxErrorAt } from "../../src/plan/json_position.ts";

Deno.test("positionOf() finds a value through objects, arrays and white space", () => {
  const text = '{\n  "a": [1, {"b\\"c": "x,]}"}],\n  "d": null\n}';
  assert.deepEqual(positionOf(text, []), { line: 1, column: 1 });
  assert.deepEqual(positionOf(text, ["a"]), { line: 2, column: 8 });
  assert.deepEqual(positionOf(text, ["a", 1, 'b"c']), { line: 2, column: 21 });
  assert.deepEqual(positionOf(text, ["d"]), { line: 3, column: 8 });
  assert.deepEqual(positionOf(text, ["a", 7, "x"]), { line: 2, column: 8 });
  assert.deepEqual(positionOf('{"a":1,\n"a":2}', ["a"]), { line: 2, column: 5 });
});

Deno.test("positionOf() points at every scalar of any JSON text", () => {
  fc.assert(fc.property(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(0, 1, 2), (value, indent) => {
    const parsed = JSON.parse(JSON.stringify(value));
    const text = JSON.stringify(parsed, null, indent);
    const lines = text.split("\n");
    const visit = (inner: unknown, path: (string | number)[]): void => {
      const { line, column } = positionOf(text, path);
      const rest = lines.slice(line - 1).join("\n").slice(column - 1);
      if (typeof inner !== "object" || inner === null) assert.ok(rest.startsWith(JSON.stringify(inner)), text);
      else for (const [key, next] of Object.entries(inner)) visit(next, [...path, Array.isArray(inner) ? +key : key]);
    };
    visit(parsed, []);
  }));
});

Deno.test("positionAt() counts lines and columns from one", () => {
  assert.deepEqual(positionAt("ab\ncd", 0), { line: 1, column: 1 });
  assert.deepEqual(positionAt("ab\ncd", 3), { line: 2, column: 1 });
  assert.deepEqual(positionAt("ab\ncd", 5), { line: 2, column: 3 });
});

Deno.test("syntaxErrorAt() points at the first character that is wrong", () => {
  const cases: readonly [string, number][] = [
    ["", 1],
    ["{", 2],
    ['{"a":}', 6],
    ['{"a" 1}', 6],
    ["{a:1}", 2],
    ['{"a":1,}', 8],
    ["[1,]", 4],
    ["[1 2]", 4],
    ["[1}", 3],
    ["01", 2],
    ['"\\x"', 1],
    ["1 2", 3],
    ["1,2", 2],
    ["nul", 1],
    ["// x", 1],
    ["[}", 2],
    ["{]", 2],
    ["{,}", 2],
  ];
  for (const [text, column] of cases) assert.deepEqual(syntaxErrorAt(text), { line: 1, column }, text);
});

Deno.test("syntaxErrorAt() reads every valid JSON text to its end", () => {
  fc.assert(fc.property(fc.json(), (text) => {
    assert.deepEqual(syntaxErrorAt(text), positionAt(text, text.length));
  }));
});
