/**
 * Runs an agent under both keys, under one of them, or under none: real processes each time.
 *
 * @module
 */
import { makeRedactor } from "../../src/audit/redact.ts";
import type { JsonObject } from "../../src/json.ts";
import { makeChannels } from "../../src/launch/channels.ts";
import { startGrants } from "../../src/launch/execute.ts";
import { launch } from "../../src/launch/launch.ts";
import type { RunEnd } from "../../src/launch/launch_options.ts";
import { denoDirOf } from "../../src/authority/deno_dir.ts";
import { MANIFESTS } from "../../src/launch/compile_policy.ts";
import { findBaseSystem } from "../../src/launch/spawn.ts";
import { hostFlags } from "../../src/plan/flags.ts";
import type { Budgets, Isolation, Places, Plan, PlannedTool } from "../../src/plan/plan.ts";
import { compileLoaded } from "../../src/policy/compile_loaded.ts";
import { loadPolicy } from "../../src/policy/load.ts";
import { BARE_TOOLS } from "./bare_tools.ts";
import { FORGING } from "./forging_tools.ts";
import type { World } from "./world.ts";

/** Which keys hold. `shipped` is `both` with the host as it is shipped: it does not know the tools that forge. */
export type Keys = "shipped" | "both" | "key 1" | "key 2" | "none";

/** How an agent is run. */
export interface RunOptions {
  readonly keys: Keys;
  readonly isolation?: Isolation;
  /** The agent: a module without imports. */
  readonly code: string;
  readonly context?: JsonObject;
  /** Grants the tool that asks a declared name which leads to this machine; without the proxy. */
  readonly local?: boolean;
  readonly budgets?: Partial<Budgets>;
  /** The agent's first module, in place of the shipped one. */
  readonly agentBoot?: string;
}

/** What came of it. */
export interface Ran {
  readonly end: RunEnd;
  /** Parsed value of the agent's `outcome`. */
  readonly outcome: unknown;
  readonly log: string;
  readonly auditPath: string;
  readonly stderr: string;
}

const ROOT = new URL("../..", import.meta.url).pathname.replace(/\/$/, "");
const HOSTS: Readonly<Record<Keys, string>> = {
  "shipped": `${ROOT}/src/host/main.ts`,
  "both": `${ROOT}/tests/escape/forging_host.ts`,
  "key 1": `${ROOT}/tests/escape/bare_host.ts`,
  "key 2": `${ROOT}/tests/escape/unattested_host.ts`,
  "none": `${ROOT}/tests/escape/bare_host.ts`,
};
const HAS_KEY_1: ReadonlySet<Keys> = new Set(["shipped", "both", "key 1"]);
const HAS_KEY_2: ReadonlySet<Keys> = new Set(["shipped", "both", "key 2"]);

/** Runs an agent in a world. */
export async function runIn(world: World, options: RunOptions): Promise<Ran> {
  const { keys, local = false } = options;
  const places: Places = { project: world.project, twokey: ROOT, state: world.state };
  const { plan: compiled } = await compileLoaded(await loadPolicy(world.policyFile), {
    manifests: MANIFESTS,
    places,
    modules: [],
    env: (name) => Deno.env.get(name),
  });
  const granted: Plan = {
    ...compiled,
    isolation: options.isolation ?? "process",
    context: options.context ?? {},
    tools: { ...compiled.tools, ...(keys === "shipped" ? {} : plannedTools(local ? world.local.port : undefined)) },
    network: local ? { ...compiled.network, proxy: null } : compiled.network,
    env: local ? ["ESCAPE_CA"] : compiled.env,
    credentials: local ? {} : compiled.credentials,
    budgets: { ...compiled.budgets, ...options.budgets },
  };
  const channels = await makeChannels();
  const scoped = hostFlags(granted, places, {
    ...startGrants(channels, granted),
    ...(local ? {} : { proxyAddress: world.tls.proxyAddress }),
  });
  // a copy, because an open host imports remote code, which its lock then names
  const lock = `${world.dir}/${crypto.randomUUID()}.lock`;
  await Deno.copyFile(`${ROOT}/deno.lock`, lock);
  const open = ["-A", "--no-prompt", `--config=${ROOT}/deno.json`, `--lock=${lock}`];
  const caPem = local ? world.local.caPem : world.tls.caPem;
  const runId = `escape-${crypto.randomUUID()}`;
  const auditPath = `${world.dir}/${runId}.jsonl`;
  const stderr: string[] = [];
  const end = await launch({
    plan: HAS_KEY_2.has(keys) ? granted : withoutKey2(granted),
    places,
    base: await findBaseSystem(),
    channels,
    hostFlags: HAS_KEY_1.has(keys) ? scoped : open,
    hostEnv: {
      TWOKEY_CANARY: "visible",
      ESCAPE_CA: caPem,
      ...(local ? {} : { ESCAPE_PROXY: world.tls.proxyUrl, ESCAPE_MODEL_KEY: "sk-escape-0123456789" }),
      DENO_DIR: denoDirOf((name) => Deno.env.get(name)) ?? "",
    },
    hostMain: HOSTS[keys],
    agentBoot: options.agentBoot ?? `${ROOT}/src/isolate/process_boot.js`,
    code: options.code,
    fixtures: {},
    redactor: makeRedactor({ fields: [], secrets: new Map() }),
    cacheKey: "00".repeat(32),
    caPem,
    runId,
    auditPath,
    start: {},
    clock: Date.now(),
    seed: "00".repeat(16),
    onRecord: () => {},
    onStderr: (_, line) => void stderr.push(line),
  });
  return {
    end,
    outcome: end.value === undefined ? undefined : JSON.parse(end.value),
    log: await Deno.readTextFile(auditPath),
    auditPath,
    stderr: stderr.join("\n"),
  };
}

function plannedTools(port: number | undefined): Record<string, PlannedTool> {
  return Object.fromEntries(
    FORGING.filter(({ name }) => name !== "local.get" || port !== undefined).map((tool) => {
      const { fs, endpoints, model } = tool.authority;
      return [tool.name, {
        ...planned(tool.family),
        ...(fs === undefined ? {} : { fs }),
        ...(model === undefined ? {} : { service: "model" as const }),
        endpoints: tool.name === "local.get"
          ? { page: { method: "GET" as const, url: `https://localhost:${port}/page` as const } }
          : endpoints ?? {},
      }];
    }),
  );
}

/** The plan as a host without key 2 sees it: everything is listed and nothing is counted. Key 1 was made before. */
function withoutKey2(plan: Plan): Plan {
  return {
    ...plan,
    tools: {
      ...plan.tools,
      ...Object.fromEntries(Object.keys(BARE_TOOLS).map((name) => [name, planned("escape")])),
      listFiles: { ...planned("fs"), fs: "read" },
    },
    budgets: { ...plan.budgets, toolArgBytes: 1_048_576 },
  };
}

function planned(family: string): PlannedTool {
  return { family, manifest: "0".repeat(64), timeoutMs: 10_000, endpoints: {}, rule: "/tools" };
}
