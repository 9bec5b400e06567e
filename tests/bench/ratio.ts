/**
 * The arithmetic of a comparison: what a row of samples says, and whether a ratio holds its bound.
 *
 * @module
 */

/** What a row of samples comes to. */
export interface Spread {
  readonly min: number;
  readonly median: number;
  /** The smallest sample that nine tenths of the samples do not exceed. */
  readonly p90: number;
}

/** A ratio of two medians, and whether it stays within its bound. */
export interface Ratio {
  readonly ratio: number;
  readonly bound: number;
  readonly held: boolean;
}

/** Sums up samples. @throws {RangeError} If there is none, or one is not a finite number. */
export function spreadOf(samples: readonly number[]): Spread {
  if (samples.length === 0 || !samples.every(Number.isFinite)) {
    throw new RangeError("Cannot sum up samples: there must be at least one, and each a finite number");
  }
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (rank: number) => sorted[Math.min(sorted.length, Math.max(1, rank)) - 1] ?? NaN;
  const middle = sorted.length / 2;
  return {
    min: at(1),
    median: Number.isInteger(middle) ? (at(middle) + at(middle + 1)) / 2 : at(Math.ceil(middle)),
    p90: at(Math.ceil(sorted.length * 0.9)),
  };
}

/** Compares two rows by their medians. A ratio at its bound holds. @throws {RangeError} If the peer's median is not positive. */
export function ratioOf(product: Spread, peer: Spread, bound: number): Ratio {
  if (!(peer.median > 0)) throw new RangeError("Cannot compare: the peer's median is not positive");
  const ratio = product.median / peer.median;
  return { ratio, bound, held: ratio <= bound };
}
