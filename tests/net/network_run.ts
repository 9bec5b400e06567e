/**
 * What a test of the network needs of a host: a run, and calls whose records are kept.
 *
 * @module
 */
import type { RecordBody } from "../../src/audit/record.ts";
import type { CallContext, RunContext } from "../../src/host/context.ts";
import { readCredentials } from "../../src/host/credentials.ts";
import { makeNetwork, type Network, type NetworkOptions } from "../../src/host/network.ts";
import type { JsonObject } from "../../src/json.ts";
import { sha256 } from "../../src/json.ts";
import type { NetworkPlan, Plan } from "../../src/plan/plan.ts";
import type { FullPowers, FullResolve, Tool } from "../../src/tool/define.ts";
import { npmMetadata } from "../../src/tools/supply_chain/npm_metadata.ts";
import { osvQuery } from "../../src/tools/supply_chain/osv_query.ts";

/** What a test changes of a run. */
export interface RunOptions {
  readonly network?: Partial<NetworkPlan>;
  readonly toolResultBytes?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly fixtures?: Readonly<Record<string, string>>;
  readonly cacheKey?: Uint8Array<ArrayBuffer>;
  readonly now?: () => number;
  readonly state?: string;
  /** Further tools that the run grants. */
  readonly tools?: readonly Tool[];
  /** Repositories that the policy names. */
  readonly repos?: readonly string[];
  /** Variables that hold credentials, by tool; their values stand in `env`. */
  readonly credentials?: Readonly<Record<string, string>>;
  readonly gate?: Plan["gate"];
}

/** Makes a run that grants both tools. */
export function makeRun(options: RunOptions = {}): RunContext {
  const tools = Object.fromEntries([npmMetadata, osvQuery, ...options.tools ?? []].map((tool) => [tool.name, {
    family: tool.family,
    manifest: "0".repeat(64),
    timeoutMs: 10_000,
    endpoints: tool.authority.endpoints ?? {},
    ...(tool.authority.service === undefined ? {} : { service: tool.authority.service }),
    ...(tool.authority.credential === undefined ? {} : { credential: tool.authority.credential }),
    rule: "/tools",
  }]));
  const network: NetworkPlan = {
    fixtures: Object.keys(options.fixtures ?? {}).map((path) => ({ path, sha256: "0".repeat(64) })),
    cache: null,
    retryAttempts: 0,
    proxy: null,
    ca: null,
    ipv6: false,
    ...options.network,
  };
  // The network, and the gate that it asks about a renamed repository, read these parts of a plan only
  const plan = {
    tools,
    network,
    budgets: { toolResultBytes: options.toolResultBytes ?? 8_388_608 },
    fs: { read: [], write: [], protected: [], secret: [] },
    gate: options.gate ?? [],
    github: { repos: (options.repos ?? []).map((match, i) => ({ match, rule: `/github/repos/${i}` })) },
    credentials: Object.fromEntries(
      Object.entries(options.credentials ?? {}).map(([tool, env]) => [tool, { env, rule: `/secrets/${tool}` }]),
    ),
  } as unknown as Plan;
  return {
    plan,
    places: { project: "/nowhere/project", twokey: "/nowhere/twokey", state: options.state ?? "/nowhere/state" },
    fixtures: options.fixtures ?? {},
    cacheKey: options.cacheKey ?? new Uint8Array(32).fill(7),
    credentials: readCredentials(plan, (name) => options.env?.[name]).credentials,
    env: (name) => options.env?.[name],
    now: options.now ?? Date.now,
    sha256,
    record: () => {},
  };
}

/** One call through a tool, with everything that it recorded. */
export interface Called {
  readonly result?: unknown;
  readonly error?: unknown;
  readonly records: readonly RecordBody[];
  readonly note: JsonObject;
  readonly requirements: readonly unknown[];
}

/** Calls a tool as the host does, with a gate that allows what was asked for. */
export async function callTool(
  network: Network,
  tool: Tool,
  options: { readonly args: unknown; readonly timeoutMs?: number; readonly signal?: AbortSignal },
): Promise<Called> {
  const records: RecordBody[] = [];
  let note: JsonObject = {};
  const timeoutMs = options.timeoutMs ?? 10_000;
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(new DOMException("the deadline passed", "TimeoutError")), timeoutMs);
  const signals = [deadline.signal, ...options.signal === undefined ? [] : [options.signal]];
  let requirements: readonly unknown[] = [];
  try {
    const prepared = await tool.prepare(options.args, network.resolver(tool.name) as unknown as FullResolve);
    requirements = prepared.request.requirements;
    const call: CallContext = {
      callId: "c1",
      tool: tool.name,
      signal: AbortSignal.any(signals),
      deadlineMs: Date.now() + timeoutMs,
      granted: new Set(prepared.request.requirements),
      record: (body) => void records.push(body),
      note: (fields) => void (note = { ...note, ...fields }),
    };
    const powers = { ...network.power(call, tool.limits), note: call.note, signal: call.signal };
    const result = await tool.invoke(prepared, powers as unknown as FullPowers);
    return { result, records, note, requirements };
  } catch (error) {
    return { error, records, note, requirements };
  } finally {
    clearTimeout(timer);
  }
}

/** Runs a body with a network, and closes it. */
export async function withNetwork<T>(
  options: RunOptions & { readonly wiring?: NetworkOptions },
  body: (network: Network) => Promise<T>,
): Promise<T> {
  const network = makeNetwork(makeRun(options), options.wiring ?? {});
  try {
    return await body(network);
  } finally {
    network.close();
  }
}
