/**
 * The host's end of an agent that runs in a process of its own.
 *
 * Reading blocks while nothing else can happen, which is the fastest way to wait, and is asynchronous while calls are
 * running. Writing never blocks on a full pipe: bytes beyond what the pipe can hold wait in a queue that is written
 * asynchronously while reading goes on. So two peers that both send a lot cannot lock each other.
 *
 * @module
 */
import { concatBytes } from "../bytes.ts";
import type { GuestStart, Isolate, IsolateEvents, Served } from "./isolate.ts";

/** Bytes that a pipe surely takes without blocking; pipes hold 65,536. */
const PIPE_BYTES = 60_000;
const ENCODER = new TextEncoder();
const NEWLINE = 10;
/** Turns of the microtask queue that running calls get before the host waits for more; a reading tool takes about 20. */
const SETTLING_TURNS = 100;
/** Room for every line that fits into a pipe, however it is encoded. */
const LINE_BYTES = 3 * PIPE_BYTES;
const HELLO = '{"op":"hello"}';

/** The two FIFO ends. */
export interface AgentEnds {
  readonly fromAgent: Deno.FsFile;
  readonly toAgent: Deno.FsFile;
}

/** What an agent's process may make the host hold, in bytes. */
export interface ProcessBounds {
  /** One line of the agent. */
  readonly maxLineBytes: number;
  /** Answers that it has not read. */
  readonly maxQueuedBytes: number;
}

/** Joins the host to an agent process. */
export class ProcessIsolate implements Isolate {
  readonly #ends: AgentEnds;
  readonly #events: IsolateEvents;
  readonly #maxLineBytes: number;
  readonly #maxQueuedBytes: number;
  readonly #buffer = new Uint8Array(65_536);
  readonly #line = new Uint8Array(LINE_BYTES);
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });
  #partial: Uint8Array<ArrayBuffer>[] = [];
  #partialBytes = 0;
  #unread = 0;
  #queue: Uint8Array<ArrayBuffer>[] = [];
  #queuedBytes = 0;
  #drained = Promise.resolve();
  #writing = false;
  #over = false;

  /** A longer line of the agent, or more that it has not read, ends it. */
  constructor(ends: AgentEnds, events: IsolateEvents, { maxLineBytes, maxQueuedBytes }: ProcessBounds) {
    this.#ends = ends;
    this.#events = events;
    this.#maxLineBytes = maxLineBytes;
    this.#maxQueuedBytes = maxQueuedBytes;
  }

  ready(): Promise<void> {
    const byte = new Uint8Array(1);
    let line = "";
    while (line.length <= HELLO.length) {
      if (this.#ends.fromAgent.readSync(byte) === null) {
        this.#end("agent_gone");
        break;
      }
      if (byte[0] === NEWLINE) break;
      line += String.fromCharCode(byte[0] ?? 0);
    }
    if (line !== HELLO) this.#end("protocol_violation");
    return Promise.resolve();
  }

  start(start: GuestStart, code: string): void {
    this.send(JSON.stringify([start, `data:text/javascript;charset=utf-8,${encodeURIComponent(code)}`]));
  }

  send(line: string): void {
    const bytes = this.#encode(`${line}\n`);
    if (!this.#writing && this.#unread + bytes.length <= PIPE_BYTES) {
      this.#unread += bytes.length;
      try {
        for (let at = 0; at < bytes.length;) at += this.#ends.toAgent.writeSync(bytes.subarray(at));
      } catch {
        this.#end("agent_gone");
      }
      return;
    }
    this.#queuedBytes += bytes.length;
    if (this.#queuedBytes > this.#maxQueuedBytes) return this.#end("agent_not_reading");
    // Copied: the next line is encoded into the same memory.
    this.#queue.push(bytes.slice());
    if (!this.#writing) this.#drained = this.#drain();
  }

  drained(): Promise<void> | undefined {
    return this.#writing ? this.#drained : undefined;
  }

  /** Encodes into memory that is used again where the text surely fits. */
  #encode(text: string): Uint8Array<ArrayBuffer> {
    if (text.length * 3 > this.#line.length) return ENCODER.encode(text);
    return this.#line.subarray(0, ENCODER.encodeInto(text, this.#line).written);
  }

  /** Lowers the count of bytes that the agent has not read yet. A wrong count only slows the agent itself. */
  acknowledge(bytes: number): void {
    this.#unread = Math.max(0, this.#unread - bytes);
  }

  async serve(run: Served): Promise<void> {
    while (true) {
      // A call that waits for nothing outside ends within these turns; then it is right to block again.
      for (let turn = 0; turn < SETTLING_TURNS && run.busy; turn++) await undefined;
      if (this.#over || run.over) return;
      let count: number | null;
      try {
        const idle = !run.busy && !this.#writing;
        count = idle ? this.#ends.fromAgent.readSync(this.#buffer) : await this.#ends.fromAgent.read(this.#buffer);
      } catch {
        count = null;
      }
      if (this.#over) return;
      if (count === null) return this.#end("agent_gone");
      this.#take(count);
    }
  }

  #take(count: number): void {
    let from = 0;
    while (from < count && !this.#over) {
      const found = this.#buffer.indexOf(NEWLINE, from);
      if (found < 0 || found >= count) break;
      const tail = this.#buffer.subarray(from, found);
      if (this.#partialBytes + tail.length > this.#maxLineBytes) return this.#end("frame_too_long");
      let text: string;
      try {
        text = this.#decoder.decode(this.#partial.length === 0 ? tail : concatBytes([...this.#partial, tail]));
      } catch {
        return this.#end("frame_not_text");
      }
      this.#partial = [];
      this.#partialBytes = 0;
      from = found + 1;
      this.#events.line(text);
    }
    if (from < count && !this.#over) {
      this.#partialBytes += count - from;
      if (this.#partialBytes > this.#maxLineBytes) return this.#end("frame_too_long");
      this.#partial.push(this.#buffer.slice(from, count));
    }
  }

  async #drain(): Promise<void> {
    this.#writing = true;
    try {
      for (let bytes = this.#queue.shift(); bytes !== undefined; bytes = this.#queue.shift()) {
        this.#unread += bytes.length;
        for (let at = 0; at < bytes.length;) at += await this.#ends.toAgent.write(bytes.subarray(at));
        this.#queuedBytes -= bytes.length;
      }
    } catch {
      this.#queue = [];
      this.#end("agent_gone");
    }
    this.#writing = false;
  }

  #end(reason: string): void {
    if (this.#over) return;
    this.#over = true;
    this.#events.gone(reason);
  }
}
