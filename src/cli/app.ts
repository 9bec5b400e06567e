/**
 * The command line: words, wiring and exit codes. Only the module of the command that was asked for is run.
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

type Route = Command<Context> | RouteMap<Context>;

/** Every command, with its line in the help. */
const COMMANDS: Readonly<Record<string, { readonly brief: string; load(): Promise<Route> }>> = {
  run: {
    brief: "Run an agent under its policy",
    load: async () => (await import("./run.ts")).runCommand,
  },
  call: {
    brief: "Run one tool call through the whole path",
    load: async () => (await import("./call.ts")).callCommand,
  },
  approval: {
    brief: "Approve or deny the calls at which runs stopped",
    load: async () => (await import("./approval.ts")).approvalRoutes,
  },
  policy: {
    brief: "Check, explain, test, compare, edit and lock policies",
    load: async () => (await import("./policy.ts")).policyRoutes,
  },
  tool: {
    brief: "List and describe the tools",
    load: async () => (await import("./tool.ts")).toolRoutes,
  },
  init: {
    brief: "Start a project from a template",
    load: async () => (await import("./init.ts")).initCommand,
  },
  doctor: {
    brief: "Try out what holds on this machine",
    load: async () => (await import("./doctor.ts")).doctorCommand,
  },
  replay: {
    brief: "Sum up a run from its log, or compare two",
    load: async () => (await import("./replay.ts")).replayCommand,
  },
  report: {
    brief: "Report a run to the service it ran on",
    load: async () => (await import("./report.ts")).reportRoutes,
  },
  audit: {
    brief: "Verify a log",
    load: async () => (await import("./audit.ts")).auditRoutes,
  },
  history: {
    brief: "List the runs of a project",
    load: async () => (await import("./history.ts")).historyCommand,
  },
  reset: {
    brief: "Start a session anew, or put the one before back",
    load: async () => (await import("./reset.ts")).resetCommand,
  },
  bundle: {
    brief: "Bundle the evidence of a run",
    load: async () => (await import("./bundle.ts")).bundleCommand,
  },
  bundleVerify: {
    brief: "Check a bundle of evidence",
    load: async () => (await import("./bundle_verify.ts")).bundleVerifyCommand,
  },
  hash: {
    brief: "Digest files as policies and locks do",
    load: async () => (await import("./hash.ts")).hashCommand,
  },
};

const DESCRIPTION = [
  "Runs agents under a policy file that is committed to the repository they work on.",
  "Without a command: runs agent.policy.jsonc if this project has one.",
  "",
  "EXIT CODES",
  ...EXIT_TABLE.map(({ code, meaning, next }) => `  ${String(code).padStart(2)}  ${meaning.padEnd(62)} next: ${next}`),
].join("\n");

/** Runs one command line and returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const words = await wordsFor(args);
  const app = buildApplication<Context>(await routesFor(words[0]), {
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

async function wordsFor(args: readonly string[]): Promise<readonly string[]> {
  if (args.length === 0) return await defaultWords();
  const [first, ...rest] = args;
  return first === "help" ? [...rest, "--help"] : args;
}

async function defaultWords(): Promise<readonly string[]> {
  const { findDefaultPolicy } = await import("./policy_flags.ts");
  return await findDefaultPolicy() === undefined ? ["--help"] : ["run"];
}

async function routesFor(word: string | undefined): Promise<RouteMap<Context>> {
  const routes: Record<string, Route> = {};
  for (const [name, { brief, load }] of Object.entries(COMMANDS)) {
    routes[name] = name === word || kebab(name) === word ? await load() : placeholder(brief);
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
