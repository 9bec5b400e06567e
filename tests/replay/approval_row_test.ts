import assert from "node:assert/strict";
import type { Record as AuditRecord } from "../../src/audit/record.ts";
import { approvalRow } from "../../src/replay/approval_row.ts";
import { replayAudit } from "../../src/replay/replay.ts";
import { replayLines } from "../../src/report/text.ts";
import { summaryLines } from "../../src/report/summary.ts";
import { inTempDir, writeLog } from "../audit/log_maker.ts";

const ID = "ab".repeat(32);
const APPROVAL = { call_id: "c1", tool: "writeArtifact", approval_id: ID };

Deno.test("replayAudit(), the report and the summary tell what became of approvals", () =>
  inTempDir(async (dir) => {
    const path = `${dir}/a.jsonl`;
    writeLog(path, [
      { type: "run_start" },
      {
        type: "tool_approval_stale",
        ...APPROVAL,
        approval_mode: "approval_log",
        approval_age_ms: 90_000,
        requirements: [{ kind: "filesystem.write", target: "/p/out/x" }],
      },
      { type: "tool_approval_pending", ...APPROVAL, approval_mode: "headless" },
      { type: "tool_denial", ...APPROVAL, reason: "approval_pending" },
      { type: "event", event: { type: "tool_approval_granted" } },
      { type: "run_end", status: "error", reason: "approval_pending" },
    ]);
    const summary = await replayAudit(path);
    assert.deepEqual(summary.approvals.map(({ status, mode, age_ms, target }) => [status, mode, age_ms, target]), [
      ["stale", "approval_log", 90_000, "/p/out/x"],
      ["pending", "headless", null, null],
    ]);
    assert.deepEqual(
      [summary.tool_approval_stale, summary.tool_approval_pending, summary.tool_approval_granted],
      [1, 1, 0],
      "an agent's words count for nothing",
    );
    assert.equal(summary.denials[0]?.approval_id, ID);
    const text = replayLines(summary).join("\n");
    assert.match(text, /approvals\nrecord {2}tool .*\n.*stale .*1 min 30 s {2}abababababab\n/);
    const lines = summaryLines(summary, { allow: ({ approval_id: id }) => `approve ${id?.slice(0, 4)}` });
    assert.match(lines[0] ?? "", /^run stopped .*a call waits for an approval$/);
    assert.ok(lines.includes("approvals 1 stale, 1 pending"));
    assert.ok(lines.some((line) => line.endsWith("to allow it: approve abab")));
  }));

Deno.test("approvalRow() takes nothing of the wrong type for granted", () => {
  const record = { type: "tool_approval_denied", seq: 3, requirements: "x", approval_id: 1 } as unknown as AuditRecord;
  const row = approvalRow(record);
  assert.deepEqual(row, {
    seq: 3,
    call_id: null,
    tool: "",
    status: "denied",
    mode: null,
    approval_id: null,
    age_ms: null,
    target: null,
  });
});
