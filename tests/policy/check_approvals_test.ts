import assert from "node:assert/strict";
import { authorityManifest } from "../../src/report/authority_manifest.ts";
import { explainPlan } from "../../src/report/explain.ts";
import { grantLines } from "../../src/report/grants.ts";
import { DEFAULT_TERMS } from "../../src/plan/approval_terms.ts";
import { PolicyError } from "../../src/policy/policy_error.ts";
import { mutantsOf } from "../../src/policy/mutants.ts";
import { removeTool } from "../../src/policy/policy_edits.ts";
import type { Policy } from "../../src/policy/schema.ts";
import { compileIn, withProject } from "./project.ts";

const POLICY = { version: 1, tools: ["echo", "slow"], approvals: { require: ["slow"], maxAgeMs: 3_600_000 } } as const;
const READING = {
  ...POLICY,
  tools: ["echo", "readFile"],
  fs: { read: [{ root: "." }] },
  gate: { ask: [{ kind: "filesystem.read", match: "x" }] },
};

Deno.test("planApprovals() plans who asks and for how long, and nothing where the policy has no such block", () =>
  withProject({}, async (dir) => {
    const { plan } = await compileIn(dir, POLICY);
    const require = [{ tool: "slow", rule: "/approvals/require/0" }];
    assert.deepEqual(plan.approvals, { require, maxAgeMs: 3_600_000, waitMs: DEFAULT_TERMS.waitMs });
    assert.ok(!("approvals" in (await compileIn(dir, { version: 1, tools: ["echo"] })).plan));
    const ruled = await compileIn(dir, { ...READING, approvals: { waitMs: 5000 } });
    assert.deepEqual(ruled.plan.approvals, { require: [], maxAgeMs: DEFAULT_TERMS.maxAgeMs, waitMs: 5000 });
  }));

Deno.test("planApprovals() refuses names and terms that do nothing, with a fix", () =>
  withProject({}, async (dir) => {
    const wrong: [unknown, string, RegExp][] = [
      [{ require: ["slwo"] }, "policy_unknown_tool", /Write "slow"/],
      [{ require: ["readFile"] }, "policy_dead_rule", /grant the tool/],
      [{ require: ["slow", "slow"] }, "policy_duplicate_tool", /Keep one/],
      [{ require: ["*"] }, "policy_unknown_tool", /tool list/],
      [{ require: ["shell"] }, "policy_absent_tool", /Remove it/],
      [{ maxAgeMs: 5000 }, "policy_dead_rule", /remove the block/],
      [{}, "policy_dead_rule", /remove the block/],
      [{ require: ["slow"], maxAgeMs: 0 }, "policy_wrong_value", /at least 1000/],
      [{ require: ["slow"], maxAge: 1 }, "policy_unknown_key", /maxAgeMs/],
      [{ requires: ["slow"] }, "policy_unknown_key", /require/],
    ];
    for (const [approvals, code, fix] of wrong) {
      await assert.rejects(compileIn(dir, { ...POLICY, approvals }), (error) => {
        assert.ok(error instanceof PolicyError);
        const issue = error.issues.find((one) => one.code === code);
        assert.match(issue?.fix ?? "", fix, JSON.stringify([approvals, error.issues]));
        return true;
      });
    }
  }));

Deno.test("explain, grants and the manifest of authority say what asks", () =>
  withProject({}, async (dir) => {
    const { plan, loaded } = await compileIn(dir, {
      ...READING,
      approvals: { require: ["echo"], maxAgeMs: 3_600_000 },
    });
    const text = explainPlan(plan, loaded.positionOf);
    assert.match(text, /asks before every call by echo {3}\[/);
    assert.match(text, /asks before filesystem\.read x by every tool/);
    assert.match(text, /runs once a person has said yes .* within 1 h; elsewhere the run stops at it \(exit 79\)/);
    assert.match(text, /holds for 1 h/);
    assert.ok(grantLines(plan).includes("asks      before every call of echo; before filesystem.read x"));
    assert.deepEqual(authorityManifest(plan).approvals, {
      every_call_of: ["echo"],
      max_age_ms: 3_600_000,
      wait_ms: 3_600_000,
    });
  }));

Deno.test("a policy that loses its question is a mutant, and a tool that goes takes its question along", () => {
  const tools = { others: [], fsOf: () => undefined };
  const mutants = mutantsOf(POLICY as unknown as Policy, tools);
  const dropped = mutants.find(({ rule }) => rule === "/approvals/require/0");
  assert.deepEqual([dropped?.what, dropped?.kind], ['the approval that "slow" needs', "dropped"]);
  assert.deepEqual(dropped?.policy, { version: 1, tools: ["echo", "slow"] });
  assert.deepEqual(mutants.find(({ rule }) => rule === "/tools/1")?.policy, { version: 1, tools: ["echo"] });
  const kept = mutants.find(({ rule }) => rule === "/tools/0")?.policy;
  assert.deepEqual(kept?.approvals, { require: ["slow"], maxAgeMs: 3_600_000 });
  const paths = (policy: unknown) =>
    removeTool(policy as Policy, "slow").map((edit) => "path" in edit ? edit.path : []);
  assert.deepEqual(paths(POLICY), [["tools", 1], ["approvals"]]);
  assert.deepEqual(paths({ ...POLICY, approvals: { require: ["echo", "slow"] } }), [["tools", 1], [
    "approvals",
    "require",
    1,
  ]]);
  assert.deepEqual(paths({ ...POLICY, gate: READING.gate }), [["tools", 1], ["approvals", "require"]]);
});
