/**
 * How a plan's calls are approved: which ask, how long an approval holds, how long a question waits.
 *
 * @module
 */
import type { Plan } from "./plan.ts";

/** The terms of approvals. */
export interface ApprovalTerms {
  /** Tools that need an approval for every call, with the line of the policy that says so. Sorted as in the policy. */
  readonly require: readonly { readonly tool: string; readonly rule: string }[];
  /** Milliseconds after which an approval that was not used holds no longer. */
  readonly maxAgeMs: number;
  /** Milliseconds that a question waits for a person; then the call stays pending. */
  readonly waitMs: number;
}

/** What holds where the policy says nothing: an approval for a day, a question for an hour. */
export const DEFAULT_TERMS: ApprovalTerms = Object.freeze({ require: [], maxAgeMs: 86_400_000, waitMs: 3_600_000 });

/** Bounds of what a policy may say, in milliseconds, inclusive. */
export const TERM_BOUNDS = Object.freeze({
  maxAgeMs: { min: 1000, max: 2_592_000_000 },
  waitMs: { min: 1000, max: 86_400_000 },
});

/** The terms of a plan, defaults included. */
export function approvalTerms({ approvals }: Plan): ApprovalTerms {
  return approvals ?? DEFAULT_TERMS;
}

/** Whether any call of a plan may need an approval. */
export function mayAsk(plan: Plan): boolean {
  return approvalTerms(plan).require.length > 0 || plan.gate.some(({ effect }) => effect === "ask");
}
