/**
 * The records of the audit log: the closed list of types, and who may write which.
 *
 * @module
 */
import type { Json } from "../json.ts";

/** Types that the host writes: everything a call or an agent causes. */
export const HOST_RECORD_TYPES = [
  "fs_read_source_manifest",
  "tool_call",
  "tool_result",
  "tool_error",
  "tool_timeout",
  "tool_denial",
  "tool_invalid_args",
  "budget_exceeded",
  "event",
  "schema_validation",
  "state_get",
  "state_set",
  "state_delete",
  "state_list",
  "state_reset",
  "state_snapshot",
  "audit_note",
  "audit_controls",
  "revocation",
  "revocation_denial",
  "named_network_retry",
  "named_network_cache_hit",
  "named_network_cache_miss",
  "named_network_cache_write",
  "named_network_cache_stale",
  "named_network_cache_eviction",
  "named_network_cache_error",
  "process_output_stream",
  "process_output_budget",
  "worker_host_call",
  "authority_check",
  "rerun_divergence",
] as const;

/** Types that only the launcher writes. */
export const LAUNCHER_RECORD_TYPES = [
  "run_start",
  "session_load",
  "session_save",
  "product_reset",
  "unsupported_control",
  "run_artifact_manifest",
  "process_egress",
  "tool_approval_pending",
  "tool_approval_granted",
  "tool_approval_denied",
  "tool_approval_stale",
  "run_end",
] as const;

/** Types that end a call: each call that has a `tool_call` gets exactly one of them, and so does one that never started. */
export const OUTCOME_RECORD_TYPES: ReadonlySet<string> = new Set<typeof HOST_RECORD_TYPES[number]>([
  "tool_result",
  "tool_error",
  "tool_timeout",
  "tool_denial",
  "tool_invalid_args",
  "budget_exceeded",
]);

/** Every record type. */
export type RecordType = typeof HOST_RECORD_TYPES[number] | typeof LAUNCHER_RECORD_TYPES[number];

/** A record before the launcher numbers and chains it. */
export interface RecordBody {
  /** Decides which further fields there are. */
  readonly type: RecordType;
  /** Plain JSON in snake case; redacted before it leaves the host. */
  readonly [field: string]: Json;
}

/**
 * One line of the log. The line's text is
 * `{"seq":…,"at_ms":…,"run_id":"…","type":"…",…,"prev":"<64 hex>","hash":"<64 hex>"}` and a newline; `hash` is the
 * SHA-256 of the line's bytes before `,"hash":"`, `prev` the hash of the line before, 64 zeros on the first line.
 */
export interface Record extends RecordBody {
  /** 1-based number of the record. */
  readonly seq: number;
  /** Milliseconds since the Unix epoch, by the launcher's clock. */
  readonly at_ms: number;
  /** The run, the same in every record of a log. */
  readonly run_id: string;
  /** Hash of the record before; 64 zeros in the first. */
  readonly prev: string;
  /** SHA-256 over the line's bytes before this field. */
  readonly hash: string;
}

/** Field names that the launcher owns; a host record that holds one is refused. */
export const RESERVED_FIELDS = ["seq", "at_ms", "run_id", "prev", "hash"] as const;

/** `prev` of the first record. */
export const GENESIS = "0".repeat(64);
