/**
 * Standard error of the host and the agent, on its way to the terminal that only the launcher owns.
 *
 * @module
 */

import type { ScrubStream } from "../audit/redact.ts";

/** Longest piece that is passed on as one line, in characters. */
const MAX_LINE = 4096;

/** Where relayed text goes, and what bounds it. */
export interface RelayOptions {
  /** Bytes that all streams of the run may print together. */
  readonly maxBytes: number;
  /** Takes one line, without its newline and not yet escaped: untrusted. */
  line(source: "host" | "agent", text: string): void;
  /** Starts the scrubbing of one stream from what must not be shown; the stream arrives in pieces. */
  scrub(): ScrubStream;
  /** Called once, when the streams have printed more than they may. */
  flood(): void;
}

/** Relays streams line by line and counts what passes. */
export class Relay {
  readonly #options: RelayOptions;
  #bytes = 0;
  #flooded = false;

  constructor(options: RelayOptions) {
    this.#options = options;
  }

  /** Relays one stream to its end. Never rejects. */
  async follow(source: "host" | "agent", stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    const scrub = this.#options.scrub();
    let rest = "";
    try {
      for await (const chunk of stream) {
        this.#bytes += chunk.length;
        if (this.#bytes > this.#options.maxBytes) {
          if (!this.#flooded) this.#options.flood();
          this.#flooded = true;
          continue; // read on, so that nobody blocks on a full pipe before the end
        }
        const lines = (rest + scrub.push(decoder.decode(chunk, { stream: true }))).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) this.#pass(source, line);
        if (rest.length > MAX_LINE) {
          this.#pass(source, rest);
          rest = "";
        }
      }
    } catch {
      // the process is gone
    }
    rest += scrub.push(decoder.decode()) + scrub.end();
    if (rest !== "" && !this.#flooded) this.#pass(source, rest);
  }

  #pass(source: "host" | "agent", text: string): void {
    for (let at = 0; at === 0 || at < text.length; at += MAX_LINE) {
      this.#options.line(source, text.slice(at, at + MAX_LINE));
    }
  }
}
