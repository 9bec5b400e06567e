/**
 * One difference between two plans.
 *
 * @module
 */

/** One difference between a base plan and a head plan. */
export interface Change {
  /**
   * `gained` and `lost` speak of authority; `narrowed` is a grant that became smaller; `changed` is a difference that
   * grants nothing.
   */
  readonly kind: "gained" | "lost" | "narrowed" | "changed";
  /** What the difference is about, as a slug: `tool`, `read`, `write`, `reach`, `budget` … */
  readonly subject: string;
  /** The difference in words, without the kind. */
  readonly text: string;
  /** JSON Pointer into the head's policy for what was gained or narrowed, else into the base's; `""` for the whole. */
  readonly rule: string;
  /** A path that proves it: admitted by one plan and not by the other. */
  readonly example?: string;
}
