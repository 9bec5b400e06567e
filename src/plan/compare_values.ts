/**
 * Changes of the two plainest kinds: of a set of names, and of a number.
 *
 * @module
 */
import type { Change } from "./change.ts";

/** What the second set has beyond the first is gained, what it lacks is lost. */
export function compareSets(
  { subject, noun, rule }: { readonly subject: string; readonly noun: string; readonly rule: string },
  was: readonly string[],
  is: readonly string[],
): Change[] {
  const change = (kind: Change["kind"], name: string): Change => ({
    kind,
    subject,
    text: `${noun} ${name}`.trim(),
    rule,
  });
  return [
    ...is.filter((name) => !was.includes(name)).map((name) => change("gained", name)),
    ...was.filter((name) => !is.includes(name)).map((name) => change("lost", name)),
  ];
}

/** A larger number is gained, a smaller one narrowed. */
export function compareNumber(
  { subject, text, rule }: { readonly subject: string; readonly text: string; readonly rule: string },
  was: number,
  is: number,
): Change[] {
  if (was === is) return [];
  const words = (value: number) => value === Infinity ? "without bound" : String(value);
  return [{
    kind: is > was ? "gained" : "narrowed",
    subject,
    text: `${text}: ${words(is)} instead of ${words(was)}`,
    rule,
  }];
}
