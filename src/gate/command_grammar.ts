/**
 * The arguments that a command admits. Pure and total: what the grammar does not list is refused, and what it admits has
 * exactly one form, in which no argument can be read as anything but what it was checked as.
 *
 * @module
 */
import type { ArgumentRules, CommandGrammar } from "../plan/process_plan.ts";
import { type CheckedArguments, type Invocation, parseArguments, type Parsed, refused } from "./argument_parser.ts";
import { argumentProblem } from "./argument_values.ts";
import { checkGit, gitInvocation } from "./git_grammar.ts";
import { checkRg, rgInvocation } from "./rg_grammar.ts";

/** Arguments of one call, at most. */
export const MAX_ARGUMENTS = 1_024;

/** Checks arguments against a grammar. The canonical form passes unchanged. */
export function checkArguments(grammar: CommandGrammar, args: readonly string[]): CheckedArguments {
  if (args.length > MAX_ARGUMENTS) return refused(`there are more than ${MAX_ARGUMENTS} arguments`);
  for (const [index, argument] of args.entries()) {
    const problem = argumentProblem(argument);
    if (problem !== null) return refused(`argument ${index + 1} ${problem}`);
  }
  switch (grammar.kind) {
    case "any":
      return { ok: true, args };
    case "rules":
      return joined(parseArguments(grammar.rules, args));
    case "subcommands":
      return checkSubcommand(grammar.subcommands, args);
    case "git":
      return checkGit(args);
    case "rg":
      return checkRg(args);
  }
}

/** What is run for arguments that {@linkcode checkArguments} gave. */
export function invocationOf(grammar: CommandGrammar, args: readonly string[]): Invocation {
  if (grammar.kind === "git") return gitInvocation(args);
  if (grammar.kind === "rg") return rgInvocation(args);
  return { argv: args, env: {} };
}

function joined(parsed: Parsed): CheckedArguments {
  if (!parsed.ok) return parsed;
  // Nothing behind the options starts with a dash, so a program that knows no `--` reads it alike.
  return { ok: true, args: [...parsed.options, ...parsed.before, ...parsed.after] };
}

function checkSubcommand(
  subcommands: Readonly<Record<string, ArgumentRules>>,
  [name = "", ...args]: readonly string[],
): CheckedArguments {
  const rules = Object.hasOwn(subcommands, name) ? subcommands[name] : undefined;
  if (rules === undefined) return refused(`the first argument must be one of ${Object.keys(subcommands).join(", ")}`);
  const checked = joined(parseArguments(rules, args));
  return checked.ok ? { ok: true, args: [name, ...checked.args] } : checked;
}
