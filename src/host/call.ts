/**
 * The one path of every call: registry, copy in, prepare, gate, record, invoke, copy out, record. Agent code, a model
 * loop, MCP and the command line all end here.
 *
 * Long on purpose: there is one path, and it is read in one place.
 *
 * @module
 */
import * as v from "valibot";
import type { RecordBody } from "../audit/record.ts";
import type { Requirement } from "../authority/requirement.ts";
import { BugError, ControlError } from "../errors.ts";
import type { Decision } from "../gate/decide.ts";
import { isJsonObject, type Json, type JsonObject, utf8Length } from "../json.ts";
import { copyIn, type CopyRefusal } from "../membrane/copy.ts";
import type { Budgets } from "../plan/plan.ts";
import type { FullPowers, FullResolve, Prepared, Tool } from "../tool/define.ts";
import { mustAwaitRecord } from "../tool/define.ts";
import type { AuditMode } from "../tool/define.ts";
import type { ApprovalQuestion, ApprovalVerdict } from "./approval.ts";
import { CallClock } from "./call_clock.ts";
import type { CallContext } from "./context.ts";
import type { Deadlines } from "./deadlines.ts";
import { budget, classify, denied, Ended, failed, invalid, type Outcome } from "./ended.ts";
import { LazyAbort } from "./lazy_abort.ts";
import type { AnswerRecorded, RecordedCall } from "./recorded_call.ts";
import type { Turn } from "./workspace/permits.ts";

/** What a call wants, as it came over the boundary. */
export interface CallInput {
  readonly name: string;
  /** JSON text of the arguments, or why the agent's side could not make any. */
  readonly args: string | CopyRefusal;
  /** UTF-8 bytes of the arguments. */
  readonly bytes: number;
}

/** What the path needs from its host. */
export interface CallHost {
  readonly budgets: Budgets;
  /** Decides and records, and lets no tool act. */
  readonly dryRun: boolean;
  /** Deadline of a granted tool in milliseconds; `undefined` for a name that is not granted. */
  timeoutMs(name: string): number | undefined;
  /** A granted tool; a promise until it was loaded. */
  tool(name: string): Tool | Promise<Tool>;
  resolver(tool: Tool): FullResolve;
  powers(tool: Tool, call: CallContext): FullPowers;
  decide(request: { readonly tool: string; readonly requirements: readonly Requirement[] }): Decision;
  /** The place of a call among those that touch the same files; absent: it is in nobody's way. */
  turn?(tool: string): Turn | undefined;
  /** What answers in place of the tools; absent but where a run is run again. */
  recorded?: AnswerRecorded;
  /** Takes an outcome just before its record is made; returns further fields of that record. */
  settled?(callId: string, outcome: Outcome): JsonObject;
  /** What the log keeps of a tool's arguments and results, where the plan says otherwise than the tool. */
  auditOf?(tool: Tool): Tool["audit"];
  /** What every record of a tool's calls says of the host's side of it: how it authenticates itself. */
  note?(tool: string): JsonObject;
  /** What the log keeps of a value. `bytes` bounds its size as JSON text; `printed` is that text, where it is at hand. */
  audit(
    value: Json,
    mode: AuditMode,
    text: { readonly bytes: number; readonly printed?: string },
  ): Json | Promise<Json>;
  record(body: RecordBody): void;
  /** A promise where the record is not on disk yet: the call must wait for it. */
  recordAndWait(body: RecordBody): void | Promise<void>;
  /** Asks for an approval of a call; absent where nobody can be asked, and then a call that asks is denied. */
  approve?(callId: string, question: ApprovalQuestion): Promise<ApprovalVerdict>;
  now(): number;
  readonly deadlines: Deadlines;
  readonly totals: Totals;
}

/** What the calls of a run have used so far. */
export interface Totals {
  calls: number;
  argBytes: number;
  resultBytes: number;
}

/**
 * Runs one call to its one outcome, which is also its last record.
 *
 * `input` is hostile. Throws only where the run itself must stop: the log cannot be written (`AuditError`), the gate is
 * broken (`ControlError`), or an invariant of ours broke (`BugError`).
 */
export async function call(host: CallHost, callId: string, input: CallInput): Promise<Outcome> {
  const ids = { call_id: callId, tool: input.name };
  // Before anything is waited for: the line is in the order of the calls.
  const turn = host.turn?.(input.name);
  try {
    const text = await run(host, callId, input, turn);
    return { kind: "result", text };
  } catch (error) {
    if (!(error instanceof Ended)) throw error;
    const { type, ...fields } = error.body;
    host.record({ type, ...ids, ...fields, ...host.settled?.(callId, error.outcome) });
    return error.outcome;
  } finally {
    turn?.end();
  }
}

