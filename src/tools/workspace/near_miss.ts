/**
 * Finds what a text that matches nothing may have meant. It only names places: nothing is ever changed by likeness.
 *
 * @module
 */

/** Places that are named, at most. */
const MAX_NEAR = 3;

/** Bytes of a file that is looked through, at most: a larger one is searched up to here. */
const MAX_BYTES = 4 * 1024 * 1024;

/** UTF-16 units of a line that are compared, at most. */
const MAX_UNITS = 400;

/** Lines of the text that are compared, at most. */
const MAX_WANTED = 400;

/** Places of one line that are remembered, at most. */
const MAX_PLACES = 200;

/** Lines that one line is compared with letter by letter, at most. */
const MAX_COMPARED = 20_000;

/** Share of equal pairs of letters from which on two lines are alike. */
const ALIKE = 0.6;

/** A place that is like the text. */
export interface Near {
  /** 1-based. */
  readonly line: number;
  /** Inclusive. */
  readonly endLine: number;
  /** How it differs, in words without any text of the file. */
  readonly difference: string;
}

/** The places of a file that are most like a text that is nowhere in it; the best first. */
export function findNear(bytes: Uint8Array, text: string): readonly Near[] {
  const wanted = text.split("\n").slice(0, MAX_WANTED);
  while (wanted.length > 1 && wanted[0]?.trim() === "") wanted.shift();
  while (wanted.length > 1 && wanted.at(-1)?.trim() === "") wanted.pop();
  if (wanted.every((line) => line.trim() === "")) return [];
  const lines = new TextDecoder().decode(bytes.subarray(0, MAX_BYTES)).split("\n");
  for (const { fold, difference } of FOLDS) {
    const near = matchFolded(lines, wanted, fold);
    if (near.length > 0) return near.map((line) => ({ line, endLine: line + wanted.length - 1, difference }));
  }
  return wanted.length === 1 ? alikeLines(lines, wanted[0] ?? "") : partlyEqual(lines, wanted);
}

/** Ways in which two lines count as the same, from the closest to the loosest. */
const FOLDS: readonly { readonly difference: string; fold(line: string): string }[] = [
  { difference: "white space differs", fold: squeeze },
  { difference: "white space or the case of letters differs", fold: (line) => squeeze(line).toLowerCase() },
  {
    difference: "quotes, dashes or other look-alikes differ",
    fold: (line) =>
      squeeze(
        line.normalize("NFKC").replace(/[\u2018\u2019\u201b]/g, "'").replace(/[\u201c-\u201f]/g, '"')
          .replace(/[\u2010-\u2015\u2212]/g, "-"),
      ).toLowerCase(),
  },
];

/** One space for every run of white space, none at the ends; bounded. */
function squeeze(line: string): string {
  return line.slice(0, MAX_UNITS).replace(/\s+/g, " ").trim();
}

/** 1-based lines from which on the file equals the text, both folded; a single line may also be a part of one. */
function matchFolded(lines: readonly string[], wanted: readonly string[], fold: (line: string) => string): number[] {
  const [first = "", ...rest] = wanted.map(fold);
  const starts: number[] = [];
  for (let at = 0; at < lines.length && starts.length < MAX_NEAR; at++) {
    const line = fold(lines[at] ?? "");
    const isFirst = rest.length === 0 ? line.includes(first) : line === first || (first !== "" && line.endsWith(first));
    if (!isFirst) continue;
    const differs = rest.findIndex((want, index) => {
      const have = fold(lines[at + 1 + index] ?? "");
      return index === rest.length - 1 ? !have.startsWith(want) : have !== want;
    });
    if (differs < 0) starts.push(at + 1);
  }
  return starts;
}

/** Where most lines of the text stand in the same order. */
function partlyEqual(lines: readonly string[], wanted: readonly string[]): Near[] {
  const squeezed = wanted.map(squeeze);
  const places = new Map<string, number[]>();
  for (const want of squeezed) if (want.length > 2) places.set(want, []);
  for (const [at, line] of lines.entries()) {
    const known = places.get(squeeze(line));
    if (known !== undefined && known.length < MAX_PLACES) known.push(at);
  }
  const votes = new Map<number, number>();
  for (const [index, want] of squeezed.entries()) {
    for (const at of places.get(want) ?? []) votes.set(at - index, (votes.get(at - index) ?? 0) + 1);
  }
  const starts = [...votes].filter(([start]) => start >= 0).toSorted((a, b) => b[1] - a[1] || a[0] - b[0]);
  return starts.slice(0, MAX_NEAR).flatMap(([start]) => {
    const differing = squeezed.flatMap((want, index) => want === squeeze(lines[start + index] ?? "") ? [] : [index]);
    const [first] = differing;
    const equal = wanted.length - differing.length;
    if (first === undefined || 2 * equal < wanted.length) return [];
    const difference = `${equal} of ${wanted.length} lines are equal, line ${start + 1 + first} is not`;
    return [{ line: start + 1, endLine: start + wanted.length, difference }];
  });
}

/** The lines that share most pairs of letters with one line. */
function alikeLines(lines: readonly string[], want: string): Near[] {
  const pairs = pairsOf(want);
  if (pairs.size === 0) return [];
  const scored: { line: number; score: number }[] = [];
  for (const [at, line] of lines.slice(0, MAX_COMPARED).entries()) {
    const theirs = pairsOf(line);
    let shared = 0;
    for (const pair of theirs) if (pairs.has(pair)) shared++;
    const score = 2 * shared / (pairs.size + theirs.size);
    if (score >= ALIKE) scored.push({ line: at + 1, score });
  }
  scored.sort((a, b) => b.score - a.score || a.line - b.line);
  return scored.slice(0, MAX_NEAR).map(({ line, score }) => ({
    line,
    endLine: line,
    difference: `${Math.floor(score * 100)} % alike`,
  }));
}

function pairsOf(line: string): ReadonlySet<string> {
  const text = squeeze(line);
  const pairs = new Set<string>();
  for (let at = 0; at + 1 < text.length; at++) pairs.add(text.slice(at, at + 2));
  return pairs;
}
