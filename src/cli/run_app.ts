/**
 * The command line with `run`, and nothing else.
 *
 * @module
 */
import { runCommand } from "./run.ts";
import { runWords } from "./run_words.ts";

/** Runs one command line whose first word is `run`, and returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  return await runWords(args, { run: () => Promise.resolve(runCommand) });
}
