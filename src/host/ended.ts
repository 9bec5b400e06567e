/**
 * How a call ends: its outcome for the agent, and the record of it. Every way but a result is made here.
 *
 * @module
 */
import type { RecordBody } from "../audit/record.ts";
import { AuditError, BudgetError, BugError, ControlError, DenialError, ToolError, ToolInputError } from "../errors.ts";
import type { JsonObject } from "../json.ts";

/** What became of a call. */
export type Outcome =
  | { readonly kind: "result"; /** JSON text of the result. */ readonly text: string }
  | {
    readonly kind: "denied" | "invalid" | "error" | "timeout" | "budget";
    readonly code: string;
    /** Safe for the agent. */
    readonly message: string;
  };

/** The end of a call, before it is an outcome: thrown inside the path, never outside. */
export class Ended extends Error {
  /** What the agent gets. */
  readonly outcome: Exclude<Outcome, { kind: "result" }>;
  /** Its record, without the ids of the call. */
  readonly body: RecordBody;

  /** Makes an end. */
  constructor(outcome: Exclude<Outcome, { kind: "result" }>, body: RecordBody) {
    super(outcome.message);
    this.outcome = outcome;
    this.body = body;
  }
}

/** Turns what a tool threw into the end of its call; what must stop the run passes through. */
export function classify(tool: string, error: unknown, fields: JsonObject): unknown {
  if (error instanceof Ended || error instanceof AuditError || error instanceof ControlError) return error;
  if (error instanceof BugError) return error;
  if (error instanceof DenialError) return denied(tool, error.code, { reason: error.code, rule: null, ...fields });
  if (error instanceof ToolInputError) return invalid(error.message, fields);
  if (error instanceof BudgetError) return budget(tool, error.code, error.limit, error.attempted, fields);
  if (error instanceof ToolError) {
    return failed(error.code, error.message, {
      ...fields,
      error_kind: error.code,
      retryable: error.retryable,
      ...error.fields as JsonObject,
    });
  }
  // The text of an unknown exception may hold anything: it goes nowhere.
  const name = error instanceof Error ? error.constructor.name : typeof error;
  return failed("tool_fault", `Cannot finish "${tool}": the tool failed inside`, { ...fields, exception: name });
}

/** The end of a call that is denied. */
export function denied(tool: string, code: string, fields: JsonObject): Ended {
  const outcome = { kind: "denied" as const, code, message: `agent tool denied: ${tool}` };
  return new Ended(outcome, { type: "tool_denial", policy: "denied", ...fields });
}

/** The end of a call whose arguments do not fit. */
export function invalid(message: string, fields: JsonObject): Ended {
  const outcome = { kind: "invalid" as const, code: "tool_invalid_args", message };
  return new Ended(outcome, { type: "tool_invalid_args", policy: "denied", message, ...fields });
}

/** The end of a call that a budget stops. */
export function budget(tool: string, name: string, limit: number, attempted: number, fields: JsonObject = {}): Ended {
  const message = `Cannot finish "${tool}": ${attempted} is over the budget ${name} of ${limit}`;
  const outcome = { kind: "budget" as const, code: name, message };
  return new Ended(outcome, { type: "budget_exceeded", budget: name, limit, attempted, ...fields });
}

/** The end of a call that the tool or the world failed. */
export function failed(code: string, message: string, fields: JsonObject = {}): Ended {
  const outcome = { kind: "error" as const, code, message };
  return new Ended(outcome, { type: "tool_error", ...fields, policy: "allowed", message, code });
}
