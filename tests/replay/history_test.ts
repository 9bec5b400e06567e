import assert from "node:assert/strict";
import { AUDIT_FILE, history } from "../../src/replay/history.ts";
import { InputError } from "../../src/errors.ts";
import { AuditWriter } from "../../src/audit/writer.ts";
import { inTempDir, RUN, sha256, writeLog } from "../audit/log_maker.ts";

Deno.test("history() lists the runs of every folder, the newest first", () =>
  inTempDir(async (dir) => {
    await Deno.mkdir(`${dir}/p/one`, { recursive: true });
    await Deno.mkdir(`${dir}/p/empty`);
    await Deno.mkdir(`${dir}/s/two`, { recursive: true });
    await Deno.mkdir(`${dir}/s/bad`);
    await Deno.writeTextFile(`${dir}/p/file`, "");
    await Deno.symlink(`${dir}/s/two`, `${dir}/p/link`);
    writeLog(`${dir}/p/one/${AUDIT_FILE}`, RUN, "one");
    using late = AuditWriter.create(`${dir}/s/two/${AUDIT_FILE}`, {
      runId: "two",
      now: () => 1_800_000_000_000,
      sha256,
    });
    late.append(['{"type":"run_start"}', '{"type":"tool_call","call_id":"c1","tool":"slow"}']);
    await Deno.writeTextFile(`${dir}/s/bad/${AUDIT_FILE}`, "garbage\n");
    const entries = await history([`${dir}/p`, `${dir}/s`, `${dir}/p`, `${dir}/none`]);
    assert.deepEqual(entries.map(({ run_id, status, duration_ms }) => [run_id, status, duration_ms]), [
      ["bad", "unreadable", null],
      ["two", "running_or_incomplete", null],
      ["one", "ok", 140],
    ]);
    assert.deepEqual(entries[2], {
      run_id: "one",
      audit_log: `${dir}/p/one/${AUDIT_FILE}`,
      started_ms: 1_700_000_000_000,
      ended_ms: 1_700_000_000_140,
      duration_ms: 140,
      status: "ok",
      reason: null,
      rerun_of: null,
      tool_calls: 4,
      tool_results: 3,
      tool_denials: 2,
      tool_errors: 1,
      tool_approval_pending: 0,
      events: 1,
    });
    const newest = await history([`${dir}/p`, `${dir}/s`], { limit: 2 });
    assert.deepEqual(newest.map(({ run_id }) => run_id), ["bad", "two"]);
  }));

Deno.test("history() refuses what is no folder", () =>
  inTempDir(async (dir) => {
    await Deno.writeTextFile(`${dir}/file`, "");
    await assert.rejects(history([`${dir}/file`]), InputError);
    assert.deepEqual(await history([]), []);
  }));
