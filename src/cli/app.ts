/**
 * The command line with every command. Only the module of the command that was asked for is run.
 *
 * @module
 */
import { type CommandName, type Loaders, runWords } from "./run_words.ts";

const LOADERS = {
  run: async () => (await import("./run.ts")).runCommand,
  call: async () => (await import("./call.ts")).callCommand,
  approval: async () => (await import("./approval.ts")).approvalRoutes,
  policy: async () => (await import("./policy.ts")).policyRoutes,
  tool: async () => (await import("./tool.ts")).toolRoutes,
  init: async () => (await import("./init.ts")).initCommand,
  doctor: async () => (await import("./doctor.ts")).doctorCommand,
  replay: async () => (await import("./replay.ts")).replayCommand,
  report: async () => (await import("./report.ts")).reportRoutes,
  audit: async () => (await import("./audit.ts")).auditRoutes,
  history: async () => (await import("./history.ts")).historyCommand,
  reset: async () => (await import("./reset.ts")).resetCommand,
  bundle: async () => (await import("./bundle.ts")).bundleCommand,
  bundleVerify: async () => (await import("./bundle_verify.ts")).bundleVerifyCommand,
  hash: async () => (await import("./hash.ts")).hashCommand,
} satisfies Readonly<Record<CommandName, Loaders[string]>>;

/** Runs one command line and returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  return await runWords(await wordsFor(args), LOADERS);
}

async function wordsFor(args: readonly string[]): Promise<readonly string[]> {
  if (args.length === 0) return await defaultWords();
  const [first, ...rest] = args;
  return first === "help" ? [...rest, "--help"] : args;
}

async function defaultWords(): Promise<readonly string[]> {
  const { findDefaultPolicy } = await import("./default_policy.ts");
  return findDefaultPolicy() === undefined ? ["--help"] : ["run"];
}
