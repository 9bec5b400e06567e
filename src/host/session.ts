/**
 * What the host does with the lines of an agent: calls, events, state, notes, and the end. Every line is hostile.
 *
 * @module
 */
import type { RecordBody } from "../audit/record.ts";
import { isJsonObject, type JsonObject, utf8Length } from "../json.ts";
import type { Isolate } from "../isolate/isolate.ts";
import { copyIn } from "../membrane/copy.ts";
import type { Plan } from "../plan/plan.ts";
import { AgentState } from "./agent_state.ts";
import { AgentTimers } from "./agent_timers.ts";
import { call, type CallHost } from "./call.ts";
import type { Outcome } from "./ended.ts";
import type { EventCheck } from "./event_check.ts";
import { ExpectedEvents } from "./expected_events.ts";
import { type Answer, answerLine } from "./outbox.ts";
import { snapshotOf, useState } from "./state_use.ts";
import { answerOf, endWith, type SessionEnd, type Transcript } from "./transcript.ts";
import { errorOf, type Head, isId, parseHead, refusalOf } from "./frame.ts";

const MAX_NAME = 256;

/** What a session needs. */
export interface SessionOptions {
  readonly plan: Plan;
  readonly host: CallHost;
  readonly controls: JsonObject;
  /** What the state starts with. */
  readonly state?: JsonObject;
  /** Whether the state is kept when the run is over: it is then recorded even where it is empty. */
  readonly keepsState?: boolean;
  /** What events of a kind must fit, by kind. */
  readonly eventChecks?: ReadonlyMap<string, EventCheck>;
  /** Keeps the order of a run that is recorded, or run again. */
  readonly transcript?: Transcript | undefined;
  record(body: RecordBody): void;
  /** Called once, when nothing of the agent can follow. */
  end(end: SessionEnd): void;
  /** Called with what must stop the run at once. */
  fault(error: unknown): void;
}

