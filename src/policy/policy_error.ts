/**
 * What is wrong with a policy: all of it at once, each with its place and its fix.
 *
 * @module
 */
import { DataError, type Position } from "../errors.ts";

/** One thing that is wrong. */
export interface PolicyIssue {
  /** Stable slug, lower snake case. */
  readonly code: string;
  /** `Cannot <verb> <object>: <what is>`. */
  readonly message: string;
  /** Where in the policy. */
  readonly position: Position;
  /** What to change. */
  readonly fix: string;
}

/** A policy was read and is wrong. `issues` holds every problem in the order of the file; the message prints them all. */
export class PolicyError extends DataError {
  /** Every problem, in the order of the file; at least one. */
  readonly issues: readonly PolicyIssue[];

  /** Makes the error of one issue, or of several. @param issues At least one. */
  constructor(issues: readonly [PolicyIssue, ...PolicyIssue[]]) {
    const [first] = issues;
    const { code, message, position, fix } = first;
    const many = issues.length > 1;
    super(many ? "policy_invalid" : code, many ? listing(issues) : message, many ? { position } : { position, fix });
    this.issues = issues;
  }
}

/** Throws a {@linkcode PolicyError} where there are issues; sorts them by place. */
export function refuse(issues: readonly PolicyIssue[]): void {
  const [first, ...rest] = issues.toSorted((a, b) =>
    a.position.line - b.position.line || a.position.column - b.position.column
  );
  if (first !== undefined) throw new PolicyError([first, ...rest]);
}

function listing(issues: readonly PolicyIssue[]): string {
  const lines = issues.map(({ position, message, fix }) =>
    `  ${position.file}:${position.line}:${position.column}: ${message}\n    fix: ${fix}`
  );
  return [`Cannot use the policy: ${issues.length} problems`, ...lines].join("\n");
}
