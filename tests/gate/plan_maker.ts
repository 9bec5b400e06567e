/** Small plans made by hand, for the tests of the gate. */
import { defaultBudgets } from "../../src/plan/budgets.ts";
import type { Places, Plan, PlannedTool } from "../../src/plan/plan.ts";
import type { RequirementKind } from "../../src/authority/requirement.ts";
import type { Request } from "../../src/authority/requirement.ts";

/** Places that need not exist: the gate touches nothing. */
export const PLACES: Places = { project: "/p", twokey: "/twokey", state: "/state" };

/** One tool of each shape of authority. */
export const TOOLS: Readonly<Record<string, PlannedTool>> = {
  echo: planned("/tools/0", {}),
  readFile: planned("/tools/1", { fs: "read" }),
  writeArtifact: planned("/tools/2", { fs: "write" }),
  "osv.query": planned("/tools/3", {
    endpoints: { query: { method: "POST", url: "https://api.osv.dev/v1/query" } },
  }),
  EditFile: planned("/tools/6", { fs: "edit" }),
  Grep: planned("/tools/5", { fs: "browse" }),
  "npm.metadata": planned("/tools/4", {
    endpoints: { package: { method: "GET", url: "https://<npm-registry>/{package}" } },
  }),
};

function planned(rule: string, more: Partial<PlannedTool>): PlannedTool {
  return { family: "x", manifest: "0".repeat(64), timeoutMs: 1000, endpoints: {}, rule, ...more };
}

/** A plan with every tool and the given parts. */
export function makePlan(parts: { fs?: Partial<Plan["fs"]>; gate?: Plan["gate"] } = {}): Plan {
  return {
    version: 1,
    name: "test",
    policy: { path: "${project}/agent.policy.jsonc", sha256: "0".repeat(64) },
    isolation: "process",
    tools: TOOLS,
    fs: { read: [], write: [], protected: [], secret: [], ...parts.fs },
    network: { fixtures: [], cache: null, retryAttempts: 0, proxy: null, ca: null, ipv6: false },
    github: { repos: [] },
    credentials: {},
    gate: parts.gate ?? [],
    budgets: defaultBudgets(),
    env: [],
    redact: [],
    expectEvents: {},
    expectDenials: [],
    context: {},
    agent: null,
    unsafe: [],
  };
}

/** A request with one requirement for each target. */
export function request(tool: string, kind: RequirementKind, ...targets: readonly string[]): Request {
  return { tool, requirements: targets.map((target) => ({ kind, target, description: "" })) };
}
