/**
 * How words of a report stand out. The reports hold no codes of their own: whoever owns the terminal decides.
 *
 * @module
 */

/** Marks a text; each gets a text that is already safe to print. */
export interface Style {
  heading(text: string): string;
  good(text: string): string;
  bad(text: string): string;
  warn(text: string): string;
  dim(text: string): string;
}

function same(text: string): string {
  return text;
}

/** Marks nothing: for files, pipes and snapshots. */
export const PLAIN: Style = Object.freeze({ heading: same, good: same, bad: same, warn: same, dim: same });
