import assert from "node:assert/strict";
import { judge, Tally, type VerdictInput } from "../../src/launch/verdict.ts";

const GOOD: VerdictInput = {
  reason: "done",
  denials: [],
  expected: [],
  done: 1,
  failOnDenial: false,
  failOnNothing: false,
};
const SEEN = { tool: "readFile", code: "secret_name" };

Deno.test("judge() gives each reason its exit code", () => {
  const codes: Readonly<Record<string, number>> = {
    done: 0,
    agent_error: 1,
    agent_stalled: 1,
    agent_crash: 1,
    expected_event_missing: 1,
    cpu_exceeded: 70,
    wall_exceeded: 70,
    memory_exceeded: 70,
    budget_exceeded: 70,
    protocol_violation: 70,
    host_crash: 70,
    interrupted: 70,
    agent_killed: 70,
    something_new: 70,
    approval_pending: 79,
    approval_log_failed: 74,
    control_approval: 78,
    audit_write_failed: 74,
    gate_fault: 78,
    attest_read: 78,
    control_no_go: 78,
  };
  for (const [reason, exit] of Object.entries(codes)) assert.equal(judge({ ...GOOD, reason }).exit, exit, reason);
});

Deno.test("judge() fails a run on denials only where that was asked for and the policy does not expect them", () => {
  const denials = [SEEN];
  assert.equal(judge({ ...GOOD, denials }).exit, 0);
  assert.equal(judge({ ...GOOD, denials, failOnDenial: true }).exit, 77);
  for (const code of ["secret_name", null]) {
    const expected = [{ tool: "readFile", code, rule: "/expectDenials/0" }];
    assert.deepEqual(judge({ ...GOOD, denials, failOnDenial: true, expected }).unexpected, []);
    assert.equal(judge({ ...GOOD, denials, failOnDenial: true, expected }).exit, 0);
    const { exit, missing } = judge({ ...GOOD, expected });
    assert.deepEqual([exit, missing], [1, expected]);
  }
  const other = [{ tool: "readFile", code: "binary_refused", rule: "/expectDenials/0" }];
  assert.equal(judge({ ...GOOD, denials, failOnDenial: true, expected: other }).exit, 1);
});

Deno.test("judge() fails a run that did nothing only where that was asked for", () => {
  assert.deepEqual(judge({ ...GOOD, done: 0 }).didNothing, true);
  assert.equal(judge({ ...GOOD, done: 0 }).exit, 0);
  assert.equal(judge({ ...GOOD, done: 0, failOnNothing: true }).exit, 1);
  assert.equal(judge({ ...GOOD, done: 0, failOnNothing: true, reason: "wall_exceeded" }).exit, 70);
});

Deno.test("Tally counts results and events, and keeps denials", () => {
  const tally = new Tally();
  tally.saw({ type: "tool_call", tool: "echo" });
  tally.saw({ type: "tool_result", tool: "echo" });
  tally.saw({ type: "event", event: 1 });
  tally.saw({ type: "tool_denial", tool: "readFile", reason: "secret_name" });
  assert.deepEqual([tally.done, tally.denials], [2, [SEEN]]);
});
