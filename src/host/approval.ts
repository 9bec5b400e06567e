/**
 * What the host asks the launcher about a call that needs an approval, and what it hears.
 *
 * @module
 */
import type { Json, JsonObject } from "../json.ts";

/** A call that asks, as the launcher decides on it. */
export interface ApprovalQuestion {
  readonly tool: string;
  /** The arguments that were prepared: what runs. Not redacted. */
  readonly args: JsonObject;
  readonly arg_bytes: number;
  /** The arguments as the log keeps them. */
  readonly audit_args: Json;
  /** `folder` stands where a program would run: the real folder that it starts in. */
  readonly requirements: readonly { readonly kind: string; readonly target: string; readonly folder?: string }[];
  /** The line of the policy that asks. */
  readonly rule: string;
}

/** What the launcher says to a call that asks. */
export interface ApprovalVerdict {
  readonly status: "granted" | "denied" | "pending";
  readonly approval_id: string;
  /** Where the approval came from. */
  readonly approval_mode: string;
}
