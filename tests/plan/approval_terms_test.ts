import assert from "node:assert/strict";
import { approvalTerms, DEFAULT_TERMS, mayAsk, TERM_BOUNDS } from "../../src/plan/approval_terms.ts";
import { covers } from "../../src/plan/compare.ts";
import { makePlan } from "../gate/plan_maker.ts";
import { withComparer } from "./comparison.ts";

Deno.test("approvalTerms() has defaults within its bounds, and mayAsk() knows tools and rules", () => {
  const plan = makePlan();
  assert.equal(approvalTerms(plan), DEFAULT_TERMS);
  for (const name of ["maxAgeMs", "waitMs"] as const) {
    const { min, max } = TERM_BOUNDS[name];
    assert.ok(DEFAULT_TERMS[name] >= min && DEFAULT_TERMS[name] <= max);
  }
  assert.equal(mayAsk(plan), false);
  assert.equal(mayAsk({ ...plan, approvals: { ...DEFAULT_TERMS, require: [{ tool: "echo", rule: "" }] } }), true);
  const rule = { kind: "filesystem.read", tools: [], match: "x", rule: "/gate/0" } as const;
  assert.equal(mayAsk({ ...plan, gate: [{ ...rule, effect: "ask" }] }), true);
  assert.equal(mayAsk({ ...plan, gate: [{ ...rule, effect: "deny" }] }), false);
});

Deno.test("comparePlans() takes a question that is gone, and an approval that holds longer, for gained authority", () =>
  withComparer(async ({ plan, compare }) => {
    const free = { tools: ["echo", "slow"] };
    const asking = { ...free, approvals: { require: ["slow"] } };
    const lines = async (base: Record<string, unknown>, head: Record<string, unknown>) =>
      (await compare(base, head)).map(({ kind, text }) => `${kind} ${text}`);
    assert.deepEqual(await lines(asking, free), ["gained calls of slow without an approval"]);
    assert.deepEqual(await lines(free, asking), ["narrowed every call of slow asks"]);
    assert.deepEqual(await lines(asking, { tools: ["echo"] }), ["lost the tool slow"]);
    assert.deepEqual(await lines({ tools: ["echo"] }, asking), ["gained the tool slow"]);
    assert.deepEqual(await lines(asking, { ...free, approvals: { require: ["slow"], maxAgeMs: 90_000_000 } }), [
      "gained ms that an unused approval holds: 90000000 instead of 86400000",
    ]);
    assert.deepEqual(await lines(asking, { ...free, approvals: { require: ["slow", "echo"], waitMs: 1000 } }), [
      "narrowed every call of echo asks",
      "narrowed ms that a question waits: 1000 instead of 3600000",
    ]);
    const [one, two] = [(await plan(free)).plan, (await plan(asking)).plan];
    assert.deepEqual([covers(one, two), covers(two, one), covers(two, two)], [true, false, true]);
  }));
