/**
 * The approvals of one run. The host says which call asks; what an approval is bound to, who is asked, and what counts as
 * a yes is decided here, in the process that no agent and no tool is in.
 *
 * Order: the operator's word for the run, the approval log, whoever can be asked now; else the call is pending.
 *
 * @module
 */
import { countOpen, type Standing, standingOf } from "../audit/approval_entries.ts";
import { approvalId, type ApprovalRequest, keptArgs } from "../audit/approval_request.ts";
import type { RecordBody } from "../audit/record.ts";
import type { Redactor } from "../audit/redact.ts";
import { parseCommand } from "../authority/command_text.ts";
import { AuditError, ControlError, TwokeyError } from "../errors.ts";
import { digest, isJsonObject, type Json, type JsonObject, utf8Length } from "../json.ts";
import { approvalTerms } from "../plan/approval_terms.ts";
import type { Plan } from "../plan/plan.ts";
import { after } from "./after.ts";
import type { ApprovalLog } from "./approval_log.ts";
import { type ApprovalAnswer, type Approver, callApprover } from "./approver.ts";
import { Turns } from "./turns.ts";

/** Characters of a reason that are kept. */
const MAX_REASON = 1000;
/** Requirements of one call, at most; the host makes no more than a tool can name. */
const MAX_REQUIREMENTS = 10_000;

/** UTF-8 bytes of a request, at most: nobody is asked about one that cannot be shown whole. */
const MAX_SHOWN_BYTES = 131_072;
/** Requests of one policy that wait in the log, at most: an agent makes up new ones, a person has to read them. */
const MAX_OPEN = 64;

/** Where an approval came from, or would have. */
export type ApprovalMode = "pregranted" | "approval_log" | "terminal" | "callback" | "headless";

/** What the approvals of a run are made of. */
export interface ApprovalsOptions {
  readonly plan: Plan;
  /** SHA-256 of the agent's bundle. */
  readonly code: string;
  /** SHA-256 of each program of the plan, by name, as it was when the run started. */
  readonly programs: ReadonlyMap<string, string>;
  readonly runId: string;
  readonly redactor: Redactor;
  readonly log: ApprovalLog;
  /** Tools that the operator approved for the whole run. */
  readonly pregranted: readonly string[];
  readonly approver: { readonly ask: Approver; readonly via: "terminal" | "callback" } | undefined;
  /** Questions of agents wait in the same line. */
  readonly turns?: Turns;
  now(): number;
}

/** What the run does for its approvals. */
export interface ApprovalsRun {
  /** Writes a record and brings it to disk. */
  record(body: RecordBody): void;
  /** Sends the host one line. */
  answer(line: string): void;
  /** A question to a person begins or ends: meanwhile the clock of the run stands still. */
  waiting(on: boolean): void;
  /** The approvals cannot go on, so the run must not. */
  fail(error: TwokeyError): void;
}

/** One call that asks. */
interface Ask {
  readonly callId: string;
  /** Unredacted. */
  readonly request: ApprovalRequest;
  /** As the tool's definition lets the log keep them. */
  readonly auditArgs: Json;
}

/** How a call was decided. */
interface Settled {
  readonly status: "granted" | "denied" | "pending";
  readonly mode: ApprovalMode;
  readonly ageMs?: number;
  readonly reason?: string | null;
  /** The grant that was taken from the log. */
  readonly grant?: string;
}

/** An approval that was given to a call. */
interface Given {
  readonly id: string;
  readonly tool: string;
  readonly grant: string | undefined;
  spent: boolean;
}

/** The approvals of one run. */
export class Approvals {
  readonly #options: ApprovalsOptions;
  readonly #run: ApprovalsRun;
  readonly #required: ReadonlySet<string>;
  readonly #given = new Map<string, Given>();
  readonly #known = new Set<string>();
  readonly #refused = new Set<string>();
  readonly #over = new AbortController();
  readonly #settling = new Set<Promise<void>>();
  /** One question is asked at a time. */
  readonly #turns: Turns;
  #bound: Promise<{ readonly agent: string; readonly plan: string }> | undefined;
  #refusesAll = false;
  #isStopping = false;

