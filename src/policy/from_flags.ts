/**
 * Flags of the command line as a policy: alone, or added onto a policy file. They are the operator's own words, so a
 * root they name may lie outside the project.
 *
 * @module
 */
import { UsageError } from "../errors.ts";
import { nameOf, resolvePath } from "../authority/path.ts";
import { isSecretVariable } from "../authority/variables.ts";
import { type Budgets, type Isolation, ISOLATIONS } from "../plan/plan.ts";
import { BUDGETS } from "../plan/budgets.ts";
import { dotted, findProject, type LoadedPolicy } from "./load.ts";
import { COMMAND_LINE, type FlaggedPolicy, Merge } from "./merge.ts";
import { realOf } from "./real_path.ts";
import { addApprovals, type ApprovalFlags } from "./approval_flags.ts";
import { addModel, type ModelFlags } from "./model_flags.ts";

/** The flags that say what a policy says; a flag that may be repeated is a list in the order given. */
export interface PolicyFlags extends ModelFlags, ApprovalFlags {
  /** `--agent`: path of the agent's entry module. */
  readonly agent?: string;
  /** `--tool`: names of granted tools. */
  readonly tool?: readonly string[];
  /** `--fs-read`: folders or files that may be read. */
  readonly fsRead?: readonly string[];
  /** Patterns for the folders of `fsRead`. */
  readonly fsReadInclude?: readonly string[];
  /** Patterns for the folders of `fsRead`; without any, for every root of the policy. */
  readonly fsReadExclude?: readonly string[];
  /** `--fs-write`: folders below which files may be created. */
  readonly fsWrite?: readonly string[];
  /** `--osv-fixture`: files of recorded answers; with any, nothing else is asked. */
  readonly osvFixture?: readonly string[];
  /** `--named-network-cache-dir`: folder of the persistent cache. */
  readonly namedNetworkCacheDir?: string;
  /** `--named-network-cache-mode`: `read-through` or `offline`. */
  readonly namedNetworkCacheMode?: string;
  /** `--named-network-cache-max-age-ms`: older answers are asked for again. */
  readonly namedNetworkCacheMaxAgeMs?: number;
  /** `--named-network-cache-max-entries`: the oldest beyond it are dropped. */
  readonly namedNetworkCacheMaxEntries?: number;
  /** `--named-network-retry-attempts`: attempts after the first. */
  readonly namedNetworkRetryAttempts?: number;
  /** `--github-repo`: repositories that the github tools may read, `owner/name` or `owner/*`. */
  readonly githubRepo?: readonly string[];
  /** `--github-token-env`: variable that holds the token of the github tools. */
  readonly githubTokenEnv?: string;
  /** `--process-command`: `<name>=<path>`, a program that may be started. */
  readonly processCommand?: readonly string[];
  /** `--process-cwd`: folders in and below which programs may start. */
  readonly processCwd?: readonly string[];
  /** `--process-env`: `KEY` for the caller's value, `KEY=value` for that value. */
  readonly processEnv?: readonly string[];
  /** `--process-output-stream-chunk-bytes`: UTF-8 bytes of one record of output. */
  readonly processOutputStreamChunkBytes?: number;
  /** `--max-tool-arg-bytes`: UTF-8 bytes of the arguments of one call. */
  readonly maxToolArgBytes?: number;
  /** `--max-tool-result-bytes`: UTF-8 bytes of the result of one call. */
  readonly maxToolResultBytes?: number;
  /** `--max-events`: events of the run. */
  readonly maxEvents?: number;
  /** `--max-event-bytes`: UTF-8 bytes of all events together. */
  readonly maxEventBytes?: number;
  /** `--max-state-bytes`: UTF-8 bytes of the agent's state. */
  readonly maxStateBytes?: number;
  /** `--expect-event`: `<kind>=<path>`, a JSON Schema that every event of that kind must fit. */
  readonly expectEvent?: readonly string[];
  /** `--redact-field`: names of fields whose values never reach the log. */
  readonly redactField?: readonly string[];
  /** `--session-file`: file that keeps the agent's state between runs. */
  readonly sessionFile?: string;
  /** `--tool-timeout-ms`: deadline of one call. */
  readonly toolTimeoutMs?: number;
  /** `--worker`: short for `--isolation=worker`. */
  readonly worker?: boolean;
  /** `--isolation`: where agent code runs. */
  readonly isolation?: Isolation;
}

