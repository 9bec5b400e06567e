/**
 * Holds an agent to a recording: it must ask what it asked then, and receives what it received then, in that order.
 * Nothing here can act; what the recording does not hold is not answered, and the first difference ends the run.
 *
 * @module
 */
import type { AnswerEntry, AskedEntry, EndEntry, RecordingEntry, RecordingHeader } from "../audit/recording.ts";
import type { RecordBody } from "../audit/record.ts";
import { BugError } from "../errors.ts";
import type { Json, JsonObject } from "../json.ts";
import type { Outcome } from "./ended.ts";
import type { Head } from "./frame.ts";
import { type Answer, Outbox } from "./outbox.ts";
import { answerOf, askedEntry, type DigestOptions, endEntry, type SessionEnd, type Transcript } from "./transcript.ts";

/** Reason of a run that asked something else than its recording. */
export const DIVERGED = "rerun_diverged";

/** Reason of a run that did everything its recording holds, where that has no end. */
export const RECORDING_ENDED = "recording_ended";

const NEWLINE = 10;
/** These end a run from the host's side, while the agent may go on asking: where they stand between other lines is chance. */
const HOST_ENDS: ReadonlySet<string> = new Set(["budget_exceeded", "approval_pending"]);

/** What a rerun needs. */
export interface RerunOptions extends DigestOptions {
  record(body: RecordBody): void;
  /** What the log shows of the body of a line of the agent. */
  show(head: Head, body: string | undefined): Json;
}

/** Where one answer stands in the recording; its value stays text until it is asked for. */
interface Place {
  readonly from: number;
  readonly to: number;
}

/** A recording in memory, which the launcher has verified, and one run that is held to it. */
export class Rerun implements Transcript {
  readonly isRerun = true;
  /** The recording's first line. */
  readonly header: RecordingHeader;
  readonly #options: RerunOptions;
  readonly #bytes: Uint8Array;
  readonly #steps: (AskedEntry | EndEntry)[] = [];
  readonly #answers = new Map<number, Place>();
  readonly #order: { readonly id: number; readonly t: number }[] = [];
  /** Ids that were answered, by the digest of what was asked, in the order of asking. */
  readonly #byDigest = new Map<string, number[]>();
  /** How often each digest was asked in this run. */
  readonly #occurrences = new Map<string, number>();
  /** From the ids of this run to those of the recording. */
  readonly #recordedIds = new Map<number, number>();
  readonly #calls = new Map<string, number>();
  #outbox: Outbox | undefined;
  #end: ((end: SessionEnd) => void) | undefined;
  #at = 0;
  #scrubbed = 0;
  #over = false;

  /** @param bytes The whole recording, verified: whole lines only. */
  constructor(bytes: Uint8Array, options: RerunOptions) {
    this.#bytes = bytes;
    this.#options = options;
    let header: RecordingHeader | undefined;
    for (let from = 0; from < bytes.length;) {
      const to = bytes.indexOf(NEWLINE, from);
      const entry = this.#parse({ from, to });
      if (header === undefined) header = entry as unknown as RecordingHeader;
      else this.#index(entry, { from, to });
      from = to + 1;
    }
    if (header?.op !== "header") throw new BugError("bug_recording", "Cannot run again: the recording has no header");
    this.header = header;
  }

