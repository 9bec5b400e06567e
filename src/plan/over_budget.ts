/**
 * Which budget ended a run, and the line of a policy that would raise it.
 *
 * @module
 */
import { BUDGETS } from "./budgets.ts";
import type { Budgets } from "./plan.ts";

/** A budget that ended a run. */
export interface OverBudget {
  /** Name, as the policy has it. */
  readonly budget: keyof Budgets;
  /** What is counted, for people. */
  readonly what: string;
  /** What the run was allowed. */
  readonly limit: number;
  readonly unit: string;
  /** What would let it go on: twice as much, as far as a policy may go; `null` where it is there already. */
  readonly raise: string | null;
}

/** The budget behind a reason of `run_end`. */
const BY_REASON: ReadonlyMap<string, keyof Budgets> = new Map([
  ["wall_exceeded", "wallMs"],
  ["cpu_exceeded", "cpuMs"],
  ["memory_exceeded", "heapMb"],
  ["host_memory_exceeded", "heapMb"],
  ["memory_rss_exceeded", "rssMb"],
  ["stderr_exceeded", "stderrBytes"],
]);

/** The budgets that end a run with `budget_exceeded`, by the name that the record of it has. */
const BY_RECORD: Readonly<Record<string, keyof Budgets>> = Object.freeze({
  tool_calls: "toolCalls",
  total_arg_bytes: "totalArgBytes",
  total_result_bytes: "totalResultBytes",
  operations: "operations",
  events: "events",
  event_bytes: "eventBytes",
  audit_note_bytes: "noteBytes",
});

/**
 * Says which budget ended a run; `undefined` where none did.
 *
 * @param reason The reason of `run_end`.
 * @param seen `budget` of every `budget_exceeded` record of the run.
 * @param budgets What the plan allowed.
 */
export function overBudget(reason: string, seen: ReadonlySet<string>, budgets: Budgets): OverBudget | undefined {
  const budget = reason === "budget_exceeded"
    ? Object.entries(BY_RECORD).find(([name]) => seen.has(name))?.[1]
    : BY_REASON.get(reason);
  if (budget === undefined) return undefined;
  const { what, unit, max } = BUDGETS[budget];
  const limit = budgets[budget];
  const next = Math.min(max, Math.max(1, limit * 2));
  return { budget, what, limit, unit, raise: next > limit ? `"budgets": { "${budget}": ${next} }` : null };
}
