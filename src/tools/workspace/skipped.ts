import * as v from "valibot";
import type { SkipCounts } from "../../tool/powers.ts";

/** Schema of the names that a look left out: how many by reason, never which. */
export const SKIPPED = v.record(v.string(), v.number());

/** The reasons in words, for the text that models read. */
const WORDS: Readonly<Record<string, string>> = {
  approval_required: "need an approval",
  binary: "binary",
  changed: "changed meanwhile",
  denied: "denied",
  hidden: "hidden",
  ignored: "ignored",
  link: "links",
  oversized: "too large",
  special: "no regular files",
  too_costly: "too costly for this pattern",
  unreadable: "unreadable",
};

/** One line that says what was left out, in brackets; `undefined` where nothing was. */
export function describeSkipped(skipped: SkipCounts): string | undefined {
  const parts = Object.entries(skipped).map(([reason, count]) => `${count} ${WORDS[reason] ?? reason}`);
  return parts.length === 0 ? undefined : `[left out: ${parts.join(", ")}]`;
}
