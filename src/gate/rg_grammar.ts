/**
 * The ready grammar for ripgrep: searching, and nothing that starts another program, reads settings, follows links or
 * looks into what is hidden or ignored.
 *
 * @module
 */
import type { ArgumentRules, ValueKind } from "../plan/process_plan.ts";
import {
  type CheckedArguments,
  type Invocation,
  parseArguments,
  positionalsProblem,
  refused,
} from "./argument_parser.ts";

const MAX_PATHS = 64;

const FLAGS =
  "-i --ignore-case -s --case-sensitive -S --smart-case -F --fixed-strings -w --word-regexp -x --line-regexp " +
  "-v --invert-match -n --line-number -N --no-line-number -l --files-with-matches --files-without-match -c --count " +
  "--count-matches -o --only-matching --json --heading --no-heading -H --with-filename -I --no-filename --column " +
  "-U --multiline --multiline-dotall --files --type-list --trim --vimgrep --stats -q --quiet -0 --null --no-messages " +
  "--version --crlf --no-unicode --passthru";

const VALUES: Readonly<Record<string, ValueKind>> = {
  "-A": "number",
  "--after-context": "number",
  "-B": "number",
  "--before-context": "number",
  "-C": "number",
  "--context": "number",
  "-m": "number",
  "--max-count": "number",
  "--max-depth": "number",
  "-M": "number",
  "--max-columns": "number",
  "--max-filesize": "text",
  "-g": "text",
  "--glob": "pattern",
  "-t": "text",
  "--type": "text",
  "-T": "text",
  "--type-not": "text",
  "-r": "text",
  "--replace": "pattern",
  "-E": "text",
  "--encoding": "text",
  "--sort": ["none", "path", "modified", "accessed", "created"],
  "-e": "text",
  "--regexp": "pattern",
};

const RULES: ArgumentRules = {
  options: { ...Object.fromEntries(FLAGS.split(" ").map((name) => [name, "flag" as const])), ...VALUES },
  positionals: ["path"],
  maxPositionals: MAX_PATHS,
};

/** Of the same list, what names no pattern and so makes every other argument a path. */
const WITHOUT_PATTERN = ["--files", "--type-list", "--version"];

/** Case-insensitive patterns are applied last: nothing that a call names brings these back. */
const NEVER = [".env*", "*.pem", "id_*", ".git", ".twokey"].map((name) => `--iglob=!${name}`);

/** Checks arguments of ripgrep. The canonical form is `options --regexp=pattern -- paths`. */
export function checkRg(args: readonly string[]): CheckedArguments {
  const parsed = parseArguments(RULES, args, true);
  if (!parsed.ok) return parsed;
  const { options, names } = parsed;
  const words = [...parsed.before, ...parsed.after];
  const needsPattern = !names.has("-e") && !names.has("--regexp") && !WITHOUT_PATTERN.some((name) => names.has(name));
  const pattern = needsPattern ? words[0] : undefined;
  const rest = needsPattern ? words.slice(1) : words;
  if (needsPattern && pattern === undefined) return refused("there is no pattern");
  const problem = positionalsProblem(RULES, rest);
  if (problem !== null) return refused(problem);
  return {
    ok: true,
    args: [
      ...patternsLong(options),
      ...(pattern === undefined ? [] : [`--regexp=${pattern}`]),
      ...(rest.length === 0 ? [] : ["--", ...rest]),
    ],
  };
}

/** What is run: no settings file, no colours, nothing with the name of a secret, never standard input. */
export function rgInvocation(args: readonly string[]): Invocation {
  const end = args.indexOf("--");
  const options = end < 0 ? args : args.slice(0, end);
  const paths = end < 0 ? ["./"] : args.slice(end + 1);
  return { argv: ["--no-config", "--color=never", "--no-follow", ...options, ...NEVER, "--", ...paths], env: {} };
}

/** Writes `-e pattern` as `--regexp=pattern`. */
function patternsLong(options: readonly string[]): string[] {
  const written: string[] = [];
  for (let index = 0; index < options.length; index++) {
    const option = options[index] ?? "";
    if (option === "-e") written.push(`--regexp=${options[++index] ?? ""}`);
    else written.push(option);
    // The value of another short option is never taken for an option.
    if (/^-[^-]$/.test(option) && option !== "-e" && RULES.options[option] !== "flag") {
      written.push(options[++index] ?? "");
    }
  }
  return written;
}
