/**
 * The counters of a replay, and which records count for which. Only the parsed `type`, `tool` and `status` of a record
 * are looked at: what an agent writes into an event or an argument counts for nothing.
 *
 * @module
 */
import type { RecordType } from "../audit/record.ts";
import type { JsonObject } from "../json.ts";
import { textField } from "./fields.ts";

/** Every counter, in the order they are printed. */
export const COUNTERS = [
  "runs",
  "events",
  "tool_calls",
  "tool_results",
  "tool_denials",
  "tool_errors",
  "tool_timeouts",
  "tool_invalid_args",
  "budget_exceeded",
  "tool_approval_pending",
  "tool_approval_granted",
  "tool_approval_denied",
  "tool_approval_stale",
  "fs_read_calls",
  "fs_read_results",
  "fs_read_denials",
  "artifact_writes",
  "osv_queries",
  "npm_metadata_queries",
  "github_issue_reads",
  "github_pr_reads",
  "github_pr_files_reads",
  "github_release_latest_reads",
  "github_file_reads",
  "github_compare_reads",
  "github_commit_reads",
  "github_repo_reads",
  "github_workflow_run_reads",
  "github_workflow_jobs_reads",
  "github_check_runs_reads",
  "model_calls",
  "model_results",
  "named_network_cache_hits",
  "named_network_cache_misses",
  "named_network_cache_writes",
  "named_network_cache_stale",
  "named_network_cache_evictions",
  "named_network_cache_errors",
  "named_network_retries",
  "process_calls",
  "process_results",
  "process_output_streams",
  "process_output_budgets",
  "process_egress",
  "schema_validation_pass",
  "schema_validation_fail",
  "state_gets",
  "state_sets",
  "state_deletes",
  "state_lists",
  "state_resets",
  "state_snapshots",
  "session_loads",
  "session_saves",
  "product_resets",
  "audit_notes",
  "audit_controls",
  "authority_checks",
  "revocations",
  "revocation_denials",
  "worker_host_calls",
  "unsupported_controls",
  "rerun_divergences",
  "run_end_ok",
  "run_end_error",
] as const;

/** Name of a counter. */
export type Counter = typeof COUNTERS[number];

/** The counter of a record type, where the type alone decides. */
const BY_TYPE: Partial<Readonly<Record<RecordType, Counter>>> = {
  run_start: "runs",
  event: "events",
  tool_call: "tool_calls",
  tool_result: "tool_results",
  tool_denial: "tool_denials",
  tool_error: "tool_errors",
  tool_timeout: "tool_timeouts",
  tool_invalid_args: "tool_invalid_args",
  budget_exceeded: "budget_exceeded",
  tool_approval_pending: "tool_approval_pending",
  tool_approval_granted: "tool_approval_granted",
  tool_approval_denied: "tool_approval_denied",
  tool_approval_stale: "tool_approval_stale",
  named_network_cache_hit: "named_network_cache_hits",
  named_network_cache_miss: "named_network_cache_misses",
  named_network_cache_write: "named_network_cache_writes",
  named_network_cache_stale: "named_network_cache_stale",
  named_network_cache_eviction: "named_network_cache_evictions",
  named_network_cache_error: "named_network_cache_errors",
  named_network_retry: "named_network_retries",
  process_output_stream: "process_output_streams",
  process_output_budget: "process_output_budgets",
  process_egress: "process_egress",
  state_get: "state_gets",
  state_set: "state_sets",
  state_delete: "state_deletes",
  state_list: "state_lists",
  state_reset: "state_resets",
  state_snapshot: "state_snapshots",
  session_load: "session_loads",
  product_reset: "product_resets",
  audit_note: "audit_notes",
  audit_controls: "audit_controls",
  authority_check: "authority_checks",
  revocation: "revocations",
  revocation_denial: "revocation_denials",
  worker_host_call: "worker_host_calls",
  unsupported_control: "unsupported_controls",
  rerun_divergence: "rerun_divergences",
};

/** Further counters of calls: those of one or two tools. */
const BY_TOOL: readonly { readonly tools: readonly string[]; readonly type: RecordType; readonly counter: Counter }[] =
  [
    { tools: ["readFile", "listFiles"], type: "tool_call", counter: "fs_read_calls" },
    { tools: ["readFile", "listFiles"], type: "tool_result", counter: "fs_read_results" },
    { tools: ["readFile", "listFiles"], type: "tool_denial", counter: "fs_read_denials" },
    { tools: ["writeArtifact"], type: "tool_result", counter: "artifact_writes" },
    { tools: ["osv.query"], type: "tool_call", counter: "osv_queries" },
    { tools: ["npm.metadata"], type: "tool_call", counter: "npm_metadata_queries" },
    { tools: ["github.issue.read"], type: "tool_call", counter: "github_issue_reads" },
    { tools: ["github.pr.read"], type: "tool_call", counter: "github_pr_reads" },
    { tools: ["github.pr.files.list"], type: "tool_call", counter: "github_pr_files_reads" },
    { tools: ["github.release.latest.read"], type: "tool_call", counter: "github_release_latest_reads" },
    { tools: ["github.file.read"], type: "tool_call", counter: "github_file_reads" },
    { tools: ["github.compare.read"], type: "tool_call", counter: "github_compare_reads" },
    { tools: ["github.commit.read"], type: "tool_call", counter: "github_commit_reads" },
    { tools: ["github.repo.read"], type: "tool_call", counter: "github_repo_reads" },
    { tools: ["github.workflow.run.read"], type: "tool_call", counter: "github_workflow_run_reads" },
    { tools: ["github.workflow.jobs.list"], type: "tool_call", counter: "github_workflow_jobs_reads" },
    { tools: ["github.check.runs.list"], type: "tool_call", counter: "github_check_runs_reads" },
    { tools: ["model.call"], type: "tool_call", counter: "model_calls" },
    { tools: ["model.call"], type: "tool_result", counter: "model_results" },
    { tools: ["process"], type: "tool_call", counter: "process_calls" },
    { tools: ["process"], type: "tool_result", counter: "process_results" },
  ];

/** Lists the counters that one record adds one to. */
export function countersOf(record: JsonObject & { readonly type: RecordType }): readonly Counter[] {
  const { type } = record;
  const counted: Counter[] = [];
  const plain = BY_TYPE[type];
  if (plain !== undefined) counted.push(plain);
  const status = textField(record, "status");
  if (type === "run_end") counted.push(status === "ok" ? "run_end_ok" : "run_end_error");
  // One save leaves two records: only the one after the file was replaced is a save.
  if (type === "session_save" && status === "saved") counted.push("session_saves");
  if (type === "schema_validation") {
    counted.push(status === "pass" ? "schema_validation_pass" : "schema_validation_fail");
  }
  const tool = textField(record, "tool");
  for (const entry of BY_TOOL) {
    if (entry.type === type && tool !== null && entry.tools.includes(tool)) counted.push(entry.counter);
  }
  return counted;
}