/**
 * Makes a policy of flags alone, relative to the folder `cwd`.
 *
 * @throws {UsageError} If a flag needs another one. @throws {PolicyError} If a value does not fit; names the flag.
 */
export async function policyFromFlags(flags: PolicyFlags, cwd: string): Promise<LoadedPolicy> {
  const base = realOf(cwd);
  const project = findProject(base);
  const empty: LoadedPolicy = {
    file: null,
    base,
    project,
    policy: { version: 1 },
    sha256: "",
    positionOf: () => COMMAND_LINE,
    nameOf: dotted,
    isOperators: () => true,
  };
  return (await withFlags(empty, flags, { cwd: base })).loaded;
}

/**
 * Adds flags onto a loaded policy: lists are appended to, single values replaced.
 *
 * @param options `cwd` is what paths in flags are relative to.
 * @throws {UsageError} If a flag needs another one. @throws {PolicyError} If a value does not fit; names the flag.
 */
export async function withFlags(
  loaded: LoadedPolicy,
  flags: PolicyFlags,
  options: { cwd: string },
): Promise<FlaggedPolicy> {
  const merge = new Merge(loaded, realOf(options.cwd));
  const { policy } = loaded;
  merge.set("/agent", "--agent", flags.agent === undefined ? undefined : merge.path(flags.agent));
  for (const name of new Set(flags.tool)) {
    if (!(policy.tools ?? []).includes(name)) merge.append("/tools", "--tool", name);
  }
  addRoots(merge, flags);
  for (const path of flags.osvFixture ?? []) merge.append("/network/fixtures", "--osv-fixture", merge.path(path));
  addCache(merge, flags);
  addCredentials(merge, flags);
  addModel(merge, flags);
  addProcess(merge, flags);
  addApprovals(merge, flags);
  merge.raise("/network/retry/attempts", "--named-network-retry-attempts", {
    value: flags.namedNetworkRetryAttempts,
    before: policy.network?.retry?.attempts ?? 0,
  });
  const budget = (name: keyof Budgets, flag: string, value: number | undefined): void =>
    merge.raise(`/budgets/${name}`, flag, { value, before: policy.budgets?.[name] ?? BUDGETS[name].value });
  budget("toolArgBytes", "--max-tool-arg-bytes", flags.maxToolArgBytes);
  budget("toolResultBytes", "--max-tool-result-bytes", flags.maxToolResultBytes);
  budget("toolTimeoutMs", "--tool-timeout-ms", flags.toolTimeoutMs);
  budget("events", "--max-events", flags.maxEvents);
  budget("eventBytes", "--max-event-bytes", flags.maxEventBytes);
  budget("stateBytes", "--max-state-bytes", flags.maxStateBytes);
  addControls(merge, flags);
  addIsolation(merge, flags);
  return await merge.finish();
}

function addRoots(merge: Merge, flags: PolicyFlags): void {
  const include = flags.fsReadInclude ?? [];
  const exclude = flags.fsReadExclude ?? [];
  const roots = flags.fsRead ?? [];
  if (include.length > 0 && roots.length === 0) {
    throw new UsageError(
      "usage_needs_flag",
      "Cannot use --fs-read-include: it needs --fs-read, whose folders it narrows",
    );
  }
  for (const root of roots) {
    const isFile = isRegularFile(resolvePath(merge.cwd, root));
    const at = merge.append("/fs/read", "--fs-read", {
      root: merge.path(root),
      ...(include.length > 0 && !isFile ? { include } : {}),
      ...(exclude.length > 0 && !isFile ? { exclude } : {}),
    });
    merge.from(`${at}/include`, "--fs-read-include");
    merge.from(`${at}/exclude`, "--fs-read-exclude");
  }
  if (roots.length === 0 && exclude.length > 0) {
    const known = merge.loaded.policy.fs?.read ?? [];
    if (known.length === 0) {
      throw new UsageError(
        "usage_needs_flag",
        "Cannot use --fs-read-exclude: there is no read root that it could narrow",
      );
    }
    for (const index of known.keys()) {
      for (const pattern of exclude) merge.narrow(`/fs/read/${index}/exclude`, "--fs-read-exclude", pattern);
    }
  }
  for (const root of new Set(flags.fsWrite)) {
    merge.append("/fs/write", "--fs-write", { root: merge.path(root) });
  }
}

