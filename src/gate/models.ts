/**
 * The gate's part for models: a question must be for one that the policy names.
 *
 * @module
 */
import { MODEL_NAME } from "../authority/model_providers.ts";
import { ANY_MODEL } from "../plan/model_plan.ts";
import type { Plan, PlannedTool } from "../plan/plan.ts";
import type { Verdict } from "./verdict.ts";

/** What the target of a question begins with; the name of the model follows, `*` where it does not matter. */
const PREFIX = "model:";

/** Decides on a canonical target, `model:<name>`. */
export function decideModel({ model }: Plan, { service }: PlannedTool, target: string): Verdict {
  if (service !== "model" || model === undefined || !target.startsWith(PREFIX)) {
    return { code: "tool_not_granted", rule: null };
  }
  const name = target.slice(PREFIX.length);
  const { models, fixture } = model;
  // Recorded answers name their models themselves
  if (models.length === 0 && fixture !== null) return { granted: "/model/fixture" };
  // Whoever is asked live is asked by a name
  const isNamed = MODEL_NAME.test(name) || fixture !== null;
  const index = models.includes(name) || !isNamed ? models.indexOf(name) : models.indexOf(ANY_MODEL);
  return index < 0 || !isNamed
    ? { code: "model_not_admitted", rule: "/model/models" }
    : { granted: `/model/models/${index}` };
}
