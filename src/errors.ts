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
  {
    code: 65,
    meaning: "a policy, fixture, lock, log or recording was read and is wrong, or a rerun diverged",
    next: "twokey policy validate",
  },
  { code: 66, meaning: "an input cannot be read at all", next: "twokey doctor --project ." },
  { code: 70, meaning: "ended: deadline, memory, budget or an internal fault", next: "twokey replay <audit> --human" },
  { code: 73, meaning: "something cannot be created", next: "twokey init --list" },
  { code: 74, meaning: "the audit log or the state cannot be written", next: "twokey doctor" },
  { code: 77, meaning: "a call was denied that the policy does not expect", next: "twokey replay <audit> --human" },
  { code: 78, meaning: "a required control is not available or did not hold", next: "twokey doctor" },
  { code: 79, meaning: "an approval is pending", next: "twokey approval inbox" },
];

/** Base of every error that the product throws on purpose. Branch on the class, look up by `code`. */
export abstract class TwokeyError extends Error {
  /** Stable slug, lower snake case. */
  readonly code: string;
  /** Exit code of the process if nothing handles this error. */
  abstract readonly exit: ExitCode;

  /** Makes an error. @param code Stable slug. @param message `Cannot <verb> <object>: <what is>`, safe to show to an agent. */
  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** The operator typed something wrong. */
export class UsageError extends TwokeyError {
  /** `UsageError`, for branching where `instanceof` does not reach. */
  override readonly name: "UsageError" = "UsageError";
  /** Exit code 64. */
  readonly exit: ExitCode = EXIT.usage;
}

/** Where in a text file something is: 1-based line and column. */
export interface Position {
  /** Name of the file as the caller gave it, or `command line`. */
  readonly file: string;
  /** 1-based. */
  readonly line: number;
  /** 1-based, in UTF-16 units. */
  readonly column: number;
}

/** A policy, fixture, lock or log was read and is wrong; its author must act. */
export class DataError extends TwokeyError {
  /** `DataError`, for branching where `instanceof` does not reach. */
  override readonly name: "DataError" = "DataError";
  /** Exit code 65. */
  readonly exit: ExitCode = EXIT.data;
  /** Where in the file it is wrong; `undefined` where the whole file is. */
  readonly position: Position | undefined;
  /** What to change, as one sentence or one line of the file. */
  readonly fix: string | undefined;

  /** Makes an error. @param options `position` and `fix` where they are known. */
  constructor(code: string, message: string, options: { position?: Position; fix?: string; cause?: unknown } = {}) {
    super(code, message, options);
    this.position = options.position;
    this.fix = options.fix;
  }
}

/** A policy grants more than it may: more than the base of a pull request does. */
export class AuthorityError extends TwokeyError {
  /** `AuthorityError`, for branching where `instanceof` does not reach. */
  override readonly name: "AuthorityError" = "AuthorityError";
  /** Exit code 3. */
  readonly exit: ExitCode = EXIT.authorityGained;
}

/** An input cannot be read at all. */
export class InputError extends TwokeyError {
  /** `InputError`, for branching where `instanceof` does not reach. */
  override readonly name: "InputError" = "InputError";
  /** Exit code 66. */
  readonly exit: ExitCode = EXIT.noInput;
}

/** A file or folder cannot be created. */
export class CreateError extends TwokeyError {
  /** `CreateError`, for branching where `instanceof` does not reach. */
  override readonly name: "CreateError" = "CreateError";
  /** Exit code 73. */
  readonly exit: ExitCode = EXIT.cannotCreate;
}

/** The audit log or the state cannot be written; the run stops. */
export class AuditError extends TwokeyError {
  /** `AuditError`, for branching where `instanceof` does not reach. */
  override readonly name: "AuditError" = "AuditError";
  /** Exit code 74. */
  readonly exit: ExitCode = EXIT.cannotWrite;
}

/** A required control is missing on this machine or did not hold. */
export class ControlError extends TwokeyError {
  /** `ControlError`, for branching where `instanceof` does not reach. */
  override readonly name: "ControlError" = "ControlError";
  /** Exit code 78. */
  readonly exit: ExitCode = EXIT.unavailable;
}

/** An invariant of ours broke. */
export class BugError extends TwokeyError {
  /** `BugError`, for branching where `instanceof` does not reach. */
  override readonly name: "BugError" = "BugError";
  /** Exit code 70. */
  readonly exit: ExitCode = EXIT.ended;
}

/** The agent's arguments are wrong; the call's outcome is `invalid`. */
export class ToolInputError extends TwokeyError {
  /** `ToolInputError`, for branching where `instanceof` does not reach. */
  override readonly name: "ToolInputError" = "ToolInputError";
  /** Exit code 65. */
  readonly exit: ExitCode = EXIT.data;
}

/** The tool ran and the world, or the tool, failed; the call's outcome is `error`. */
export class ToolError extends TwokeyError {
  /** `ToolError`, for branching where `instanceof` does not reach. */
  override readonly name: "ToolError" = "ToolError";
  /** Exit code 1. */
  readonly exit: ExitCode = EXIT.agentFailed;
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;
  /** Further fields of the `tool_error` record; plain JSON, no secret. */
  readonly fields: Readonly<Record<string, unknown>>;

  /** Makes an error. @param options `fields` become part of the `tool_error` record. */
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
  /** `DenialError`, for branching where `instanceof` does not reach. */
  override readonly name: "DenialError" = "DenialError";
  /** Exit code 77. */
  readonly exit: ExitCode = EXIT.denied;
}

/** A budget of the policy ran out; the call's outcome is `budget`. */
export class BudgetError extends TwokeyError {
  /** `BudgetError`, for branching where `instanceof` does not reach. */
  override readonly name: "BudgetError" = "BudgetError";
  /** Exit code 70. */
  readonly exit: ExitCode = EXIT.ended;
  /** What the policy allows, in the unit of the budget. */
  readonly limit: number;
  /** What the use would have come to, in the same unit. */
  readonly attempted: number;

  /** Makes an error. @param options Both numbers are in the unit of the budget. */
  constructor(code: string, message: string, options: { limit: number; attempted: number }) {
    super(code, message);
    this.limit = options.limit;
    this.attempted = options.attempted;
  }
}
