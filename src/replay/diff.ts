/**
 * Compares two logs: which counters differ, and which calls and events were changed, added or removed.
 *
 * @module
 */
import { auditValue } from "../audit/redact.ts";
import { readRecords } from "../audit/reader.ts";
import { OUTCOME_RECORD_TYPES, type Record as AuditRecord } from "../audit/record.ts";
import { canonical, type Json, type JsonObject, utf8Length } from "../json.ts";
import { align } from "./align.ts";
import { COUNTERS } from "./counters.ts";
import { objectField, own, textField } from "./fields.ts";
import { replayAudit, type ReplaySummary } from "./replay.ts";

/** Calls, and events, of one log that are compared, at most. */
const MAX_COMPARED = 50_000;

/** A value over this is shown and compared by its SHA-256. */
const MAX_SHOWN_BYTES = 1024;

/** A field of the summaries that differs. */
export interface FieldChange {
  readonly field: string;
  readonly before: Json;
  readonly after: Json;
  /** `after - before` of numbers, else `null`. */
  readonly delta: number | null;
}

/** A call as a comparison sees it. Large values are `{ sha256, bytes, shape }`. */
export interface ComparedCall {
  /** Number of the record it starts with. */
  readonly seq: number;
  readonly tool: string;
  readonly args: Json;
  /** Type of its last record, `in_flight` where it has none. */
  readonly outcome: string;
  /** The result, or the reason, code or budget of what else came. */
  readonly detail: Json;
}

/** An event as a comparison sees it. */
export interface ComparedEvent {
  readonly seq: number;
  readonly event: Json;
}

/** One difference in an aligned sequence. */
export interface SequenceChange<T> {
  readonly disposition: "changed" | "added" | "removed";
  readonly before: T | null;
  readonly after: T | null;
}

/** What differs between two logs. */
export interface ReplayDiff {
  readonly type: "agent_replay_diff";
  readonly left: string;
  readonly right: string;
  readonly left_run_ids: readonly string[];
  readonly right_run_ids: readonly string[];
  readonly left_verdict: ReplaySummary["verdict"];
  readonly right_verdict: ReplaySummary["verdict"];
  readonly changed_fields: number;
  readonly fields: readonly FieldChange[];
  readonly calls: readonly SequenceChange<ComparedCall>[];
  readonly calls_unchanged: number;
  readonly events: readonly SequenceChange<ComparedEvent>[];
  readonly events_unchanged: number;
  /** Whether a log had more calls or events than are compared. */
  readonly truncated: boolean;
}

/**
 * Compares the logs `left` and `right`. Times, durations, run ids and hashes are not compared: two runs of the same agent
 * on the same input are equal.
 *
 * @throws {InputError} If a file cannot be read.
 */
export async function diffAudits(left: string, right: string): Promise<ReplayDiff> {
  const before = await collect(left);
  const after = await collect(right);
  const fields = fieldChanges(before.summary, after.summary);
  const calls = changes(before.calls, after.calls, {
    key: callKey,
    same: sameCall,
    kind: ({ tool }) => tool,
  });
  const events = changes(before.events, after.events, { key: eventKey, same: () => true, kind: () => "event" });
  return {
    type: "agent_replay_diff",
    left,
    right,
    left_run_ids: before.summary.run_ids,
    right_run_ids: after.summary.run_ids,
    left_verdict: before.summary.verdict,
    right_verdict: after.summary.verdict,
    changed_fields: fields.length,
    fields,
    calls: calls.changes,
    calls_unchanged: calls.unchanged,
    events: events.changes,
    events_unchanged: events.unchanged,
    truncated: before.truncated || after.truncated,
  };
}

interface Collected {
  readonly summary: ReplaySummary;
  readonly calls: readonly ComparedCall[];
  readonly events: readonly ComparedEvent[];
  readonly truncated: boolean;
}

async function collect(path: string): Promise<Collected> {
  const summary = await replayAudit(path);
  const { hash } = await import("node:crypto");
  const shown = (value: Json): Json => {
    const digest = utf8Length(canonical(value)) > MAX_SHOWN_BYTES;
    return auditValue(value, digest ? "digest" : "keep", { sha256: (text) => hash("sha256", text, "hex") }) as Json;
  };
  const calls = new Map<string, ComparedCall>();
  const events: ComparedEvent[] = [];
  let truncated = false;
  let left = summary.records;
  if (left === 0) return { summary, calls: [], events, truncated };
  for await (const record of readRecords(path)) {
    const id = textField(record, "call_id");
    if (record.type === "event") {
      if (events.length < MAX_COMPARED) events.push({ seq: record.seq, event: shown(own(record, "event")) });
      else truncated = true;
    } else if (id !== null && record.type === "tool_call") {
      if (calls.size < MAX_COMPARED) calls.set(id, started(record, shown(own(record, "args"))));
      else truncated = true;
    } else if (id !== null && OUTCOME_RECORD_TYPES.has(record.type)) {
      const known = calls.get(id);
      if (known !== undefined || calls.size < MAX_COMPARED) {
        calls.set(id, { ...known ?? started(record, null), outcome: record.type, detail: shown(detailOf(record)) });
      } else truncated = true;
    }
    if (--left === 0) break;
  }
  return { summary, calls: [...calls.values()], events, truncated };
}

