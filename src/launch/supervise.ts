/**
 * Ends a run that leaves its bounds: wall clock, processor time, memory, a host that does not answer, signals.
 *
 * @module
 */
import { OUTCOME_RECORD_TYPES, type RecordBody } from "../audit/record.ts";
import type { Budgets } from "../plan/plan.ts";
import { after } from "./after.ts";
import { ignoresHangup } from "./process_facts.ts";
import { readUsage } from "./usage.ts";

/** Between two looks at the clock and at the processes. */
const LOOK_MS = 50;
/** What a call may take beyond its own deadline before the host counts as stuck. */
const STUCK_MS = 1000;
/** Longest time from the start of the host to its first word. */
const START_MS = 20_000;

/** What is supervised. */
export interface Supervised {
  readonly budgets: Budgets;
  /** Deadline of a tool in milliseconds. */
  timeoutMs(tool: string): number;
  /** The process that agent code runs in: its own, or the host's. */
  agentPid(): number;
  /** Ends every process of the run at once. */
  kill(): void;
}

/** Watches one run. The first reason to end it is the one that counts. */
export class Supervisor {
  readonly #run: Supervised;
  readonly #inFlight = new Map<string, { readonly tool: string; lateMs: number; askedAtMs?: number | undefined }>();
  readonly #startedMs = performance.now();
  readonly #onInterrupt = () => this.end("interrupted");
  readonly #onTerminate = () => this.end("terminated");
  /** A terminal was closed; whoever started us may have asked that this ends nothing. */
  readonly #onHangup: () => void;
  #takeBack: (() => void) | undefined;
  #looking = false;
  #reason: string | undefined;
  #hostReady = false;
  #pauses = 0;
  #pausedAtMs = 0;
  #pausedMs = 0;

  constructor(run: Supervised) {
    this.#run = run;
    this.#arm();
    // Asked first: with the first listener for any signal the runtime takes this one over, ignored or not.
    const isIgnored = ignoresHangup();
    this.#onHangup = () => isIgnored || this.end("terminated");
    Deno.addSignalListener("SIGINT", this.#onInterrupt);
    Deno.addSignalListener("SIGTERM", this.#onTerminate);
    Deno.addSignalListener("SIGHUP", this.#onHangup);
  }

  /** Why the run was ended from here; `undefined` if it was not. */
  get reason(): string | undefined {
    return this.#reason;
  }

  /** Calls that have a record of their start and none of their outcome. */
  get inFlight(): readonly { readonly call_id: string; readonly tool: string }[] {
    return [...this.#inFlight].map(([call_id, { tool }]) => ({ call_id, tool }));
  }

  /** The host has said its first word. */
  ready(): void {
    this.#hostReady = true;
  }

  /** Follows the calls through their records. */
  saw(body: RecordBody): void {
    const { type, call_id: id, tool } = body;
    if (typeof id !== "string" || typeof tool !== "string") return;
    if (type === "tool_call") {
      const lateMs = performance.now() + this.#run.timeoutMs(tool) + STUCK_MS;
      this.#inFlight.set(id, { tool, lateMs });
    } else if (OUTCOME_RECORD_TYPES.has(type)) this.#inFlight.delete(id);
  }

  /**
   * A question to a person begins or ends. As long as any is open the run's wall clock stands still: a person's time is
   * not the agent's. Processor time, memory and the deadlines of running calls are held to as ever.
   */
  waiting(on: boolean): void {
    const now = performance.now();
    if (on && this.#pauses++ === 0) this.#pausedAtMs = now;
    else if (!on && --this.#pauses === 0) this.#pausedMs += now - this.#pausedAtMs;
  }

  /** As `waiting`, for a question of a running call: its own time stands still as well. */
  asking(callId: string, on: boolean): void {
    this.waiting(on);
    const call = this.#inFlight.get(callId);
    if (call === undefined) return;
    const now = performance.now();
    if (!on && call.askedAtMs !== undefined) call.lateMs += now - call.askedAtMs;
    call.askedAtMs = on ? now : undefined;
  }

  /** Ends the run, for the first reason that comes. */
  end(reason: string): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#run.kill();
  }

  /** Stops watching. */
  stop(): void {
    this.#takeBack?.();
    this.#takeBack = undefined;
    Deno.removeSignalListener("SIGINT", this.#onInterrupt);
    Deno.removeSignalListener("SIGTERM", this.#onTerminate);
    Deno.removeSignalListener("SIGHUP", this.#onHangup);
  }

  #arm(): void {
    this.#takeBack = after(LOOK_MS, () => {
      this.#arm();
      this.#look();
    });
  }

  async #look(): Promise<void> {
    const { budgets, agentPid } = this.#run;
    const now = performance.now();
    const age = now - this.#startedMs;
    const waited = this.#pausedMs + (this.#pauses > 0 ? now - this.#pausedAtMs : 0);
    if (age - waited > budgets.wallMs) return this.end("wall_exceeded");
    if (!this.#hostReady && age > START_MS) return this.end("host_not_ready");
    for (const { lateMs, askedAtMs } of this.#inFlight.values()) {
      if (askedAtMs === undefined && now > lateMs) return this.end("tool_unresponsive");
    }
    if (this.#looking) return;
    this.#looking = true;
    const usage = await readUsage(agentPid());
    this.#looking = false;
    if (usage === undefined || this.#takeBack === undefined) return;
    if (usage.rssBytes > budgets.rssMb * 1_048_576) this.end("memory_rss_exceeded");
    else if (usage.cpuMs > budgets.cpuMs) this.end("cpu_exceeded");
  }
}
