/**
 * Searches the text of the files of the workspace.
 *
 * @module
 */
import type { FoundFile, FoundLine, SearchFound, SearchQuery, Span } from "../../tool/powers.ts";
import { isPathError, isStillAt, readUpTo, sameFile } from "../path_proof.ts";
import { decodeWhole } from "./decode.ts";
import { type Visit, visitFiles } from "./find_files.ts";
import type { Pace } from "./pace.ts";
import type { SkipReason, WalkedFile } from "./walk.ts";

/** Largest file that is searched, whatever the policy allows to be read: the host waits for nothing while it is. */
const MAX_SEARCHED_BYTES = 16 * 1024 * 1024;

/** Longest line that is shown, in UTF-16 units. */
export const MAX_LINE_UNITS = 500;

/** What is shown in front of a match in a line that is too long to be shown whole. */
const LEAD_UNITS = 100;

/** Text that one search shows, in UTF-16 units. */
const MAX_SHOWN_UNITS = 256 * 1024;

/** What a search has left of its limits. */
interface Allowance {
  lines: number;
  files: number;
  units: number;
}

/** A text in which at least one match was found, in a file that was proven. */
interface Hit {
  readonly text: string;
  readonly first: Span;
  readonly rest: Iterator<Span>;
}

/**
 * Searches every file of the set. Nothing of a file comes back before it was proven to be the one that the walk found
 * and the gate allowed.
 *
 * @throws {ToolError} `not_found`, if a place is gone.
 */
export async function searchFiles(visit: Omit<Visit, "files">, query: SearchQuery): Promise<SearchFound> {
  const { mode, limit } = query;
  const maxBytes = Math.min(visit.context.run.plan.budgets.readFileBytes, MAX_SEARCHED_BYTES);
  const left: Allowance = {
    lines: mode === "lines" ? limit : Infinity,
    files: mode === "lines" ? Infinity : limit,
    units: MAX_SHOWN_UNITS,
  };
  const found: FoundFile[] = [];
  let searched = 0;
  let matches = 0;
  const { complete, skips } = await visitFiles({ ...visit, files: query.files }, async (file, { skips, pace }) => {
    const hit = openHit(file, { query, maxBytes });
    if (typeof hit === "string") {
      skips.add(hit);
      return true;
    }
    searched++;
    if (hit === undefined) return true;
    // One more than is shown: only now is it known that something is missing.
    if (left.lines <= 0 || left.files <= 0 || left.units <= 0) return false;
    left.files--;
    const taken = await takeHit(hit, { query, left, pace });
    matches += taken.count;
    left.units -= file.shown.length;
    found.push({ path: file.shown, count: taken.count, lines: taken.lines });
    return taken.whole;
  });
  return { files: found, searched, matches, skipped: skips.toJSON(), complete };
}

/** Opens and searches a file up to its first match; why it was not searched, or `undefined` where there is no match. */
function openHit(
  { canonical }: WalkedFile,
  { query, maxBytes }: { readonly query: SearchQuery; readonly maxBytes: number },
): Hit | SkipReason | undefined {
  try {
    const seen = Deno.lstatSync(canonical);
    if (!seen.isFile) return "changed";
    if (seen.size > maxBytes) return "oversized";
    if (seen.size === 0) return undefined;
    using file = Deno.openSync(canonical, { read: true });
    const bytes = readUpTo(file, maxBytes, seen.size);
    if (bytes === undefined) return "oversized";
    const decoded = decodeWhole(bytes);
    if (decoded === undefined) return "binary";
    const text = decoded.includes("\r\n") ? decoded.replaceAll("\r\n", "\n") : decoded;
    const spans = query.matcher.find(text, text.length === bytes.length);
    if (spans === undefined) return "too_costly";
    const rest = spans[Symbol.iterator]();
    const first = rest.next();
    if (first.done === true) return undefined;
    const held = file.statSync();
    // Looked at twice: names that are swapped back and forth all the time may show one face to one look.
    const isProven = held.isFile && sameFile(held, seen) && isStillAt(canonical, held) && isStillAt(canonical, held);
    return isProven ? { text, first: first.value, rest } : "changed";
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "changed";
    if (error instanceof Deno.errors.NotCapable) return "denied";
    if (isPathError(error)) return "unreadable";
    throw error;
  }
}

