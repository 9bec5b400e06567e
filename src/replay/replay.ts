/**
 * Reads a log back into numbers: what ran, what was denied and why, what was used, how fresh the answers were.
 *
 * @module
 */
import type { InFlight } from "../audit/chain_check.ts";
import { readRecords, type Verdict, verifyAudit } from "../audit/reader.ts";
import type { Record as AuditRecord } from "../audit/record.ts";
import type { Json, JsonObject } from "../json.ts";
import { type ApprovalRow, approvalRow } from "./approval_row.ts";
import { type Counter, COUNTERS, countersOf } from "./counters.ts";
import { emptyRow, type Row, type ToolRow } from "./tool_row.ts";
import { numberField, objectField, own, textField } from "./fields.ts";

/** Entries of each list, and tools with a row of their own, at most: a log may be larger than the memory. */
const MAX_LISTED = 1000;

/** Row of the tools that have none of their own. */
const OTHERS = "(others)";

/** One denied call. */
export interface DenialRow {
  /** Number of the record. */
  readonly seq: number;
  /** As in the record; `null` where it has none. */
  readonly call_id: string | null;
  /** Tool that was called: untrusted text. */
  readonly tool: string;
  /** Reason slug. */
  readonly reason: string | null;
  /** JSON Pointer into the policy, where a rule decided. */
  readonly rule: string | null;
  /** What the call needed and did not get. */
  readonly target: string | null;
  /** Whether the policy expects it, as `run_start` says. */
  readonly expected: boolean;
  /** The approval that it waits for, or was refused; `null` where it needed none. */
  readonly approval_id: string | null;
}

/** One file that an agent wrote. */
export interface ArtifactRow {
  /** Relative to the write root. */
  readonly path: string;
  /** Size as written. */
  readonly bytes: number | null;
  /** 64 hexadecimal digits. */
  readonly sha256: string | null;
}

/** What was used of one budget; `limit` is `null` where the log does not name it. */
export interface BudgetRow {
  /** Name of the budget, a key of {@linkcode Budgets}. */
  readonly budget: string;
  /** In the unit of the budget. */
  readonly used: number;
  /** What the plan allows, in the same unit. */
  readonly limit: number | null;
}

/** The run as its first and last record tell it; `null` where they do not. */
export interface RunRow {
  /** Milliseconds since the Unix epoch. */
  readonly started_ms: number | null;
  /** Milliseconds since the Unix epoch. */
  readonly ended_ms: number | null;
  /** Milliseconds between the two. */
  readonly duration_ms: number | null;
  /** `ok`, `error`, or `unfinished` as long as there is no `run_end`. */
  readonly status: "ok" | "error" | "unfinished";
  /** Reason slug of the end; `done` when all is well. */
  readonly reason: string | null;
  /** Portable path of the policy; `null` where flags were the policy. */
  readonly policy_path: string | null;
  /** SHA-256 over the policy's canonical JSON. */
  readonly policy_digest: string | null;
  /** SHA-256 over the plan's canonical JSON. */
  readonly plan_digest: string | null;
  /** `process`, `worker` or `compartment`. */
  readonly isolation: string | null;
  /** The run that this one ran again, against what was recorded of it; `null` for a run of its own. */
  readonly rerun_of: string | null;
}

/** A log in numbers. Every counter of {@linkcode COUNTERS} is a field. */
export interface ReplaySummary extends Readonly<Record<Counter, number>> {
  /** Tells this form from the other JSON that the commands print. */
  readonly type: "agent_replay";
  /** As the caller named it. */
  readonly audit_log: string;
  /** Whether the log is whole. */
  readonly verdict: Verdict["verdict"];
  /** What checking it found. */
  readonly verification: Verdict;
  /** Whole records that were counted. */
  readonly records: number;
  /** Every run id seen; more than one is a spliced log. */
  readonly run_ids: readonly string[];
  /** The run as its ends tell it. */
  readonly run: RunRow;
  /** Whether the log says what bounded calls and the run in time. */
  readonly has_availability_controls: boolean;
  /** Whether the log says what bounded memory and processor time. */
  readonly has_resource_controls: boolean;
  /** Whether the log names the agent's modules by digest. */
  readonly has_module_policy: boolean;
  /** Whether the log says what bounded the agent's state. */
  readonly has_state_controls: boolean;
  /** Sorted by name. */
  readonly tools: readonly ToolRow[];
  /** In the order of the log; at most 1,000. */
  readonly denials: readonly DenialRow[];
  /** Denials by reason slug. */
  readonly denial_reasons: Readonly<Record<string, number>>;
  /** In the order of the log; at most 1,000. */
  readonly approvals: readonly ApprovalRow[];
  /** In the order of the log; at most 1,000. */
  readonly artifacts: readonly ArtifactRow[];
  /** Results of all tools by where they came from; a result without that field makes no claim and is not in here. */
  readonly freshness: Readonly<Record<string, number>>;
  /** Use against limit, in the order of the log. */
  readonly budgets: readonly BudgetRow[];
  /** Calls that started and have no outcome. */
  readonly in_flight: readonly InFlight[];
  /** Denials, approvals and artifacts that the lists have no room for. */
  readonly omitted: number;
}

