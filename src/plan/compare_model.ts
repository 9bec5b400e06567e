/**
 * What one plan lets an agent ask of models beyond another.
 *
 * @module
 */
import type { Change } from "./change.ts";
import { compareNumber, compareSets } from "./compare_values.ts";
import { admitsAnyModel, ANY_MODEL, MODEL_LIMITS } from "./model_plan.ts";
import type { Plan } from "./plan.ts";

/** Further models, other recorded answers, more tokens, and texts in the log are more. */
export function compareModel({ model: was }: Plan, { model: is }: Plan): Change[] {
  const at = (subject: string, noun: string, key: string) => ({ subject, noun, rule: `/model/${key}` });
  const answers = (model: typeof was) =>
    (model?.fixture ?? null) === null
      ? []
      : [`${model?.fixture?.path} (sha256 ${model?.fixture?.sha256.slice(0, 12)})`];
  const texts = (model: typeof was) => model?.audit === "redacted" ? [""] : [];
  const changes = [
    ...compareModels("gained", was, is),
    ...compareModels("lost", is, was),
    ...compareSets(at("fixture", "the recorded answers of a model", "fixture"), answers(was), answers(is)),
    ...compareSets(at("audit", "questions and answers in the log", "audit"), texts(was), texts(is)),
  ];
  if (was === undefined || is === undefined) return changes;
  const numbers = Object.keys(MODEL_LIMITS) as (keyof typeof MODEL_LIMITS)[];
  return [
    ...changes,
    ...numbers.flatMap((name) =>
      compareNumber({ subject: "budget", text: `model.${name}`, rule: `/model/${name}` }, was[name], is[name])
    ),
  ];
}

/** What the second admits beyond the first; another provider's model of the same name is another model. */
function compareModels(kind: Change["kind"], from: Plan["model"], to: Plan["model"]): Change[] {
  if (to === undefined) return [];
  const source = (model: NonNullable<typeof to>) =>
    model.fixture === null ? `of ${model.provider}` : "from a recording";
  const isSame = from !== undefined && source(from) === source(to);
  if (isSame && admitsAnyModel(from)) return [];
  const names = admitsAnyModel(to) ? [ANY_MODEL] : to.models.filter((name) => !isSame || !from.models.includes(name));
  return names.map((name) => ({
    kind,
    subject: "model",
    text: `${name === ANY_MODEL ? "any model" : `the model ${name}`} ${source(to)}`,
    rule: "/model/models",
  }));
}
