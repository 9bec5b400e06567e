import assert from "node:assert/strict";
import { agentPathProblem, MAX_AGENT_PATH_UNITS, normalRelative } from "../../src/authority/agent_path.ts";

Deno.test("agentPathProblem() refuses what no tool can show on one line", () => {
  for (const path of ["", "a\0b", "a\nb", "a\u001bb", "a\u009bb", "a\ud800", "\udc00a", "x".repeat(4097)]) {
    assert.notEqual(agentPathProblem(path), null, JSON.stringify(path));
  }
  for (const path of ["a", "../a", "/a", "a b", "gr\u00fc\u00dfe", "\u{1f600}", "x".repeat(MAX_AGENT_PATH_UNITS)]) {
    assert.equal(agentPathProblem(path), null, path);
  }
});

Deno.test("normalRelative() resolves dots and never leads above the start", () => {
  const table: readonly (readonly [string, string | undefined])[] = [
    ["", ""],
    [".", ""],
    ["./a//b/", "a/b"],
    ["a/../b", "b"],
    ["a/..", ""],
    ["..", undefined],
    ["a/../..", undefined],
    ["a/../../a", undefined],
    ["..a/b..", "..a/b.."],
  ];
  for (const [path, expected] of table) assert.equal(normalRelative(path), expected, path);
});
