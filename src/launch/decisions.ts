/**
 * Decisions on calls that nobody makes: a real run in which no tool acts, so the reason is the evaluator's own.
 *
 * @module
 */
import type { RecordBody } from "../audit/record.ts";
import { ControlError } from "../errors.ts";
import type { Json, JsonObject } from "../json.ts";
import { dropGroundwork, execute, startGroundwork } from "./execute.ts";
import type { CompiledPolicy } from "./compile_policy.ts";

/** A call to decide on. */
export interface CallToDecide {
  readonly tool: string;
  readonly args: JsonObject;
}

/** What would become of a call. */
export interface CallDecision {
  readonly decision: "allow" | "deny" | "ask" | "invalid" | "budget";
  /** Reason slug; `null` for an allowed call. */
  readonly code: string | null;
  /** JSON Pointers of the rules that decided, as the gate named them. */
  readonly rules: readonly string[];
  /** The canonical target that was refused, or the first one that was allowed. */
  readonly target: string | null;
  /** Why arguments were refused. */
  readonly message: string | null;
}

/** Makes every call and keeps nothing: what is asked for stands in the records. */
const CALLER = `
for (const { tool, args } of JSON.parse(context.calls)) {
  try {
    await callTool(tool, args);
  } catch {
    // the record says why
  }
}
`;

/**
 * Decides on calls under a compiled policy, in one run of its own. Its log goes to a folder that is removed.
 *
 * @throws {ControlError} If the run itself does not hold.
 */
export async function decideCalls(compiled: CompiledPolicy, calls: readonly CallToDecide[]): Promise<CallDecision[]> {
  const plan = {
    ...compiled.plan,
    context: { calls: JSON.stringify(calls) },
    expectEvents: {},
    expectDenials: [],
    budgets: { ...compiled.plan.budgets, toolCalls: Math.max(calls.length, compiled.plan.budgets.toolCalls) },
  };
  const groundwork = startGroundwork();
  const runsDir = await Deno.makeTempDir({ prefix: "twokey-decide-" });
  const decisions = new Map<string, CallDecision>();
  try {
    const { end } = await execute({ ...compiled, plan, code: CALLER }, {
      groundwork,
      runsDir,
      dryRun: true,
      onRecord: (body) => {
        const decision = decisionOf(body);
        if (decision !== undefined) decisions.set(String(body.call_id), decision);
      },
      onStderr: () => {},
    });
    if (end.reason !== "done") {
      throw new ControlError(
        "control_decide",
        `Cannot decide: the run ended (${end.reason})${end.control === undefined ? "" : `: ${end.control.message}`}`,
      );
    }
  } catch (error) {
    await dropGroundwork(groundwork);
    throw error;
  } finally {
    await Deno.remove(runsDir, { recursive: true });
  }
  return calls.map((_, i) => {
    const decision = decisions.get(`c${i + 1}`);
    if (decision === undefined) throw new ControlError("control_decide", "Cannot decide: a call has no record");
    return decision;
  });
}

function decisionOf(
  { type, reason, rule, rules, requirement, requirements, message, budget }: RecordBody,
): CallDecision | undefined {
  switch (type) {
    case "tool_call": {
      const [first] = Array.isArray(requirements) ? requirements as readonly Json[] : [];
      return { decision: "allow", code: null, rules: listOf(rules), target: targetOf(first), message: null };
    }
    case "tool_denial": {
      const asked = reason === "approval_required";
      const code = typeof reason === "string" ? reason : null;
      return {
        decision: asked ? "ask" : "deny",
        code,
        rules: listOf([rule]),
        target: targetOf(requirement),
        message: null,
      };
    }
    case "tool_invalid_args":
      return { decision: "invalid", code: "tool_invalid_args", rules: [], target: null, message: String(message) };
    case "budget_exceeded":
      return { decision: "budget", code: String(budget), rules: [], target: null, message: null };
    default:
      return undefined;
  }
}

function listOf(rules: unknown): readonly string[] {
  return Array.isArray(rules) ? rules.filter((rule) => typeof rule === "string") : [];
}

function targetOf(requirement: unknown): string | null {
  if (typeof requirement !== "object" || requirement === null || !("target" in requirement)) return null;
  return typeof requirement.target === "string" ? requirement.target : null;
}
