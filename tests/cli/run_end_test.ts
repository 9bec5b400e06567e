import assert from "node:assert/strict";
import { endFields, endLines, type RunEnded } from "../../src/cli/run_end.ts";
import { defaultBudgets } from "../../src/plan/budgets.ts";
import { PLAIN } from "../../src/report/style.ts";

const OPTIONS = { style: PLAIN, shown: (path: string) => path.slice(path.lastIndexOf("/") + 1) };

function ended(end: Record<string, unknown>, budgets: Record<string, number> = {}): RunEnded {
  return {
    prepared: {
      plan: { budgets: { ...defaultBudgets(), ...budgets } },
      loaded: { policy: { budgets }, positionOf: () => ({ file: "/p/a.jsonc", line: 2, column: 3 }) },
    },
    end,
    over: new Set(),
  } as unknown as RunEnded;
}

Deno.test("endLines() and endFields() say nothing of a run that ended well", () => {
  assert.deepEqual(endLines(ended({ reason: "done" }), OPTIONS), []);
  assert.deepEqual(endFields(ended({ reason: "done" })), {});
});

Deno.test("endLines() escapes what the agent threw, and cuts its stack", () => {
  const stack = Array.from({ length: 20 }, (_, at) => `at ${at}\x1b[2J`).join("\n");
  const [line = "", ...more] = endLines(ended({ reason: "agent_error", error: { stack } }), OPTIONS);
  assert.deepEqual(more, []);
  assert.equal(line.includes("\x1b"), false);
  assert.equal(line.split("\n").length, 8);
});

Deno.test("endLines() and endFields() name a budget with its place, or as the default", () => {
  const set = ended({ reason: "cpu_exceeded" }, { cpuMs: 50 });
  assert.match(endLines(set, OPTIONS).join("\n"), /^budget {4}cpuMs of 50 .*\(a\.jsonc:2:3\).*\n.*"cpuMs": 100 \}$/);
  assert.deepEqual((endFields(set).budget as { position: unknown }).position, {
    file: "/p/a.jsonc",
    line: 2,
    column: 3,
  });
  const byDefault = ended({ reason: "cpu_exceeded" });
  assert.match(endLines(byDefault, OPTIONS)[0] ?? "", /\(the default\)/);
  assert.equal("position" in (endFields(byDefault).budget as object), false);
});

Deno.test("endLines() prints a control that did not hold with its place and its fix", () => {
  const position = { file: "/p/a.jsonc", line: 1, column: 1 };
  const control = { code: "credential_unset", message: "Cannot", position, fix: "Run it" };
  assert.deepEqual(endLines(ended({ reason: "credential_unset", control }), OPTIONS), [
    "control   Cannot",
    "          at a.jsonc:1:1",
    "          fix: Run it",
  ]);
});
