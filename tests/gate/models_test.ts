import assert from "node:assert/strict";
import { makeGate } from "../../src/gate/decide.ts";
import type { ModelPlan } from "../../src/plan/model_plan.ts";
import type { Plan } from "../../src/plan/plan.ts";
import { makePlan, PLACES, request } from "./plan_maker.ts";

const MODEL: ModelPlan = {
  provider: "openai.responses",
  fixture: null,
  models: ["m", "n"],
  maxOutputTokens: 100,
  totalTokens: 100,
  calls: 1,
  audit: "digest",
};

function decide(model: ModelPlan | undefined, target: string, gate: Plan["gate"] = []): string {
  const base = makePlan({ gate });
  const asking = {
    family: "model",
    manifest: "0".repeat(64),
    timeoutMs: 1,
    endpoints: { "openai.responses": { method: "POST" as const, url: "https://api.openai.com/v1/responses" as const } },
    service: "model" as const,
    rule: "/tools/9",
  };
  const plan: Plan = {
    ...base,
    tools: { ...base.tools, "model.call": asking },
    ...(model === undefined ? {} : { model }),
  };
  const kind = target.startsWith("model:") || !target.includes("https:") ? "context.load" : "network";
  const decision = makeGate(plan, PLACES)(request("model.call", kind, target));
  return decision.kind === "allow"
    ? `allow ${decision.rules.join(" ")}`
    : decision.kind === "ask"
    ? `ask ${decision.rule}`
    : `${decision.code} ${decision.rule}`;
}

Deno.test("the gate admits the models that the policy names, by name, and one endpoint", () => {
  assert.equal(decide(MODEL, "model:m"), "allow /tools/9 /model/models/0");
  assert.equal(decide(MODEL, "model:n"), "allow /tools/9 /model/models/1");
  for (const name of ["M", "m ", "mm", "", "*", "m/n", "constructor"]) {
    assert.match(decide(MODEL, `model:${name}`), /^model_not_admitted|^tool_not_granted/, name);
  }
  assert.equal(decide(MODEL, "skill:m"), "tool_not_granted null");
  assert.equal(decide(MODEL, "POST https://api.openai.com/v1/responses"), "allow /tools/9");
  for (
    const other of [
      "GET https://api.openai.com/v1/responses",
      "POST https://api.openai.com/v1/files",
      "POST https://api.anthropic.com/v1/messages",
      "POST https://api.openai.com/v1/responses?x=1",
    ]
  ) assert.equal(decide(MODEL, other), "endpoint_not_granted null", other);
  const any = { ...MODEL, models: ["m", "*"] };
  assert.equal(decide(any, "model:m"), "allow /tools/9 /model/models/0");
  assert.equal(decide(any, "model:other"), "allow /tools/9 /model/models/1");
  assert.equal(decide(any, "model:*"), "model_not_admitted /model/models");
  assert.equal(decide(any, "model:a b"), "model_not_admitted /model/models");
  assert.equal(decide(undefined, "model:m"), "tool_not_granted null");
});

Deno.test("the gate admits any name where answers are recorded and none is listed", () => {
  const fixture = { path: "${project}/a.json", sha256: "0".repeat(64) };
  assert.equal(decide({ ...MODEL, models: [], fixture }, "model:any"), "allow /tools/9 /model/fixture");
  assert.equal(decide({ ...MODEL, fixture }, "model:any"), "model_not_admitted /model/models");
  assert.equal(decide({ ...MODEL, models: [] }, "model:any"), "model_not_admitted /model/models");
});

Deno.test("the gate holds rules against the name of a model, and no other tool has models", () => {
  const rule = { effect: "deny", kind: "context.load", tools: [], match: "model:n*", rule: "/gate/deny/0" } as const;
  assert.equal(decide(MODEL, "model:n", [rule]), "gate_deny_rule /gate/deny/0");
  assert.equal(decide(MODEL, "model:m", [rule]), "allow /tools/9 /model/models/0");
  assert.equal(decide(MODEL, "model:n", [{ ...rule, effect: "ask" }]), "ask /gate/deny/0");
  const plan: Plan = { ...makePlan(), model: MODEL };
  const other = makeGate(plan, PLACES)(request("osv.query", "context.load", "model:m"));
  assert.equal(other.kind === "deny" && other.code, "tool_not_granted");
});
