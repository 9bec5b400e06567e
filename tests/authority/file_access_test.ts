import assert from "node:assert/strict";
import { type FileAccess, readsFiles, rootsNeeded, usesRoots, writesFiles } from "../../src/authority/file_access.ts";

Deno.test("file access says which roots a tool reads, writes and cannot do without", () => {
  const table: readonly (readonly [FileAccess | undefined, boolean, boolean, readonly string[]])[] = [
    [undefined, false, false, []],
    ["read", true, false, ["read"]],
    ["browse", true, false, ["read"]],
    ["write", false, true, ["write"]],
    ["edit", true, true, ["write"]],
  ];
  for (const [access, reads, writes, needed] of table) {
    assert.deepEqual([readsFiles(access), writesFiles(access), rootsNeeded(access)], [reads, writes, needed]);
    assert.deepEqual([usesRoots(access, "read"), usesRoots(access, "write")], [reads, writes]);
  }
});
