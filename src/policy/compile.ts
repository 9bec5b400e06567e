/**
 * Compiles a policy to a plan. Pure: the same policy, manifests and facts give the same bytes.
 *
 * @module
 */
import { deepFreeze, type JsonObject } from "../json.ts";
import { isInside, nameOf } from "../authority/path.ts";
import { type Budgets, type NetworkPlan, packagePlace, type Plan, type PlannedPackage } from "../plan/plan.ts";
import type { ToolManifests } from "../tool/manifest.ts";
import { defaultBudgets } from "../plan/budgets.ts";
import { Check, quote } from "./check.ts";
import { planFiles, planUnsafe } from "./check_paths.ts";
import { planApprovals } from "./check_approvals.ts";
import { planExpectedDenials, planGate } from "./check_rules.ts";
import { planExpectedEvents, planSession, schemaFiles } from "./check_controls.ts";
import { planCredentials, planGitHub } from "./check_credentials.ts";
import { operatorsFolders, planProcess } from "./check_process.ts";
import { planModel } from "./check_model.ts";
import { planPackages } from "./check_packages.ts";
import { planTools } from "./check_tools.ts";
import type { Facts } from "./inspect.ts";
import type { LoadedPolicy } from "./load.ts";
import { refuse } from "./policy_error.ts";

/** One module of the agent. */
export interface AgentModule {
  /** Absolute real path. */
  readonly path: string;
  /** SHA-256 of its bytes. */
  readonly sha256: string;
  /** `${npm}/<name>@<version>/<file>`, for a file of a package. */
  readonly packaged?: string;
}

/** What a plan is made from. */
export interface CompileInput {
  readonly loaded: LoadedPolicy;
  readonly manifests: ToolManifests;
  readonly facts: Facts;
  /** Every module of the agent; `null` where only the policy is checked. */
  readonly modules: readonly AgentModule[] | null;
}

/**
 * Compiles a policy.
 *
 * @throws {PolicyError} With every refusal: each says where, why, and what to write instead.
 */
export function compile({ loaded, manifests, facts, modules }: CompileInput): Plan {
  const check = new Check(loaded, manifests, facts);
  const { policy } = loaded;
  const budgets = planBudgets(check);
  const tools = planTools(check, budgets);
  const packages = planPackages(check);
  const agent = planAgent(check, modules, packages ?? []);
  const network = planNetwork(check);
  const programs = planProcess(check);
  const kept = [
    ...programs.kept,
    ...(modules ?? []).filter(({ packaged }) => packaged === undefined).map(({ path }) => path),
    // whether the packages are there or in Deno's cache, which is protected in any case: the same plan on any machine
    ...(packages === undefined ? [] : [`${facts.places.project}/node_modules`]),
    ...["/agent", "/network/ca/file", "/model/fixture"].flatMap((at) => facts.paths.get(at)?.real ?? []),
    ...schemaFiles(check),
    ...(policy.network?.fixtures ?? []).flatMap((_, i) => facts.paths.get(`/network/fixtures/${i}`)?.real ?? []),
  ];
  const session = planSession(check, budgets);
  const fs = planFiles(check, [...kept, ...session.kept], { work: programs.folders, secret: session.kept });
  const gate = planGate(check);
  const approvals = planApprovals(check);
  const github = planGitHub(check);
  const model = planModel(check);
  const credentials = planCredentials(check);
  const expectDenials = planExpectedDenials(check);
  const expectEvents = planExpectedEvents(check);
  checkCache(check);
  const unsafe = [...planUnsafe(check, fs), ...operatorsFolders(check, programs.process), ...programs.unsafe];
  refuse(check.issues);
  const env = [
    network.proxy?.fromEnv,
    network.ca !== null && "fromEnv" in network.ca ? network.ca.fromEnv : undefined,
    ...Object.values(credentials).map(({ env }) => env),
  ];
  return deepFreeze({
    version: 1,
    name: policy.name ?? defaultName(check),
    policy: { path: loaded.file === null ? null : check.portable(loaded.file), sha256: loaded.sha256 },
    isolation: policy.isolation ?? "process",
    tools,
    fs,
    network,
    ...(programs.process === undefined ? {} : { process: programs.process }),
    github,
    credentials,
    ...(model === undefined ? {} : { model }),
    gate,
    ...(approvals === undefined ? {} : { approvals }),
    budgets,
    env: [...new Set(env.filter((name) => name !== undefined))].toSorted(),
    redact: [...new Set(policy.redact ?? [])],
    expectEvents,
    ...(session.plan === undefined ? {} : { session: session.plan }),
    expectDenials,
    context: structuredClone(policy.context ?? {}) as JsonObject,
    ...(packages === undefined ? {} : { packages }),
    agent,
    unsafe,
  });
}

