/**
 * Aligns two sequences by a longest common subsequence.
 *
 * @module
 */

/** Edits looked for, at most: time and memory grow with their square. */
const MAX_EDITS = 2000;

/** One step of an alignment: the indexes of both sides, `null` where one side has nothing. */
export type Pair =
  | readonly [left: number, right: number]
  | readonly [left: number, right: null]
  | readonly [
    left: null,
    right: number,
  ];

/**
 * Aligns `left` and `right`: equal items in common order are paired, the rest is alone (Myers' O(ND) algorithm, "An
 * O(ND) Difference Algorithm and Its Variations", 1986). Beyond 2,000 edits everything between the common start and
 * the common end is alone.
 */
export function align(left: readonly string[], right: readonly string[]): readonly Pair[] {
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start++;
  let end = 0;
  const room = Math.min(left.length, right.length) - start;
  while (end < room && left[left.length - 1 - end] === right[right.length - 1 - end]) end++;
  const middle = alignMiddle(left.slice(start, left.length - end), right.slice(start, right.length - end));
  return [
    ...Array.from({ length: start }, (_, i): Pair => [i, i]),
    ...middle.map(([a, b]) => [a === null ? null : a + start, b === null ? null : b + start] as Pair),
    ...Array.from({ length: end }, (_, i): Pair => [left.length - end + i, right.length - end + i]),
  ];
}

function alignMiddle(left: readonly string[], right: readonly string[]): readonly Pair[] {
  const trace = search(left, right);
  if (trace === undefined) return [...left.map((_, i): Pair => [i, null]), ...right.map((_, i): Pair => [null, i])];
  const pairs: Pair[] = [];
  let x = left.length;
  let y = right.length;
  for (let d = trace.length - 1; d >= 0; d--) {
    const reach = trace[d] ?? new Int32Array(0);
    const k = x - y;
    const down = d === 0 || k === -d || (k !== d && at(reach, d, k - 1) < at(reach, d, k + 1));
    const fromX = d === 0 ? 0 : at(reach, d, down ? k + 1 : k - 1);
    const fromY = d === 0 ? 0 : fromX - (down ? k + 1 : k - 1);
    while (x > fromX && y > fromY) pairs.push([--x, --y]);
    if (d > 0) pairs.push(down ? [null, --y] : [--x, null]);
  }
  return pairs.reverse();
}

/** How far each diagonal reached before each edit; `undefined` where the edits are too many. */
function search(left: readonly string[], right: readonly string[]): Int32Array[] | undefined {
  const trace: Int32Array[] = [];
  const most = Math.min(left.length + right.length, MAX_EDITS);
  let reach: Int32Array = new Int32Array(3);
  for (let d = 0; d <= most; d++) {
    trace.push(reach);
    const next = new Int32Array(2 * (d + 1) + 3);
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && at(reach, d, k - 1) < at(reach, d, k + 1));
      let x = d === 0 ? 0 : down ? at(reach, d, k + 1) : at(reach, d, k - 1) + 1;
      let y = x - k;
      while (x < left.length && y < right.length && left[x] === right[y]) {
        x++;
        y++;
      }
      next[k + d + 2] = x;
      if (x >= left.length && y >= right.length) return trace;
    }
    reach = next;
  }
  return undefined;
}

/** Reads diagonal `k` of what stood before edit `d`: the array is centred on `d + 1`. */
function at(reach: Int32Array, d: number, k: number): number {
  return reach[k + d + 1] ?? 0;
}
