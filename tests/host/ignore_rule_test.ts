import { equal, throws } from "node:assert/strict";
import { parseIgnoreRule } from "../../src/host/ignore_rule.ts";

/** What a rule says of a path; a folder's path ends with `/`. */
function says(line: string, path: string): "ignore" | "keep" | "nothing" {
  const isFolder = path.endsWith("/");
  const rule = parseIgnoreRule(line);
  if (rule === undefined || !rule.matches(path.replace(/\/$/, "").split("/"), isFolder)) return "nothing";
  return rule.negated ? "keep" : "ignore";
}

const CASES: readonly (readonly [line: string, path: string, ReturnType<typeof says>])[] = [
  ["node_modules", "a/node_modules/", "ignore"],
  ["node_modules", "a/node_modules/x", "nothing"],
  ["*.log", "a/b.log", "ignore"],
  ["*.log", "b.log.txt", "nothing"],
  ["build/", "build", "nothing"],
  ["build/", "x/build/", "ignore"],
  ["/top", "top", "ignore"],
  ["/top", "a/top", "nothing"],
  ["a/b", "a/b", "ignore"],
  ["a/b", "x/a/b", "nothing"],
  ["a/**/b", "a/b", "ignore"],
  ["a/**/b", "a/x/y/b", "ignore"],
  ["a/**", "a/x/y", "ignore"],
  ["a/**", "a/", "nothing"],
  ["!keep.log", "keep.log", "keep"],
  ["\\!a", "!a", "ignore"],
  ["\\#a", "#a", "ignore"],
  ["# a", "# a", "nothing"],
  ["a\\ ", "a ", "ignore"],
  ["a ", "a", "ignore"],
  ["[a-c]x", "bx", "ignore"],
  ["[!a-c]x", "bx", "nothing"],
  ["[]a]", "]", "ignore"],
  ["[[:digit:]]", "7", "ignore"],
  ["[[:none:]]", "7", "nothing"],
  ["[a", "[a", "nothing"],
  ["a\\", "a", "nothing"],
  ["A", "a", "nothing"],
  ["", "a", "nothing"],
  ["/", "a", "nothing"],
];

for (const [line, path, verdict] of CASES) {
  Deno.test(`parseIgnoreRule() reads ${JSON.stringify(line)} as ${verdict} for ${path}`, () => {
    equal(says(line, path), verdict);
  });
}

Deno.test("parseIgnoreRule() refuses a rule of too many components", () => {
  throws(() => parseIgnoreRule("a/".repeat(29) + "b"), RangeError);
});

Deno.test("parseIgnoreRule() makes rules that no name can slow down", () => {
  const rule = parseIgnoreRule("*a".repeat(200) + "b");
  const start = performance.now();
  equal(rule?.matches(["a".repeat(255)], false), false);
  equal(performance.now() - start < 1000, true);
});
