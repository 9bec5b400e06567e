/**
 * The gate's part for models: a question must be for one that the policy names.
 *
 * @module
 */
import type { Plan, PlannedTool } from "../plan/plan.ts";
import type { Verdict } from "./verdict.ts";

/** What the target of a question begins with; the name of the model follows, `*` where it does not matter. */
const PREFIX = "model:";

/** Decides on a canonical target, `model:<name>`. */
export function decideModel({ model }: Plan, { service }: PlannedTool, target: string): Verdict {
  if (service !== "model" || model === undefined || !target.startsWith(PREFIX)) {
    return { code: "tool_not_granted", rule: null };
  }
  // Recorded answers name their models themselves
  if (model.models.length === 0 && model.fixture !== null) return { granted: "/model/fixture" };
  const index = model.models.indexOf(target.slice(PREFIX.length));
  return index < 0 ? { code: "model_not_admitted", rule: "/model/models" } : { granted: `/model/models/${index}` };
}
