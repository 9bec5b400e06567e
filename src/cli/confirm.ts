/**
 * A question to the person at the terminal.
 *
 * @module
 */
import { err } from "./io.ts";

/** Longest answer that is read, in bytes. */
const MAX_ANSWER = 1024;

/** A person said no: nothing runs, and nobody did anything wrong. */
export class DeclinedError extends Error {
  override readonly name = "DeclinedError";
}

/** Whether there is a person to ask: both ends of a terminal are there. */
export function canAsk(): boolean {
  return Deno.stdin.isTerminal() && Deno.stderr.isTerminal();
}

/** Asks a yes-or-no question. Only `y` and `yes` are a yes: an empty line, an end of input and anything else are a no. */
export function confirmed(question: string): boolean {
  err(`${question} [y/N] `);
  const bytes = new Uint8Array(MAX_ANSWER);
  const read = Deno.stdin.readSync(bytes) ?? 0;
  return /^y(es)?$/i.test(new TextDecoder().decode(bytes.subarray(0, read)).trim());
}
