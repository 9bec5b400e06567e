/**
 * One comparison of the product with a peer on the same work, and the method that measures it.
 *
 * @module
 */
import { type Ratio, ratioOf, type Spread, spreadOf } from "./ratio.ts";

/** One of the two that are compared. */
export interface Side {
  readonly label: string;
  /** Does the work once and returns what it cost, in the comparison's unit. */
  sample(): Promise<number>;
}

/** What is compared, and the largest ratio of medians that is accepted. */
export interface Comparison {
  readonly name: string;
  readonly unit: "ms" | "µs" | "MiB";
  readonly product: Side;
  readonly peer: Side;
  /** `null`: the ratio is reported and decides nothing. */
  readonly bound: number | null;
  /** A second bound, in the comparison's unit, on the product's median; only for memory, which does not drift. */
  readonly ceiling?: number;
  /** Rounds, where the usual number is more than needed: for memory, or for sides of many seconds. */
  readonly rounds?: number;
}

/** A comparison that cannot be made here. */
export interface Skipped {
  readonly name: string;
  readonly skipped: string;
}

/** What measuring found. */
export interface Finding {
  readonly name: string;
  readonly unit: Comparison["unit"];
  readonly product: Spread & { readonly label: string };
  readonly peer: Spread & { readonly label: string };
  readonly ratio: number;
  readonly bound: number | null;
  readonly ceiling: number | null;
  readonly held: boolean;
}

/**
 * Measures A B A B in one row, so that a machine that gets slower or faster does so for both. The first pair warms
 * caches and is not counted.
 */
export async function measure(comparison: Comparison, rounds: number): Promise<Finding> {
  const { name, unit, product, peer, bound, ceiling } = comparison;
  const rows: { readonly product: number[]; readonly peer: number[] } = { product: [], peer: [] };
  for (let round = -1; round < (comparison.rounds ?? rounds); round++) {
    const samples = [await product.sample(), await peer.sample()] as const;
    if (round < 0) continue;
    rows.product.push(samples[0]);
    rows.peer.push(samples[1]);
  }
  const ours = spreadOf(rows.product);
  const theirs = spreadOf(rows.peer);
  const { ratio, held }: Ratio = ratioOf(ours, theirs, bound ?? Infinity);
  return {
    name,
    unit,
    product: { label: product.label, ...ours },
    peer: { label: peer.label, ...theirs },
    ratio,
    bound,
    ceiling: ceiling ?? null,
    held: held && ours.median <= (ceiling ?? Infinity),
  };
}
