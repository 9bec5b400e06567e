/**
 * Takes a command line apart by its rules. Pure.
 *
 * @module
 */
import type { ArgumentRules, ValueKind } from "../plan/process_plan.ts";
import { valueProblem } from "./argument_values.ts";

/** Arguments in their canonical form, or why they are refused: text for logs, free of the agent's own words. */
export type CheckedArguments =
  | { readonly ok: true; readonly args: readonly string[] }
  | { readonly ok: false; readonly problem: string };

/** What is really run for checked arguments. */
export interface Invocation {
  /** Every argument of the program. */
  readonly argv: readonly string[];
  /** Variables that the grammar needs; they win over every other. */
  readonly env: Readonly<Record<string, string>>;
}

/** A command line taken apart. */
export interface ParsedArguments {
  readonly ok: true;
  /** Options in the order given: long ones as `--name` or `--name=value`, short ones as `-x` or `-x`, `value`. */
  readonly options: readonly string[];
  /** What is no option and stood before `--`. */
  readonly before: readonly string[];
  /** What stood behind `--`. */
  readonly after: readonly string[];
  /** Names of the options that were given. */
  readonly names: ReadonlySet<string>;
}

/** A command line taken apart, or why it is refused. */
export type Parsed = ParsedArguments | { readonly ok: false; readonly problem: string };

/** Takes options and the rest apart and checks both. `positionals` of the rules are checked here unless `isOwn`. */
export function parseArguments(rules: ArgumentRules, args: readonly string[], isOwn = false): Parsed {
  const options: string[] = [];
  const before: string[] = [];
  const names = new Set<string>();
  let rest: readonly string[] | undefined;
  for (let index = 0; index < args.length; index++) {
    const argument = args[index] ?? "";
    if (argument === "--") {
      rest = args.slice(index + 1);
      break;
    }
    if (!argument.startsWith("-") || argument === "-") {
      before.push(argument);
      continue;
    }
    const read = readOption(rules, argument, args[index + 1]);
    if (!read.ok) return refused(`argument ${index + 1} ${read.problem}`);
    options.push(...read.words);
    for (const name of read.names) names.add(name);
    if (read.tookNext) index++;
  }
  const after = rest ?? [];
  if (!isOwn) {
    const problem = positionalsProblem(rules, [...before, ...after]);
    if (problem !== null) return refused(problem);
  }
  return { ok: true, options, before, after, names };
}

/** Says what is wrong with the arguments that are no options; `null` if nothing is. */
export function positionalsProblem(
  { positionals, maxPositionals }: Pick<ArgumentRules, "positionals" | "maxPositionals">,
  words: readonly string[],
): string | null {
  const most = positionals.length === 0 ? 0 : maxPositionals;
  if (words.length > most) return `there are more than ${most} arguments that are no options`;
  for (const [index, word] of words.entries()) {
    const kind = positionals[Math.min(index, positionals.length - 1)] ?? "text";
    const problem = valueProblem(kind, word);
    if (problem !== null) return `the argument ${index + 1} that is no option ${problem}`;
  }
  return null;
}

/** Refuses with a problem. */
export function refused(problem: string): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem };
}

type ReadOption =
  | {
    readonly ok: true;
    readonly words: readonly string[];
    readonly names: readonly string[];
    readonly tookNext: boolean;
  }
  | { readonly ok: false; readonly problem: string };

function readOption(rules: ArgumentRules, argument: string, next: string | undefined): ReadOption {
  if (argument.startsWith("--")) return readLong(rules, argument, next);
  const digits = /^-\d{1,15}$/.test(argument) ? kindOf(rules, "-#") : undefined;
  if (digits === "flag") return { ok: true, words: [argument], names: ["-#"], tookNext: false };
  return readShort(rules, argument, next);
}

function readLong(rules: ArgumentRules, argument: string, next: string | undefined): ReadOption {
  const equals = argument.indexOf("=");
  const name = equals < 0 ? argument : argument.slice(0, equals);
  const attached = equals < 0 ? undefined : argument.slice(equals + 1);
  const kind = (attached === undefined ? undefined : kindOf(rules, `${name}=`)) ?? kindOf(rules, name);
  if (kind === undefined) return refused("is an option that is not admitted");
  if (kind === "flag") {
    if (attached !== undefined) return refused("gives a value to an option that takes none");
    return { ok: true, words: [name], names: [name], tookNext: false };
  }
  const value = attached ?? next;
  if (value === undefined) return refused("is an option without its value");
  const problem = valueProblem(kind, value, attached !== undefined);
  if (problem !== null) return refused(`is an option whose value ${problem}`);
  return { ok: true, words: [`${name}=${value}`], names: [name], tookNext: attached === undefined };
}

function readShort(rules: ArgumentRules, argument: string, next: string | undefined): ReadOption {
  const words: string[] = [];
  const names: string[] = [];
  const letters = [...argument].slice(1);
  for (const [index, letter] of letters.entries()) {
    const name = `-${letter}`;
    const kind = kindOf(rules, name);
    if (kind === undefined) return refused("is an option that is not admitted");
    names.push(name);
    words.push(name);
    if (kind === "flag") continue;
    const attached = letters.slice(index + 1).join("");
    const value = attached === "" ? next : attached;
    if (value === undefined) return refused("is an option without its value");
    const problem = valueProblem(kind, value);
    if (problem !== null) return refused(`is an option whose value ${problem}`);
    words.push(value);
    return { ok: true, words, names, tookNext: attached === "" };
  }
  return { ok: true, words, names, tookNext: false };
}

function kindOf({ options }: ArgumentRules, name: string): "flag" | ValueKind | undefined {
  return Object.hasOwn(options, name) ? options[name] : undefined;
}