async function run(host: CallHost, callId: string, input: CallInput, turn: Turn | undefined): Promise<string> {
  const { name } = input;
  countAttempt(host, input);
  const timeoutMs = host.timeoutMs(name);
  if (timeoutMs === undefined) throw denied(name, "tool_not_granted", { reason: "tool_not_granted", rule: "/tools" });
  const args = copyArgs(host, input);
  if (host.recorded !== undefined) {
    return await answerRecorded(host, host.recorded, { callId, tool: name, args, bytes: input.bytes });
  }

  const loaded = host.tool(name);
  const tool = loaded instanceof Promise ? await loaded : loaded;
  const made = prepare(tool, args, host.resolver(tool));
  const prepared = made instanceof Promise ? await made : made;
  turn?.claim(prepared.request.requirements);
  const admitted = gate(host, tool, prepared);
  if (host.dryRun) return await decided(host, { callId, tool, prepared, args, rules: admitted.rules });
  // Before the deadline starts: what a person takes to answer is not the tool's time, nor that of the calls behind it.
  if (admitted.kind !== "allow") turn?.stepAside();
  const approval = admitted.kind === "allow"
    ? undefined
    : await approve(host, { callId, tool, prepared, known: { args, bytes: input.bytes }, rule: admitted.rule });

  if (approval !== undefined) turn?.rejoin();
  const started = host.now();
  const clock = new CallClock({ deadlines: host.deadlines, now: host.now, deadlineMs: started + timeoutMs });
  const notes: Record<string, Json> = { ...host.note?.(name) };
  const late: Record<string, Json> = {};
  const controller = new LazyAbort();
  const context: CallContext = {
    callId,
    tool: name,
    get deadlineMs() {
      return clock.deadlineMs;
    },
    personsTime: (work) => clock.outside(work),
    granted: new Set(prepared.request.requirements),
    get signal() {
      return controller.signal;
    },
    record: ({ type, ...fields }) => host.record({ type, call_id: callId, tool: name, ...fields }),
    note: (fields) => void Object.assign(notes, fields),
    noteTimeout: (fields) => void Object.assign(late, fields),
  };
  const shownArgs = auditArgs(host, tool, { args, bytes: input.bytes });
  const body: RecordBody = {
    type: "tool_call",
    call_id: callId,
    tool: name,
    args: shownArgs instanceof Promise ? await shownArgs : shownArgs,
    arg_bytes: input.bytes,
    ...(prepared.request.requirements.length === 0
      ? {}
      : { requirements: prepared.request.requirements.map(shown), rules: admitted.rules }),
    ...approval,
    ...prepared.note,
    ...notes,
  };
  // A call that was approved waits in any case: its approval is spent once the record is written.
  if (approval !== undefined || mustAwaitRecord(tool.effect)) {
    const written = host.recordAndWait(body);
    if (written !== undefined) await written;
  } else host.record(body);

  const value = await invoke({ host, tool, prepared, context, clock, controller, turn, timeoutMs, notes, late });
  const text = copyOut(tool, value);
  return await giveResult(host, {
    callId,
    name,
    text,
    value: value as Json,
    mode: auditOf(host, tool).result,
    started,
    notes,
  });
}

/** Counts a result, records it and hands it out. */
async function giveResult(
  host: CallHost,
  { callId, name, text, value, mode, started, notes }: {
    readonly callId: string;
    readonly name: string;
    readonly text: string;
    readonly value: Json;
    readonly mode: AuditMode;
    /** When the call began, in milliseconds since the Unix epoch. */
    readonly started: number;
    readonly notes: JsonObject;
  },
): Promise<string> {
  const bytes = utf8Length(text);
  const over = overResult(host, bytes);
  if (over !== undefined) {
    throw budget(name, over.name, over.limit, bytes, notes);
  }
  host.totals.resultBytes += bytes;
  const shownResult = host.audit(value, mode, { bytes, printed: text });
  host.record({
    type: "tool_result",
    call_id: callId,
    tool: name,
    result: shownResult instanceof Promise ? await shownResult : shownResult,
    result_bytes: bytes,
    duration_ms: host.now() - started,
    ...notes,
    ...host.settled?.(callId, { kind: "result", text }),
  });
  return text;
}

