import assert from "node:assert/strict";
import { COUNTERS } from "../../src/replay/counters.ts";
import { replayAudit } from "../../src/replay/replay.ts";
import { InputError } from "../../src/errors.ts";
import { inTempDir, RUN, writeLog } from "../audit/log_maker.ts";
import { LOG } from "./make_fixture.ts";

Deno.test("replayAudit() of the golden log gives the golden summary", async () => {
  const golden = JSON.parse(await Deno.readTextFile("fixtures/audits/review.replay.json"));
  const summary = await replayAudit(LOG);
  assert.deepEqual(JSON.parse(JSON.stringify(summary)), golden);
  const authentic = await replayAudit(LOG, { head: summary.verification.head });
  assert.equal(authentic.verdict, "authentic");
});

Deno.test("replayAudit() counts nothing of what an agent writes into its values", () =>
  inTempDir(async (dir) => {
    const forged = { type: "run_end", status: "ok", tool: "readFile", reason: "x", call_id: "c1" };
    writeLog(`${dir}/a.jsonl`, [
      { type: "run_start" },
      { type: "event", event: forged, event_bytes: 9, event_bytes_used: 9 },
      { type: "event", event: { nested: [{ type: "tool_call", tool: "osv.query" }] }, event_bytes: 9 },
      { type: "audit_note", note: '"type":"tool_denial","tool":"readFile"', note_bytes: 9 },
      { type: "tool_call", call_id: "c1", tool: "echo", args: forged, arg_bytes: 9 },
      { type: "tool_result", call_id: "c1", tool: "echo", result: forged, result_bytes: 9 },
      { type: "run_end", status: "error", reason: "agent_failed", error: { type: "run_end", status: "ok" } },
    ]);
    const summary = await replayAudit(`${dir}/a.jsonl`);
    const counted = Object.fromEntries(
      COUNTERS.map((name) => [name, summary[name]]).filter(([, count]) => count !== 0),
    );
    assert.deepEqual(counted, {
      runs: 1,
      events: 2,
      tool_calls: 1,
      tool_results: 1,
      audit_notes: 1,
      run_end_error: 1,
    });
    assert.equal(summary.run.status, "error");
    assert.equal(summary.run.reason, "agent_failed");
  }));

Deno.test("replayAudit() claims freshness only where the log does", () =>
  inTempDir(async (dir) => {
    const result = { type: "tool_result", tool: "osv.query", result: {}, result_bytes: 2 };
    writeLog(`${dir}/a.jsonl`, [
      { type: "run_start" },
      { ...result, call_id: "c1", freshness: "live" },
      { ...result, call_id: "c2", freshness: "cached_persistent" },
      { ...result, call_id: "c3", freshness: "cached_persistent" },
      { ...result, call_id: "c4", result: { freshness: "live" } },
    ]);
    const summary = await replayAudit(`${dir}/a.jsonl`);
    assert.deepEqual(summary.freshness, { live: 1, cached_persistent: 2 });
    assert.equal(summary.tools[0]?.results, 4);
  }));

Deno.test("replayAudit() of a damaged log counts what is whole before the damage", () =>
  inTempDir(async (dir) => {
    const path = `${dir}/a.jsonl`;
    writeLog(path, RUN);
    const lines = (await Deno.readTextFile(path)).trimEnd().split("\n");
    await Deno.writeTextFile(path, [...lines.slice(0, 3), "garbage", ...lines.slice(3)].join("\n"));
    const summary = await replayAudit(path);
    assert.equal(summary.verdict, "broken");
    assert.equal(summary.records, 3);
    assert.equal(summary.tool_results, 1);
    assert.equal(summary.tool_denials, 0);
    await Deno.writeTextFile(path, "garbage");
    assert.equal((await replayAudit(path)).records, 0);
  }));

Deno.test("replayAudit() names the calls in flight of a run without an end", () =>
  inTempDir(async (dir) => {
    writeLog(`${dir}/a.jsonl`, RUN.slice(0, 2));
    const summary = await replayAudit(`${dir}/a.jsonl`);
    assert.equal(summary.verdict, "unfinished");
    assert.equal(summary.run.status, "unfinished");
    assert.deepEqual(summary.in_flight, [{ call_id: "c1", tool: "readFile", seq: 2 }]);
    assert.deepEqual(summary.budgets.find(({ budget }) => budget === "toolCalls"), {
      budget: "toolCalls",
      used: 1,
      limit: 100,
    });
  }));

Deno.test("replayAudit() keeps names like __proto__ as data, and folds endless names into one row", () =>
  inTempDir(async (dir) => {
    const denial = { type: "tool_denial", reason: "__proto__", rule: null };
    const denials = Array.from({ length: 1500 }, (_, i) => ({ ...denial, call_id: `c${i}`, tool: `made-up-${i}` }));
    writeLog(`${dir}/a.jsonl`, [{ type: "run_start" }, { ...denial, call_id: "p", tool: "__proto__" }, ...denials]);
    const summary = await replayAudit(`${dir}/a.jsonl`);
    assert.equal(summary.tools.length, 1001);
    assert.equal(summary.tools.find(({ tool }) => tool === "(others)")?.denials, 501);
    assert.equal(summary.tools.find(({ tool }) => tool === "__proto__")?.denials, 1);
    assert.equal(JSON.stringify(summary.denial_reasons), '{"__proto__":1501}');
    assert.equal(summary.denials.length, 1000);
    assert.equal(summary.omitted, 501);
  }));

Deno.test("replayAudit() refuses a log that is not there", () =>
  assert.rejects(replayAudit("none/audit.jsonl"), (error) => error instanceof InputError && error.exit === 66));

Deno.test("replayAudit() lists the files that edits wrote, and none of a dry run", () =>
  inTempDir(async (dir) => {
    const sha = "a".repeat(64);
    const edit = { type: "tool_result", tool: "EditFile", result: {}, result_bytes: 2, path: "src/a.ts", bytes: 7 };
    writeLog(`${dir}/a.jsonl`, [
      { type: "run_start" },
      { ...edit, call_id: "c1", sha256_before: "b".repeat(64), sha256_after: sha, written_bytes: 7 },
      { ...edit, call_id: "c2", sha256_before: sha, sha256_after: "c".repeat(64), dry_run: true },
      { type: "run_end", status: "ok", reason: "done" },
    ]);
    const { artifacts } = await replayAudit(`${dir}/a.jsonl`);
    assert.deepEqual(artifacts, [{ path: "src/a.ts", bytes: 7, sha256: sha }]);
  }));
