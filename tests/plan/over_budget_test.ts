import assert from "node:assert/strict";
import { BUDGETS, defaultBudgets } from "../../src/plan/budgets.ts";
import { overBudget } from "../../src/plan/over_budget.ts";

const NONE: ReadonlySet<string> = new Set();

Deno.test("overBudget() names the budget behind the reason of an end, its limit and the line that raises it", () => {
  const budgets = { ...defaultBudgets(), wallMs: 10, toolCalls: 0, heapMb: BUDGETS.heapMb.max };
  assert.deepEqual(overBudget("wall_exceeded", NONE, budgets), {
    budget: "wallMs",
    what: BUDGETS.wallMs.what,
    limit: 10,
    unit: "milliseconds",
    raise: '"budgets": { "wallMs": 20 }',
  });
  const named = (reason: string, seen = NONE) => overBudget(reason, seen, budgets)?.budget;
  assert.deepEqual(
    ["cpu_exceeded", "memory_exceeded", "memory_rss_exceeded", "stderr_exceeded"].map((reason) => named(reason)),
    ["cpuMs", "heapMb", "rssMb", "stderrBytes"],
  );
  // a budget that ended a call alone did not end the run
  assert.equal(named("budget_exceeded", new Set(["tool_arg_bytes", "tool_calls"])), "toolCalls");
  assert.equal(named("budget_exceeded", new Set(["tool_arg_bytes"])), undefined);
  assert.equal(overBudget("budget_exceeded", new Set(["tool_calls"]), budgets)?.raise, '"budgets": { "toolCalls": 1 }');
  assert.equal(overBudget("memory_exceeded", NONE, budgets)?.raise, null);
  for (const reason of ["done", "agent_error", "constructor", "toString"]) assert.equal(named(reason), undefined);
});
