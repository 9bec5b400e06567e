/**
 * Reads answers from the terminal, key by key: one that waits for whole lines would hand out the beginning of one that was
 * typed too early.
 *
 * @module
 */
import { err } from "./io.ts";

/** How long the terminal is listened to for what was typed before the question stood there, in milliseconds. */
const TYPED_AHEAD_MS = 40;
/** Pieces of typed-ahead text that are dropped, at most. */
const MAX_DROPPED = 1000;
/** Ctrl-D. */
const END_OF_INPUT = "\x04";
/** What an arrow key and the like send; none of it is text. */
const ESCAPE_SEQUENCE_REGEXP = new RegExp(`${"\x1b"}(?:\\[[0-?]*[ -/]*[@-~]|O.|[@-Z\\\\-_])`, "g");

/** What a terminal does for its reader. */
export interface Terminal {
  isTerminal(): boolean;
  read(buffer: Uint8Array): Promise<number | null>;
  setRaw(on: boolean, options?: { readonly cbreak: boolean }): void;
}

/** How a line is read. */
export interface LineOptions {
  /** Withdraws the question. */
  readonly signal: AbortSignal;
  /** Longest line, in characters; what is typed beyond it is not taken. */
  readonly max: number;
  /** Characters that are taken; the default is ASCII without control characters. */
  readonly taken?: RegExp;
}

/** The one reader of the terminal. */
export class TerminalLines {
  readonly #stdin: Terminal;
  #reading: Promise<string | null> | undefined;
  readonly #decoder = new TextDecoder();

  /** Makes a reader of standard input, or of what a test hands it. */
  constructor(stdin: Terminal = Deno.stdin) {
    this.#stdin = stdin;
  }

  /**
   * Shows a question and talks about it. Meanwhile nothing of what is typed is shown but by this reader, and what was typed
   * before the question stood there counts for nothing.
   */
  async dialogue<T>(signal: AbortSignal, { show, talk }: { show(): void; talk(): Promise<T> }): Promise<T> {
    this.#stdin.setRaw(true, { cbreak: true });
    try {
      show();
      await this.#dropTyped(signal);
      return await talk();
    } finally {
      this.#stdin.setRaw(false);
    }
  }

  /** One line, put together from keys. `null` at the end of input, `undefined` where the question is withdrawn. */
  async line({ signal, max, taken = /^[ -~]$/ }: LineOptions): Promise<string | null | undefined> {
    const withdrawn = Promise.withResolvers<undefined>();
    const onAbort = () => withdrawn.resolve(undefined);
    signal.addEventListener("abort", onAbort, { once: true });
    const line: string[] = [];
    try {
      while (!signal.aborted) {
        const keys = await Promise.race([this.#read(), withdrawn.promise]);
        if (keys === undefined) return undefined;
        if (keys === null) return null;
        for (const key of keys.replaceAll(ESCAPE_SEQUENCE_REGEXP, "")) {
          if (key === "\r" || key === "\n") {
            err("\n");
            return line.join("");
          }
          if (key === END_OF_INPUT && line.length === 0) return null;
          if ((key === "\b" || key === "\x7f") && line.length > 0) {
            line.pop();
            err("\b \b");
          } else if (taken.test(key) && line.length < max) {
            line.push(key);
            err(key);
          }
        }
      }
      return undefined;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Drops what was typed before the question stood there: it is no answer to it. */
  async #dropTyped(signal: AbortSignal): Promise<void> {
    for (let count = 0; count < MAX_DROPPED; count++) {
      const silence = Promise.withResolvers<"silence">();
      const timer = setTimeout(() => silence.resolve("silence"), TYPED_AHEAD_MS);
      const typed = await Promise.race([this.#read(), silence.promise]);
      clearTimeout(timer);
      if (typed === "silence" || typed === null || signal.aborted) return;
    }
  }

  /** The next piece of input. One that was asked for and not taken is the next one's. */
  #read(): Promise<string | null> {
    this.#reading ??= this.#readNow().finally(() => this.#reading = undefined);
    return this.#reading;
  }

  async #readNow(): Promise<string | null> {
    const bytes = new Uint8Array(1024);
    const count = await this.#stdin.read(bytes);
    // A character may come in two pieces
    return count === null ? null : this.#decoder.decode(bytes.subarray(0, count), { stream: true });
  }
}
