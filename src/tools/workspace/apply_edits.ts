/**
 * Replaces texts in the bytes of a file. What no edit matches stays as it is, byte for byte.
 *
 * @module
 */
import { findText, type Found } from "./find_text.ts";

const ENCODER = new TextEncoder();
const LF = 10;
const CR = 13;

/** Places that are named for a text that is there more than once, at most. */
export const MAX_NAMED_PLACES = 10;

/** Replacements of one edit, at most. */
export const MAX_REPLACEMENTS = 100_000;

/** One edit: well-formed texts, `old` not empty. */
export interface Edit {
  readonly old: string;
  readonly new: string;
  /** Replaces every occurrence; else there must be exactly one. */
  readonly replaceAll: boolean;
}

/** A part of the file that was replaced: byte offsets before and after, ends exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
  readonly newStart: number;
  readonly newEnd: number;
}

/** What came of a list of edits. */
export type Applied =
  | {
    readonly kind: "done";
    readonly bytes: Uint8Array<ArrayBuffer>; /** In the order of the file. */
    readonly spans: readonly Span[];
  }
  | EditProblem;

/** Why nothing was changed. `index` is the edit's in the list. */
export type EditProblem =
  | { readonly kind: "no_match"; readonly index: number }
  | {
    readonly kind: "ambiguous_match";
    readonly index: number;
    readonly count: number;
    /** 1-based lines on which the first matches start. */
    readonly lines: readonly number[];
  }
  | { readonly kind: "too_many_matches"; readonly index: number; readonly count: number }
  | { readonly kind: "overlap"; readonly index: number; readonly other: number; /** 1-based. */ readonly line: number }
  | { readonly kind: "too_large"; readonly bytes: number };

/** A replacement before it is made. */
interface Planned extends Found {
  readonly index: number;
  readonly text: Uint8Array;
}

/**
 * Applies all edits or none. Each `old` is looked for in `bytes` as they are given, never in what another edit made.
 *
 * Line breaks: a line feed in `old` matches either kind, and line feeds in `new` become the kind of the place where they
 * go. An edit with a carriage return in `old` or `new` is taken byte for byte. `limit` bounds the bytes of the outcome.
 */
export function applyEdits(
  bytes: Uint8Array<ArrayBuffer>,
  edits: readonly Edit[],
  { limit }: { readonly limit: number },
): Applied {
  const planned: Planned[] = [];
  let size = bytes.length;
  for (const [index, edit] of edits.entries()) {
    const isLiteral = edit.old.includes("\r") || edit.new.includes("\r");
    const { count, found } = findText(bytes, ENCODER.encode(edit.old), {
      anyLineBreak: !isLiteral,
      overlapping: !edit.replaceAll,
      limit: edit.replaceAll ? MAX_REPLACEMENTS : MAX_NAMED_PLACES,
    });
    if (count === 0) return { kind: "no_match", index };
    if (count > 1 && !edit.replaceAll) {
      return { kind: "ambiguous_match", index, count, lines: linesOf(bytes, found.map(({ start }) => start)) };
    }
    if (count > found.length) return { kind: "too_many_matches", index, count };
    const textAt = replacementOf(bytes, edit, isLiteral);
    for (const place of found) {
      const text = textAt(place);
      planned.push({ ...place, index, text });
      size += text.length - (place.end - place.start);
    }
  }
  planned.sort((a, b) => a.start - b.start);
  for (const [at, next] of planned.entries()) {
    const previous = planned[at - 1];
    if (previous !== undefined && next.start < previous.end) {
      const [line = 1] = linesOf(bytes, [next.start]);
      return { kind: "overlap", index: next.index, other: previous.index, line };
    }
  }
  if (size > limit) return { kind: "too_large", bytes: size };
  return assemble(bytes, planned, size);
}

function assemble(bytes: Uint8Array<ArrayBuffer>, planned: readonly Planned[], size: number): Applied {
  const made = new Uint8Array(size);
  const spans: Span[] = [];
  let from = 0;
  let to = 0;
  for (const { start, end, text } of planned) {
    made.set(bytes.subarray(from, start), to);
    to += start - from;
    made.set(text, to);
    spans.push({ start, end, newStart: to, newEnd: to + text.length });
    to += text.length;
    from = end;
  }
  made.set(bytes.subarray(from), to);
  return { kind: "done", bytes: made, spans };
}

/** Says what an edit puts at a place. */
function replacementOf(bytes: Uint8Array, edit: Edit, isLiteral: boolean): (place: Found) => Uint8Array {
  // The same text again is no edit, also where its lines end in two ways.
  if (edit.old === edit.new) return ({ start, end }) => bytes.subarray(start, end);
  const plain = ENCODER.encode(edit.new);
  if (isLiteral || !edit.new.includes("\n")) return () => plain;
  const withReturns = ENCODER.encode(edit.new.replaceAll("\n", "\r\n"));
  return (place) => endsWithReturn(bytes, place) ? withReturns : plain;
}

/** Whether lines end with a carriage return at a place: the first line break in it or behind it, else the one before. */
function endsWithReturn(bytes: Uint8Array, { start }: Found): boolean {
  const next = bytes.indexOf(LF, start);
  const feed = next < 0 ? bytes.lastIndexOf(LF, start) : next;
  return feed > 0 && bytes[feed - 1] === CR;
}

/** The 1-based lines of ascending byte offsets. */
function linesOf(bytes: Uint8Array, offsets: readonly number[]): number[] {
  const lines: number[] = [];
  let line = 1;
  let from = 0;
  for (const offset of offsets) {
    for (let feed = bytes.indexOf(LF, from); feed >= 0 && feed < offset; feed = bytes.indexOf(LF, from)) {
      line++;
      from = feed + 1;
    }
    lines.push(line);
  }
  return lines;
}

/** How the lines of a file end: all alike, both ways, or not at all. */
export function lineBreaksOf(bytes: Uint8Array): "lf" | "crlf" | "mixed" | "none" {
  // Most files have no carriage return at all.
  if (!bytes.includes(CR)) return bytes.includes(LF) ? "lf" : "none";
  let plain = false;
  let returns = false;
  for (let feed = bytes.indexOf(LF); feed >= 0; feed = bytes.indexOf(LF, feed + 1)) {
    if (feed > 0 && bytes[feed - 1] === CR) returns = true;
    else plain = true;
    if (plain && returns) return "mixed";
  }
  return plain ? "lf" : returns ? "crlf" : "none";
}
