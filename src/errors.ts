/**
 * The errors of the product: one base, one subclass for each party who must act, one closed table of codes.
 *
 * A message is safe to show to an agent by construction: names, codes, limits, counts and project-relative paths.
 * Host paths, file bytes and header or environment values go to `cause` or to the audit record.
 *
 * @module
 */

/** What the process tells its caller. The table is printed by `--help` and by the README. */
export const EXIT = {
  ok: 0,
  agentFailed: 1,
  authorityGained: 3,
  usage: 64,
  data: 65,
  noInput: 66,
  ended: 70,
  cannotCreate: 73,
  cannotWrite: 74,
  denied: 77,
  unavailable: 78,
  approvalPending: 79,
} as const;

/** One of the exit codes in {@linkcode EXIT}. */
export type ExitCode = typeof EXIT[keyof typeof EXIT];

/** Each exit code with what it means and the command to run next, in the order `--help` prints them. */
export const EXIT_TABLE: readonly { readonly code: ExitCode; readonly meaning: string; readonly next: string }[] = [
  { code: 0, meaning: "done", next: "twokey replay <audit>" },
  { code: 1, meaning: "the agent failed, or did nothing under --locked", next: "twokey replay <audit> --human" },
  { code: 3, meaning: "authority was gained", next: "twokey policy explain" },
  { code: 64, meaning: "usage: an unknown command, flag or value", next: "twokey <command> --help" },
  { code: 65, meaning: "a policy, fixture, lock or log was read and is wrong", next: "twokey policy validate" },
  { code: 66, meaning: "an input cannot be read at all", next: "twokey doctor --project ." },
  { code: 70, meaning: "ended: deadline, memory, budget or an internal fault", next: "twokey replay <audit> --human" },
  { code: 73, meaning: "something cannot be created", next: "twokey init --list" },
  { code: 74, meaning: "the audit log or the state cannot be written", next: "twokey doctor" },
  { code: 77, meaning: "a call was denied that the policy does not expect", next: "twokey replay <audit> --human" },
  { code: 78, meaning: "a required control is not available or did not hold", next: "twokey doctor" },
  { code: 79, meaning: "an approval is pending", next: "twokey replay <audit> --human" },
];

/** Base of every error that the product throws on purpose. Branch on the class, look up by `code`. */
export abstract class TwokeyError extends Error {
  /** Stable slug, lower snake case. */
  readonly code: string;
  /** Exit code of the process if nothing handles this error. */
  abstract readonly exit: ExitCode;

  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** The operator typed something wrong. */
export class UsageError extends TwokeyError {
  override readonly name = "UsageError";
  readonly exit = EXIT.usage;
}

/** Where in a text file something is: 1-based line and column. */
export interface Position {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** A policy, fixture, lock or log was read and is wrong; its author must act. */
export class DataError extends TwokeyError {
  override readonly name = "DataError";
  readonly exit = EXIT.data;
  readonly position: Position | undefined;
  /** What to change, as one sentence or one line of the file. */
  readonly fix: string | undefined;

  constructor(code: string, message: string, options: { position?: Position; fix?: string; cause?: unknown } = {}) {
    super(code, message, options);
    this.position = options.position;
    this.fix = options.fix;
  }
}

/** An input cannot be read at all. */
export class InputError extends TwokeyError {
  override readonly name = "InputError";
  readonly exit = EXIT.noInput;
}

/** A file or folder cannot be created. */
export class CreateError extends TwokeyError {
  override readonly name = "CreateError";
  readonly exit = EXIT.cannotCreate;
}

/** The audit log or the state cannot be written; the run stops. */
export class AuditError extends TwokeyError {
  override readonly name = "AuditError";
  readonly exit = EXIT.cannotWrite;
}

/** A required control is missing on this machine or did not hold. */
export class ControlError extends TwokeyError {
  override readonly name = "ControlError";
  readonly exit = EXIT.unavailable;
}

/** An invariant of ours broke. */
export class BugError extends TwokeyError {
  override readonly name = "BugError";
  readonly exit = EXIT.ended;
}

/** The agent's arguments are wrong; the call's outcome is `invalid`. */
export class ToolInputError extends TwokeyError {
  override readonly name = "ToolInputError";
  readonly exit = EXIT.data;
}

/** The tool ran and the world, or the tool, failed; the call's outcome is `error`. */
export class ToolError extends TwokeyError {
  override readonly name = "ToolError";
  readonly exit = EXIT.agentFailed;
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;
  /** Further fields of the `tool_error` record; plain JSON, no secret. */
  readonly fields: Readonly<Record<string, unknown>>;

  constructor(
    code: string,
    message: string,
    options: { retryable?: boolean; fields?: Readonly<Record<string, unknown>>; cause?: unknown } = {},
  ) {
    super(code, message, options);
    this.retryable = options.retryable ?? false;
    this.fields = options.fields ?? {};
  }
}

/** Authority ran out while a tool was already running (a file appeared in its way); the call's outcome is `denied`. */
export class DenialError extends TwokeyError {
  override readonly name = "DenialError";
  readonly exit = EXIT.denied;
}

/** A budget of the policy ran out; the call's outcome is `budget`. */
export class BudgetError extends TwokeyError {
  override readonly name = "BudgetError";
  readonly exit = EXIT.ended;
  readonly limit: number;
  readonly attempted: number;

  constructor(code: string, message: string, options: { limit: number; attempted: number }) {
    super(code, message);
    this.limit = options.limit;
    this.attempted = options.attempted;
  }
}
