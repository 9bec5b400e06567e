/**
 * The words of a command line: the parser, the help, the exit codes. Which commands can be loaded is said by the caller.
 *
 * @module
 */
import {
  type ApplicationText,
  buildApplication,
  buildCommand,
  buildRouteMap,
  type Command,
  type RouteMap,
  run,
  text_en,
} from "@stricli/core";
import { EXIT, EXIT_TABLE } from "../errors.ts";
import type { Context } from "./command.ts";
import { err, out } from "./io.ts";

/** What a command's module gives: a command, or several below one word. */
export type Route = Command<Context> | RouteMap<Context>;

/** Loads the commands that a start can run, by their first word. */
export type Loaders = Readonly<Record<string, () => Promise<Route>>>;

/** The first word of every command, with its line in the help. */
const BRIEFS = {
  run: "Run an agent under its policy",
  call: "Run one tool call through the whole path",
  approval: "Approve or deny the calls at which runs stopped",
  policy: "Check, explain, test, compare, edit and lock policies",
  tool: "List and describe the tools",
  init: "Start a project from a template",
  doctor: "Try out what holds on this machine",
  replay: "Sum up a run from its log, or compare two",
  report: "Report a run to the service it ran on",
  audit: "Verify a log",
  history: "List the runs of a project",
  reset: "Start a session anew, or put the one before back",
  bundle: "Bundle the evidence of a run",
  bundleVerify: "Check a bundle of evidence",
  hash: "Digest files as policies and locks do",
} as const;

/** Every first word. */
export type CommandName = keyof typeof BRIEFS;

const DESCRIPTION = [
  "Runs agents under a policy file that is committed to the repository they work on.",
  "Without a command: runs agent.policy.jsonc if this project has one.",
  "",
  "EXIT CODES",
  ...EXIT_TABLE.map(({ code, meaning, next }) => `  ${String(code).padStart(2)}  ${meaning.padEnd(62)} next: ${next}`),
].join("\n");

/** Runs one command line, of which only the command that it names is loaded, and returns the exit code. */
export async function runWords(words: readonly string[], loaders: Loaders): Promise<number> {
  const app = buildApplication<Context>(await routesFor(words[0], loaders), {
    name: "twokey",
    versionInfo: { getCurrentVersion },
    localization: { text: TEXT },
    scanner: { caseStyle: "allow-kebab-for-camel", allowArgumentEscapeSequence: true },
    documentation: { caseStyle: "convert-camel-to-kebab" },
  });
  const context: Context = { process: { stdout: { write: out }, stderr: { write: err } }, exit: EXIT.ok };
  await run(app, words, context);
  const { exitCode } = context.process as { exitCode?: number };
  // The parser's own codes are negative: wrong words, or a fault in a command that was not caught there.
  if (typeof exitCode === "number" && exitCode < 0) return exitCode <= -4 ? EXIT.usage : EXIT.ended;
  return typeof exitCode === "number" && exitCode !== 0 ? EXIT.ended : context.exit;
}

/** What is wrong with the words themselves is said the way every other error is. */
const TEXT: ApplicationText = {
  ...text_en,
  noCommandRegisteredForInput: (args) => asError(text_en.noCommandRegisteredForInput(args)),
  exceptionWhileParsingArguments(error, ansiColor) {
    return asError(text_en.exceptionWhileParsingArguments.call(this, error, ansiColor));
  },
};

function asError(text: string): string {
  return `error: ${text}\n  fix: See what there is with --help`;
}

async function getCurrentVersion(): Promise<string> {
  const { default: { version } } = await import("../../deno.json", { with: { type: "json" } });
  return version;
}

async function routesFor(word: string | undefined, loaders: Loaders): Promise<RouteMap<Context>> {
  const routes: Record<string, Route> = {};
  for (const [name, brief] of Object.entries(BRIEFS)) {
    const isAsked = name === word || kebab(name) === word;
    routes[name] = isAsked ? await loaders[name]?.() ?? placeholder(brief) : placeholder(brief);
  }
  return buildRouteMap<string, Context>({
    routes,
    docs: {
      brief: "Two keys for agents: Deno's permissions, and a registry that fails closed",
      fullDescription: DESCRIPTION,
    },
  });
}

/** How a command of two words is typed: `bundle-verify`. */
function kebab(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** Stands for a command that was not asked for: the help and the suggestions need its name alone. */
function placeholder(brief: string): Route {
  return buildCommand<Record<never, never>, [], Context>({ docs: { brief }, parameters: {}, func() {} });
}
