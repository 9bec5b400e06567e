/**
 * The steps of approvals, as a replay lists them.
 *
 * @module
 */
import type { Record as AuditRecord } from "../audit/record.ts";
import type { Json } from "../json.ts";
import { numberField, objectField, own, textField } from "./fields.ts";

/** One step of an approval. */
export interface ApprovalRow {
  /** Number of the record. */
  readonly seq: number;
  /** Call that asked. */
  readonly call_id: string | null;
  /** Tool that was called. */
  readonly tool: string;
  /** What became of it. */
  readonly status: "pending" | "granted" | "denied" | "stale";
  /** `pregranted`, `approval_log`, `terminal`, `callback` or `headless`. */
  readonly mode: string | null;
  /** 64 hexadecimal digits. */
  readonly approval_id: string | null;
  /** Milliseconds since the decision that the log held; `null` where it held none. */
  readonly age_ms: number | null;
  /** Canonical target of what the call needed first. */
  readonly target: string | null;
}

/** The row of a record whose type starts with `tool_approval_`. */
export function approvalRow(record: AuditRecord): ApprovalRow {
  const requirements = own(record, "requirements");
  const [first = null] = Array.isArray(requirements) ? requirements as readonly Json[] : [];
  return {
    seq: record.seq,
    call_id: textField(record, "call_id"),
    tool: textField(record, "tool") ?? "",
    status: record.type.slice("tool_approval_".length) as ApprovalRow["status"],
    mode: textField(record, "approval_mode"),
    approval_id: textField(record, "approval_id"),
    age_ms: numberField(record, "approval_age_ms"),
    target: textField(objectField({ first }, "first"), "target"),
  };
}
