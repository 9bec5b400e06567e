/**
 * Prints replacements as a unified diff, in time linear in what they touch: where the changes are is known already.
 *
 * @module
 */
import type { Span } from "./apply_edits.ts";

const LF = 10;
const CONTEXT_LINES = 3;

/** UTF-16 units of one line of a diff, at most. */
const MAX_LINE_UNITS = 2000;

/** A diff for people and models. */
export interface Diff {
  /** Empty where nothing changed. Bytes that are no UTF-8 are shown as U+FFFD. */
  readonly text: string;
  /** Whether hunks or ends of lines were left out: then it cannot be applied. */
  readonly truncated: boolean;
}

/** A block of whole lines that changed: byte offsets before and after. */
interface Block {
  from: number;
  to: number;
  newFrom: number;
  newTo: number;
}

/**
 * Prints what turned `before` into `after`. `spans` are in the order of the file and do not overlap; `limit` bounds the
 * UTF-16 units of the hunks. Each span is one change: of its lines only those at both ends that are equal are context.
 */
export function unifiedDiff(
  { path, before, after, spans, limit }: {
    readonly path: string;
    readonly before: Uint8Array;
    readonly after: Uint8Array;
    readonly spans: readonly Span[];
    readonly limit: number;
  },
): Diff {
  const blocks = blocksOf(before, after, spans);
  const lines = new LineCounter(before);
  let text = "";
  let truncated = false;
  let added = 0;
  for (let index = 0; index < blocks.length;) {
    const group = groupAt(before, blocks, index);
    index += group.length;
    const hunk = printHunk({ before, after, group, lines, added });
    added = hunk.added;
    truncated ||= hunk.clipped;
    if (text.length + hunk.text.length > limit) {
      truncated = true;
      break;
    }
    text += hunk.text;
  }
  if (text === "") return { text, truncated };
  const name = shownName(path);
  return { text: `--- a/${name}\n+++ b/${name}\n${text}`, truncated };
}

