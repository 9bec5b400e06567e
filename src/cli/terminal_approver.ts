/**
 * Asks the person at the terminal for an approval.
 *
 * @module
 */
import type { ApprovalRequest } from "../audit/approval_request.ts";
import type { ApprovalAnswer } from "../launch/approver.ts";
import { requestLines } from "../report/approval.ts";
import { err, styleFor } from "./io.ts";
import type { Progress } from "./progress.ts";

/** How long the terminal is listened to for what was typed before the question stood there, in milliseconds. */
const TYPED_AHEAD_MS = 40;
/** Pieces of typed-ahead text that are dropped, at most. */
const MAX_DROPPED = 1000;
/** Longest answer, in characters. */
const MAX_ANSWER = 64;
/** Ctrl-D. */
const END_OF_INPUT = "\x04";

const HELP = [
  "  y  yes: this one call runs, with exactly what stands above",
  "  n  no (also an empty line): the call is denied, and the same one again in this run",
  "  v  view: prints all of it, however long",
  "  l  later: the call stays pending and the run stops; `twokey approval allow` lets the next run do it",
  "  q  no to this and to everything else that this run asks",
];

/** What a terminal does for its approver. */
interface Terminal {
  isTerminal(): boolean;
  read(buffer: Uint8Array): Promise<number | null>;
  setRaw(on: boolean, options?: { readonly cbreak: boolean }): void;
}

/** Asks at the terminal, one question at a time. */
export class TerminalApprover {
  readonly #progress: Progress;
  readonly #project: () => string | undefined;
  readonly #stdin: Terminal;
  #reading: Promise<string | null> | undefined;

  /**
   * @param options `project`: real path of the project, once it is known; places below it are named relative to it.
   */
  constructor(progress: Progress, options: { project?(): string | undefined; stdin?: Terminal } = {}) {
    this.#progress = progress;
    this.#project = options.project ?? (() => undefined);
    this.#stdin = options.stdin ?? Deno.stdin;
  }

  /** Asks. An end of input is no answer: the call stays pending. */
  async ask(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> {
    this.#progress.hold();
    this.#stdin.setRaw(true, { cbreak: true });
    try {
      const { isCut } = this.#print(request, false);
      await this.#dropTyped(signal);
      while (true) {
        err(`Allow this one call?${isCut ? " Something is cut, v shows it." : ""} [y/N/v/l/q/?] `);
        const answer = await this.#line(signal);
        if (answer === undefined) {
          err("\nthe question is withdrawn\n");
          return { decision: "later" };
        }
        switch (answer?.trim().toLowerCase()) {
          case "y":
          case "yes":
            return { decision: "allow" };
          case "v":
            this.#print(request, true);
            continue;
          case "?":
            err(`${HELP.join("\n")}\n`);
            continue;
          case "q":
            return { decision: "deny_all" };
          case "l":
          case undefined:
            err(`${answer === null ? "\n" : ""}left pending\n`);
            return { decision: "later", reason: "put off at the terminal" };
          default:
            return { decision: "deny" };
        }
      }
    } finally {
      this.#stdin.setRaw(false);
      this.#progress.release();
    }
  }

  #print(request: ApprovalRequest, whole: boolean): { readonly isCut: boolean } {
    const project = this.#project();
    const { lines, isCut } = requestLines(request, {
      style: styleFor(Deno.stderr),
      whole,
      ...(project === undefined ? {} : { project }),
    });
    err(`\n${lines.join("\n")}\n`);
    return { isCut };
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

  /**
   * One line, put together from keys: a terminal that waits for whole lines would hand out the beginning of one that was
   * typed too early. `null` at the end of input, `undefined` where the question is withdrawn.
   */
  async #line(signal: AbortSignal): Promise<string | null | undefined> {
    const withdrawn = Promise.withResolvers<undefined>();
    const onAbort = () => withdrawn.resolve(undefined);
    signal.addEventListener("abort", onAbort, { once: true });
    let line = "";
    try {
      while (!signal.aborted) {
        const keys = await Promise.race([this.#read(), withdrawn.promise]);
        if (keys === undefined) return undefined;
        if (keys === null) return null;
        for (const key of keys) {
          if (key === "\r" || key === "\n") {
            err("\n");
            return line;
          }
          if (key === END_OF_INPUT && line === "") return null;
          if ((key === "\b" || key === "\x7f") && line !== "") {
            line = line.slice(0, -1);
            err("\b \b");
          } else if (/^[ -~]$/.test(key) && line.length < MAX_ANSWER) {
            line += key;
            err(key);
          }
        }
      }
      return undefined;
    } finally {
      signal.removeEventListener("abort", onAbort);
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
    return count === null ? null : new TextDecoder().decode(bytes.subarray(0, count));
  }
}