  attach({ send, end }: { send(line: string): void; end(end: SessionEnd): void }): void {
    this.#outbox = new Outbox(send);
    for (const { id, t } of this.#order) this.#outbox.place(id, t);
    this.#end = end;
  }

  asked(head: Head, body: string | undefined): boolean {
    const entry = askedEntry(head, body, this.#options);
    if (entry === undefined) return true;
    const expected = this.#steps[this.#at];
    if (expected === undefined) {
      this.#finish({ status: "error", reason: RECORDING_ENDED });
      return false;
    }
    if (expected.op === "end" && HOST_ENDS.has(expected.reason)) {
      this.#at++;
      this.#finish({ status: "error", reason: expected.reason });
      return false;
    }
    if (expected.op === "end" || expected.sha256 !== entry.sha256 || expected.id !== entry.id) {
      this.#diverge(expected, { what: entry.what, ...named(entry), value: this.#options.show(head, body) });
      return false;
    }
    this.#at++;
    this.#match(entry);
    return true;
  }

  began(callId: string, id: number): void {
    const recorded = this.#recordedIds.get(id);
    if (recorded !== undefined && this.#answers.has(recorded)) this.#calls.set(callId, recorded);
  }

  /** What the recording holds of a call; `undefined` for one that the first run did not answer before it was ended. */
  outcome(callId: string): Outcome | undefined {
    const recorded = this.#calls.get(callId);
    if (recorded === undefined) return undefined;
    const { failed, value } = this.#answer(recorded);
    if (failed !== true) return { kind: "result", text: JSON.stringify(value) };
    const { outcome, code, message } = value as {
      outcome: Exclude<Outcome["kind"], "result">;
      code: string;
      message: string;
    };
    return { kind: outcome, code, message };
  }

  settled(callId: string, outcome: Outcome): JsonObject {
    const recorded = this.#calls.get(callId);
    this.#calls.delete(callId);
    if (recorded === undefined || this.#over) return { recorded: true };
    const before = this.#answer(recorded);
    const now = answerOf(before.id, outcome);
    // A refusal is made anew, from the same budgets and names: it must be the one that was made then.
    if (now.failed !== (before.failed === true) || now.text !== JSON.stringify(before.value)) {
      this.#diverge({ what: "outcome", call_id: callId, value: shownOutcome(before) }, {
        what: "outcome",
        call_id: callId,
        value: now.failed ? JSON.parse(now.text) as Json : { outcome: "result" },
      });
    }
    return { recorded: true };
  }

  answer({ id }: Answer): void {
    const recorded = this.#recordedIds.get(id);
    // What was not answered then is not answered now: a timer that never came due, a call that was cut off.
    if (this.#over || recorded === undefined || !this.#answers.has(recorded)) return;
    const { failed, scrubbed, value } = this.#answer(recorded);
    if (scrubbed === true) this.#scrubbed++;
    this.#outbox?.ready({ id: recorded, failed: failed === true, text: JSON.stringify(value) });
    this.handled();
  }

  handled(): void {
    if (this.#at === this.#steps.length && this.#steps.at(-1)?.op !== "end" && this.#outbox?.empty === true) {
      this.#finish({ status: "error", reason: RECORDING_ENDED });
    }
  }

  ended(end: SessionEnd): SessionEnd {
    if (this.#over) return end;
    const expected = this.#steps[this.#at];
    const entry = endEntry(end, this.#options);
    const last = this.#steps.at(-1);
    const same = (step: AskedEntry | EndEntry | undefined) => step?.op === "end" && step.sha256 === entry.sha256;
    this.#over = true;
    if (same(expected) || (HOST_ENDS.has(end.reason) && same(last))) return end;
    if (expected === undefined) return { status: "error", reason: RECORDING_ENDED };
    // What the agent makes of a call that waits does not matter: the run stopped there.
    if (expected.op === "end" && expected.reason === "approval_pending") {
      return { status: "error", reason: expected.reason };
    }
    const { status, reason, error } = end;
    this.#report(expected, { what: "end", value: { status, reason, ...(error === undefined ? {} : { error }) } });
    return { status: "error", reason: DIVERGED };
  }

  #match({ id, sha256 }: AskedEntry): void {
    if (id === undefined) return;
    const nth = this.#occurrences.get(sha256) ?? 0;
    this.#occurrences.set(sha256, nth + 1);
    const recorded = this.#byDigest.get(sha256)?.[nth];
    if (recorded !== undefined) this.#recordedIds.set(id, recorded);
  }

  #diverge(expected: AskedEntry | EndEntry | JsonObject, came: JsonObject): void {
    if (this.#over) return;
    this.#report(expected, came);
    this.#finish({ status: "error", reason: DIVERGED });
  }

  #report(expected: AskedEntry | EndEntry | JsonObject, came: JsonObject): void {
    this.#options.record({
      type: "rerun_divergence",
      step: this.#at + 1,
      steps: this.#steps.length,
      expected: "op" in expected ? this.#shown(expected as AskedEntry | EndEntry) : expected,
      came,
      scrubbed_answers: this.#scrubbed,
    });
  }

  /** A step of the recording, with its number among those of its kind: the log has the rest of it. */
  #shown(step: AskedEntry | EndEntry): JsonObject {
    if (step.op === "end") return { what: "end", value: { status: step.status, reason: step.reason } };
    let nth = 0;
    for (const other of this.#steps.slice(0, this.#at + 1)) if (other.op === "asked" && other.what === step.what) nth++;
    return { what: step.what, nth, ...named(step) };
  }

  #finish(end: SessionEnd): void {
    if (this.#over) return;
    this.#over = true;
    this.#end?.(end);
  }

  #index(entry: RecordingEntry, place: Place): void {
    if (entry.op !== "answer") {
      this.#steps.push(entry);
      if (entry.op === "asked" && entry.id !== undefined) {
        const ids = this.#byDigest.get(entry.sha256);
        if (ids === undefined) this.#byDigest.set(entry.sha256, [entry.id]);
        else ids.push(entry.id);
      }
      return;
    }
    this.#answers.set(entry.id, place);
    this.#order.push({ id: entry.id, t: entry.t });
  }

  #answer(id: number): AnswerEntry {
    const place = this.#answers.get(id);
    if (place === undefined) throw new BugError("bug_no_answer", "Cannot answer: the recording holds nothing for it");
    return this.#parse(place) as AnswerEntry;
  }

  #parse({ from, to }: Place): RecordingEntry {
    return JSON.parse(new TextDecoder().decode(this.#bytes.subarray(from, to))) as RecordingEntry;
  }
}

function named({ name }: AskedEntry): JsonObject {
  return name === undefined ? {} : { name };
}

function shownOutcome({ failed, value }: AnswerEntry): Json {
  return failed === true ? value : { outcome: "result" };
}
