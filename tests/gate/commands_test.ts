import assert from "node:assert/strict";
import { printCommand } from "../../src/authority/command_text.ts";
import { makeGate } from "../../src/gate/decide.ts";
import { programEnv } from "../../src/gate/program_env.ts";
import type { Requirement } from "../../src/authority/requirement.ts";
import type { GateRule, Plan } from "../../src/plan/plan.ts";
import type { ProcessPlan } from "../../src/plan/process_plan.ts";
import { makeRun } from "../host/run_context.ts";

const PROCESS: ProcessPlan = {
  commands: {
    git: { path: "/usr/bin/git", sha256: null, args: { kind: "git" }, rule: "/process/commands/git" },
    wc: {
      path: "/usr/bin/wc",
      sha256: null,
      args: { kind: "rules", rules: { options: { "-l": "flag" }, positionals: ["path"], maxPositionals: 1 } },
      rule: "/process/commands/wc",
    },
  },
  cwd: [{ root: "${project}/sub", label: "sub", rule: "/process/cwd/0" }],
  env: { pass: ["A"], set: { B: "b" } },
  chunkBytes: 1024,
  sandbox: "auto",
  egress: [],
};

function gateOf(gate: readonly GateRule[] = []) {
  const run = makeRun("/project");
  const tool = { family: "process", manifest: "0", timeoutMs: 1, endpoints: {}, rule: "/tools/0" };
  const plan: Plan = {
    ...run.plan,
    process: PROCESS,
    gate,
    tools: { process: { ...tool, process: true }, other: tool },
  };
  const decide = makeGate(plan, run.places);
  return (target: string, name = "process", refusal?: string) => {
    const requirement: Requirement = {
      kind: "command.execute",
      target,
      description: "x",
      ...(refusal === undefined ? {} : { refusal }),
    };
    const decision = decide({ tool: name, requirements: [requirement] });
    return decision.kind === "deny" ? decision.code : decision.kind;
  };
}

Deno.test("makeCommandGate() decides on the one canonical form of a command, whatever a resolver says", () => {
  const decide = gateOf();
  assert.equal(decide("wc -l a.txt"), "allow");
  assert.equal(decide("git log -5"), "allow");
  assert.equal(decide("wc"), "allow");
  assert.equal(decide("sh -c id"), "process_command_not_admitted");
  assert.equal(decide("constructor"), "process_command_not_admitted");
  assert.equal(decide("wc -c a.txt"), "process_args_not_admitted");
  assert.equal(decide("wc /etc/passwd"), "process_args_not_admitted");
  assert.equal(decide("git -c core.pager=id log"), "process_args_not_admitted");
  // admitted, but not in the canonical form
  assert.equal(decide("wc a.txt -l"), "process_args_not_admitted");
  assert.equal(decide('wc "-l" a.txt'), "process_command_not_admitted");
  assert.equal(decide("wc  -l"), "process_command_not_admitted");
  assert.equal(decide("wc -l", "other"), "process_command_not_admitted");
  assert.equal(decide("wc -l", "process", "process_cwd_not_admitted"), "process_cwd_not_admitted");
});

Deno.test("rules on commands match the whole text, slashes and spaces included", () => {
  const rule = (effect: "deny" | "ask", match: string): GateRule => ({
    effect,
    kind: "command.execute",
    tools: [],
    match,
    rule: `/gate/${match}`,
  });
  const decide = gateOf([rule("deny", "git show *secret*"), rule("ask", "git log*"), rule("deny", "wc -l")]);
  assert.equal(decide(printCommand("git", ["show", "HEAD:src/secret/x"])), "gate_deny_rule");
  assert.equal(decide("git show HEAD:src/x"), "allow");
  assert.equal(decide("git log -5"), "ask");
  assert.equal(decide("wc -l"), "gate_deny_rule");
  assert.equal(decide("wc -l a.txt"), "allow");
});

Deno.test("programEnv() lets a grammar win, and keeps git below the folders of the policy", () => {
  const { places } = makeRun("/project");
  const process = { ...PROCESS, env: { pass: ["A"], set: { GIT_PAGER: "evil" } } };
  const env = programEnv({ kind: "git" }, process, { places, passed: { A: "1" } });
  assert.equal(env.GIT_PAGER, "cat");
  assert.equal(env.A, "1");
  assert.equal(env.GIT_CEILING_DIRECTORIES, "/project");
  assert.deepEqual(programEnv({ kind: "any" }, PROCESS, { places, passed: {} }), { B: "b" });
});
