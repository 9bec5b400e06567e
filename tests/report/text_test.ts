import assert from "node:assert/strict";
import { verifyAudit } from "../../src/audit/reader.ts";
import { diffAudits } from "../../src/replay/diff.ts";
import { replayAudit } from "../../src/replay/replay.ts";
import { diffLines, historyLines, replayLines, verdictLines } from "../../src/report/text.ts";
import { inTempDir, RUN, writeLog } from "../audit/log_maker.ts";
import { LOG } from "../replay/make_fixture.ts";

const EVIL = "\x1b[2J\u202e\nrun ok";

function assertPlain(lines: readonly string[]): void {
  for (const line of lines) assert.ok(!/[\p{C}]/u.test(line), JSON.stringify(line));
}

Deno.test("replayLines() of the golden log", async () => {
  const golden = await Deno.readTextFile("fixtures/audits/review.replay.txt");
  assert.equal(`${replayLines(await replayAudit(LOG)).join("\n")}\n`, golden);
});

Deno.test("verdictLines() says what each verdict means and where the damage is", async () => {
  const whole = await verifyAudit(LOG);
  assert.match(verdictLines(whole)[0] ?? "", /^consistent: .*--head/);
  assert.match(verdictLines(await verifyAudit(LOG, { head: whole.head }))[0] ?? "", /^authentic: /);
  await inTempDir(async (dir) => {
    const path = `${dir}/a.jsonl`;
    writeLog(path, RUN.slice(0, 2));
    const lines = verdictLines(await verifyAudit(path));
    assert.match(lines[0] ?? "", /^unfinished: /);
    assert.equal(lines.at(-1), "in flight readFile (c1, record 2): it has no outcome");
    await Deno.writeTextFile(path, "{", { append: true });
    const broken = verdictLines(await verifyAudit(path));
    assert.match(broken[0] ?? "", /^broken: /);
    assert.match(broken[3] ?? "", /^damage {4}torn_tail at line 3 \(record 3, byte \d+\): /);
  });
});

Deno.test("diffLines() prints what differs, or that nothing does", () =>
  inTempDir(async (dir) => {
    writeLog(`${dir}/a.jsonl`, RUN);
    writeLog(`${dir}/b.jsonl`, RUN.toSpliced(1, 2));
    assert.ok(diffLines(await diffAudits(`${dir}/a.jsonl`, `${dir}/a.jsonl`)).includes("no difference"));
    const lines = diffLines(await diffAudits(`${dir}/a.jsonl`, `${dir}/b.jsonl`));
    assert.ok(
      lines.includes('- readFile {"path":"docs/ä.md"} tool_result {"bytes":3,"path":"docs/ä.md"}') ||
        lines.includes('- readFile {"path":"docs/ä.md"} tool_result {"path":"docs/ä.md","bytes":3}'),
    );
    assert.ok(lines.some((line) => /^tool_calls +4 +3 +-1$/.test(line)));
    assert.equal(lines.at(-1), "6 calls and 1 events are the same");
  }));

Deno.test("replayLines(), diffLines() and historyLines() escape what a log can name", () =>
  inTempDir(async (dir) => {
    const path = `${dir}/a.jsonl`;
    writeLog(path, [
      { type: "run_start", isolation: EVIL, policy: { path: EVIL, sha256: EVIL }, plan: EVIL },
      { type: "event", event: EVIL },
      { type: "tool_denial", call_id: EVIL, tool: EVIL, reason: EVIL, rule: EVIL, path: EVIL },
      {
        type: "tool_result",
        call_id: "c2",
        tool: "writeArtifact",
        result: { path: EVIL, sha256: EVIL },
        freshness: EVIL,
      },
      { type: "tool_call", call_id: EVIL, tool: EVIL },
      { type: "run_end", status: EVIL, reason: EVIL },
    ]);
    const other = `${dir}/b${EVIL}.jsonl`;
    writeLog(other, [{ type: "run_start" }]);
    assertPlain(replayLines(await replayAudit(path)));
    assertPlain(diffLines(await diffAudits(path, other)));
    assertPlain(historyLines([{
      run_id: EVIL,
      audit_log: EVIL,
      started_ms: 1e300,
      ended_ms: null,
      duration_ms: null,
      status: "error",
      reason: EVIL,
      rerun_of: EVIL,
      tool_calls: 1,
      tool_results: 0,
      tool_denials: 0,
      tool_errors: 0,
      tool_approval_pending: 0,
      events: 0,
    }]));
  }));

Deno.test("historyLines() says that there is no run", () =>
  assert.deepEqual(historyLines([]), ["No run is recorded here"]));
