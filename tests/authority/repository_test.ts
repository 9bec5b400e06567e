import assert from "node:assert/strict";
import { admitsRepository, isRepositoryPart } from "../../src/authority/repository.ts";

Deno.test("isRepositoryPart() takes names as GitHub has them, and no dot segment", () => {
  for (const name of ["a", ".github", "a..b", "..a", "_x", "-", "A1", "x".repeat(100)]) {
    assert.equal(isRepositoryPart(name), true, name);
  }
  for (const name of ["", ".", "..", "a/b", "a%2fb", "*", "a b", "a\n", "é", "x".repeat(101)]) {
    assert.equal(isRepositoryPart(name), false, name);
  }
});

Deno.test("admitsRepository() compares without case, whole names only, and a star stands for names alone", () => {
  const right = [["o/r", "o/r"], ["O/R", "o/r"], ["o/*", "o/.github"], ["o/*", "O/x"], ["o/*", "o/*"]] as const;
  for (const [entry, repository] of right) {
    assert.equal(admitsRepository(entry, repository), true, `${entry} ${repository}`);
  }
  const wrong = [
    ["o/r", "o/rr"],
    ["o/r", "oo/r"],
    ["o/r", "o/*"],
    ["o/*", "o/.."],
    ["o/*", "o/a/b"],
    ["o/*", "o"],
    ["*/*", "o/r"],
    ["*/r", "o/r"],
    ["o/r/x", "o/r"],
    ["", ""],
    ["o/..", "o/.."],
  ] as const;
  for (const [entry, repository] of wrong) {
    assert.equal(admitsRepository(entry, repository), false, `${entry} ${repository}`);
  }
});
