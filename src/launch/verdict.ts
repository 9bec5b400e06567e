/**
 * From how a run ended to its exit code. Pure.
 *
 * @module
 */
import type { RecordBody } from "../audit/record.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import type { ExpectedDenial } from "../plan/plan.ts";

/** Reasons of a run that ended because the agent itself failed. Every other reason but `done` ended it from outside. */
export const AGENT_FAILED: ReadonlySet<string> = new Set([
  "agent_error",
  "agent_stalled",
  "agent_crash",
  "expected_event_missing",
  "expected_event_exceeded",
  "schema_validation_failed",
]);

/** Reasons that mean that a control is missing or did not hold. */
const CONTROL_REGEXP =
  /^(?:attest_|control_|gate_fault$|proxy_unusable$|ca_unusable$|credential_|host_not_ready$|protected_path_written$)/;

/** A denial as the log has it. */
export interface SeenDenial {
  /** Tool whose call was denied. */
  readonly tool: string;
  /** Reason slug. */
  readonly code: string;
}

/** What counts towards the verdict. */
export interface VerdictInput {
  readonly reason: string;
  readonly denials: readonly SeenDenial[];
  readonly expected: readonly ExpectedDenial[];
  /** Successful calls and events together. */
  readonly done: number;
  /** Whether an unexpected denial fails the run. */
  readonly failOnDenial: boolean;
  /** Whether a run that did nothing fails. */
  readonly failOnNothing: boolean;
}

/** A verdict: the exit code, and what was not as expected. */
export interface Verdict {
  /** What the process exits with. */
  readonly exit: ExitCode;
  /** Denials that the policy does not expect. */
  readonly unexpected: readonly SeenDenial[];
  /** Expected denials that did not come. */
  readonly missing: readonly ExpectedDenial[];
  /** No successful call and no event. */
  readonly didNothing: boolean;
}

/** Collects from the records of a run what its verdict needs. */
export class Tally {
  readonly denials: SeenDenial[] = [];
  #done = 0;

  /** Successful calls and events together. */
  get done(): number {
    return this.#done;
  }

  /** Takes one record. */
  saw({ type, tool, reason }: RecordBody): void {
    if (type === "tool_denial") this.denials.push({ tool: String(tool), code: String(reason) });
    else if (type === "tool_result" || type === "event") this.#done++;
  }
}

/** Judges a run. Precedence: 70, 74, 79, 1, 77, 0; a control that did not hold is 78 whatever else. */
export function judge(input: VerdictInput): Verdict {
  const missing = input.expected.filter(({ tool, code }) => !input.denials.some((seen) => matches(seen, tool, code)));
  const unexpected = input.denials.filter((seen) =>
    !input.expected.some(({ tool, code }) => matches(seen, tool, code))
  );
  const didNothing = input.done === 0;
  const notes = { unexpected, missing, didNothing };
  const { reason } = input;
  if (CONTROL_REGEXP.test(reason)) return { exit: EXIT.unavailable, ...notes };
  if (/^(?:audit|session)_/.test(reason) || reason === "approval_log_failed") {
    return { exit: EXIT.cannotWrite, ...notes };
  }
  if (reason === "approval_pending") return { exit: EXIT.approvalPending, ...notes };
  if (reason !== "done" && !AGENT_FAILED.has(reason)) return { exit: EXIT.ended, ...notes };
  if (reason !== "done" || missing.length > 0) return { exit: EXIT.agentFailed, ...notes };
  if (didNothing && input.failOnNothing) return { exit: EXIT.agentFailed, ...notes };
  if (unexpected.length > 0 && input.failOnDenial) return { exit: EXIT.denied, ...notes };
  return { exit: EXIT.ok, ...notes };
}

function matches(seen: SeenDenial, tool: string, code: string | null): boolean {
  return seen.tool === tool && (code === null || seen.code === code);
}
