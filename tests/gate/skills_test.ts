import assert from "node:assert/strict";
import { makeGate } from "../../src/gate/decide.ts";
import { suggest } from "../../src/gate/suggest.ts";
import type { Plan } from "../../src/plan/plan.ts";
import { makePlan, PLACES, request } from "./plan_maker.ts";

const entry = { path: "${project}/x", sha256: "0".repeat(64), description: "x" } as const;

function makeSkillPlan(gate: Plan["gate"] = []): Plan {
  const base = makePlan({ gate });
  const tool = { family: "skill", manifest: "0".repeat(64), timeoutMs: 1, endpoints: {}, rule: "/tools/9" };
  return {
    ...base,
    tools: { ...base.tools, Skill: { ...tool, skills: true }, other: { ...tool, rule: "/tools/8" } },
    skills: {
      a: { source: "embedded", ...entry, rule: "/skills/embedded/a" },
      b: { source: "workspace", ...entry, rule: "/skills/workspace/0" },
    },
  };
}

function decide(plan: Plan, target: string, tool = "Skill"): string {
  const decision = makeGate(plan, PLACES)(request(tool, "context.load", target));
  return decision.kind === "allow"
    ? `allow ${decision.rules.join(" ")}`
    : decision.kind === "ask"
    ? `ask ${decision.rule}`
    : `${decision.code} ${decision.rule}`;
}

Deno.test("the gate admits the skills that the policy names, to tools that load skills", () => {
  const plan = makeSkillPlan();
  assert.equal(decide(plan, "skill:a"), "allow /tools/9 /skills/embedded/a");
  assert.equal(decide(plan, "skill:b"), "allow /tools/9 /skills/workspace/0");
  for (const name of ["c", "A", "constructor", "__proto__", "../a"]) {
    assert.equal(decide(plan, `skill:${name}`), "skill_not_admitted /skills", name);
  }
  for (const name of ["a ", "", "a\0"]) assert.match(decide(plan, `skill:${name}`), /_not_(?:admitted|granted) /, name);
  assert.equal(decide(plan, "model:a"), "tool_not_granted null");
  assert.equal(decide(plan, "skill:a", "other"), "tool_not_granted null");
  const { skills: _, ...none } = plan;
  assert.equal(decide(none, "skill:a"), "skill_not_admitted /skills");
});

Deno.test("rules of the policy narrow the skills, denying first", () => {
  const rule = (effect: "deny" | "ask", match: string) =>
    ({ effect, kind: "context.load", tools: [], match, rule: `/gate/${effect}/0` }) as const;
  assert.equal(decide(makeSkillPlan([rule("deny", "skill:a")]), "skill:a"), "gate_deny_rule /gate/deny/0");
  assert.equal(decide(makeSkillPlan([rule("deny", "skill:a")]), "skill:b"), "allow /tools/9 /skills/workspace/0");
  assert.equal(decide(makeSkillPlan([rule("ask", "skill:*")]), "skill:b"), "ask /gate/ask/0");
});

Deno.test("suggest() names the line that would admit a skill", () => {
  const denial = { tool: "Skill", code: "skill_not_admitted", target: "skill:c" } as const;
  const line = suggest(denial, makeSkillPlan(), { places: PLACES });
  assert.equal(line, '"skills": { "workspace": ["b", "c"] }');
});