/** A call of a run that is run again: the recording is the only thing that can answer. */
async function answerRecorded(host: CallHost, recorded: AnswerRecorded, call: RecordedCall): Promise<string> {
  const started = host.now();
  const found = recorded(call);
  // Never answered then, never answered now: it keeps its slot until the end, as it did.
  if (found === undefined) return await new Promise<never>(() => {});
  const { outcome, body, mode } = found;
  if (outcome.kind !== "result") throw new Ended(outcome, body);
  const { callId, tool: name } = call;
  const { text } = outcome;
  return await giveResult(host, { callId, name, text, value: JSON.parse(text) as Json, mode, started, notes: {} });
}

/** A call that is prepared. */
interface Wanted {
  readonly callId: string;
  readonly tool: Tool;
  readonly prepared: Prepared;
}

/** A dry run ends where the effect would start: the decision is the result. */
async function decided(
  host: CallHost,
  { callId, tool, prepared, args, rules }: Wanted & { readonly args: JsonObject; readonly rules: readonly string[] },
): Promise<string> {
  const decision = { decision: "allow", rules, requirements: prepared.request.requirements.map(shown) };
  host.record({
    type: "tool_call",
    call_id: callId,
    tool: tool.name,
    dry_run: true,
    args: await auditArgs(host, tool, { args, bytes: Infinity }),
    ...decision,
  });
  const text = JSON.stringify(decision);
  host.record({ type: "tool_result", call_id: callId, tool: tool.name, dry_run: true, result_bytes: text.length });
  return text;
}

function countAttempt(host: CallHost, { name, bytes }: CallInput): void {
  const { budgets, totals } = host;
  totals.calls++;
  totals.argBytes += bytes;
  if (totals.calls > budgets.toolCalls) throw budget(name, "tool_calls", budgets.toolCalls, totals.calls);
  if (totals.argBytes > budgets.totalArgBytes) {
    throw budget(name, "total_arg_bytes", budgets.totalArgBytes, totals.argBytes);
  }
}

function copyArgs(host: CallHost, { name, args, bytes }: CallInput): JsonObject {
  if (bytes > host.budgets.toolArgBytes) throw budget(name, "tool_arg_bytes", host.budgets.toolArgBytes, bytes);
  const copied = typeof args === "string" ? copyIn(args) : { ok: false as const, refusal: args };
  if (!copied.ok) {
    const { path, reason } = copied.refusal;
    const message = `Cannot call "${name}": its argument at "${path}" is not plain JSON data: ${reason}`;
    throw invalid(message, { phase: "copy", path });
  }
  if (!isJsonObject(copied.value)) {
    throw invalid(`Cannot call "${name}": its arguments must be a JSON object`, { phase: "copy", path: "" });
  }
  return copied.value;
}

function prepare(tool: Tool, args: JsonObject, resolver: FullResolve): Prepared | Promise<Prepared> {
  const failed = (error: unknown): never => {
    throw classify(tool.name, error, { phase: "prepare" });
  };
  try {
    const made = tool.prepare(args, resolver);
    return made instanceof Promise ? made.catch(failed) : made;
  } catch (error) {
    return failed(error);
  }
}

function gate(host: CallHost, tool: Tool, prepared: Prepared): Exclude<Decision, { readonly kind: "deny" }> {
  let decision: Decision;
  try {
    decision = host.decide(prepared.request);
  } catch (cause) {
    throw new ControlError("gate_fault", "Cannot decide on a call: the gate is broken", { cause });
  }
  if (decision.kind === "allow") return decision;
  if (decision.kind === "ask") {
    if (!host.dryRun && host.approve !== undefined) return decision;
    throw denied(tool.name, "approval_required", {
      reason: "approval_required",
      rule: decision.rule,
      ...about(decision.requirements[0] ?? prepared.request.requirements[0]),
    });
  }
  throw denied(tool.name, decision.code, {
    reason: decision.code,
    rule: decision.rule,
    ...(decision.requirement === null ? {} : { requirement: shown(decision.requirement) }),
    ...prepared.note,
  });
}

/** What a denial says that it was about. */
function about(requirement: Requirement | undefined): JsonObject {
  return requirement === undefined ? {} : { requirement: shown(requirement) };
}

