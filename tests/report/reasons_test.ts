import assert from "node:assert/strict";
import { reasonText, withoutProject } from "../../src/report/reasons.ts";
Deno.test("reasonText() explains what it knows and passes on the rest", () => {
  assert.equal(reasonText("tool_not_granted"), "the policy does not grant this tool");
  assert.equal(reasonText("something_new"), "something_new");
  assert.equal(reasonText(null), "no reason is recorded");
});

Deno.test("withoutProject() names only what is below the project relative to it", () => {
  assert.equal(withoutProject("/p/a", "/p"), "a");
  assert.equal(withoutProject("/pp/a", "/p"), "/pp/a");
  assert.equal(withoutProject("/p/a", null), "/p/a");
});