function addCache(merge: Merge, flags: PolicyFlags): void {
  const { network } = merge.loaded.policy;
  const dir = flags.namedNetworkCacheDir;
  merge.set("/network/cache/dir", "--named-network-cache-dir", dir === undefined ? undefined : merge.path(dir));
  if (dir !== undefined) merge.adds("--named-network-cache-dir");
  const mode = flags.namedNetworkCacheMode;
  merge.set("/network/cache/mode", "--named-network-cache-mode", mode);
  if (mode !== undefined && mode !== "offline" && network?.cache?.mode === "offline") {
    merge.adds("--named-network-cache-mode");
  }
  const before = network?.cache === undefined ? 0 : network.cache.maxAgeMs ?? Infinity;
  merge.raise("/network/cache/maxAgeMs", "--named-network-cache-max-age-ms", {
    value: flags.namedNetworkCacheMaxAgeMs,
    before,
  });
  merge.raise("/network/cache/maxEntries", "--named-network-cache-max-entries", {
    value: flags.namedNetworkCacheMaxEntries,
    before: network?.cache === undefined ? 0 : network.cache.maxEntries ?? Infinity,
  });
}

function addCredentials(merge: Merge, flags: PolicyFlags): void {
  const { github, secrets = {} } = merge.loaded.policy;
  const known = new Set((github?.repos ?? []).map((repo) => repo.toLowerCase()));
  for (const repo of flags.githubRepo ?? []) {
    if (known.has(repo.toLowerCase())) continue;
    known.add(repo.toLowerCase());
    merge.append("/github/repos", "--github-repo", repo);
  }
  const { githubTokenEnv } = flags;
  if (githubTokenEnv !== undefined && known.size === 0) {
    throw new UsageError(
      "usage_needs_flag",
      "Cannot use --github-token-env: it needs --github-repo, the repositories that are read",
    );
  }
  merge.set("/github/tokenEnv", "--github-token-env", githubTokenEnv);
  if (githubTokenEnv !== undefined && githubTokenEnv !== github?.tokenEnv) merge.adds("--github-token-env");
  for (const text of flags.secret ?? []) {
    const [, tool, name] = /^([A-Za-z][A-Za-z0-9_.]*)=([A-Za-z_][A-Za-z0-9_]*)$/.exec(text) ?? [];
    if (tool === undefined || name === undefined) {
      // What stands there may be the secret itself, so no message shows it
      throw new UsageError("usage_secret", "Cannot use --secret: expected <tool>=<VARIABLE>, the name of a variable");
    }
    merge.set(`/secrets/${tool}`, "--secret", name);
    if (!Object.hasOwn(secrets, tool) || secrets[tool] !== name) merge.adds("--secret");
  }
}

