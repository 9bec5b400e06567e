/**
 * The command line with the commands that only look at policies, and nothing else.
 *
 * @module
 */
import { buildRouteMap } from "@stricli/core";
import { BugError } from "../errors.ts";
import type { Context } from "./command.ts";
import { diffCommand, makeExplainCommand, validateCommand } from "./policy_checks.ts";
import { runWords } from "./run_words.ts";

const ROUTES = buildRouteMap<string, Context>({
  routes: { validate: validateCommand, explain: makeExplainCommand(explainCall), diff: diffCommand },
  docs: { brief: "Check policies" },
});

/** Runs one command line that names one of these commands, without `--call`; returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  return await runWords(args, { policy: () => Promise.resolve(ROUTES) });
}

function explainCall(): never {
  throw new BugError("bug_wrong_start", "Cannot explain a call: the whole command line was needed");
}
