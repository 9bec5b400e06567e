/**
 * The flags that say what a policy says, as `run` and `call` take them.
 *
 * @module
 */
import { DEFAULT_POLICY } from "../authority/names.ts";
import { ISOLATIONS } from "../plan/plan.ts";
import { type PolicyFlags, policyFromFlags, withFlags } from "../policy/from_flags.ts";
import { type LoadedPolicy, loadPolicy } from "../policy/load.ts";

/** Flags of every command that runs something. */
export interface RunFlags extends Omit<PolicyFlags, "agent" | "worker"> {
  readonly policy?: string;
  readonly worker: boolean;
  readonly runsDir?: string;
  /** `--approve-tool`: no part of a policy, and nothing under a lock. */
  readonly approveTool?: readonly string[];
  /** `--approval-log`: where asked and given approvals are kept. */
  readonly approvalLog?: string;
}

const many = (brief: string, placeholder: string) =>
  ({ kind: "parsed", parse: nonEmpty, brief, placeholder, optional: true, variadic: true }) as const;
const one = (brief: string, placeholder: string) =>
  ({ kind: "parsed", parse: nonEmpty, brief, placeholder, optional: true }) as const;
const count = (brief: string, placeholder: string) =>
  ({ kind: "parsed", parse: wholeNumber, brief, placeholder, optional: true }) as const;

/** The specification of {@linkcode RunFlags} for the argument parser. */
export const RUN_FLAGS = {
  policy: one("Policy file; without it the flags below are the policy", "file"),
  tool: many("Grants a tool by name", "name"),
  fsRead: many("Folder or file that may be read", "path"),
  fsReadInclude: many("Pattern of files below --fs-read to admit, as in .gitignore", "glob"),
  fsReadExclude: many("Pattern of files to leave out, as in .gitignore", "glob"),
  fsWrite: many("Folder in which writeArtifact may create files", "folder"),
  osvFixture: many("Recorded answers; with them nothing else is asked", "file"),
  namedNetworkCacheDir: one("Folder that keeps answers of the network tools", "folder"),
  namedNetworkCacheMode: one("read-through (default) or offline", "mode"),
  namedNetworkCacheMaxAgeMs: count("Age in milliseconds at which a kept answer is stale", "ms"),
  namedNetworkCacheMaxEntries: count("Kept answers for each tool, at most", "n"),
  namedNetworkRetryAttempts: count("Further tries of a request that failed in passing, 0 to 3", "n"),
  githubRepo: many("Repository that the github tools may read: owner/name, or owner/*", "repo"),
  githubTokenEnv: one("Variable that holds the token of the github tools", "variable"),
  secret: many("Variable that holds the credential of one tool: <tool>=<variable>", "tool=variable"),
  modelFixture: one("Recorded answers of a model; with them nobody is asked", "file"),
  modelProvider: one("Who answers model.call: openai.responses or anthropic.messages", "provider"),
  modelApiKeyEnv: one("Variable that holds the provider's key", "variable"),
  modelName: many("Model that may be asked for; the first is the default; none: any that a call names", "name"),
  processCommand: many("Program that process may start: <name>=<path>", "name=path"),
  processCwd: many("Folder in and below which programs may start; the first is the default", "folder"),
  processEnv: many("Variable of programs: KEY takes the caller's value, KEY=value is that value", "KEY[=value]"),
  processOutputStreamChunkBytes: count("UTF-8 bytes of one record of a program's output, 4 to 8192", "bytes"),
  requireApproval: many("Tool whose every call needs an approval of its own", "name"),
  approveTool: many("Tool whose calls this run need no further approval; counts for nothing when locked", "name"),
  approvalLog: one("File of asked and given approvals; default: in the user's state folder", "file"),
  approvalMaxAgeMs: count("Age in milliseconds at which an unused approval is stale", "ms"),
  maxToolArgBytes: count("UTF-8 bytes of one call's arguments, at most", "bytes"),
  maxToolResultBytes: count("UTF-8 bytes of one call's result, at most", "bytes"),
  maxEvents: count("Events of the run, at most", "n"),
  maxEventBytes: count("UTF-8 bytes of all events together, at most", "bytes"),
  maxStateBytes: count("UTF-8 bytes of the agent's state, at most", "bytes"),
  expectEvent: many("Events that the run must emit and the JSON Schema of each: <kind>=<file>", "kind=file"),
  redactField: many("Field name whose values never reach the log", "name"),
  sessionFile: one("File that keeps the agent's state between runs", "file"),
  toolTimeoutMs: count("Deadline of one call in milliseconds", "ms"),
  worker: { kind: "boolean", brief: "The same as --isolation=worker", default: false, withNegated: false },
  isolation: {
    kind: "enum",
    values: ISOLATIONS,
    brief: "Where agent code runs",
    optional: true,
  },
  runsDir: one("Folder for the run's log; default .twokey/runs in the project", "folder"),
} as const;

function nonEmpty(text: string): string {
  if (text === "") throw new TypeError("a value is needed");
  return text;
}

function wholeNumber(text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(number)) throw new TypeError("a whole number is needed");
  return number;
}

/** A policy as the command line names it. */
export interface NamedPolicy {
  readonly loaded: LoadedPolicy;
  /** Flags that add authority to what the file grants. */
  readonly added: readonly string[];
}

/** Loads what the flags name: a policy file with flags added, or a policy made of flags alone. */
export async function loadNamed(flags: RunFlags, options: { readonly agent?: string } = {}): Promise<NamedPolicy> {
  const { policy, runsDir: _, approveTool: _tools, approvalLog: _log, ...rest } = flags;
  const words: PolicyFlags = { ...rest, ...(options.agent === undefined ? {} : { agent: options.agent }) };
  if (policy === undefined) return { loaded: await policyFromFlags(words, Deno.cwd()), added: [] };
  return await withFlags(await loadPolicy(policy), words, { cwd: Deno.cwd() });
}

/** The default policy: `agent.policy.jsonc` in this folder or the nearest one above it that is a project. */
export async function findDefaultPolicy(): Promise<string | undefined> {
  const { findProject } = await import("../policy/load.ts");
  const here = Deno.cwd();
  for (const folder of new Set([here, findProject(await Deno.realPath(here))])) {
    const path = `${folder}/${DEFAULT_POLICY}`;
    try {
      if ((await Deno.stat(path)).isFile) return path;
    } catch {
      // not there
    }
  }
  return undefined;
}
