/**
 * What a program writes, taken piece by piece in constant memory: decoded, scrubbed of known secrets, kept as far as its
 * mode says, and recorded.
 *
 * @module
 */
import type { ScrubStream } from "../audit/redact.ts";
import { BudgetError } from "../errors.ts";
import { type JsonObject, utf8Length } from "../json.ts";
import type { OutputText } from "../tool/powers.ts";

/** UTF-16 units of head and of tail that a summary keeps. */
const SUMMARY_UNITS = 512;
/** UTF-16 units of one stream that are recorded when nobody follows it. */
const RECORDED_UNITS = 8_192;
/** How long a piece that is smaller than a record's may wait for more, in milliseconds. */
const GATHER_MS = 50;

const ENCODER = new TextEncoder();

/** How one stream is taken. */
export interface OutputOptions {
  readonly stream: "stdout" | "stderr";
  readonly mode: "full" | "summary" | "stream";
  /** Bytes that `full` and `stream` can keep. */
  readonly limit: number;
  /** UTF-8 bytes of one record's text. */
  readonly chunkBytes: number;
  readonly scrub: ScrubStream;
  /** Writes the fields of one `process_output_stream` record; returns once it is taken, however long that takes. */
  record(fields: JsonObject): void;
  now(): number;
}

/** Takes one stream of one program. */
export class Output {
  readonly #options: OutputOptions;
  readonly #decoder = new TextDecoder();
  readonly #parts: string[] = [];
  #head = "";
  #tail = "";
  #bytes = 0;
  #captured = 0;
  #pending = "";
  #chunks = 0;
  #lastMs: number;

  constructor(options: OutputOptions) {
    this.#options = options;
    this.#lastMs = options.now();
  }

  /** Bytes that came so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Takes a piece. @throws {BudgetError} `process_output_bytes`, when there is more than `full` or `stream` can keep. */
  push(piece: Uint8Array): void {
    this.#bytes += piece.length;
    const { mode, limit, scrub } = this.#options;
    if (mode !== "summary" && this.#bytes > limit) {
      throw new BudgetError(
        "process_output_bytes",
        `Cannot keep what the program writes: it is over the budget process_output_bytes of ${limit}`,
        { limit, attempted: this.#bytes },
      );
    }
    this.#take(scrub.push(this.#decoder.decode(piece, { stream: true })));
  }

  /** Takes what was held back, and records what nobody followed. */
  end(): OutputText {
    const { scrub, mode } = this.#options;
    this.#take(scrub.push(this.#decoder.decode()) + scrub.end());
    if (mode === "stream") this.#flush();
    else this.#recordHead();
    const text = mode === "summary" ? cut(this.#head, SUMMARY_UNITS) : this.#parts.join("");
    const tail = mode === "summary" ? this.#tail.toWellFormed() : "";
    return { text, tail, bytes: this.#bytes, captured: mode === "summary" ? utf8Length(text + tail) : this.#captured };
  }

  #take(text: string): void {
    if (text === "") return;
    this.#captured += utf8Length(text);
    const room = RECORDED_UNITS - this.#head.length;
    if (room > 0) this.#head += text.slice(0, room);
    if (this.#options.mode === "summary") {
      // what the head shows is not shown twice
      const behind = this.#captured > SUMMARY_UNITS ? (this.#tail + text).slice(-SUMMARY_UNITS) : "";
      this.#tail = behind;
      return;
    }
    this.#parts.push(text);
    if (this.#options.mode === "stream") this.#follow(text);
  }

  #follow(text: string): void {
    this.#pending += text;
    const { chunkBytes, now } = this.#options;
    let at = 0;
    while (this.#pending.length - at >= chunkBytes) {
      const piece = takeBytes(this.#pending, at, chunkBytes);
      this.#record(piece);
      at += piece.length;
    }
    this.#pending = this.#pending.slice(at);
    if (now() - this.#lastMs >= GATHER_MS) this.#flush();
  }

  #flush(): void {
    let at = 0;
    while (at < this.#pending.length) {
      const piece = takeBytes(this.#pending, at, this.#options.chunkBytes);
      this.#record(piece);
      at += piece.length;
    }
    this.#pending = "";
  }

  #record(text: string): void {
    const { stream, now } = this.#options;
    this.#lastMs = now();
    this.#options.record({ stream, chunk_index: this.#chunks++, chunk_bytes: utf8Length(text), text });
  }

  #recordHead(): void {
    const { stream, chunkBytes } = this.#options;
    const head = cut(this.#head, RECORDED_UNITS);
    const pieces: string[] = [];
    for (let at = 0; at < head.length; at += pieces.at(-1)?.length ?? 1) pieces.push(takeBytes(head, at, chunkBytes));
    const captured = utf8Length(head);
    for (const [index, text] of pieces.entries()) {
      this.#options.record({
        stream,
        chunk_index: index,
        chunk_count: pieces.length,
        chunk_bytes: utf8Length(text),
        captured_bytes: captured,
        original_bytes: this.#bytes,
        truncated: captured < this.#captured,
        text,
      });
    }
  }
}

/** The longest piece of a text from `at` on that has `bytes` UTF-8 bytes at most; one character at least. */
function takeBytes(text: string, at: number, bytes: number): string {
  const window = text.slice(at, at + bytes);
  const { read } = ENCODER.encodeInto(window, new Uint8Array(bytes));
  return text.slice(at, at + Math.max(read, 1));
}

/** The first units of a text, without half a character at its end. */
function cut(text: string, units: number): string {
  return text.slice(0, units).replace(/[\ud800-\udbff]$/, "");
}
