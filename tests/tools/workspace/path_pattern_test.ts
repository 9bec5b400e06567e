import assert from "node:assert/strict";
import { makePathPattern, type PathPattern } from "../../../src/tools/workspace/path_pattern.ts";

function compile(pattern: string, anyDepth = false): PathPattern {
  const made = makePathPattern(pattern, { anyDepth });
  assert.ok(!("fault" in made), `${pattern}: ${"fault" in made ? made.fault : ""}`);
  return made;
}

const TABLE: readonly (readonly [pattern: string, matching: readonly string[], others: readonly string[]])[] = [
  ["src/**", ["src/a", "src/a/b", "src"], ["srca", "a/src/b"]],
  ["**", ["a", "a/b/c"], []],
  ["**/*", ["a", "a/b"], []],
  ["*.go", ["main.go", ".go"], ["a/main.go", "main.goo"]],
  ["**/*.go", ["main.go", "a/b/main.go"], ["main.go/a"]],
  ["a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["a/x/b/c", "ab"]],
  ["a/**/**/b", ["a/b", "a/x/b"], ["a"]],
  ["./a//b/", ["a/b"], ["a"]],
  ["/a", ["a"], ["b/a"]],
  ["a?c", ["abc", "a\u{1f600}c"], ["ac", "a/c", "abbc"]],
  ["[a-c]x", ["ax", "cx"], ["dx", "x"]],
  ["[!a-c]x", ["dx", "\u00fcx"], ["ax", "/x"]],
  ["[^a]", ["b"], ["a"]],
  ["[]]", ["]"], ["a"]],
  ["[a-]", ["a", "-"], ["b"]],
  ["*.{ts,tsx}", ["a.ts", "a.tsx"], ["a.t", "a.js"]],
  ["{a,b/{c,d}}/e", ["a/e", "b/c/e", "b/d/e"], ["b/e", "c/e"]],
  ["a{,b}", ["a", "ab"], ["abb"]],
  ["\\*", ["*"], ["a"]],
  ["\\{a}", ["{a}"], ["a"]],
  ["[{]a", ["{a"], ["a"]],
  ["*a*b*", ["ab", "xaybz"], ["ba"]],
  ["A", ["A"], ["a"]],
];

for (const [pattern, matching, others] of TABLE) {
  Deno.test(`makePathPattern() reads ${pattern}`, () => {
    const { matches } = compile(pattern);
    for (const path of matching) assert.ok(matches(path), path);
    for (const path of others) assert.ok(!matches(path), path);
  });
}

Deno.test("makePathPattern() takes a pattern without a slash at any depth where it is asked to", () => {
  assert.ok(compile("*.ts", true).matches("a/b/c.ts"));
  assert.ok(!compile("a/*.ts", true).matches("b/a/c.ts"));
});

Deno.test("mayHold() is true of every folder above a match", () => {
  for (const [pattern, matching] of TABLE) {
    const { mayHold } = compile(pattern);
    for (const path of matching) {
      const parts = path.split("/");
      for (let depth = 0; depth < parts.length; depth++) {
        assert.ok(mayHold(parts.slice(0, depth).join("/")), `${pattern} ${path}`);
      }
    }
  }
  assert.ok(!compile("src/*.ts").mayHold("lib"));
  assert.ok(!compile("src/*.ts").mayHold("src/deep"));
});

Deno.test("makePathPattern() refuses what cannot match or stands for too much", () => {
  const patterns = [
    "",
    "/",
    "..",
    "a/../b",
    "[a",
    "[]",
    "[b-a]",
    "{a",
    "{a,b}".repeat(7),
    "a/".repeat(30),
    "\ud800",
    "a\n",
  ];
  for (const pattern of [...patterns, "x".repeat(1025)]) {
    const made = makePathPattern(pattern);
    assert.ok("fault" in made, pattern);
    assert.doesNotMatch(made.fault, /\p{Cc}|\.$/u);
  }
});

Deno.test("makePathPattern() takes no longer for a pattern of many stars", () => {
  const { matches } = compile(`${"*a".repeat(200)}b`);
  const started = performance.now();
  assert.ok(!matches("a".repeat(4000)));
  assert.ok(!compile(`${"**/".repeat(13)}x`).matches("a/".repeat(2000) + "y"));
  assert.ok(performance.now() - started < 3000);
});
