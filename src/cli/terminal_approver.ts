/**
 * Asks the person at the terminal for an approval.
 *
 * @module
 */
import type { ApprovalRequest } from "../audit/approval_request.ts";
import type { ApprovalAnswer } from "../launch/approver.ts";
import { requestLines } from "../report/approval.ts";
import { columnsOf, err, styleFor } from "./io.ts";
import type { Progress } from "./progress.ts";
import { TerminalLines } from "./terminal_lines.ts";

/** Longest answer, in characters. */
const MAX_ANSWER = 64;
const HELP = [
  "  y  yes: this one call runs, with exactly what stands above",
  "  n  no (also an empty line): the call is denied, and the same one again in this run",
  "  v  view: prints all of it, however long",
  "  l  later: the call stays pending and the run stops; `twokey approval allow` lets the next run do it",
  "  q  no to this and to everything else that this run asks",
];

/** Asks at the terminal, one question at a time. */
export class TerminalApprover {
  readonly #progress: Progress;
  readonly #project: () => string | undefined;
  readonly #terminal: TerminalLines;

  /**
   * @param options `project`: real path of the project, once it is known; places below it are named relative to it.
   */
  constructor(progress: Progress, options: { project?(): string | undefined; terminal?: TerminalLines } = {}) {
    this.#progress = progress;
    this.#project = options.project ?? (() => undefined);
    this.#terminal = options.terminal ?? new TerminalLines();
  }

  /** Asks. An end of input is no answer: the call stays pending. */
  async ask(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> {
    this.#progress.hold();
    try {
      let isCut = false;
      return await this.#terminal.dialogue(signal, {
        show: () => ({ isCut } = this.#print(request, false)),
        talk: () => this.#talk(request, isCut, signal),
      });
    } finally {
      this.#progress.release();
    }
  }

  async #talk(request: ApprovalRequest, isCut: boolean, signal: AbortSignal): Promise<ApprovalAnswer> {
    while (true) {
      err(`Allow this one call?${isCut ? " Something is cut, v shows it." : ""} [y/N/v/l/q/?] `);
      const answer = await this.#terminal.line({ signal, max: MAX_ANSWER });
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
  }

  #print(request: ApprovalRequest, whole: boolean): { readonly isCut: boolean } {
    const project = this.#project();
    const { lines, isCut } = requestLines(request, {
      style: styleFor(Deno.stderr),
      whole,
      columns: columnsOf(Deno.stderr),
      ...(project === undefined ? {} : { project }),
    });
    err(`\n${lines.join("\n")}\n`);
    return { isCut };
  }
}