/**
 * Replays a log. Of a damaged one, the records before the damage are counted, and `verdict` is `broken`.
 *
 * @param options `head`: the hash that the run printed at its end.
 * @throws {InputError} If the file cannot be read.
 * @throws {UsageError} If `head` is not a hash.
 */
export async function replayAudit(path: string, options: { head?: string } = {}): Promise<ReplaySummary> {
  const verification = await verifyAudit(path, options);
  const fold = new Fold();
  let left = verification.records;
  if (left > 0) {
    for await (const record of readRecords(path)) {
      fold.add(record);
      if (--left === 0) break;
    }
  }
  return fold.summary(path, verification);
}

class Fold {
  readonly #counts = new Map<Counter, number>();
  readonly #runIds = new Set<string>();
  readonly #tools = new Map<string, Row>();
  readonly #denials: DenialRow[] = [];
  readonly #reasons = new Map<string, number>();
  readonly #approvals: ApprovalRow[] = [];
  readonly #artifacts: ArtifactRow[] = [];
  readonly #freshness = new Map<string, number>();
  readonly #used = new Map<string, number>();
  readonly #expects: { readonly tool: string; readonly code: string | null }[] = [];
  #omitted = 0;
  #start: AuditRecord | undefined;
  #end: AuditRecord | undefined;