function started(record: AuditRecord, args: Json): ComparedCall {
  return { seq: record.seq, tool: textField(record, "tool") ?? "", args, outcome: "in_flight", detail: null };
}

function detailOf(record: AuditRecord): Json {
  if (record.type === "tool_result") return own(record, "result");
  const detail: Record<string, Json> = {};
  for (const name of ["reason", "code", "budget", "limit", "message", "rule"]) {
    if (Object.hasOwn(record, name)) detail[name] = own(record, name);
  }
  const requirement = objectField(record, "requirement");
  if (Object.keys(requirement).length > 0) detail.requirement = requirement;
  return detail;
}

function callKey({ tool, args }: ComparedCall): string {
  return canonical([tool, args]);
}

function sameCall(a: ComparedCall, b: ComparedCall): boolean {
  return a.outcome === b.outcome && canonical(a.detail) === canonical(b.detail);
}

function eventKey({ event }: ComparedEvent): string {
  return canonical(event);
}

interface Comparison<T> {
  /** Items with the same key are the same step of the run. */
  key(item: T): string;
  /** Whether two items with the same key differ in nothing else. */
  same(a: T, b: T): boolean;
  /** Items of one kind that are left over between two common ones are the changed forms of each other, in order. */
  kind(item: T): string;
}

function changes<T>(
  left: readonly T[],
  right: readonly T[],
  { key, same, kind }: Comparison<T>,
): { changes: SequenceChange<T>[]; unchanged: number } {
  const found: SequenceChange<T>[] = [];
  let unchanged = 0;
  let removed: T[] = [];
  let added: T[] = [];
  const flush = (): void => {
    const waiting = Map.groupBy(added, kind);
    const matched = new Set<T>();
    const taken = new Map<string, number>();
    for (const before of removed) {
      const index = taken.get(kind(before)) ?? 0;
      const after = waiting.get(kind(before))?.[index] ?? null;
      taken.set(kind(before), index + 1);
      if (after !== null) matched.add(after);
      found.push({ disposition: after === null ? "removed" : "changed", before, after });
    }
    for (const after of added) {
      if (!matched.has(after)) found.push({ disposition: "added", before: null, after });
    }
    removed = [];
    added = [];
  };
  for (const [a, b] of align(left.map(key), right.map(key))) {
    const before = a === null ? undefined : left[a];
    const after = b === null ? undefined : right[b];
    if (before === undefined || after === undefined) {
      if (before !== undefined) removed.push(before);
      if (after !== undefined) added.push(after);
      continue;
    }
    flush();
    if (same(before, after)) unchanged++;
    else found.push({ disposition: "changed", before, after });
  }
  flush();
  return { changes: found, unchanged };
}

function fieldChanges(left: ReplaySummary, right: ReplaySummary): FieldChange[] {
  const before = comparedFields(left);
  const after = comparedFields(right);
  const found: FieldChange[] = [];
  for (const field of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const a = own(before, field);
    const b = own(after, field);
    if (a === b) continue;
    found.push({ field, before: a, after: b, delta: typeof a === "number" && typeof b === "number" ? b - a : null });
  }
  return found;
}

/** The fields of a summary that two equal runs share, flat. */
function comparedFields(summary: ReplaySummary): JsonObject {
  const fields: [string, Json][] = COUNTERS.map((name) => [name, summary[name]]);
  fields.push(["verdict", summary.verdict], ["records", summary.records]);
  for (const name of ["status", "reason", "policy_digest", "plan_digest", "isolation"] as const) {
    fields.push([`run.${name}`, summary.run[name]]);
  }
  for (const [name, value] of Object.entries(summary.freshness)) fields.push([`freshness.${name}`, value]);
  for (const [name, value] of Object.entries(summary.denial_reasons)) fields.push([`denial_reasons.${name}`, value]);
  for (const { budget, used, limit } of summary.budgets) {
    fields.push([`budgets.${budget}.used`, used], [`budgets.${budget}.limit`, limit]);
  }
  return Object.fromEntries(fields);
}
