import assert from "node:assert/strict";
import type { RerunReport } from "../../src/replay/rerun_report.ts";
import { rerunLines } from "../../src/report/rerun.ts";

const SAME: RerunReport = {
  type: "agent_rerun",
  audit_log: "a",
  run_id: "first",
  verdict: "same",
  reason: "done",
  first_reason: "done",
  divergence: null,
  calls: 1,
  events: 2,
  notes: 0,
  state_operations: 3,
  scrubbed_answers: 0,
  remarks: [],
  rerun: { run_id: "second", audit_log: "b", head: "h" },
};

Deno.test("rerunLines() says what was the same", () => {
  assert.deepEqual(rerunLines(SAME), [
    "same: 1 call, 2 events, 3 state operations; ended as then (done)",
    "audit     b",
    "head      h",
  ]);
  const [soFar] = rerunLines({ ...SAME, verdict: "same_so_far", first_reason: "cpu_exceeded" });
  assert.match(soFar ?? "", /^same as far as it is recorded: .*; the first run was ended there \(cpu_exceeded\)$/);
  const [ended] = rerunLines({ ...SAME, verdict: "ended", reason: "wall_exceeded" });
  assert.match(ended ?? "", /^the rerun was ended: wall_exceeded, the first run with done; until then 1 call/);
});

Deno.test("rerunLines() shows both sides of a divergence, and that a secret can be the reason", () => {
  const lines = rerunLines({
    ...SAME,
    verdict: "diverged",
    divergence: {
      step: 2,
      steps: 9,
      expected: { what: "call", name: "readFile", value: { path: "a" }, seq: 7 },
      came: { what: "emit", name: null, value: "\u001b[31mred\n", seq: 5 },
      scrubbed_answers: 1,
    },
  });
  assert.deepEqual(lines.slice(0, 5), [
    "diverged at step 2 of 9, after 1 call, 2 events, 3 state operations",
    "          record  step  name      value",
    'expected       7  call  readFile  {"path":"a"}',
    "came           5  emit  -         \\u{1b}[31mred\\n",
    "Before it, the agent received 1 answer with a secret taken out: that alone can be the reason",
  ]);
});
