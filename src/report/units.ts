/**
 * Prints times for people.
 *
 * @module
 */

/** Prints a duration given in milliseconds: `250 ms`, `1.5 s`, `2 min 5 s`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  // Below what would round up to a minute.
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** Prints a duration of any length in its largest whole unit: `30 days`, `36 h`, `90 min`, else as {@linkcode duration}. */
export function span(ms: number): string {
  for (const [unit, length] of [["day", 86_400_000], ["h", 3_600_000], ["min", 60_000]] as const) {
    if (ms < length || ms % length !== 0) continue;
    const count = ms / length;
    return `${count} ${unit}${unit === "day" && count > 1 ? "s" : ""}`;
  }
  return duration(ms);
}

/** Prints a time given in milliseconds since the Unix epoch, in UTC; `-` for none or one that is no time. */
export function instant(ms: number | null): string {
  if (ms === null || !(Math.abs(ms) <= 8.64e15)) return "-";
  return new Date(ms).toISOString().replace("T", " ").slice(0, 19) + "Z";
}
