/**
 * Notes down what an agent asks and receives, in the order in which it does. Whatever is written holds no known secret.
 *
 * @module
 */
import {
  MAX_ENTRY_BYTES,
  RECEIVED_FIELD,
  RECORDING_VERSION,
  RecordingChain,
  type RecordingEntry,
  type RecordingHeader,
} from "../audit/recording.ts";
import { REDACTED } from "../audit/redact.ts";
import { AuditError, BugError } from "../errors.ts";
import type { Json, JsonObject } from "../json.ts";
import type { Outcome } from "./ended.ts";
import type { Head } from "./frame.ts";
import { type Answer, Outbox } from "./outbox.ts";
import { answerOf, askedEntry, type DigestOptions, endEntry, type SessionEnd, type Transcript } from "./transcript.ts";

const ENCODER = new TextEncoder();

/** What a recorder needs. */
export interface RecorderOptions extends DigestOptions {
  /** What the agent is given before its first line. */
  readonly start: Pick<RecordingHeader, "context" | "controls" | "redact" | "expect">;
  /** Takes one line, without its newline; it is with the launcher when this returns. */
  write(line: string): void;
  now(): number;
}

/** Records one run. */
export class Recorder implements Transcript {
  readonly isRerun = false;
  readonly #options: RecorderOptions;
  readonly #chain: RecordingChain;
  readonly #ids = new Map<string, number>();
  /** Answers whose line is written, and which have their place therefore. */
  readonly #placed = new Set<number>();
  #outbox: Outbox | undefined;
  /** What ends later than the session did never reaches the agent. */
  #over = false;

  /** Writes the first line. */
  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#chain = new RecordingChain(options.sha256);
    const { value, scrubbed } = this.#scrub(options.start as unknown as Json);
    const start = scrubbed && value === REDACTED
      ? { context: {}, controls: {}, redact: [], expect: {} }
      : value as JsonObject;
    this.#write(
      JSON.stringify({ op: "header", version: RECORDING_VERSION, ...start, ...(scrubbed ? { scrubbed } : {}) }),
    );
  }

  /** Field for a record: the head that the recording has now. */
  get received(): JsonObject {
    return { [RECEIVED_FIELD]: this.#chain.head };
  }

  attach({ send }: { send(line: string): void }): void {
    this.#outbox = new Outbox(send);
  }

  asked(head: Head, body: string | undefined): boolean {
    const entry = askedEntry(head, body, this.#options);
    if (entry !== undefined) this.#entry(entry);
    return true;
  }

  began(callId: string, id: number): void {
    this.#ids.set(callId, id);
  }

  settled(callId: string, outcome: Outcome): JsonObject {
    const id = this.#ids.get(callId);
    if (id === undefined) throw new BugError("bug_not_begun", "Cannot record an outcome: its call was not announced");
    this.#ids.delete(callId);
    if (this.#over) return {};
    this.#note(answerOf(id, outcome), callId);
    return this.received;
  }

  answer(answer: Answer): void {
    if (this.#over) return;
    // Of a call, the line stands before the record of its outcome; this answer was fixed with it.
    if (!this.#placed.delete(answer.id)) {
      this.#note(answer);
      this.#placed.delete(answer.id);
    }
    this.#outbox?.ready(answer);
  }

  handled(): void {}

  ended(end: SessionEnd): SessionEnd {
    this.#entry(endEntry(end, this.#options));
    this.#over = true;
    return end;
  }

  /** Writes the line of an answer, and with it fixes its place and its time. */
  #note({ id, failed, text }: Answer, callId?: string): void {
    const t = this.#options.now();
    const { value, scrubbed } = this.#scrubText(text);
    const call = callId === undefined ? "" : `,"call_id":"${callId}"`;
    const flags = `${failed ? ',"failed":true' : ""}${scrubbed ? ',"scrubbed":true' : ""}`;
    this.#write(`{"op":"answer","id":${id},"t":${t}${call}${flags},"value":${value}}`);
    this.#placed.add(id);
    this.#outbox?.place(id, t);
  }

  #entry(entry: RecordingEntry): void {
    this.#write(JSON.stringify(entry));
  }

  #write(line: string): void {
    const bytes = ENCODER.encode(line);
    if (bytes.length > MAX_ENTRY_BYTES) {
      throw new AuditError("recording_line", `Cannot record the run: one answer is over ${MAX_ENTRY_BYTES} bytes`);
    }
    this.#chain.add(bytes);
    this.#options.write(line);
  }

  /** Scrubs a JSON text that we printed ourselves. Without secrets nothing is parsed. */
  #scrubText(text: string): { readonly value: string; readonly scrubbed: boolean } {
    const { redactor } = this.#options;
    const { value, scrubbed } = redactor.scrub(text) === text && !HAS_ESCAPE.test(text)
      ? { value: undefined, scrubbed: false }
      : this.#scrub(JSON.parse(text) as Json);
    return { value: scrubbed ? JSON.stringify(value) : text, scrubbed };
  }

  /** Takes secrets out of a value; the whole value goes where one still shows in its text, over the border of two parts. */
  #scrub(value: Json): { readonly value: Json; readonly scrubbed: boolean } {
    const { redactor } = this.#options;
    const clean = redactor.scrubValue(value);
    const text = JSON.stringify(clean);
    if (redactor.scrub(text) !== text) return { value: REDACTED, scrubbed: true };
    return { value: clean, scrubbed: clean !== value };
  }
}

/** A text that is escaped inside JSON may be a secret that is not seen until it is parsed. */
const HAS_ESCAPE = /\\/;