/** A default yields to the budget it is a part of; two numbers of the policy that contradict each other are refused. */
function planBudgets(check: Check): Budgets {
  const own = check.loaded.policy.budgets ?? {};
  const budgets: { -readonly [K in keyof Budgets]: number } = { ...defaultBudgets(), ...own as Partial<Budgets> };
  const pairs = [
    ["toolTimeoutMs", "wallMs"],
    ["toolArgBytes", "totalArgBytes"],
    ["toolResultBytes", "totalResultBytes"],
    ["heapMb", "rssMb"],
  ] as const;
  for (const [part, whole] of pairs) {
    if (budgets[part] <= budgets[whole]) continue;
    if (own[part] === undefined) {
      budgets[part] = budgets[whole];
      continue;
    }
    check.refuse({
      at: `/budgets/${part}`,
      code: "policy_budget_order",
      message: `Cannot use ${check.name(`/budgets/${part}`)} of ${budgets[part]}: "budgets.${whole}" is ${
        budgets[whole]
      }`,
      fix: `Set "${whole}" to ${budgets[part]} or more, or lower "${part}"`,
    });
  }
  return budgets;
}

function planAgent(
  check: Check,
  modules: readonly AgentModule[] | null,
  packages: readonly PlannedPackage[],
): Plan["agent"] {
  const { agent } = check.loaded.policy;
  if (agent === undefined) return null;
  const fact = check.path("/agent", agent);
  if (fact === undefined) return null;
  const { project } = check.facts.places;
  const name = `${check.name("/agent")} ${quote(agent)}`;
  if (!isInside(project, fact.path) && !check.loaded.isOperators("/agent")) {
    const message = `Cannot run ${name}: it lies outside the project`;
    check.refuse({ at: "/agent", code: "policy_outside_project", message, fix: "Move it into the project" });
  } else if (fact.kind !== "file") {
    const what = fact.kind === "missing" ? "it does not exist" : "it is not a regular file";
    const fix = "Name the agent's entry module, relative to the policy";
    check.refuse({ at: "/agent", code: "policy_agent_missing", message: `Cannot run ${name}: ${what}`, fix });
  } else if (!/\.[cm]?[jt]sx?$/.test(fact.path)) {
    const message = `Cannot run ${name}: it is no TypeScript or JavaScript module`;
    check.refuse({ at: "/agent", code: "policy_agent_kind", message, fix: "Name a .ts or .js file" });
  }
  for (const { packaged } of modules ?? []) {
    if (packaged === undefined || packages.some((one) => packaged.startsWith(packagePlace(one)))) continue;
    const message = `Cannot run ${name}: ${quote(packaged)} is of no package that the policy lists`;
    check.refuse({ at: "/agent", code: "policy_package_moved", message, fix: "Run again: the lock has changed" });
  }
  return {
    entry: check.portable(fact.path),
    modules: (modules ?? [])
      .map(({ path, sha256, packaged }) => ({ path: packaged ?? check.portable(path), sha256 }))
      .toSorted((a, b) => a.path < b.path ? -1 : 1),
  };
}

function planNetwork(check: Check): NetworkPlan {
  const { network } = check.loaded.policy;
  const ca = network?.ca;
  return {
    fixtures: (network?.fixtures ?? []).flatMap((path, i) => planFixture(check, `/network/fixtures/${i}`, path)),
    cache: network?.cache === undefined ? null : {
      dir: planCacheDir(check, network.cache.dir),
      mode: network.cache.mode ?? "read-through",
      maxAgeMs: network.cache.maxAgeMs ?? null,
      maxEntries: network.cache.maxEntries ?? null,
    },
    retryAttempts: network?.retry?.attempts ?? 0,
    proxy: network?.proxy === undefined ? null : { fromEnv: network.proxy.fromEnv },
    ca: ca === undefined ? null : "fromEnv" in ca ? { fromEnv: ca.fromEnv } : planCaFile(check, ca.file),
    ipv6: network?.ipv6 ?? false,
  };
}

