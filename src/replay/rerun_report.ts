/**
 * What a rerun found: whether the agent did again what the log of its first run says, or where it first did not.
 *
 * @module
 */
import { readRecords } from "../audit/reader.ts";
import { OUTCOME_RECORD_TYPES, type Record as AuditRecord } from "../audit/record.ts";
import type { Json, JsonObject } from "../json.ts";
import { numberField, objectField, own, textField } from "./fields.ts";
import type { Recording } from "./recording.ts";

/** One side of a divergence. */
export interface Step {
  /** What the agent did: `call`, `emit`, `note`, `state`, `controls`, `close`, `closed`, `timer`, `untimer`, `end`; `outcome` of a call. */
  readonly what: string;
  /** Tool, key or surface: untrusted text. */
  readonly name: string | null;
  /** Arguments, event, note, or how it ended: as much as the log keeps. */
  readonly value: Json;
  /** Number of the record in its log; `null` where the log has none. */
  readonly seq: number | null;
}

/** The first difference. */
export interface Divergence {
  /** 1-based number of the agent's step. */
  readonly step: number;
  /** Steps of the first run. */
  readonly steps: number;
  readonly expected: Step;
  readonly came: Step;
  /** Answers before it that had a secret taken out: the agent was given something else than in the first run. */
  readonly scrubbed_answers: number;
}

/** What a rerun found. */
export interface RerunReport {
  readonly type: "agent_rerun";
  readonly audit_log: string;
  readonly run_id: string;
  /**
   * - `same`: every step and the end were those of the first run.
   * - `same_so_far`: so was every step that is recorded; the first run was ended from outside, or its log ends early.
   * - `diverged`: see `divergence`.
   * - `ended`: the rerun was ended from outside before it came to a difference or to the end; see `reason`.
   */
  readonly verdict: "same" | "same_so_far" | "diverged" | "ended";
  /** How the rerun ended. */
  readonly reason: string | null;
  /** How the first run ended; `null` where its log has no end. */
  readonly first_reason: string | null;
  readonly divergence: Divergence | null;
  /** What the rerun did: calls with an outcome, events, notes, uses of the state. */
  readonly calls: number;
  readonly events: number;
  readonly notes: number;
  readonly state_operations: number;
  /** Answers in the recording that had a secret taken out. */
  readonly scrubbed_answers: number;
  /** What is not as it was then, and need not matter. */
  readonly remarks: readonly string[];
  readonly rerun: { readonly run_id: string; readonly audit_log: string; readonly head: string };
}

/** The rerun to be judged. */
export interface RerunInput {
  /** Path of the first log, as the caller named it. */
  readonly path: string;
  readonly recording: Recording;
  readonly rerun: {
    readonly runId: string;
    readonly auditPath: string;
    readonly head: string;
    /** SHA-256 of the bundle that ran. */
    readonly bundle: string;
    readonly deno: string;
  };
}

/** Judges a rerun by its own log. @throws {InputError} If that cannot be read. */
export async function reportRerun({ path, recording, rerun }: RerunInput): Promise<RerunReport> {
  const counts = { calls: 0, events: 0, notes: 0, state_operations: 0 };
  let divergence: AuditRecord | undefined;
  let end: AuditRecord | undefined;
  for await (const record of readRecords(rerun.auditPath)) {
    if (record.type === "event") counts.events++;
    else if (record.type === "audit_note") counts.notes++;
    else if (record.type.startsWith("state_")) counts.state_operations++;
    else if (record.type === "rerun_divergence") divergence ??= record;
    else if (record.type === "run_end") end = record;
    else if (OUTCOME_RECORD_TYPES.has(record.type) && textField(record, "call_id") !== null) counts.calls++;
  }
  const { start } = recording;
  const reason = end === undefined ? null : textField(end, "reason");
  const firstReason = recording.end === undefined ? null : textField(recording.end, "reason");
  return {
    type: "agent_rerun",
    audit_log: path,
    run_id: start.run_id,
    verdict: divergence !== undefined
      ? "diverged"
      : reason === "recording_ended"
      ? "same_so_far"
      : reason !== null && reason === firstReason
      ? "same"
      : "ended",
    reason,
    first_reason: firstReason,
    divergence: divergence === undefined ? null : divergenceOf(divergence, recording),
    ...counts,
    scrubbed_answers: recording.scrubbed,
    remarks: remarksOf(recording, rerun),
    rerun: { run_id: rerun.runId, audit_log: rerun.auditPath, head: rerun.head },
  };
}

function divergenceOf(record: AuditRecord, recording: Recording): Divergence {
  const expected = objectField(record, "expected");
  const came = objectField(record, "came");
  return {
    step: numberField(record, "step") ?? 0,
    steps: numberField(record, "steps") ?? 0,
    expected: expectedStep(expected, recording),
    came: { ...stepOf(came), seq: record.seq },
    scrubbed_answers: numberField(record, "scrubbed_answers") ?? 0,
  };
}

/** What the first run did, from the record that its log has of it. */
function expectedStep(expected: JsonObject, { records, end }: Recording): Step {
  const step = stepOf(expected);
  if (step.what === "end") {
    if (end === undefined) return { ...step, seq: null };
    const error = objectField(end, "error");
    return {
      ...step,
      value: { ...pick(end, ["status", "reason"]), ...pick(error, ["name", "message"]) },
      seq: end.seq,
    };
  }
  const nth = numberField(expected, "nth");
  const key = textField(expected, "call_id") ?? (step.what === "call" ? `c${nth}` : `${step.what} ${nth}`);
  const record = records.get(key);
  if (record === undefined) return { ...step, seq: null };
  const field = { call: "args", emit: "event", note: "note" }[step.what];
  const value = field === undefined ? step.value : Object.hasOwn(record, field) ? own(record, field) : step.value;
  return { ...step, value, seq: record.seq };
}

function stepOf(fields: JsonObject): Step {
  return {
    what: textField(fields, "what") ?? "",
    name: textField(fields, "name") ?? textField(fields, "call_id"),
    value: own(fields, "value"),
    seq: null,
  };
}

function pick(object: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(
    names.filter((name) => Object.hasOwn(object, name)).map((name) => [name, own(object, name)]),
  );
}

function remarksOf(
  { start, header, cut, complete, verdict }: Recording,
  { bundle, deno }: RerunInput["rerun"],
): string[] {
  const remarks: string[] = [];
  const then = textField(start, "deno");
  if (then !== null && then !== deno) remarks.push(`Deno was ${then} and is ${deno}`);
  if (textField(objectField(start, "recording"), "bundle") !== bundle) {
    remarks.push("the agent was bundled in another way then: twokey or its bundler has changed");
  }
  if (header.scrubbed === true) remarks.push("a secret was taken out of the context or the controls");
  if (verdict.verdict === "unfinished") remarks.push("the log has no end: the run goes on, or its launcher was killed");
  else if (!complete) {
    remarks.push("the first run was ended from outside, so nothing is recorded of how its agent would end");
  }
  if (cut) remarks.push("what the log does not vouch for was left out of the recording");
  return remarks;
}