/** Gets the approval that a call needs: fields of its `tool_call`. Everything else about the call is decided by now. */
async function approve(
  host: CallHost,
  { callId, tool, prepared, known, rule }: Wanted & { readonly known: KnownArgs; readonly rule: string },
): Promise<JsonObject> {
  const verdict = await host.approve?.(callId, {
    tool: tool.name,
    args: known.args,
    arg_bytes: known.bytes,
    audit_args: await auditArgs(host, tool, known),
    requirements: prepared.request.requirements.map(({ kind, target, folder }) =>
      folder === undefined ? { kind, target } : { kind, target, folder }
    ),
    rule,
  });
  const ids = { approval_id: verdict?.approval_id ?? null, approval_mode: verdict?.approval_mode ?? null };
  if (verdict?.status === "granted") return ids;
  const reason = verdict?.status === "pending" ? "approval_pending" : "approval_denied";
  throw denied(tool.name, reason, { reason, rule, ...ids, ...about(prepared.request.requirements[0]) });
}

interface Invocation {
  readonly host: CallHost;
  readonly tool: Tool;
  readonly prepared: Prepared;
  readonly context: CallContext;
  readonly clock: CallClock;
  readonly controller: LazyAbort;
  readonly turn: Turn | undefined;
  readonly timeoutMs: number;
  readonly notes: JsonObject;
  /** Further fields of a `tool_timeout`. */
  readonly late: JsonObject;
}

async function invoke(
  { host, tool, prepared, context, clock, controller, turn, timeoutMs, notes, late: lateNotes }: Invocation,
): Promise<unknown> {
  const started = host.now();
  const late = Promise.withResolvers<never>();
  clock.start(() => {
    const message = `agent tool timeout: ${tool.name} after ${timeoutMs}ms`;
    late.reject(
      new Ended({ kind: "timeout", code: "tool_timeout", message }, {
        type: "tool_timeout",
        timeout_ms: timeoutMs,
        duration_ms: host.now() - started,
        ...notes,
        ...lateNotes,
      }),
    );
    controller.abort(message);
  });
  try {
    const act = (): unknown => tool.invoke(prepared, host.powers(tool, context));
    const value = turn === undefined ? act() : turn.run(act, () => controller.signal);
    return value instanceof Promise ? await Promise.race([value, late.promise]) : value;
  } catch (error) {
    throw classify(tool.name, error, { duration_ms: host.now() - started, ...notes });
  } finally {
    clock.stop();
  }
}

function copyOut(tool: Tool, value: unknown): string {
  const parsed = v.safeParse(tool.result, value, { abortEarly: true });
  if (!parsed.success) {
    const path = v.getDotPath(parsed.issues[0]) ?? "";
    throw failed("bad_result", `Cannot return from "${tool.name}": its result is wrong at "${path}"`);
  }
  const text = JSON.stringify(value);
  if (text === undefined) throw new BugError("bug_result", `Cannot return from "${tool.name}": its result is not JSON`);
  return text;
}

function overResult({ budgets, totals }: CallHost, bytes: number): { name: string; limit: number } | undefined {
  if (bytes > budgets.toolResultBytes) return { name: "tool_result_bytes", limit: budgets.toolResultBytes };
  if (totals.resultBytes + bytes > budgets.totalResultBytes) {
    return { name: "total_result_bytes", limit: budgets.totalResultBytes };
  }
  return undefined;
}

interface KnownArgs {
  readonly args: JsonObject;
  readonly bytes: number;
}

function auditOf(host: CallHost, tool: Tool): Tool["audit"] {
  return host.auditOf?.(tool) ?? tool.audit;
}

function auditArgs(host: CallHost, tool: Tool, { args, bytes }: KnownArgs): JsonObject | Promise<JsonObject> {
  const modes: Readonly<Record<string, AuditMode | undefined>> = auditOf(host, tool).args;
  const entries = Object.entries(args).map(([key, value]) => {
    const mode = (Object.hasOwn(modes, key) ? modes[key] : modes["*"]) ?? "drop";
    return [key, host.audit(value, mode, { bytes })] as const;
  });
  const isKnown = (entry: readonly [string, Json | Promise<Json>]): entry is readonly [string, Json] =>
    !(entry[1] instanceof Promise);
  if (entries.every(isKnown)) return Object.fromEntries(entries);
  return Promise.all(entries.map(async ([key, shown]) => [key, await shown] as const)).then(Object.fromEntries);
}

function shown({ kind, target }: Requirement): JsonObject {
  return { kind, target };
}
