/**
 * The gate's part for programs: a command must be one that the policy names, with arguments in the one form that its
 * grammar gives them.
 *
 * @module
 */
import { parseCommand } from "../authority/command_text.ts";
import type { Plan, PlannedTool } from "../plan/plan.ts";
import { checkArguments } from "./command_grammar.ts";
import type { Verdict } from "./verdict.ts";

/** Decides on a canonical target, `name argument …` as `printCommand` writes it. */
export type CommandGate = (tool: PlannedTool, target: string) => Verdict;

/** Compiles the commands of a plan. */
export function makeCommandGate({ process }: Plan): CommandGate {
  return (tool, target) => {
    if (tool.process !== true || process === undefined) return { code: "process_command_not_admitted", rule: null };
    const parsed = parseCommand(target);
    const command = parsed !== null && Object.hasOwn(process.commands, parsed.name)
      ? process.commands[parsed.name]
      : undefined;
    if (parsed === null || command === undefined) return { code: "process_command_not_admitted", rule: null };
    const checked = checkArguments(command.args, parsed.args);
    // only the one canonical form, so that what is decided on is what is run
    const same = checked.ok && checked.args.length === parsed.args.length &&
      checked.args.every((argument, index) => argument === parsed.args[index]);
    return same ? { granted: command.rule } : { code: "process_args_not_admitted", rule: command.rule };
  };
}
