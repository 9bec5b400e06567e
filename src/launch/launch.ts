/**
 * One run: the host and the agent are started and joined, every record is numbered, chained and written, and the log
 * gets exactly one last record, whatever happens to the others.
 *
 * @module
 */
import type { RecordBody } from "../audit/record.ts";
import { GrowingSha256 } from "../audit/sha256.ts";
import { AuditWriter, checkBody } from "../audit/writer.ts";
import { concatBytes } from "../bytes.ts";
import { AuditError, ControlError, type TwokeyError } from "../errors.ts";
import type { Json, JsonObject } from "../json.ts";
import { after } from "./after.ts";
import { Approvals } from "./approvals.ts";
import { ArtifactLedger } from "./artifact_ledger.ts";
import { type LauncherEnds, openLauncherEnds } from "./channels.ts";
import { ChildGroups } from "./child_groups.ts";
import { readChildren } from "./process_facts.ts";
import { GATHER_MS, Pace } from "./pace.ts";
import { RecordingWriter } from "./recording_writer.ts";
import { agentDeath, endProcess } from "./death.ts";
import { hostArgs, initText } from "./host_start.ts";
import { type Ending, endingOf, type HostWords, WRITTEN, writtenFault } from "./last_words.ts";
import { Relay } from "./relay.ts";
import type { LaunchOptions, RunEnd } from "./launch_options.ts";
import { Questions } from "./questions.ts";
import { spawnAgent, spawnHost } from "./spawn.ts";
import { Supervisor } from "./supervise.ts";
import { sweepTemps } from "./sweep.ts";
import { Turns } from "./turns.ts";

/** Longest line of the host: an agent's outcome as a text in JSON, which may take twice its bytes, fits. */
const MAX_LINE_BYTES = 40 * 1_048_576;
/** What a host may take to leave once it has said that the run is over. */
const LEAVE_MS = 2000;
/** Digits of the seed that begin the names of a run's unfinished files. */
const OWNER_DIGITS = 8;
/** What an agent may take to leave once its run is over. */
const GRACE_MS = 500;
const NEWLINE = 10;
const ENCODER = new TextEncoder();

/** Starts a run and sees it to its end. @throws {AuditError} If the log cannot be written; the run is over then. */
export async function launch(options: LaunchOptions): Promise<RunEnd> {
  const run = new Run(options);
  try {
    return await run.go();
  } finally {
    run.close();
  }
}

class Run {
  readonly #options: LaunchOptions;
  readonly #ends: LauncherEnds;
  readonly #host: Deno.ChildProcess;
  readonly #agent: Deno.ChildProcess | undefined;
  readonly #supervisor: Supervisor;
  readonly #relay: Relay;
  readonly #words: HostWords = {};
  readonly #groups: ChildGroups;
  readonly #turns = new Turns();
  readonly #artifacts: ArtifactLedger;
  readonly #approvals: Approvals | undefined;
  readonly #questions: Questions;
  #audit: AuditWriter | undefined;
  #recording: RecordingWriter | undefined;
  #leave: (() => void) | undefined;
  #auditError: unknown;
  #ended = false;