  add(record: AuditRecord): void {
    for (const counter of countersOf(record)) count(this.#counts, counter);
    if (this.#runIds.size < MAX_LISTED) this.#runIds.add(record.run_id);
    switch (record.type) {
      case "run_start":
        if (this.#start === undefined) this.#begin(record);
        break;
      case "run_end":
        this.#end = record;
        break;
      case "event":
        this.#use("events", 1);
        this.#use("eventBytes", numberField(record, "event_bytes") ?? 0);
        break;
      case "audit_note":
        this.#use("noteBytes", numberField(record, "note_bytes") ?? 0);
        break;
      case "state_set":
      case "state_delete":
      case "state_reset":
        this.#used.set("stateBytes", numberField(record, "state_bytes") ?? this.#used.get("stateBytes") ?? 0);
        break;
      default:
        if (own(record, "call_id") !== null) this.#call(record);
    }
  }

  #begin(record: AuditRecord): void {
    this.#start = record;
    const expects = own(record, "expect_denials");
    if (!Array.isArray(expects)) return;
    for (const expected of expects as readonly Json[]) {
      const entry = objectField({ entry: expected }, "entry");
      const tool = textField(entry, "tool");
      if (tool !== null) this.#expects.push({ tool, code: textField(entry, "code") });
    }
  }

  #call(record: AuditRecord): void {
    const tool = textField(record, "tool") ?? "";
    const row = this.#row(tool);
    switch (record.type) {
      case "tool_call":
        row.calls++;
        this.#use("totalArgBytes", numberField(record, "arg_bytes") ?? 0);
        return;
      case "tool_result":
        row.results++;
        this.#result(record, tool, row);
        break;
      case "tool_denial":
        row.denials++;
        this.#denial(record, tool);
        break;
      case "tool_error":
        row.errors++;
        count(row.error_kinds, textField(record, "error_kind") ?? textField(record, "code") ?? "unknown");
        break;
      case "tool_timeout":
        row.timeouts++;
        break;
      case "tool_invalid_args":
        row.invalid++;
        break;
      case "budget_exceeded":
        row.budget++;
        break;
      default:
        if (record.type.startsWith("tool_approval_")) this.#list(this.#approvals, approvalRow(record));
        return;
    }
    this.#use("toolCalls", 1);
    row.duration_ms += numberField(record, "duration_ms") ?? 0;
  }

  #result(record: AuditRecord, tool: string, row: Row): void {
    this.#use("totalResultBytes", numberField(record, "result_bytes") ?? 0);
    const freshness = textField(record, "freshness");
    if (freshness !== null) {
      count(row.freshness, freshness);
      count(this.#freshness, freshness);
    }
    if (tool !== "writeArtifact") return;
    const result = objectField(record, "result");
    const path = textField(record, "path") ?? textField(result, "path");
    if (path === null) return;
    const bytes = numberField(record, "bytes") ?? numberField(result, "bytes");
    const sha256 = textField(record, "sha256") ?? textField(result, "sha256");
    this.#list(this.#artifacts, { path, bytes, sha256 });
    this.#use("artifactBytes", bytes ?? 0);
  }

  #denial(record: AuditRecord, tool: string): void {
    const reason = textField(record, "reason");
    count(this.#reasons, reason ?? "unknown");
    this.#list(this.#denials, {
      seq: record.seq,
      call_id: textField(record, "call_id"),
      tool,
      reason,
      rule: textField(record, "rule"),
      target: textField(objectField(record, "requirement"), "target") ?? textField(record, "path"),
      expected: this.#expects.some(({ tool: name, code }) => name === tool && (code === null || code === reason)),
      approval_id: textField(record, "approval_id"),
    });
  }

  #list<T>(list: T[], entry: T): void {
    if (list.length < MAX_LISTED) list.push(entry);
    else this.#omitted++;
  }

  #use(budget: string, amount: number): void {
    this.#used.set(budget, (this.#used.get(budget) ?? 0) + amount);
  }

  #row(tool: string): Row {
    // An agent may call any number of tools that do not exist; each such call is a denial with the name it chose.
    const name = this.#tools.has(tool) || this.#tools.size < MAX_LISTED ? tool : OTHERS;
    const known = this.#tools.get(name);
    if (known !== undefined) return known;
    const row = emptyRow();
    this.#tools.set(name, row);
    return row;
  }

  summary(path: string, verification: Verdict): ReplaySummary {
    const start: JsonObject = this.#start ?? {};
    const budgets = objectField(start, "budgets");
    const bounds = (...names: string[]): boolean => names.every((name) => numberField(budgets, name) !== null);
    const modules = own(objectField(start, "agent"), "modules");
    const counters = Object.fromEntries(COUNTERS.map((name) => [name, this.#counts.get(name) ?? 0]));
    return {
      type: "agent_replay",
      audit_log: path,
      verdict: verification.verdict,
      verification,
      records: verification.records,
      run_ids: [...this.#runIds],
      run: this.#run(),
      ...counters as Record<Counter, number>,
      has_availability_controls: bounds("toolTimeoutMs", "wallMs"),
      has_resource_controls: bounds("cpuMs", "heapMb", "rssMb"),
      has_module_policy: Array.isArray(modules) && modules.length > 0,
      has_state_controls: bounds("stateBytes"),
      tools: [...this.#tools].map(([tool, row]) => ({
        tool,
        ...row,
        freshness: Object.fromEntries(row.freshness),
        error_kinds: Object.fromEntries(row.error_kinds),
      })).sort((a, b) => a.tool < b.tool ? -1 : 1),
      denials: this.#denials,
      denial_reasons: Object.fromEntries(this.#reasons),
      approvals: this.#approvals,
      artifacts: this.#artifacts,
      freshness: Object.fromEntries(this.#freshness),
      budgets: this.#budgets(budgets, verification.in_flight.length),
      in_flight: verification.in_flight,
      omitted: this.#omitted,
    };
  }

  #run(): RunRow {
    const start = this.#start;
    const end = this.#end;
    const status = end === undefined ? "unfinished" : textField(end, "status") === "ok" ? "ok" : "error";
    return {
      started_ms: start?.at_ms ?? null,
      ended_ms: end?.at_ms ?? null,
      duration_ms: start === undefined || end === undefined ? null : end.at_ms - start.at_ms,
      status,
      reason: end === undefined ? null : textField(end, "reason"),
      policy_path: start === undefined ? null : textField(objectField(start, "policy"), "path"),
      policy_digest: start === undefined ? null : textField(objectField(start, "policy"), "sha256"),
      plan_digest: start === undefined ? null : textField(start, "plan"),
      isolation: start === undefined ? null : textField(start, "isolation"),
      rerun_of: start === undefined ? null : textField(objectField(start, "rerun"), "run_id"),
    };
  }

  #budgets(limits: JsonObject, inFlight: number): BudgetRow[] {
    if (inFlight > 0) this.#use("toolCalls", inFlight);
    return [...this.#used].map(([budget, used]) => ({ budget, used, limit: numberField(limits, budget) }))
      .sort((a, b) => a.budget < b.budget ? -1 : 1);
  }
}

function count<K>(map: Map<K, number>, key: K): void {
  map.set(key, (map.get(key) ?? 0) + 1);
}
