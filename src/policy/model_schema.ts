/**
 * The shape of a policy's `model` block.
 *
 * @module
 */
import * as v from "valibot";
import { MODEL_PROVIDER_NAMES } from "../authority/model_providers.ts";
import { MODEL_LIMITS, type ModelLimit } from "../plan/model_plan.ts";
import { path, variable } from "./schema_values.ts";

/** A name as calls write it, or the mark for any. */
const LISTED_NAME = /^(?:\*|[A-Za-z0-9][A-Za-z0-9._:/-]{0,127})$/;

function limit({ what, value, min, max }: ModelLimit) {
  return v.optional(v.pipe(
    v.number(),
    v.integer(),
    v.minValue(min),
    v.maxValue(max),
    v.description(`${what}: ${min} to ${max}, default ${value}`),
  ));
}

/** The `model` block; which keys belong together the compiler says. */
export const modelBlock = v.strictObject({
  provider: v.optional(v.pipe(
    v.picklist(MODEL_PROVIDER_NAMES),
    v.description("Who is asked, at one pinned URL. Absent: nobody, answers are recorded"),
  )),
  apiKeyEnv: v.optional(v.pipe(
    variable,
    v.description("Variable that holds the provider's key; its value stays in the host"),
  )),
  models: v.optional(v.pipe(
    v.array(v.pipe(
      v.string(),
      v.regex(LISTED_NAME, "the name of a model (letters, digits, . _ : / -), or * for any"),
      v.description("Name of a model, exactly as the provider has it; * for any, which calls then have to name"),
    )),
    v.minLength(1),
    v.maxLength(256),
    v.description("Models that may be asked for; the first is the default. Needed where a provider is named"),
  )),
  fixture: v.optional(v.pipe(
    path,
    v.description("A JSON file of recorded answers, relative to this policy. With it nobody is asked"),
  )),
  maxOutputTokens: limit(MODEL_LIMITS.maxOutputTokens),
  totalTokens: limit(MODEL_LIMITS.totalTokens),
  calls: limit(MODEL_LIMITS.calls),
  audit: v.optional(v.pipe(
    v.picklist(["digest", "redacted"]),
    v.description("What the log keeps of questions and answers: digest (default), or their text without known secrets"),
  )),
});
