/**
 * The host's end of the record channel. The launcher numbers, chains and writes what is sent here; the host never
 * opens the log.
 *
 * @module
 */
import type { RecordBody } from "../audit/record.ts";
import { AuditError } from "../errors.ts";
import type { Json, JsonObject } from "../json.ts";
import type { ApprovalVerdict } from "./approval.ts";

const ENCODER = new TextEncoder();
const NEWLINE = 10;
/** Room for every usual record. */
const LINE_BYTES = 65_536;

/** The two files of the channel. */
export interface ChannelEnds {
  /** Lines to the launcher: records, records that want an answer (`!` first), the recording's (`%` first), control lines (`@`). */
  readonly records: { writeSync(bytes: Uint8Array): number };
  /** Lines from the launcher: one `a` for each record that is on disk, a `d` with JSON for each call that asked. */
  readonly answers: { readSync(bytes: Uint8Array): number | null; read(bytes: Uint8Array): Promise<number | null> };
}

/** Somebody who waits for a line of the launcher. */
type Waiting<T> = PromiseWithResolvers<T>;

/**
 * Sends records to the launcher. A write that fails ends the run: without a record there is no effect.
 *
 * Waiting for a record blocks, which is the fastest way, as long as no call asks for an approval. While one does, a person
 * thinks and other calls go on: lines are then read in the background, and waiting for a record is asynchronous.
 */
export class RecordChannel {
  readonly #ends: ChannelEnds;
  readonly #redact: (value: Json) => Json;
  readonly #byte = new Uint8Array(1);
  readonly #line = new Uint8Array(LINE_BYTES);
  readonly #acks: Waiting<void>[] = [];
  readonly #asks = new Map<string, Waiting<ApprovalVerdict>>();
  #isReading = false;

  constructor(ends: ChannelEnds, redact: (value: Json) => Json) {
    this.#ends = ends;
    this.#redact = redact;
  }

  /** Sends a record; returns once the pipe has taken it. @throws {AuditError} If the launcher is gone. */
  send(body: RecordBody): void {
    this.#write(`${JSON.stringify(this.#redact(body))}\n`);
  }

  /**
   * Sends a record; it is on disk once this returns, or once the promise that it returns resolves.
   *
   * @throws {AuditError} If the launcher is gone; the promise rejects with it.
   */
  sendAndWait(body: RecordBody): void | Promise<void> {
    this.#write(`!${JSON.stringify(this.#redact(body))}\n`);
    if (this.#isReading) {
      const ack = Promise.withResolvers<void>();
      this.#acks.push(ack);
      return ack.promise;
    }
    if (this.readLine() !== "a") throw new AuditError("audit_no_answer", "Cannot go on: a record was not confirmed");
  }

  /**
   * Asks whether a call may run; other records and answers pass meanwhile. Not redacted: what is decided on is the very
   * call. The launcher redacts what it writes down.
   */
  ask(callId: string, body: JsonObject): Promise<ApprovalVerdict> {
    const verdict = Promise.withResolvers<ApprovalVerdict>();
    this.#asks.set(callId, verdict);
    this.#write(`@ask ${JSON.stringify({ call_id: callId, ...body })}\n`);
    if (!this.#isReading) this.#read();
    return verdict.promise;
  }

  /** Sends a control line: not part of the log. */
  control(word: string, body: JsonObject): void {
    this.#write(`@${word} ${JSON.stringify(this.#redact(body))}\n`);
  }

  /** Hands over a text that is no part of the log, as it is: the state that a session keeps must come back unchanged. */
  hand(word: string, text: string): void {
    this.#write(`@${word} ${text}\n`);
  }

  /** Sends a line of the run's recording: it is written before any record that is sent after it. */
  recording(line: string): void {
    this.#write(`%${line}\n`);
  }

  /** Blocks until the launcher has sent so many bytes. @throws {AuditError} If the launcher is gone. */
  readBytes(count: number): Uint8Array {
    const bytes = new Uint8Array(count);
    for (let at = 0; at < count;) {
      const read = this.#ends.answers.readSync(bytes.subarray(at));
      if (read === null) throw new AuditError("audit_launcher_gone", "Cannot go on: the launcher is gone");
      at += read;
    }
    return bytes;
  }

  /** Blocks until the launcher has sent a line. @throws {AuditError} If the launcher is gone. */
  readLine(): string {
    // Answers are a byte or two; the one long line, the first, is read by the caller before this object exists.
    let text = "";
    while (true) {
      const count = this.#ends.answers.readSync(this.#byte);
      if (count === null) throw new AuditError("audit_launcher_gone", "Cannot go on: the launcher is gone");
      if (count === 0) continue;
      const byte = this.#byte[0];
      if (byte === NEWLINE) return text;
      text += String.fromCharCode(byte ?? 0);
    }
  }

  /** Reads in the background as long as anybody waits. Every line answers one who does, so nothing is left over. */
  async #read(): Promise<void> {
    this.#isReading = true;
    const buffer = new Uint8Array(4096);
    let text = "";
    try {
      while (this.#asks.size > 0 || this.#acks.length > 0) {
        const count = await this.#ends.answers.read(buffer);
        if (count === null) throw new AuditError("audit_launcher_gone", "Cannot go on: the launcher is gone");
        for (const byte of buffer.subarray(0, count)) text += String.fromCharCode(byte);
        const lines = text.split("\n");
        text = lines.pop() ?? "";
        for (const line of lines) this.#take(line);
      }
      if (text !== "") throw new AuditError("audit_no_answer", "Cannot go on: the launcher sent what nobody asked for");
    } catch (error) {
      for (const { reject } of [...this.#acks.splice(0), ...this.#asks.values()]) reject(error);
      this.#asks.clear();
    } finally {
      this.#isReading = false;
    }
  }

  #take(line: string): void {
    const ack = line === "a" ? this.#acks.shift() : undefined;
    if (ack !== undefined) return ack.resolve();
    const { call_id: callId, ...verdict } = line.startsWith("d ") ? JSON.parse(line.slice(2)) : {};
    const ask = this.#asks.get(callId);
    if (ask === undefined) throw new AuditError("audit_no_answer", "Cannot go on: a record was not confirmed");
    this.#asks.delete(callId);
    ask.resolve(verdict);
  }

  /** Encodes into memory that is used again where the text surely fits. */
  #encode(text: string): Uint8Array {
    if (text.length * 3 > this.#line.length) return ENCODER.encode(text);
    return this.#line.subarray(0, ENCODER.encodeInto(text, this.#line).written);
  }

  #write(text: string): void {
    try {
      const bytes = this.#encode(text);
      for (let at = 0; at < bytes.length;) at += this.#ends.records.writeSync(at === 0 ? bytes : bytes.subarray(at));
    } catch (cause) {
      throw new AuditError("audit_write_failed", "Cannot write a record: the launcher is gone", { cause });
    }
  }
}