function addProcess(merge: Merge, flags: PolicyFlags): void {
  const { process } = merge.loaded.policy;
  const { processCommand = [], processCwd = [], processEnv = [], processOutputStreamChunkBytes: chunkBytes } = flags;
  if (process === undefined && processCommand.length + processCwd.length + processEnv.length > 0) {
    if (processCommand.length === 0 || processCwd.length === 0) {
      throw new UsageError(
        "usage_needs_flag",
        "Cannot start programs: --process-command and --process-cwd are both needed",
      );
    }
  }
  for (const text of processCommand) {
    const [, name, path] = /^([A-Za-z0-9][A-Za-z0-9._+-]{0,63})=(.+)$/s.exec(text) ?? [];
    if (name === undefined || path === undefined) {
      throw new UsageError("usage_command", "Cannot use --process-command: expected <name>=<path of a program>");
    }
    // A flag has no room for a grammar: where none is built in, its author answers for the arguments.
    const known = nameOf(path);
    const args = known === "git" || known === "rg" ? known : "any";
    merge.set(`/process/commands/${name}`, "--process-command", { path: programPath(merge, path), args });
    merge.adds("--process-command");
  }
  for (const path of processCwd) {
    const text = merge.path(path);
    if (!(process?.cwd ?? []).includes(text)) merge.append("/process/cwd", "--process-cwd", text);
  }
  for (const text of processEnv) {
    const [, name, value] = /^([A-Za-z_][A-Za-z0-9_]*)(?:=(.*))?$/s.exec(text) ?? [];
    if (name === undefined) {
      // What stands there may be a secret, so no message shows it
      throw new UsageError("usage_variable", "Cannot use --process-env: expected KEY or KEY=value");
    }
    if (value === undefined) {
      if (!(process?.env?.pass ?? []).includes(name)) merge.append("/process/env/pass", "--process-env", name);
      continue;
    }
    if (isSecretVariable(name)) {
      throw new UsageError(
        "usage_secret",
        `Cannot use --process-env with a value for "${name}": it goes by the name of a secret; name it alone`,
      );
    }
    merge.set(`/process/env/set/${name}`, "--process-env", value);
    merge.adds("--process-env");
  }
  if (chunkBytes !== undefined) {
    if (process === undefined && processCommand.length === 0) {
      throw new UsageError(
        "usage_needs_flag",
        "Cannot use --process-output-stream-chunk-bytes: it needs --process-command, whose output it cuts",
      );
    }
    merge.set("/process/output/chunkBytes", "--process-output-stream-chunk-bytes", chunkBytes);
  }
}

/** The operator may leave out the folder of a file that is here; a policy may not. */
function programPath(merge: Merge, path: string): string {
  return path.includes("/") ? merge.path(path) : merge.path(`./${path}`);
}

function addControls(merge: Merge, flags: PolicyFlags): void {
  const { expectEvents = {}, redact = [], session } = merge.loaded.policy;
  for (const text of flags.expectEvent ?? []) {
    const [, kind, path] = /^([A-Za-z0-9_.:-]{1,128})=(.+)$/s.exec(text) ?? [];
    if (kind === undefined || path === undefined) {
      throw new UsageError("usage_expect_event", "Cannot use --expect-event: expected <kind>=<path of a JSON Schema>");
    }
    const known = Object.hasOwn(expectEvents, kind) ? expectEvents[kind] : undefined;
    const counts = typeof known === "number" ? { min: known } : known;
    // the flag stands for the schema alone: what the policy says of the numbers stays
    merge.set(`/expectEvents/${kind}`, "--expect-event", { ...counts, schema: merge.path(path) });
  }
  for (const name of new Set(flags.redactField)) {
    if (!redact.includes(name)) merge.narrow("/redact", "--redact-field", name);
  }
  if (flags.sessionFile === undefined) return;
  const file = merge.path(flags.sessionFile);
  merge.set("/session", "--session-file", { file });
  if (typeof session !== "object" || session.file !== file) merge.adds("--session-file");
}

function addIsolation(merge: Merge, flags: PolicyFlags): void {
  if (flags.worker === true && flags.isolation !== undefined && flags.isolation !== "worker") {
    throw new UsageError("usage_conflict", `Cannot use --worker with --isolation=${flags.isolation}: name one of them`);
  }
  const isolation = flags.worker === true ? "worker" : flags.isolation;
  if (isolation === undefined) return;
  const flag = flags.worker === true ? "--worker" : "--isolation";
  merge.set("/isolation", flag, isolation);
  const before = merge.loaded.policy.isolation ?? "process";
  // Under a lock a flag may only move towards the tighter ones.
  if (ISOLATIONS.indexOf(isolation) > ISOLATIONS.indexOf(before)) merge.adds(flag);
}

function isRegularFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
