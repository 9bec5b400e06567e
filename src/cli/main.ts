/**
 * The command line: words, wiring and exit codes. Only the module of the command that was asked for is loaded.
 *
 * @module
 */
import { buildApplication, buildCommand, buildRouteMap, type Command, type RouteMap, run } from "@stricli/core";
import { EXIT, EXIT_TABLE } from "../errors.ts";
import type { Context } from "./command.ts";
import { err, out } from "./io.ts";

type Route = Command<Context> | RouteMap<Context>;

/** Every command, with its line in the help. */
const COMMANDS: Readonly<Record<string, { readonly brief: string; load(): Promise<Route> }>> = {
  run: {
    brief: "Run an agent under its policy",
    load: async () => (await lazy<typeof import("./run.ts")>("./run.ts")).runCommand,
  },
  call: {
    brief: "Run one tool call through the whole path",
    load: async () => (await lazy<typeof import("./call.ts")>("./call.ts")).callCommand,
  },
  policy: {
    brief: "Check, explain, test, compare, edit and lock policies",
    load: async () => (await lazy<typeof import("./policy.ts")>("./policy.ts")).policyRoutes,
  },
  tool: {
    brief: "List and describe the tools",
    load: async () => (await lazy<typeof import("./tool.ts")>("./tool.ts")).toolRoutes,
  },
  init: {
    brief: "Start a project from a template",
    load: async () => (await lazy<typeof import("./init.ts")>("./init.ts")).initCommand,
  },
  doctor: {
    brief: "Try out what holds on this machine",
    load: async () => (await lazy<typeof import("./doctor.ts")>("./doctor.ts")).doctorCommand,
  },
  replay: {
    brief: "Sum up a run from its log, or compare two",
    load: async () => (await lazy<typeof import("./replay.ts")>("./replay.ts")).replayCommand,
  },
  report: {
    brief: "Report a run to the service it ran on",
    load: async () => (await lazy<typeof import("./report.ts")>("./report.ts")).reportRoutes,
  },
  audit: {
    brief: "Verify a log",
    load: async () => (await lazy<typeof import("./audit.ts")>("./audit.ts")).auditRoutes,
  },
  history: {
    brief: "List the runs of a project",
    load: async () => (await lazy<typeof import("./history.ts")>("./history.ts")).historyCommand,
  },
  hash: {
    brief: "Digest files as policies and locks do",
    load: async () => (await lazy<typeof import("./hash.ts")>("./hash.ts")).hashCommand,
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
  const words = args.length === 0 ? await defaultWords() : args;
  const app = buildApplication<Context>(await routesFor(words[0]), {
    name: "twokey",
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

/** Loads a module. Its path is a value, so that the runtime does not read the modules of every other command as well. */
function lazy<M>(path: `./${string}.ts`): Promise<M> {
  return import(path);
}

async function defaultWords(): Promise<readonly string[]> {
  const { findDefaultPolicy } = await lazy<typeof import("./policy_flags.ts")>("./policy_flags.ts");
  return await findDefaultPolicy() === undefined ? ["--help"] : ["run"];
}

async function routesFor(word: string | undefined): Promise<RouteMap<Context>> {
  const routes: Record<string, Route> = {};
  for (const [name, { brief, load }] of Object.entries(COMMANDS)) {
    routes[name] = name === word ? await load() : placeholder(brief);
  }
  return buildRouteMap<string, Context>({
    routes,
    docs: {
      brief: "Two keys for agents: Deno's permissions, and a registry that fails closed",
      fullDescription: DESCRIPTION,
    },
  });
}

/** Stands for a command that was not asked for: the help and the suggestions need its name alone. */
function placeholder(brief: string): Route {
  return buildCommand<Record<never, never>, [], Context>({ docs: { brief }, parameters: {}, func() {} });
}

if (import.meta.main) Deno.exit(await main(Deno.args));
