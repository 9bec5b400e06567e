/** Runs the tools that browse over a folder as the host would, without processes. */
import { DenialError, ToolError, ToolInputError } from "../../../src/errors.ts";
import { makeGate } from "../../../src/gate/decide.ts";
import { openWorkspace } from "../../../src/host/workspace/workspace.ts";
import type { GateRule, PlannedTool } from "../../../src/plan/plan.ts";
import type { FullPowers, FullResolve, Tool } from "../../../src/tool/define.ts";
import { type FsPlan, makeCall, makeRun } from "../run_context.ts";

/** How a call ended. */
export type Browsed = { readonly outcome: string; readonly code?: string; readonly result?: unknown };

/** Options of {@linkcode openBrowse}. */
export interface BrowseOptions extends FsPlan {
  readonly gate?: readonly Pick<GateRule, "effect" | "match">[];
  /** Milliseconds from its start to the deadline of each call. */
  readonly timeoutMs?: number;
}

const PLANNED: PlannedTool = {
  family: "workspace",
  manifest: "0".repeat(64),
  fs: "browse",
  timeoutMs: 30_000,
  endpoints: {},
  rule: "/tools/0",
};

/** Opens the workspace of a project; the result runs one call. */
export function openBrowse(
  project: string,
  { gate = [], timeoutMs = 30_000, ...fs }: BrowseOptions = {},
): (tool: Tool, args: unknown) => Promise<Browsed> {
  const made = makeRun(project, { read: [{ root: "." }], secret: [".env*"], ...fs });
  const rules = gate.map(({ effect, match }, index): GateRule => (
    { effect, match, kind: "filesystem.read", tools: [], rule: `/gate/${effect}/${index}` }
  ));
  const tools = { ReadFile: PLANNED, Glob: PLANNED, Grep: PLANNED };
  const run = { ...made, plan: { ...made.plan, tools, gate: rules } };
  const decide = makeGate(run.plan, run.places);
  const workspace = openWorkspace(run, decide);
  return async (tool, args) => {
    try {
      const prepared = await tool.prepare(args, workspace.resolver("browse") as FullResolve);
      const decision = decide(prepared.request);
      if (decision.kind !== "allow") {
        return { outcome: "denied", code: decision.kind === "deny" ? decision.code : "ask" };
      }
      const call = { ...makeCall(tool.name, prepared.targets), deadlineMs: Date.now() + timeoutMs };
      const powers = { ...workspace.power("browse", call), note: call.note } as unknown as FullPowers;
      return { outcome: "result", result: await tool.invoke(prepared, powers) };
    } catch (error) {
      if (error instanceof DenialError) return { outcome: "denied", code: error.code };
      if (error instanceof ToolInputError) return { outcome: "invalid", code: error.code };
      if (error instanceof ToolError) return { outcome: "error", code: error.code };
      throw error;
    }
  };
}
