/**
 * Finds the name that somebody probably meant.
 *
 * @module
 */

/** Names longer than this are compared by their beginning only: the cost is the product of both lengths. */
const MAX_LENGTH = 64;

/**
 * The candidate nearest to `name`, or `undefined` where none is near enough: at most a third of its letters, and never
 * more than three, may differ. Letter case and the separators `-`, `_`, `.` count as no difference, but for which of two
 * candidates is the nearer one.
 */
export function nearest(name: string, candidates: Iterable<string>): string | undefined {
  const wanted = fold(name);
  let best: string | undefined;
  let bestDistance = Infinity;
  for (const candidate of candidates) {
    const other = fold(candidate);
    const allowed = Math.min(3, Math.max(1, Math.floor(Math.max(wanted.length, other.length) / 3)));
    const distance = editDistance(wanted, other);
    if (distance > allowed || distance > bestDistance) continue;
    if (distance === bestDistance && best !== undefined && spelled(name, best) <= spelled(name, candidate)) continue;
    best = candidate;
    bestDistance = distance;
  }
  return best;
}

/** How far apart two names are as they are written. */
function spelled(a: string, b: string): number {
  return editDistance(a.slice(0, MAX_LENGTH), b.slice(0, MAX_LENGTH));
}

function fold(name: string): string {
  return name.slice(0, MAX_LENGTH).toLowerCase().replaceAll(/[-_.]/g, "");
}

/** Damerau's distance on adjacent letters: insertions, deletions, substitutions and swaps count one each. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let least = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        least = Math.min(least, (before[j - 2] ?? 0) + 1);
      }
      row.push(least);
    }
    before = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