  constructor(options: ApprovalsOptions, run: ApprovalsRun) {
    this.#options = options;
    this.#run = run;
    this.#turns = options.turns ?? new Turns();
    this.#required = new Set(approvalTerms(options.plan).require.map(({ tool }) => tool));
  }

  /** Whether a call was left pending. */
  get isPending(): boolean {
    return this.#isStopping;
  }

  /** Takes what the host asks. The answer goes to the host whenever there is one. @throws {AuditError} If it is no question. */
  ask(body: JsonObject): void {
    const { call_id: callId } = body;
    if (typeof callId !== "string" || this.#known.has(callId)) throw notAQuestion();
    this.#known.add(callId);
    const settling = this.#settle(callId, body).catch((error: unknown) => {
      this.#run.fail(
        error instanceof TwokeyError
          ? error
          : new ControlError("control_approval", "Cannot decide on an approval: an internal fault", { cause: error }),
      );
    }).finally(() => this.#settling.delete(settling));
    this.#settling.add(settling);
  }

  /**
   * Follows a record of the host: an approval is spent once its call is recorded.
   *
   * @throws {ControlError} If a call started that needed an approval and has none.
   */
  saw({ type, call_id: callId, tool, approval_id: id }: RecordBody): void {
    if (type !== "tool_call") return;
    const given = this.#given.get(String(callId));
    const isOwn = given !== undefined && !given.spent && given.tool === tool && given.id === id;
    if (isOwn) given.spent = true;
    else if (id !== undefined || given !== undefined || this.#required.has(String(tool))) {
      throw new ControlError("control_approval", "Cannot go on: a call started without the approval that it needs");
    }
  }

  /** Withdraws what is still asked, and gives back the grants whose calls never started. Never rejects. */
  async close(): Promise<void> {
    this.#over.abort();
    while (this.#settling.size > 0) await Promise.all(this.#settling);
    const unused = [...this.#given].filter(([, { grant, spent }]) => grant !== undefined && !spent);
    if (unused.length === 0) return;
    const { log, runId } = this.#options;
    try {
      await log.change(() => ({
        add: unused.map(([callId, { id, grant = "" }]) =>
          ({ kind: "returned", id, grant, run_id: runId, call_id: callId }) as const
        ),
        result: undefined,
      }));
    } catch {
      // Then they count as used: whoever wants the calls to run says yes again.
    }
  }

  async #settle(callId: string, body: JsonObject): Promise<void> {
    const ask = await this.#read(callId, body);
    const settled = await this.#decide(ask);
    const { id, tool } = ask.request;
    if (settled.status === "granted") this.#given.set(callId, { id, tool, grant: settled.grant, spent: false });
    this.#record(ask, settled);
    const { status, mode } = settled;
    this.#run.answer(
      `d ${JSON.stringify({ call_id: callId, status, approval_id: id, approval_mode: mode })}`,
    );
  }

  async #decide(ask: Ask): Promise<Settled> {
    const { pregranted, approver } = this.#options;
    if (pregranted.includes(ask.request.tool)) return { status: "granted", mode: "pregranted" };
    const standing = await this.#take(ask);
    const mode = "approval_log";
    if (standing.status === "granted") {
      return { status: "granted", mode, ageMs: standing.ageMs, grant: standing.grant };
    }
    if (standing.status === "denied") {
      return { status: "denied", mode, ageMs: standing.ageMs, reason: standing.reason };
    }
    if (standing.status === "stale") this.#record(ask, { status: "stale", mode, ageMs: standing.ageMs });
    if (utf8Length(JSON.stringify(ask.request)) > MAX_SHOWN_BYTES) {
      return { status: "denied", mode: approver?.via ?? "headless", reason: "the call is too large to be shown whole" };
    }
    if (approver === undefined) return await this.#leave(ask, { mode: "headless", reason: "nobody to ask" });
    this.#run.waiting(true);
    try {
      return await this.#turns.next(() => this.#askNow(ask, approver));
    } finally {
      this.#run.waiting(false);
    }
  }

  /** Where the request stands in the log; a grant is taken in the same breath, so that no other run can. */
  async #take({ callId, request: { id } }: Ask): Promise<Standing> {
    const { log, plan, runId } = this.#options;
    const { maxAgeMs } = approvalTerms(plan);
    return await log.change<Standing>((book, nowMs) => {
      const standing = standingOf(book.items.get(id), { nowMs, maxAgeMs });
      if (standing.status !== "granted") return { add: [], result: standing };
      const { grant } = standing;
      return { add: [{ kind: "taken", id, grant, run_id: runId, call_id: callId }], result: standing };
    });
  }

  async #askNow(ask: Ask, { ask: approve, via }: NonNullable<ApprovalsOptions["approver"]>): Promise<Settled> {
    const { id } = ask.request;
    if (this.#over.signal.aborted) return await this.#leave(ask, { mode: via, reason: "the run is over" });
    if (this.#isStopping) return await this.#leave(ask, { mode: via, reason: "the run stops" });
    if (this.#refusesAll || this.#refused.has(id)) {
      return { status: "denied", mode: via, reason: "denied before in this run" };
    }
    const answer = await this.#answerOf(ask.request, approve);
    const reason = typeof answer.reason === "string" ? answer.reason.slice(0, MAX_REASON).toWellFormed() : null;
    if (answer.decision === "allow") {
      await this.#write(ask, { answer: "allowed", via, reason });
      return { status: "granted", mode: via, reason };
    }
    if (answer.decision === "later") return await this.#leave(ask, { mode: via, reason: reason ?? "put off" });
    this.#refused.add(id);
    if (answer.decision === "deny_all") this.#refusesAll = true;
    await this.#write(ask, { answer: "denied", via, reason });
    return { status: "denied", mode: via, reason };
  }

  /** What whoever is asked answers; `later` where the wait or the run is over first. */
  async #answerOf(request: ApprovalRequest, approve: Approver): Promise<ApprovalAnswer> {
    const { plan } = this.#options;
    const withdrawn = new AbortController();
    const late = Promise.withResolvers<ApprovalAnswer>();
    const withdraw = (reason: string) => {
      late.resolve({ decision: "later", reason });
      withdrawn.abort();
    };
    const onOver = () => withdraw("the run is over");
    this.#over.signal.addEventListener("abort", onOver, { once: true });
    const takeBack = after(approvalTerms(plan).waitMs, () => withdraw("nobody answered in time"));
    try {
      return await Promise.race([callApprover(approve, this.#shown(request), withdrawn.signal), late.promise]);
    } finally {
      takeBack();
      this.#over.signal.removeEventListener("abort", onOver);
    }
  }

  /** The request as people see it now: all of it but known secrets. */
  #shown(request: ApprovalRequest): ApprovalRequest {
    return this.#options.redactor.scrubValue(request as unknown as Json) as unknown as ApprovalRequest;
  }

  /** The request as the log keeps it while somebody has to decide on it: whole, but for secrets. */
  #kept(request: ApprovalRequest): ApprovalRequest {
    const { redact } = this.#options.redactor;
    const args = redact(request.args) as JsonObject;
    return { ...(redact({ ...request, args: {} } as unknown as Json) as unknown as ApprovalRequest), args };
  }

  async #write(
    { callId, request }: Ask,
    answered: {
      readonly answer: "allowed" | "denied";
      readonly via: "terminal" | "callback";
      readonly reason: string | null;
    },
  ): Promise<void> {
    const { log, runId } = this.#options;
    const whole = this.#kept(request);
    // Whoever answered has seen all of it.
    const kept = { ...whole, args: await keptArgs(whole.args) };
    const entry = {
      kind: "answered",
      id: request.id,
      ...answered,
      request: kept,
      run_id: runId,
      call_id: callId,
    } as const;
    await log.change(() => ({ add: [entry], result: undefined }));
  }

  /** Leaves the call pending: the log has it, and the run stops. */
  async #leave(
    { request }: Ask,
    { mode, reason }: { readonly mode: ApprovalMode; readonly reason: string },
  ): Promise<Settled> {
    const { log, plan, runId } = this.#options;
    const kept = this.#kept(request);
    const { maxAgeMs } = approvalTerms(plan);
    const isLeft = await log.change(({ items }) => {
      const known = items.get(request.id);
      // A run that is tried again and again does not fill the log with one and the same request.
      const isListed = known?.open === true && known.max_age_ms === maxAgeMs;
      const entry = { kind: "pending", id: request.id, request: kept, run_id: runId, max_age_ms: maxAgeMs } as const;
      if (known?.open !== true && countOpen(items, request) >= MAX_OPEN) return { add: [], result: false };
      return { add: isListed ? [] : [entry], result: true };
    });
    if (!isLeft) {
      return { status: "denied", mode, reason: `${MAX_OPEN} calls of this policy wait for an answer already` };
    }
    this.#isStopping = true;
    return { status: "pending", mode, reason };
  }

  #record(
    { callId, request, auditArgs }: Ask,
    { status, mode, ageMs, reason }: Omit<Settled, "status"> & { readonly status: Settled["status"] | "stale" },
  ): void {
    const { redact } = this.#options.redactor;
    const { id, tool, requirements, rule } = request;
    this.#run.record(redact({
      type: `tool_approval_${status}`,
      call_id: callId,
      tool,
      approval_id: id,
      approval_mode: mode,
      ...(ageMs === undefined ? {} : { approval_age_ms: ageMs }),
      approval_max_age_ms: approvalTerms(this.#options.plan).maxAgeMs,
      rule,
      requirements: requirements.map(({ kind, target }) => ({ kind, target })),
      args: auditArgs,
      arg_bytes: request.arg_bytes,
      ...(reason === undefined || reason === null ? {} : { reason }),
    }) as RecordBody);
  }

  /** Reads a question of the host, which is believed no more than any other of its lines, and binds it. */
  async #read(callId: string, body: JsonObject): Promise<Ask> {
    const { plan } = this.#options;
    const { tool, args, arg_bytes: argBytes, audit_args: auditArgs, rule } = body;
    if (typeof tool !== "string" || !Object.hasOwn(plan.tools, tool) || !isJsonObject(args)) throw notAQuestion();
    if (typeof argBytes !== "number" || typeof rule !== "string" || auditArgs === undefined) throw notAQuestion();
    const requirements = this.#bind(requirementsOf(body.requirements));
    const { agent, plan: planDigest } = await this.#digests();
    const bound = { tool, args, requirements, policy: plan.policy.sha256, agent, plan: planDigest };
    const request: ApprovalRequest = {
      id: await approvalId(bound),
      tool,
      args,
      arg_bytes: argBytes,
      requirements,
      rule,
      policy: { name: plan.name, path: plan.policy.path, sha256: plan.policy.sha256 },
      agent: { entry: plan.agent?.entry ?? null, sha256: agent },
      plan: planDigest,
    };
    return { callId, request, auditArgs };
  }

  /** Puts the program's own bytes beside each command: its name alone says nothing of what would run. */
  #bind(requirements: ApprovalRequest["requirements"]): ApprovalRequest["requirements"] {
    const { plan, programs } = this.#options;
    return requirements.map((need) => {
      if (need.kind !== "command.execute") return need;
      const name = parseCommand(need.target)?.name ?? "";
      const sha256 = programs.get(name);
      const path = sha256 === undefined ? undefined : plan.process?.commands[name]?.path;
      if (path === undefined || sha256 === undefined || need.folder === undefined) throw notAQuestion();
      return { ...need, program: { path, sha256 } };
    });
  }

  #digests(): Promise<{ readonly agent: string; readonly plan: string }> {
    const { plan, code } = this.#options;
    this.#bound ??= Promise.all([digest({ agent: plan.agent, code }), digest(plan)])
      .then(([agent, planDigest]) => ({ agent, plan: planDigest }));
    return this.#bound;
  }
}

function requirementsOf(value: Json | undefined): ApprovalRequest["requirements"] {
  if (!Array.isArray(value) || value.length > MAX_REQUIREMENTS) throw notAQuestion();
  return (value as readonly Json[]).map((entry) => {
    if (!isJsonObject(entry) || typeof entry.kind !== "string" || typeof entry.target !== "string") {
      throw notAQuestion();
    }
    const { kind, target, folder } = entry;
    if (folder === undefined) return { kind, target };
    if (kind !== "command.execute" || typeof folder !== "string") throw notAQuestion();
    return { kind, target, folder };
  });
}

function notAQuestion(): AuditError {
  return new AuditError(
    "audit_approval",
    "Cannot take a line of the host: it asks for no approval that there could be",
  );
}
