/**
 * The flags of approvals, and what they make of a policy.
 *
 * @module
 */
import { DEFAULT_TERMS } from "../plan/approval_terms.ts";
import type { LoadedPolicy } from "./load.ts";

/** The flags that say what the `approvals` block of a policy says. */
export interface ApprovalFlags {
  /** `--require-approval`: tools whose every call needs an approval of its own. */
  readonly requireApproval?: readonly string[];
  /** `--approval-max-age-ms`: an older approval that was not used holds no longer. */
  readonly approvalMaxAgeMs?: number;
}

/** A policy while flags are added to it. */
export interface ApprovalMerge {
  readonly loaded: LoadedPolicy;
  /** Appends to a list, which takes authority away. */
  narrow(pointer: string, flag: string, value: unknown): string;
  /** Sets a number; more than before is added authority. */
  raise(pointer: string, flag: string, change: { readonly value: number | undefined; readonly before: number }): void;
}

/** Adds the flags of approvals. A tool that asks is narrower; an approval that holds longer is more. */
export function addApprovals(merge: ApprovalMerge, { requireApproval, approvalMaxAgeMs }: ApprovalFlags): void {
  const { approvals } = merge.loaded.policy;
  for (const tool of new Set(requireApproval)) {
    if (!(approvals?.require ?? []).includes(tool)) merge.narrow("/approvals/require", "--require-approval", tool);
  }
  merge.raise("/approvals/maxAgeMs", "--approval-max-age-ms", {
    value: approvalMaxAgeMs,
    before: approvals?.maxAgeMs ?? DEFAULT_TERMS.maxAgeMs,
  });
}
