/**
 * What a plan says of models: which provider or which recorded answers, which models, how much, and what the log keeps.
 *
 * @module
 */
import type { ModelProviderName } from "../authority/model_providers.ts";
import type { PortablePath } from "./plan.ts";

/** The compiled `model` block of a policy. */
export interface ModelPlan {
  /** Who is asked; `null`: nobody is named. Where answers are recorded nobody is asked either. */
  readonly provider: ModelProviderName | null;
  /** Recorded answers; where they are named nothing else is asked. */
  readonly fixture: { readonly path: PortablePath; readonly sha256: string } | null;
  /**
   * Names that a call may ask for, the first one by default. {@linkcode ANY_MODEL} admits every name, and is no default.
   * Empty, for recorded answers alone: any.
   */
  readonly models: readonly string[];
  /** Tokens that one answer may have. */
  readonly maxOutputTokens: number;
  /** Tokens that all calls may use together, questions and answers. */
  readonly totalTokens: number;
  /** Answers that may be asked for. */
  readonly calls: number;
  /** What the log keeps of questions and answers: shape and SHA-256, or their text without known secrets. */
  readonly audit: "digest" | "redacted";
}

/** Stands for every name in a list of models. */
export const ANY_MODEL = "*";

/** Whether a list admits every name. */
export function admitsAnyModel({ models, fixture }: Pick<ModelPlan, "models" | "fixture">): boolean {
  return models.includes(ANY_MODEL) || (models.length === 0 && fixture !== null);
}

/** One limit of the `model` block; all bounds are inclusive. */
export interface ModelLimit {
  /** What is counted, for people. */
  readonly what: string;
  /** Where the policy names none. */
  readonly value: number;
  /** Smallest value. */
  readonly min: number;
  /** Largest value. */
  readonly max: number;
}

/** Fewest tokens that a provider can be asked for: a smaller limit is an error of the request. */
export const MIN_OUTPUT_TOKENS = 16;

/** The limits of the `model` block. */
export const MODEL_LIMITS: { readonly [K in "maxOutputTokens" | "totalTokens" | "calls"]: ModelLimit } = Object.freeze({
  maxOutputTokens: {
    what: "Tokens that one answer may have, thinking included",
    value: 4096,
    min: MIN_OUTPUT_TOKENS,
    max: 1_000_000,
  },
  totalTokens: {
    what: "Tokens that all calls may use together, questions and answers",
    value: 1_000_000,
    min: MIN_OUTPUT_TOKENS,
    max: 1_000_000_000,
  },
  calls: { what: "Answers that may be asked for", value: 100, min: 1, max: 1_000_000 },
});
