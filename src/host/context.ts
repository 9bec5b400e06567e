/**
 * What the parts of the host share: the run, and the call that a power acts for.
 *
 * @module
 */
import type { DenialCode } from "../authority/denial_codes.ts";
import type { Requirement } from "../authority/requirement.ts";
import { DenialError } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import type { RecordBody } from "../audit/record.ts";
import type { Places, Plan } from "../plan/plan.ts";
import type { Target } from "../tool/powers.ts";
import type { Credentials } from "./credentials.ts";

/** Everything that stays the same for a run. */
export interface RunContext {
  readonly plan: Plan;
  readonly places: Places;
  /** Recorded answers by the portable path that the plan names, as the launcher read and checked them. */
  readonly fixtures: Readonly<Record<string, string>>;
  /** 32 random bytes that only runs of this project's user share; authenticates cache envelopes. */
  readonly cacheKey: Uint8Array<ArrayBuffer>;
  /** Credentials of the tools that have one; of the parts of the host only the network asks for them. */
  readonly credentials: Credentials;
  /** Value of a variable that the plan names; `undefined` where it is not set, or holds a credential. */
  env(name: string): string | undefined;
  /** Eight hexadecimal digits that begin the names of unfinished files; absent: the process id. */
  readonly temporaryOwner?: string;
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /**
   * SHA-256 as 64 lower-case hexadecimal digits, of a text over its UTF-8 bytes; a promise only until the fast
   * implementation is loaded.
   */
  sha256(data: Uint8Array<ArrayBuffer> | string): string | Promise<string>;
  /** Sends a record that belongs to no call. */
  record(body: RecordBody): void;
}

/** One call, from its gate to its outcome. */
export interface CallContext {
  readonly callId: string;
  readonly tool: string;
  /** Aborted at the deadline and at the end of the run. */
  readonly signal: AbortSignal;
  /** When the deadline is, in milliseconds since the Unix epoch; later after {@linkcode personsTime}. */
  readonly deadlineMs: number;
  /** What the gate allowed. */
  readonly granted: ReadonlySet<Requirement>;
  /** Does something that takes a person's time: the deadline stands still meanwhile. */
  personsTime?<T>(work: () => Promise<T>): Promise<T>;
  /** Sends a record of this call; `call_id` and `tool` are added. */
  record(body: RecordBody): void;
  /** Adds fields to the record of the outcome, should it be a timeout. */
  noteTimeout?(fields: JsonObject): void;
  /** Adds fields to the record of the outcome. */
  note(fields: JsonObject): void;
}

/** Refuses a target that the gate did not allow in this very call: a tool that forgot to ask for it gets nothing. */
export function assertGranted(call: CallContext, target: Target): void {
  if (!call.granted.has(target.requirement)) throw deny(call, "not_in_request");
}

/** The denial of a call that a power refuses; all that an agent sees beside the code is the tool's name. */
export function deny(call: CallContext, code: DenialCode): DenialError {
  return new DenialError(code, `agent tool denied: ${call.tool}`);
}
