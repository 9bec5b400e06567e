/**
 * Grants of programs in words.
 *
 * @module
 */
import type { ArgumentRules, CommandGrammar, ProcessPlan } from "../plan/process_plan.ts";

/** One sentence part for the arguments that a command admits. */
export function grammarText(grammar: CommandGrammar): string {
  switch (grammar.kind) {
    case "git":
      return "subcommands that only read, with the built-in settings";
    case "rg":
      return "searching, with the built-in options";
    case "any":
      return "any arguments";
    case "rules":
      return rulesText(grammar.rules);
    case "subcommands":
      return Object.entries(grammar.subcommands).map(([name, rules]) => `${name} with ${rulesText(rules)}`).join("; ");
  }
}

/** What bounds the programs of a plan, before it is known whether this machine can confine them. */
export function sandboxText({ sandbox, egress }: ProcessPlan): string {
  const network = egress.length === 0 ? "no network" : `network to ${egress.join(", ")} alone`;
  if (sandbox === "off") return "not confined: what they do is bounded by neither key";
  const where = sandbox === "required" ? "confined, or the run does not start" : "confined where this machine can";
  return `${where}: own namespaces, ${network}, files read-only but the write roots`;
}

function rulesText({ options, positionals, maxPositionals }: ArgumentRules): string {
  const names = Object.keys(options);
  const opts = names.length === 0 ? "no options" : names.join(" ");
  if (positionals.length === 0 || maxPositionals === 0) return `${opts}, nothing else`;
  const kinds = positionals.map((kind) => typeof kind === "string" ? kind : kind.join("|")).join(" ");
  return `${opts}, up to ${maxPositionals} of ${kinds}`;
}