interface Taken {
  /** Matching lines. */
  readonly count: number;
  readonly lines: readonly FoundLine[];
  /** Whether nothing of the file is missing. */
  readonly whole: boolean;
}

/** Goes through the matches of one file, as far as the limits allow. */
async function takeHit(
  { text, first, rest }: Hit,
  { query, left, pace }: { readonly query: SearchQuery; readonly left: Allowance; readonly pace: Pace },
): Promise<Taken> {
  const shown = new ShownLines(text, query.context);
  let count = 0;
  // Behind the last line that was counted: a second match in it counts for nothing.
  let counted = 0;
  let whole = true;
  for (let span: Span | undefined = first; span !== undefined;) {
    if (query.mode === "files") return { count: 1, lines: [], whole: true };
    const last = Math.max(span.start, span.end - 1);
    for (let start = Math.max(lineStart(text, span.start), counted); start <= last; start = counted) {
      if (query.mode === "lines" && (left.lines <= 0 || left.units <= 0)) {
        whole = false;
        break;
      }
      count++;
      counted = lineEnd(text, start) + 1;
      if (query.mode !== "lines") continue;
      left.lines--;
      left.units -= shown.match(start, span);
    }
    if (!whole) break;
    const next: IteratorResult<Span> = rest.next();
    span = next.done === true ? undefined : next.value;
    if (!pace.isDue) continue;
    await pace.turn();
    if (span === undefined || !pace.isOver) continue;
    whole = false;
    break;
  }
  left.units -= shown.finish();
  return { count, lines: shown.lines, whole };
}

/** Puts together the lines of one file that are shown: matches, and what stands around them, each once. */
class ShownLines {
  readonly lines: FoundLine[] = [];
  readonly #text: string;
  readonly #context: number;
  /** Number and offset of the first line that was neither shown nor passed over. */
  #line = 1;
  #at = 0;
  /** Lines that may still be shown behind the last match. */
  #behind = 0;

  constructor(text: string, context: number) {
    this.#text = text;
    this.#context = context;
  }

  /** Shows the line that starts at `start`, with what belongs around it. Returns the units that were shown. */
  match(start: number, span: Span): number {
    const before = this.finish(start);
    const around: number[] = [];
    for (let at = start; around.length < this.#context && at > this.#at;) {
      at = lineStart(this.#text, at - 1);
      around.unshift(at);
    }
    let units = before;
    for (const at of around) units += this.#show(at, undefined);
    units += this.#show(start, Math.max(0, span.start - start));
    this.#behind = this.#context;
    return units;
  }

  /** Shows what belongs behind the last match, up to the line that starts at `before`. */
  finish(before = this.#text.length): number {
    let units = 0;
    while (this.#behind > 0 && this.#at < before) {
      this.#behind--;
      units += this.#show(this.#at, undefined);
    }
    return units;
  }

  #show(start: number, match: number | undefined): number {
    for (let at = this.#at; at < start; at = lineEnd(this.#text, at) + 1) this.#line++;
    const end = lineEnd(this.#text, start);
    const text = clip(this.#text.slice(start, end), match ?? 0);
    this.lines.push({ line: this.#line++, text, match: match !== undefined });
    this.#at = end + 1;
    return text.length;
  }
}

/** Cuts a long line to a part that shows the place of the match, and says how much is missing on each side. */
function clip(line: string, match: number): string {
  if (line.length <= MAX_LINE_UNITS) return line;
  const from = match + LEAD_UNITS < MAX_LINE_UNITS ? 0 : Math.min(match - LEAD_UNITS, line.length - MAX_LINE_UNITS);
  const to = from + MAX_LINE_UNITS;
  const front = from === 0 ? "" : `[${from} characters cut] `;
  const back = to === line.length ? "" : ` [${line.length - to} characters cut]`;
  return (front + line.slice(from, to) + back).toWellFormed();
}

/** Offset of the first character of the line around `at`; a `\n` belongs to the line that it ends. */
function lineStart(text: string, at: number): number {
  return at <= 0 ? 0 : text.lastIndexOf("\n", at - 1) + 1;
}

/** Offset of the `\n` that ends the line around `at`, or the text's length. */
function lineEnd(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end;
}