/** One agent's run, seen from the host. */
export class Session {
  readonly #options: SessionOptions;
  readonly #state: AgentState;
  readonly #waiting: (() => void)[] = [];
  #isolate: Isolate | undefined;
  readonly #timers = new AgentTimers((error) => this.#fault(error));
  #lastId = 0;
  #waitingBytes = 0;
  #running = 0;
  #calls = 0;
  #events = 0;
  #eventBytes = 0;
  #noteBytes = 0;
  #operations = 0;
  #closed = false;
  /** A call waits for an approval that nobody gives now: what runs ends, nothing else begins. */
  #pending = false;
  #over = false;
  readonly #expected: ExpectedEvents;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#expected = new ExpectedEvents({
      expectEvents: options.plan.expectEvents,
      checks: options.eventChecks ?? new Map(),
      record: options.record,
    });
    this.#state = new AgentState(options.plan.budgets.stateBytes, options.state);
    if (this.#state.bytes > 0) options.record(snapshotOf(this.#state, "start"));
    options.transcript?.attach({
      send: (line) => this.#isolate?.send(line),
      end: (end) => this.#over || this.#close(end),
    });
  }

  /** JSON text of the state as it is now. */
  get stateText(): string {
    return this.#state.text;
  }

  /** Names the isolation that answers go to. */
  attach(isolate: Isolate): void {
    this.#isolate = isolate;
  }

  /** Whether answers are still due. */
  get busy(): boolean {
    return this.#running > 0 || this.#waiting.length > 0 || this.#timers.size > 0;
  }

  /** Whether the run has ended. */
  get over(): boolean {
    return this.#over;
  }

  /** Takes one line of the agent. */
  line(line: string): void {
    if (this.#over) return;
    const tab = line.indexOf("\t");
    const head = parseHead(tab < 0 ? line : line.slice(0, tab));
    const body = tab < 0 ? undefined : line.slice(tab + 1);
    const { transcript } = this.#options;
    let handled = head !== undefined && (transcript === undefined || this.#isInOrder(head));
    if (handled && head !== undefined) {
      if (transcript?.asked(head, body) === false) return;
      handled = this.#handle(head, body);
    }
    if (!handled) this.#finish({ status: "error", reason: "protocol_violation" });
    else transcript?.handled();
  }

  /** Whether the ids of what wants an answer rise: an order is kept by them. */
  #isInOrder({ op, id }: Head): boolean {
    if (!isId(id) || op === "untimer") return true;
    if (id <= this.#lastId) return false;
    this.#lastId = id;
    return true;
  }

  /** The agent's side is gone without a last word. */
  gone(reason: string): void {
    this.#finish({ status: "error", reason });
  }

  #handle(head: Head, body: string | undefined): boolean {
    const { operations } = this.#options.plan.budgets;
    if ((this.#closed || this.#pending || !COUNTED_ELSEWHERE.has(head.op)) && ++this.#operations > operations) {
      return this.#overRun("operations", operations, this.#operations);
    }
    switch (head.op) {
      case "ack":
        return this.#acknowledge(head.bytes);
      case "call":
        return this.#call(head, body);
      case "emit":
        return body !== undefined && this.#emit(body);
      case "note":
        return body !== undefined && this.#note(body);
      case "state":
        return this.#stateOp(head, body);
      case "timer":
      case "untimer":
        return this.#timer(head);
      case "controls":
        if (this.#closed) return this.#refuseClosed("auditControls");
        this.#options.record({ type: "audit_controls", controls: this.#options.controls });
        return true;
      case "close":
        if (this.#closed) return true;
        this.#closed = true;
        this.#options.record({ type: "revocation", policy: "closed", surface: "agent" });
        return true;
      case "closed":
        return this.#refuseClosed(head.surface);
      case "end":
        return this.#agentEnd(head, body);
      default:
        return false;
    }
  }

  #acknowledge(bytes: unknown): boolean {
    if (typeof bytes !== "number" || !Number.isSafeInteger(bytes) || bytes < 0) return false;
    this.#isolate?.acknowledge?.(bytes);
    return true;
  }

  #call(head: Head, body: string | undefined): boolean {
    const { id, name } = head;
    if (!isId(id) || typeof name !== "string") return false;
    const args = body ?? refusalOf(head.bad);
    if (args === undefined) return false;
    // A name is the agent's text: what is recorded of it is bounded and well formed.
    const tool = name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…`.toWellFormed() : name.toWellFormed();
    const callId = `c${++this.#calls}`;
    if (this.#closed) {
      this.#refuseClosed("callTool");
      this.#answer(id, { outcome: "denied", code: "closed", message: "agent compartment closed: callTool" });
      return true;
    }
    this.#options.transcript?.began(callId, id);
    if (this.#pending) {
      this.#refusePending(id, callId, tool);
      return true;
    }
    const bytes = body === undefined ? 0 : utf8Length(body);
    const run = async () => {
      if (this.#pending) return this.#refusePending(id, callId, tool);
      this.#running++;
      try {
        const started = performance.now();
        const outcome = await call(this.#options.host, callId, { name: tool, args, bytes });
        if (this.#over) return;
        if (outcome.kind === "denied" && outcome.code === "approval_pending") this.#pending = true;
        if (this.#options.plan.isolation === "worker") this.#workerRecord(callId, tool, outcome, bytes, started);
        this.#reply(id, outcome);
        // Its slot is free once the answer is on its way: what waits to be read by a slow agent is bounded by the slots.
        const drained = this.#isolate?.drained?.();
        if (drained !== undefined) await drained;
        if (outcome.kind === "budget" && isRunBudget(outcome.code)) {
          this.#finish({ status: "error", reason: "budget_exceeded" });
        }
      } catch (error) {
        this.#fault(error);
      } finally {
        this.#running--;
        if (this.#pending) { for (const next of this.#waiting.splice(0)) next(); }
        else this.#waiting.shift()?.();
        if (this.#pending && this.#running === 0) this.#finish({ status: "error", reason: "approval_pending" });
      }
    };
    const { budgets } = this.#options.plan;
    if (this.#running < budgets.parallelCalls) {
      run();
      return true;
    }
    // What waits is bounded by the budgets that it would break in any case.
    this.#waitingBytes += bytes;
    if (this.#waiting.length >= budgets.toolCalls) return this.#overRun("tool_calls", budgets.toolCalls, this.#calls);
    if (this.#waitingBytes > budgets.totalArgBytes) {
      return this.#overRun("total_arg_bytes", budgets.totalArgBytes, this.#waitingBytes);
    }
    this.#waiting.push(() => {
      this.#waitingBytes -= bytes;
      run();
    });
    return true;
  }

  #timer(head: Head): boolean {
    const { transcript } = this.#options;
    if (transcript === undefined || !isId(head.id)) return false;
    if (head.op === "untimer") return this.#timers.stop(head.id);
    const answer = { id: head.id, failed: false, text: "null" };
    if (transcript.isRerun) transcript.answer(answer);
    return transcript.isRerun || this.#timers.start(head.id, head.ms, () => this.#over || transcript.answer(answer));
  }

  /** A call behind the one at which the run stops: it gets its outcome, and nobody looks at it. */
  #refusePending(id: number, callId: string, tool: string): void {
    if (this.#over) return;
    const code = "approval_pending";
    const outcome: Outcome = { kind: "denied", code, message: `agent tool denied: ${tool}` };
    const fields = this.#options.transcript?.settled(callId, outcome);
    const body: RecordBody = { type: "tool_denial", call_id: callId, tool, policy: "denied", reason: code, rule: null };
    this.#options.record({ ...body, ...fields });
    this.#reply(id, outcome);
  }

  #workerRecord(callId: string, tool: string, outcome: Outcome, argBytes: number, started: number): void {
    this.#options.record({
      type: "worker_host_call",
      call_id: callId,
      tool,
      outcome: outcome.kind,
      arg_bytes: argBytes,
      ...(outcome.kind === "result" ? { result_bytes: utf8Length(outcome.text) } : { code: outcome.code }),
      elapsed_ms: Math.round((performance.now() - started) * 1000) / 1000,
    });
  }

  #emit(body: string): boolean {
    if (this.#closed) return this.#refuseClosed("emit");
    const { budgets } = this.#options.plan;
    const bytes = utf8Length(body);
    this.#events++;
    this.#eventBytes += bytes;
    if (this.#events > budgets.events) return this.#overRun("events", budgets.events, this.#events);
    if (this.#eventBytes > budgets.eventBytes) {
      return this.#overRun("event_bytes", budgets.eventBytes, this.#eventBytes);
    }
    const copied = copyIn(body);
    if (!copied.ok) return false;
    const { value } = copied;
    const kind = isJsonObject(value) ? value.kind : undefined;
    this.#options.record({
      type: "event",
      event: value,
      event_index: this.#events - 1,
      event_bytes: bytes,
      event_bytes_used: this.#eventBytes,
    });
    const seen = { event: value, bytes, index: this.#events - 1 };
    const reason = typeof kind === "string" ? this.#expected.take(kind, seen) : undefined;
    if (reason !== undefined) this.#finish({ status: "error", reason });
    return true;
  }

  #note(body: string): boolean {
    if (this.#closed) return this.#refuseClosed("auditNote");
    const { noteBytes } = this.#options.plan.budgets;
    const bytes = utf8Length(body);
    this.#noteBytes += bytes;
    if (this.#noteBytes > noteBytes) return this.#overRun("audit_note_bytes", noteBytes, this.#noteBytes);
    const copied = copyIn(body);
    if (!copied.ok) return false;
    this.#options.record({ type: "audit_note", note: copied.value, note_bytes: bytes });
    return true;
  }

  #stateOp(head: Head, body: string | undefined): boolean {
    const { id } = head;
    if (!isId(id)) return false;
    if (this.#closed) {
      this.#answer(id, { outcome: "denied", code: "closed", message: "agent compartment closed: state" });
      return this.#refuseClosed("state");
    }
    const use = useState(this.#state, head, body);
    if (use === undefined) return false;
    this.#options.record(use.record);
    if (typeof use.answer === "string") this.#send(id, use.answer);
    else this.#answer(id, use.answer);
    return true;
  }

  #refuseClosed(surface: unknown): boolean {
    const known = typeof surface === "string" &&
      ["callTool", "emit", "state", "auditNote", "auditControls"].includes(surface);
    if (!known || !this.#closed) return false;
    this.#options.record({ type: "revocation_denial", surface, policy: "closed" });
    return true;
  }

  #overRun(name: string, limit: number, attempted: number): boolean {
    this.#options.record({ type: "budget_exceeded", budget: name, limit, attempted });
    this.#finish({ status: "error", reason: "budget_exceeded" });
    return true;
  }

  #agentEnd(head: Head, body: string | undefined): boolean {
    if (head.status === "ok") {
      this.#finish(endWith(body));
      return true;
    }
    if (head.status !== "error" && head.status !== "stalled") return false;
    const reason = head.status === "stalled" ? "agent_stalled" : "agent_error";
    this.#finish({ status: "error", reason, error: errorOf(head.error) });
    return true;
  }

  #reply(id: number, outcome: Outcome): void {
    this.#sendAnswer(answerOf(id, outcome));
  }

  #send(id: number, text: string): void {
    this.#sendAnswer({ id, failed: false, text });
  }

  #answer(id: number, error: { outcome: string; code: string; message: string }): void {
    this.#sendAnswer({ id, failed: true, text: JSON.stringify(error) });
  }

  #sendAnswer(answer: Answer): void {
    const { transcript, host } = this.#options;
    if (transcript === undefined) this.#isolate?.send(answerLine(answer, host.now()));
    else transcript.answer(answer);
  }

  #fault(error: unknown): void {
    this.#over = true;
    this.#options.fault(error);
  }

  #finish(end: SessionEnd): void {
    if (this.#over) return;
    // What the agent makes of a call that waits does not matter: the run stopped there.
    const isStopped = this.#pending && AGENTS_OWN.has(end.reason);
    const isShort = !isStopped && end.status === "ok" && !this.#expected.end();
    const reason = isStopped ? "approval_pending" : isShort ? "expected_event_missing" : undefined;
    const last: SessionEnd = reason === undefined ? end : { status: "error", reason };
    this.#close(this.#options.transcript?.ended(last) ?? last);
  }

  #close(end: SessionEnd): void {
    this.#over = true;
    this.#timers.clear();
    if (this.#options.keepsState === true || this.#state.bytes > 0) {
      this.#options.record(snapshotOf(this.#state, "end"));
    }
    this.#options.end(end);
  }
}

/** Operations of an open agent that leave no record, or that have a budget of their own. */
const COUNTED_ELSEWHERE: ReadonlySet<unknown> = new Set(["ack", "call", "emit", "note", "end", "timer", "untimer"]);

/** Reasons of an end that the agent itself brought about. */
const AGENTS_OWN: ReadonlySet<string> = new Set(["done", "agent_error", "agent_stalled", "agent_gone"]);

/** Budgets that end the run, not only the call. */
function isRunBudget(code: string): boolean {
  return code === "tool_calls" || code === "total_arg_bytes" || code === "total_result_bytes";
}
