/**
 * What is seen of a run while it goes on: one line that is written over on a terminal, nothing elsewhere.
 *
 * @module
 */
import type { RecordBody } from "../audit/record.ts";
import { escapeText } from "../report/escape.ts";
import { CLEAR_LINE, err } from "./io.ts";

/** Between two paints; faster than this nobody reads. */
const PAINT_MS = 80;

/** The live line of a run. */
export class Progress {
  readonly #live: boolean;
  #calls = 0;
  #denied = 0;
  #paintedAt = -Infinity;
  #painted = false;
  #held: string[] | undefined;

  constructor({ quiet }: { readonly quiet: boolean }) {
    this.#live = !quiet && Deno.stderr.isTerminal();
  }

  /** Takes one record. */
  saw({ type, tool }: RecordBody): void {
    if (type === "tool_call") this.#calls++;
    else if (type === "tool_denial") this.#denied++;
    else return;
    if (this.#live && this.#held === undefined && performance.now() - this.#paintedAt > PAINT_MS) {
      this.#paint(String(tool));
    }
  }

  /** Prints a line above the live one; later, while a question is open. */
  print(line: string): void {
    if (this.#held !== undefined) {
      this.#held.push(line);
      return;
    }
    this.#clear();
    err(`${line}\n`);
  }

  /** Keeps everything back: what stands on the screen is a question, and nothing else may look like a part of it. */
  hold(): void {
    this.#clear();
    this.#held ??= [];
  }

  /** Prints what was kept back. */
  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const line of held) this.print(line);
  }

  /** Takes the live line away. */
  end(): void {
    this.release();
    this.#clear();
  }

  #paint(tool: string): void {
    const denied = this.#denied === 0 ? "" : `, ${this.#denied} denied`;
    err(
      `${CLEAR_LINE}  ${this.#calls} ${this.#calls === 1 ? "call" : "calls"}${denied}  ${
        escapeText(tool, { max: 40 })
      }`,
    );
    this.#painted = true;
    this.#paintedAt = performance.now();
  }

  #clear(): void {
    if (this.#painted) err(CLEAR_LINE);
    this.#painted = false;
  }
}