function planFixture(check: Check, at: string, text: string): NetworkPlan["fixtures"][number][] {
  const fact = check.path(at, text);
  if (fact === undefined || !check.insideOrAccepted(at, fact.path)) return [];
  const sha256 = check.facts.inputs.get(at);
  if (fact.kind !== "file" || sha256 === undefined) {
    const what = fact.kind === "missing" ? "it does not exist" : "it is no regular file that can be read";
    const message = `Cannot use ${check.name(at)} ${quote(text)}: ${what}`;
    const fix = "Name a JSON file of recorded answers, relative to the policy";
    check.refuse({ at, code: "policy_fixture_missing", message, fix });
    return [];
  }
  return [{ path: check.portable(fact.path), sha256 }];
}

function planCacheDir(check: Check, text: string | undefined): string {
  if (text === undefined) return "${state}/cache";
  const at = "/network/cache/dir";
  const fact = check.path(at, text);
  if (fact === undefined || !check.insideOrAccepted(at, fact.path)) return "${state}/cache";
  if (fact.kind === "file" || fact.kind === "other") {
    const message = `Cannot use ${check.name(at)} ${quote(text)}: it is not a folder`;
    check.refuse({ at, code: "policy_root_kind", message, fix: "Name a folder; it may be missing" });
  }
  return check.portable(fact.path);
}

/** Refuses a cache folder that a tool could read or write: answers would be forged or leak past their record. */
function checkCache(check: Check): void {
  const at = "/network/cache/dir";
  const dir = check.facts.paths.get(at)?.real;
  if (dir === undefined) return;
  const { project } = check.facts.places;
  if (dir === project || isInside(dir, project) || isInside(dir, check.loaded.base)) {
    const message = `Cannot use ${check.name(at)}: the folder holds the project or the policy`;
    check.refuse({ at, code: "policy_protected", message, fix: 'Name a folder of its own, such as ".twokey/cache"' });
  }
  if (check.facts.tracked.has(at)) {
    const message = `Cannot use ${check.name(at)}: git tracks files there`;
    check.refuse({ at, code: "policy_tracked", message, fix: "Name a folder that git ignores, or remove the key" });
  }
  for (const [index] of (check.loaded.policy.fs?.write ?? []).entries()) {
    const root = check.facts.paths.get(`/fs/write/${index}/root`)?.real;
    if (root !== undefined && (isInside(root, dir) || isInside(dir, root))) {
      const message = `Cannot use ${check.name(at)}: ${check.name(`/fs/write/${index}/root`)} shares the folder`;
      check.refuse({ at, code: "policy_protected", message, fix: "Name a folder outside of every write root" });
    }
  }
}

function planCaFile(check: Check, text: string): { readonly file: string; readonly sha256: string } {
  const at = "/network/ca/file";
  const fact = check.path(at, text);
  if (fact === undefined) return { file: "${project}", sha256: "" };
  const sha256 = check.facts.inputs.get(at);
  if (fact.kind !== "file" || sha256 === undefined) {
    const what = fact.kind === "missing" ? "it does not exist" : "it is no regular file that can be read";
    const message = `Cannot use ${check.name(at)} ${quote(text)}: ${what}`;
    check.refuse({ at, code: "policy_ca_missing", message, fix: "Name a PEM file, relative to the policy" });
  }
  return { file: check.portable(fact.path), sha256: sha256 ?? "" };
}

/** `agent.policy.jsonc` in `policies/demo` is `demo`; the project's own is `agent`; any other has its file's name. */
function defaultName(check: Check): string {
  const { file, base, project } = check.loaded;
  if (file === null) return "flags";
  const stem = nameOf(file).replace(/\.jsonc?$/, "").replace(/\.policy$/, "");
  const name = stem === "agent" && base !== project ? nameOf(base) : stem;
  return name.replaceAll(/[^A-Za-z0-9._-]/g, "-").slice(0, 64) || "agent";
}
