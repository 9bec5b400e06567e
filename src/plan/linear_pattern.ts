/**
 * Patterns that are matched in time linear in the text, however hostile: the syntax of RE2, no look-around, no
 * back-reference. V8's own engine backtracks, and its linear one knows neither the flag `u` nor `i`.
 *
 * @module
 */

/** A compiled pattern. */
export interface LinearPattern {
  /** Whether it matches anywhere in a text, as `RegExp.prototype.test` does. */
  test(text: string): boolean;
}

/** Longest pattern, in UTF-16 units. */
const MAX_LENGTH = 1024;

/**
 * Loads the engine: a few milliseconds, so only where there is a pattern.
 *
 * @returns What compiles a pattern; for one that cannot be compiled, why.
 */
export async function loadLinearPatterns(): Promise<(pattern: string) => LinearPattern | string> {
  const { RE2JS } = await import("re2js");
  return (pattern) => {
    if (pattern.length > MAX_LENGTH) return `the pattern is longer than ${MAX_LENGTH} characters`;
    try {
      const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
      return { test: (text) => compiled.matcher(text).find() };
    } catch (error) {
      const what = error instanceof Error ? error.message.replace(/^error parsing regexp: /, "") : "it cannot be read";
      return `the pattern cannot run in linear time: ${what.replaceAll("`", "")}`;
    }
  };
}