  constructor(options: LaunchOptions) {
    this.#options = options;
    const { plan, base, channels } = options;
    this.#artifacts = new ArtifactLedger(plan);
    // The agent first: its start overlaps with everything else, and it waits for the host in any case.
    if (plan.isolation === "process") this.#agent = spawnAgent(base, channels, options.agentBoot, plan.budgets);
    this.#host = spawnHost(base, options.hostFlags, [options.hostMain, ...hostArgs(options)], {
      env: options.hostEnv,
      prefix: options.programs?.prefix ?? [],
    });
    this.#groups = new ChildGroups(this.#host.pid);
    this.#ends = openLauncherEnds(channels);
    this.#supervisor = new Supervisor({
      budgets: plan.budgets,
      timeoutMs: (tool) => plan.tools[tool]?.timeoutMs ?? plan.budgets.toolTimeoutMs,
      agentPid: () => this.#agent?.pid ?? this.#hostPid(),
      kill: () => this.#kill(),
    });
    this.#relay = new Relay({
      maxBytes: plan.budgets.stderrBytes,
      line: (source, text) => options.onStderr(source, text),
      scrub: () => options.redactor.stream(),
      flood: () => this.#supervisor.end("stderr_exceeded"),
    });
    this.#approvals = this.#makeApprovals();
    this.#questions = new Questions({ ...options, turns: this.#turns }, {
      answer: (line) => void this.#answer(`${line}\n`),
      asking: (callId, on) => this.#supervisor.asking(callId, on),
    });
  }

  async go(): Promise<RunEnd> {
    const shared = this.#options.plan.isolation !== "process";
    const relays = [this.#relay.follow(shared ? "agent" : "host", this.#host.stderr)];
    if (this.#agent !== undefined) relays.push(this.#relay.follow("agent", this.#agent.stderr));
    try {
      this.#openAudit();
      this.#options.programs?.attach((body) => this.#record(body));
      // In the background: a plan with fixtures is larger than a pipe, and the host may not read yet.
      this.#answer(`${initText(this.#options)}\n`);
    } catch (error) {
      this.#kill();
      await Promise.all([this.#host.status, this.#agent?.status]);
      throw error;
    }
    const reading = this.#readRecords();
    let hostGone = false;
    this.#agent?.status.then((status) => {
      // Until the host is ready the launcher itself keeps the agent's pipes open, so the host cannot notice.
      if (!hostGone && this.#words.ready === undefined) this.#supervisor.end(agentDeath(status));
    });
    const hostStatus = await this.#host.status;
    hostGone = true;
    this.#ends.closeRecords();
    await reading;
    this.#groups.end();
    this.#questions.close();
    await this.#approvals?.close();
    await this.#options.programs?.ended();
    const agentStatus = await this.#agentStatus();
    await Promise.all(relays);
    this.#supervisor.stop();
    return this.#finish(hostStatus, agentStatus);
  }

  close(): void {
    this.#leave?.();
    this.#supervisor.stop();
    this.#kill();
    this.#groups.end();
    this.#audit?.close();
    this.#recording?.close();
    this.#ends.close();
  }

  #openAudit(): void {
    const { auditPath, recordingPath, runId, start, session } = this.#options;
    const sha256 = new GrowingSha256().digest;
    this.#audit = AuditWriter.create(auditPath, { runId, now: Date.now, sha256 });
    if (recordingPath !== undefined) this.#recording = RecordingWriter.create(recordingPath, sha256);
    const loaded = session === undefined ? [] : [JSON.stringify(session.loaded)];
    this.#audit.append([JSON.stringify({ type: "run_start", ...start }), ...loaded]);
    this.#audit.sync();
  }

  async #answer(answer: string | Uint8Array): Promise<void> {
    const bytes = typeof answer === "string" ? ENCODER.encode(answer) : answer;
    try {
      for (let at = 0; at < bytes.length;) at += await this.#ends.answers.write(bytes.subarray(at));
    } catch {
      // The host is gone; its status says so.
    }
  }

  async #readRecords(): Promise<void> {
    const buffer = new Uint8Array(65_536);
    const decoder = new TextDecoder("utf-8", { fatal: true });
    let partial: Uint8Array<ArrayBuffer>[] = [];
    let partialBytes = 0;
    const pace = new Pace(performance.now());
    while (true) {
      const count = await this.#ends.records.read(buffer);
      if (count === null) return;
      const last = buffer.lastIndexOf(NEWLINE, count - 1);
      if (last < 0) {
        partial.push(buffer.slice(0, count));
        partialBytes += count;
        if (partialBytes > MAX_LINE_BYTES) {
          return this.#stop(new AuditError("audit_line", "Cannot take a record: too long"));
        }
        continue;
      }
      const text = decoder.decode(concatBytes([...partial, buffer.subarray(0, last)]));
      partial = last + 1 < count ? [buffer.slice(last + 1, count)] : [];
      partialBytes = count - last - 1;
      let urgent: boolean;
      try {
        urgent = this.#take(text.split("\n"));
      } catch (error) {
        return this.#stop(error);
      }
      if (pace.shouldGather({ bytes: count, urgent, nowMs: performance.now() })) await rest(GATHER_MS);
    }
  }

  /** Writes a chunk of lines with one write, then answers those that wait. Returns whether any of them waited. */
  #take(lines: readonly string[]): boolean {
    const texts: string[] = [];
    const bodies: RecordBody[] = [];
    let waiting = 0;
    for (const line of lines) {
      if (line.startsWith("@")) {
        this.#append(texts.splice(0));
        this.#control(line);
        continue;
      }
      if (line.startsWith("%") && this.#recording !== undefined) {
        this.#recording.append(line.slice(1));
        continue;
      }
      const waits = line.startsWith("!");
      const text = waits ? line.slice(1) : line;
      const body = checkBody(text);
      this.#recording?.check(body);
      texts.push(text);
      bodies.push(body);
      this.#supervisor.saw(body);
      this.#artifacts.saw(body);
      this.#approvals?.saw(body);
      if (waits) waiting++;
    }
    this.#append(texts);
    if (waiting > 0) {
      this.#audit?.sync();
      this.#answer("a\n".repeat(waiting));
    }
    for (const body of bodies) this.#options.onRecord(body);
    return waiting > 0;
  }

  #append(texts: readonly string[]): void {
    if (texts.length > 0) this.#audit?.append(texts);
  }

  #control(line: string): void {
    const space = line.indexOf(" ");
    const word = line.slice(1, space);
    if (word === "state" || word === "tasks") {
      this.#words[word] = line.slice(space + 1);
      return;
    }
    const body = JSON.parse(line.slice(space + 1)) as JsonObject;
    if (word === "ready") {
      this.#words.ready = body;
      this.#supervisor.ready();
      this.#ends.release();
      this.#answer("go\n");
    } else if (word === "end") {
      this.#words.end = body as unknown as NonNullable<HostWords["end"]>;
      this.#leave = after(LEAVE_MS, () => this.#kill());
    } else if (word === "ask" && this.#approvals !== undefined) this.#approvals.ask(body);
    else if (word === "question") this.#questions.ask(body);
    else if (word === "child") this.#groups.started(Number(body.pid));
    else if (word === "stop") this.#groups.stop(Number(body.pid));
    else if (word === "recording") this.#answer(this.#options.rerun ?? new Uint8Array());
    else if (word === "gone") this.#groups.gone(Number(body.pid));
    else if (word === "fault") this.#words.fault = body as unknown as NonNullable<HostWords["fault"]>;
    else throw new AuditError("audit_control", "Cannot take a line of the host: its word is not known");
  }

  #makeApprovals(): Approvals | undefined {
    const { approvals, plan, runId, redactor, onRecord } = this.#options;
    if (approvals === undefined) return undefined;
    return new Approvals({ ...approvals, plan, runId, redactor, turns: this.#turns, now: Date.now }, {
      record: (body) => {
        this.#record(body);
        this.#audit?.sync();
        onRecord(body);
      },
      answer: (line) => void this.#answer(`${line}\n`),
      waiting: (on) => this.#supervisor.waiting(on),
      fail: (error) => this.#failApprovals(error),
    });
  }

  #failApprovals(error: TwokeyError): void {
    this.#words.fault ??= { code: error.code, message: error.message };
    this.#supervisor.end(error instanceof ControlError ? error.code : "approval_log_failed");
  }

  /** Writes a record of the launcher's own while the run goes on. */
  #record(body: RecordBody): void {
    if (this.#ended) return;
    try {
      this.#append([JSON.stringify(body)]);
    } catch (error) {
      this.#stop(error);
    }
  }

  /** The host's own process: the one behind the program that gave it a namespace. */
  #hostPid(): number {
    if ((this.#options.programs?.prefix ?? []).length === 0) return this.#host.pid;
    return readChildren(this.#host.pid)[0] ?? this.#host.pid;
  }

  /** The log cannot go on: nothing else may either. */
  #stop(error: unknown): void {
    this.#auditError = error;
    this.#supervisor.end("audit_failed");
  }

  #kill(): void {
    if (this.#agent !== undefined) endProcess(this.#agent);
    endProcess(this.#host);
  }

  async #agentStatus(): Promise<Deno.CommandStatus | undefined> {
    const agent = this.#agent;
    if (agent === undefined) return undefined;
    // The host is gone, so the agent has nothing left to do; one that spins does not notice.
    const takeBack = after(this.#words.end === undefined ? 0 : GRACE_MS, () => endProcess(agent));
    const status = await agent.status;
    takeBack();
    return status;
  }

  async #finish(hostStatus: Deno.CommandStatus, agentStatus: Deno.CommandStatus | undefined): Promise<RunEnd> {
    const { plan, places } = this.#options;
    if (this.#words.end === undefined) {
      for (const { root } of plan.fs.write) sweepTemps(this.#options.seed.slice(0, OWNER_DIGITS), root, places);
    }
    if (this.#auditError instanceof Error) throw this.#auditError;
    const audit = this.#audit;
    if (audit === undefined) throw new AuditError("audit_not_open", "Cannot end the run: its log is not open");
    const written = this.#options.programs?.findWritten();
    if (written !== undefined) this.#words.fault ??= writtenFault(written);
    const judged = endingOf({
      words: this.#words,
      ended: this.#supervisor.reason ?? (written && WRITTEN),
      isolation: plan.isolation,
      host: hostStatus,
      agent: agentStatus,
      isPending: this.#approvals?.isPending === true,
    });
    const unsaved = await this.#saveSession(judged.reason);
    const { status, reason, error, value } = unsaved ?? judged;
    const { inFlight } = this.#supervisor;
    const { fault } = this.#words;
    this.#ended = true;
    this.#recording?.sync();
    const manifest = this.#artifacts.record({ status, reason }, this.#options.start.plan ?? null);
    audit.append([
      JSON.stringify(manifest),
      JSON.stringify({
        type: "run_end",
        status,
        reason,
        ...(error === undefined ? {} : { error }),
        ...(fault === undefined ? {} : { fault }),
        ...(inFlight.length === 0 ? {} : { in_flight: inFlight as unknown as Json }),
        ...(this.#recording === undefined ? {} : { recording: this.#recording.summary }),
      }),
    ]);
    audit.sync();
    return {
      status,
      reason,
      error,
      value,
      attestation: this.#words.ready,
      control: fault,
      inFlight,
      head: audit.head,
      records: audit.seq,
    };
  }

  /** Keeps the state of a run that ended well. Everything that could change it has settled: the host is gone. */
  async #saveSession(reason: string): Promise<Ending | undefined> {
    const { session, runId } = this.#options;
    const failed = await session?.save(this.#words.state, {
      runId,
      reason,
      tasks: this.#words.tasks,
      record: (body) => {
        this.#append([JSON.stringify(body)]);
        this.#audit?.sync();
        this.#options.onRecord(body);
      },
    });
    return failed === undefined ? undefined : { status: "error", reason: failed };
  }
}

function rest(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
