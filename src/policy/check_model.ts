/**
 * The compiler's step for models: who is asked or which answers are recorded, which models, how much.
 *
 * @module
 */
import { MODEL_PROVIDERS } from "../authority/model_providers.ts";
import { MODEL_LIMITS, type ModelPlan } from "../plan/model_plan.ts";
import type { Plan, PlannedTool } from "../plan/plan.ts";
import type { ToolManifest } from "../tool/manifest.ts";
import { type Check, quote } from "./check.ts";
import type { Policy } from "./schema.ts";

/** Whether a tool asks models. */
export function asksModels({ authority }: ToolManifest): boolean {
  return authority.model !== undefined;
}

/**
 * What a tool that asks models sends, and with which credential: to the one provider that the policy names. Nothing where
 * answers are recorded.
 */
export function modelReach(
  manifest: ToolManifest,
  { model }: Policy,
): Pick<PlannedTool, "endpoints" | "credential" | "service"> {
  if (model?.provider === undefined || model.fixture !== undefined) return { endpoints: {}, service: "model" };
  const { method, url, header } = manifest.authority.model?.[model.provider] ?? MODEL_PROVIDERS[model.provider];
  return {
    endpoints: { [model.provider]: { method, url } },
    service: "model",
    credential: { header, optional: false },
  };
}

/** Plans the `model` block. */
export function planModel(check: Check): ModelPlan | undefined {
  const { model, tools = [] } = check.loaded.policy;
  const users = check.granted().filter(asksModels);
  if (model === undefined) {
    for (const { name } of users) {
      check.refuse({
        at: `/tools/${tools.indexOf(name)}`,
        code: "policy_tool_without_authority",
        message: `Cannot grant ${quote(name)}: the policy has no "model" for it`,
        fix: 'Add "model": { "provider": "openai.responses", "apiKeyEnv": "VARIABLE", "models": ["name"] }, or ' +
          '"model": { "fixture": "answers.json" }, or remove the tool',
      });
    }
    return undefined;
  }
  if (users.length === 0) {
    check.refuse({
      at: "/model",
      code: "policy_unused_authority",
      message: `Cannot grant ${check.name("/model")}: no granted tool asks a model`,
      fix: check.removeOrGrant("/model", Object.values(check.manifests).filter(asksModels)),
    });
  }
  checkSource(check, model);
  const { models = [] } = model;
  for (const [index, name] of models.entries()) {
    if (models.indexOf(name) === index) continue;
    const at = `/model/models/${index}`;
    const message = `Cannot use ${check.name(at)} ${quote(name)}: it is listed twice`;
    check.refuse({ at, code: "policy_duplicate_model", message, fix: "Keep one of the two" });
  }
  return {
    provider: model.provider ?? null,
    fixture: model.fixture === undefined ? null : planFixture(check, model.fixture),
    models,
    ...planLimits(check, model),
    audit: model.audit ?? "digest",
  };
}

type ModelBlock = NonNullable<Policy["model"]>;

/** Somebody who answers, and for a provider a list of models. Its key is the business of the credentials. */
function checkSource(check: Check, { provider, fixture, models, apiKeyEnv }: ModelBlock): void {
  const refuse = (at: string, code: string, { message, fix }: { message: string; fix: string }): void =>
    check.refuse({ at, code, message, fix });
  if (provider === undefined && fixture === undefined) {
    refuse("/model", "policy_tool_without_authority", {
      message: `Cannot use ${check.name("/model")}: it names neither a provider nor recorded answers`,
      fix: 'Add "provider", "apiKeyEnv" and "models", or "fixture"',
    });
  }
  if (provider !== undefined && models === undefined) {
    refuse("/model/provider", "policy_tool_without_authority", {
      message: `Cannot use ${check.name("/model/provider")}: the policy names no model that may be asked for`,
      fix: 'Add "models": ["name"] beside it',
    });
  }
  if (provider === undefined && apiKeyEnv !== undefined) {
    refuse("/model/apiKeyEnv", "policy_unused_authority", {
      message: `Cannot use ${check.name("/model/apiKeyEnv")}: no provider is named that the key would be sent to`,
      fix: 'Add "provider", or remove it',
    });
  }
}

function planFixture(check: Check, text: string): ModelPlan["fixture"] {
  const at = "/model/fixture";
  const fact = check.path(at, text);
  if (fact === undefined || !check.insideOrAccepted(at, fact.path)) return null;
  const sha256 = check.facts.inputs.get(at);
  if (fact.kind === "file" && sha256 !== undefined) return { path: check.portable(fact.path), sha256 };
  const what = fact.kind === "missing" ? "it does not exist" : "it is no regular file that can be read";
  const message = `Cannot use ${check.name(at)} ${quote(text)}: ${what}`;
  const fix = "Name a JSON file of recorded answers, relative to the policy";
  check.refuse({ at, code: "policy_fixture_missing", message, fix });
  return null;
}

/** A default yields to the limit that it is a part of; two numbers of the policy that contradict each other are refused. */
function planLimits(check: Check, model: ModelBlock): Pick<ModelPlan, keyof typeof MODEL_LIMITS> {
  const total = model.totalTokens ?? MODEL_LIMITS.totalTokens.value;
  const one = model.maxOutputTokens ?? Math.min(MODEL_LIMITS.maxOutputTokens.value, total);
  if (one > total) {
    check.refuse({
      at: "/model/maxOutputTokens",
      code: "policy_budget_order",
      message: `Cannot use ${check.name("/model/maxOutputTokens")} of ${one}: "model.totalTokens" is ${total}`,
      fix: `Set "totalTokens" to ${one} or more, or lower "maxOutputTokens"`,
    });
  }
  return { maxOutputTokens: one, totalTokens: total, calls: model.calls ?? MODEL_LIMITS.calls.value };
}

/** Plans the variable of a tool that asks models; `undefined` where nobody is asked, or after a refusal. */
export function planModelKey(check: Check, { name }: ToolManifest): Plan["credentials"][string] | undefined {
  const { model } = check.loaded.policy;
  if (model?.provider === undefined || model.fixture !== undefined) return undefined;
  if (model.apiKeyEnv !== undefined) return { env: model.apiKeyEnv, rule: "/model/apiKeyEnv" };
  check.refuse({
    at: "/model/provider",
    code: "policy_tool_without_authority",
    message: `Cannot use ${check.name("/model/provider")}: the policy names no variable that holds its key`,
    fix: `Add "apiKeyEnv": "VARIABLE" beside it, or "secrets": { ${quote(name)}: "VARIABLE" }`,
  });
  return undefined;
}
