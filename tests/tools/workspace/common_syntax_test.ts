import assert from "node:assert/strict";
import { readCommonPattern } from "../../../src/tools/workspace/common_syntax.ts";

Deno.test("readCommonPattern() knows a plain text, and what is in every match", () => {
  const table: readonly (readonly [pattern: string, literal: string, isLiteral: boolean])[] = [
    ["TODO", "TODO", true],
    ["a\\.b", "a.b", true],
    ["foo.*bar!", "bar!", false],
    ["fo+bar", "bar", false],
    ["abc?", "ab", false],
    ["abc*d", "ab", false],
    ["a|b", "", false],
    ["(foo)x", "x", false],
    ["\\bfoo\\b", "foo", false],
    ["[a]", "", false],
  ];
  for (const [pattern, literal, isLiteral] of table) {
    const read = readCommonPattern(pattern, false);
    assert.deepEqual([read?.literal, read?.isLiteral], [literal, isLiteral], pattern);
  }
  assert.deepEqual([readCommonPattern("TODO", true)?.literal, readCommonPattern("TODO", true)?.isLiteral], ["", false]);
});

Deno.test("readCommonPattern() leaves to the library what V8 might read otherwise", () => {
  const patterns = [
    "a{2}",
    "a{2,}",
    "a{,3}",
    "a**",
    "a+*",
    "*a",
    "(*a)",
    "^*",
    "(?i)a",
    "(?P<n>a)",
    "(?=a)",
    "\\1",
    "\\pL",
    "\\x41",
    "\\n",
    "\\A",
    "\\z",
    "\\Qa\\E",
    "[[:alpha:]]",
    "[]a]",
    "[\\D]",
    "[a-\\d]",
    "[b-a]",
    "(",
    ")",
    "[a",
    "\\",
    "\u{1f600}",
    "\\_",
    "\\ ",
    "a\nb",
    "(".repeat(41) + ")".repeat(41),
  ];
  for (const pattern of patterns) assert.equal(readCommonPattern(pattern, false), undefined, pattern);
  assert.equal(readCommonPattern("\u00fc", true), undefined);
});
