import assert from "node:assert/strict";
import { HOST_RECORD_TYPES, LAUNCHER_RECORD_TYPES, type RecordType } from "../../src/audit/record.ts";
import { COUNTERS, countersOf } from "../../src/replay/counters.ts";

Deno.test("countersOf() counts every record type except those that only describe", () => {
  const uncounted = [...HOST_RECORD_TYPES, ...LAUNCHER_RECORD_TYPES].filter((type) =>
    countersOf({ type }).length === 0
  );
  assert.deepEqual(uncounted, ["fs_read_source_manifest", "session_save", "run_artifact_manifest"]);
});

Deno.test("countersOf() reads tool and status only where they are texts", () => {
  const of = (type: RecordType, fields = {}): readonly string[] => countersOf({ type, ...fields });
  assert.deepEqual(of("tool_call", { tool: "listFiles" }), ["tool_calls", "fs_read_calls"]);
  assert.deepEqual(of("tool_call", { tool: ["listFiles"] }), ["tool_calls"]);
  assert.deepEqual(of("tool_denial", { tool: "readFile" }), ["tool_denials", "fs_read_denials"]);
  assert.deepEqual(of("tool_result", { tool: "writeArtifact" }), ["tool_results", "artifact_writes"]);
  assert.deepEqual(of("tool_call", { tool: "osv.query" }), ["tool_calls", "osv_queries"]);
  assert.deepEqual(of("tool_call", { tool: "npm.metadata" }), ["tool_calls", "npm_metadata_queries"]);
  assert.deepEqual(of("tool_call", { tool: "github.pr.files.list" }), ["tool_calls", "github_pr_files_reads"]);
  assert.deepEqual(of("tool_call", { tool: "model.call" }), ["tool_calls", "model_calls"]);
  assert.deepEqual(of("tool_result", { tool: "model.call" }), ["tool_results", "model_results"]);
  assert.deepEqual(of("run_end", { status: "ok" }), ["run_end_ok"]);
  assert.deepEqual(of("run_end", { status: { ok: 1 } }), ["run_end_error"]);
  assert.deepEqual(of("schema_validation", { status: "pass" }), ["schema_validation_pass"]);
  assert.deepEqual(of("schema_validation"), ["schema_validation_fail"]);
  assert.deepEqual(of("session_save", { status: "saved" }), ["session_saves"]);
  for (const status of ["staged", "kept", "failed"]) assert.deepEqual(of("session_save", { status }), []);
  assert.deepEqual(of("session_load"), ["session_loads"]);
  assert.equal(new Set(COUNTERS).size, COUNTERS.length);
});