/** A name that is not one word on the header's line is quoted, as C quotes it. */
function shownName(path: string): string {
  return /[\s"\\]/.test(path) ? JSON.stringify(path).slice(1, -1) : path;
}

/** Widens spans to whole lines and drops the equal lines at both ends. */
function blocksOf(before: Uint8Array, after: Uint8Array, spans: readonly Span[]): Block[] {
  const wide: Block[] = [];
  for (const { start, end, newStart, newEnd } of spans) {
    const from = lineStart(before, start);
    const isWhole = isLineStart(before, end) && isLineStart(after, newEnd);
    const to = isWhole ? end : lineEnd(before, end);
    const block = { from, to, newFrom: newStart - (start - from), newTo: newEnd + (to - end) };
    const last = wide.at(-1);
    if (last !== undefined && block.from < last.to) {
      last.to = block.to;
      last.newTo = block.newTo;
    } else wide.push(block);
  }
  for (const block of wide) trim(before, after, block);
  return wide.filter(({ from, to, newFrom, newTo }) => from < to || newFrom < newTo);
}

function trim(before: Uint8Array, after: Uint8Array, block: Block): void {
  for (;;) {
    const end = lineEnd(before, block.from);
    const newEnd = lineEnd(after, block.newFrom);
    if (block.from >= block.to || block.newFrom >= block.newTo) break;
    if (!sameBytes(before.subarray(block.from, end), after.subarray(block.newFrom, newEnd))) break;
    block.from = end;
    block.newFrom = newEnd;
  }
  while (block.from < block.to && block.newFrom < block.newTo) {
    const start = lineStart(before, block.to - 1);
    const newStart = lineStart(after, block.newTo - 1);
    if (!sameBytes(before.subarray(start, block.to), after.subarray(newStart, block.newTo))) break;
    block.to = start;
    block.newTo = newStart;
  }
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}

/** The blocks from `index` on that share one hunk: between two of them lies no more than the context of both. */
function groupAt(before: Uint8Array, blocks: readonly Block[], index: number): Block[] {
  const group: Block[] = [];
  for (let at = index; at < blocks.length; at++) {
    const block = blocks[at];
    const last = group.at(-1);
    if (block === undefined) break;
    if (last !== undefined && forward(before, last.to, 2 * CONTEXT_LINES) < block.from) break;
    group.push(block);
  }
  return group;
}

function printHunk(
  { before, after, group, lines, added }: {
    readonly before: Uint8Array;
    readonly after: Uint8Array;
    readonly group: readonly Block[];
    readonly lines: LineCounter;
    readonly added: number;
  },
): { text: string; added: number; clipped: boolean } {
  const printer = new Printer();
  const from = backward(before, group[0]?.from ?? 0, CONTEXT_LINES);
  const firstLine = lines.at(from);
  let at = from;
  for (const block of group) {
    printer.print(" ", before.subarray(at, block.from));
    printer.print("-", before.subarray(block.from, block.to));
    printer.print("+", after.subarray(block.newFrom, block.newTo));
    at = block.to;
  }
  printer.print(" ", before.subarray(at, forward(before, at, CONTEXT_LINES)));
  const { counts, clipped } = printer;
  const old = counts[" "] + counts["-"];
  const made = counts[" "] + counts["+"];
  const head = `@@ -${range(firstLine, old)} +${range(firstLine + added, made)} @@\n`;
  return { text: head + printer.text, added: added + counts["+"] - counts["-"], clipped };
}

/** A range of a hunk's head: an empty one names the line before it. */
function range(first: number, count: number): string {
  return count === 1 ? `${first}` : `${count === 0 ? first - 1 : first},${count}`;
}

class Printer {
  text = "";
  clipped = false;
  readonly counts = { " ": 0, "-": 0, "+": 0 };

  print(sign: " " | "-" | "+", bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    const lines = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes).split("\n");
    const last = lines.pop();
    for (const line of lines) this.#line(sign, line);
    if (last !== "" && last !== undefined) {
      this.#line(sign, last);
      this.text += "\\ No newline at end of file\n";
    }
  }

  #line(sign: " " | "-" | "+", line: string): void {
    this.counts[sign]++;
    const isLong = line.length > MAX_LINE_UNITS;
    this.clipped ||= isLong;
    this.text += `${sign}${isLong ? `${line.slice(0, MAX_LINE_UNITS).toWellFormed()}…` : line}\n`;
  }
}

/** Numbers lines, for offsets that only grow. */
class LineCounter {
  readonly #bytes: Uint8Array;
  #line = 1;
  #from = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** The 1-based line that starts at an offset. */
  at(offset: number): number {
    for (;;) {
      const feed = this.#bytes.indexOf(LF, this.#from);
      if (feed < 0 || feed >= offset) return this.#line;
      this.#line++;
      this.#from = feed + 1;
    }
  }
}

function isLineStart(bytes: Uint8Array, at: number): boolean {
  return at === 0 || bytes[at - 1] === LF;
}

/** Start of the line that the byte at `at` belongs to. */
function lineStart(bytes: Uint8Array, at: number): number {
  // A negative index would be counted from the end.
  return at === 0 ? 0 : bytes.lastIndexOf(LF, at - 1) + 1;
}

/** Offset behind the line that the byte at `at` belongs to. */
function lineEnd(bytes: Uint8Array, at: number): number {
  const feed = bytes.indexOf(LF, at);
  return feed < 0 ? bytes.length : feed + 1;
}

function forward(bytes: Uint8Array, from: number, count: number): number {
  let at = from;
  for (let line = 0; line < count && at < bytes.length; line++) at = lineEnd(bytes, at);
  return at;
}

function backward(bytes: Uint8Array, from: number, count: number): number {
  let at = from;
  for (let line = 0; line < count && at > 0; line++) at = lineStart(bytes, at - 1);
  return at;
}
