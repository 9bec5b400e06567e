/**
 * What one call needs, in the form that the gate decides on.
 *
 * @module
 */

/** The five kinds of things that a call can need. */
export const REQUIREMENT_KINDS = [
  "command.execute",
  "network",
  "filesystem.read",
  "filesystem.write",
  "context.load",
] as const;

/** One of {@linkcode REQUIREMENT_KINDS}. */
export type RequirementKind = typeof REQUIREMENT_KINDS[number];

/**
 * One thing that one call needs.
 *
 * Made by the host's resolver, never by a tool: a tool only passes on what it was handed, so that a request cannot name
 * a target that was not made canonical first.
 */
export interface Requirement {
  /** Which part of the plan can grant it. */
  readonly kind: RequirementKind;
  /**
   * The canonical target: an absolute real path for `filesystem.*` (with a `/` at its end a folder and all below it), `METHOD https://host[:port]/path` for `network`, the
   * exact text for `command.execute`, `<store>:<name>` for `context.load`. Normalised text: trimmed, not empty, no NUL.
   */
  readonly target: string;
  /** For people: the same thing without host paths. */
  readonly description: string;
  /** Why the resolver found that this target can never be granted, as a reason slug; the gate denies with it. */
  readonly refusal?: string;
  /** For `command.execute`: the absolute real path of the folder that the program starts in. */
  readonly folder?: string;
}

/** Everything one call needs. An empty list is a call that touches nothing. */
export interface Request {
  /** Name of the tool that asks. */
  readonly tool: string;
  /** All must be allowed; in the order that the tool named them. */
  readonly requirements: readonly Requirement[];
}
