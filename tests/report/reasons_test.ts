import assert from "node:assert/strict";
import { allowLine, reasonText, withoutProject } from "../../src/report/reasons.ts";
import type { DenialRow } from "../../src/replay/replay.ts";

function denial(reason: string | null, target: string | null = null): DenialRow {
  return { seq: 1, call_id: "c1", tool: 'x"y', reason, rule: null, target, expected: false };
}

Deno.test("reasonText() explains what it knows and passes on the rest", () => {
  assert.equal(reasonText("tool_not_granted"), "the policy does not grant this tool");
  assert.equal(reasonText("something_new"), "something_new");
  assert.equal(reasonText(null), "no reason is recorded");
});

Deno.test("allowLine() is a line of a policy, or nothing", () => {
  assert.equal(allowLine(denial("tool_not_granted")), '"tools": ["x\\"y"]');
  const read = denial("fs_read_path_not_admitted", "/p/docs/a.md");
  assert.equal(allowLine(read, "/p"), '"fs": { "read": [{ "root": "docs" }] }');
  assert.equal(allowLine(denial("fs_read_path_not_admitted", "/p/a.md"), "/p"), '"fs": { "read": [{ "root": "." }] }');
  assert.match(allowLine(denial("fs_read_path_not_admitted", "/etc/passwd"), "/p") ?? "", /"root": "\/etc".*"unsafe"/);
  assert.match(allowLine(denial("fs_read_path_not_admitted", "/x"), "/p") ?? "", /"root": "\/" \}.*"unsafe"/);
  assert.equal(allowLine(denial("fs_read_path_not_admitted")), null);
  assert.equal(allowLine(denial("include_pattern", "/p/a.key"), "/p"), '"fs": { "read": [{ "include": ["a.key"] }] }');
  assert.equal(allowLine(denial("artifact_root_not_configured")), '"fs": { "write": [{ "root": "out" }] }');
  for (const reason of ["protected_path", "secret_name", "gate_deny_rule", null]) {
    assert.equal(allowLine(denial(reason, "/p/x"), "/p"), null);
  }
});

Deno.test("withoutProject() names only what is below the project relative to it", () => {
  assert.equal(withoutProject("/p/a", "/p"), "a");
  assert.equal(withoutProject("/pp/a", "/p"), "/pp/a");
  assert.equal(withoutProject("/p/a", null), "/p/a");
});
