/**
 * Who can be asked for an approval while a run goes on.
 *
 * @module
 */
import type { ApprovalRequest } from "../audit/approval_request.ts";
import type { QuestionOptions } from "./answerer.ts";

/** What was answered. */
export interface ApprovalAnswer {
  /**
   * `allow` lets this one call run; `deny` denies it, and the same call again in this run; `deny_all` also everything
   * else that this run asks for; `later` leaves it pending, and the run stops there.
   */
  readonly decision: "allow" | "deny" | "deny_all" | "later";
  /** Why, for the log; at most 1,000 characters are kept. */
  readonly reason?: string;
}

/**
 * Asks for an approval. Called for one request at a time. Known secrets are taken out of the request; everything else in
 * it is what will run, and untrusted: it must be escaped wherever it is shown.
 *
 * One that throws denies the call. `signal` aborts where the answer comes too late: the wait is over, or the run is.
 */
export type Approver = (
  request: ApprovalRequest,
  signal: AbortSignal,
) => ApprovalAnswer | Promise<ApprovalAnswer>;

/** How a run gets its approvals, beside the approval log, and the answers to its questions. */
export interface ApprovalOptions extends QuestionOptions {
  /** Asks somebody now. Without it a call that asks stays pending. */
  readonly approve?: Approver;
  /** Who is behind `approve` and `answer`, for the log; default `callback`. */
  readonly via?: "terminal" | "callback";
  /** Tools whose calls need no further approval in this run: the operator's own word. Counts for nothing when locked. */
  readonly approveTools?: readonly string[];
  /** File of the approval log; the default is in the user's state folder. Out of reach of every agent. */
  readonly approvalLog?: string;
}

/** Asks; an answer that is not known, or none, is a no. Never rejects. */
export async function callApprover(
  approve: Approver,
  request: ApprovalRequest,
  signal: AbortSignal,
): Promise<ApprovalAnswer> {
  try {
    const answer = await approve(request, signal);
    const known = ["allow", "deny", "deny_all", "later"].includes(answer.decision);
    return known ? answer : { decision: "deny", reason: "the approver gave no answer that is known" };
  } catch {
    return { decision: "deny", reason: "the approver failed" };
  }
}
