/**
 * Finds a pattern of RE2 syntax in texts. Nothing here can backtrack without bounds: a plain text is looked for as such,
 * the common part of the syntax runs in V8 where its linear engine stands by, everything else in the RE2 library.
 *
 * @module
 */
import type { Span, TextMatcher } from "../../tool/powers.ts";
import { type CommonPattern, readCommonPattern } from "./common_syntax.ts";
import type { PatternFault } from "./path_pattern.ts";

/** Longest pattern, in UTF-16 units. */
export const MAX_PATTERN_UNITS = 1000;

/**
 * Most steps for the text of one file: characters times instructions of the pattern. It is some seconds of work; the
 * host cannot look at its clock inside of it.
 */
const MAX_STEPS = 400_000_000;

/** How a pattern is meant. */
export interface PatternOptions {
  readonly ignoreCase: boolean;
  /** Whether a match may span lines; otherwise each line is a text of its own. */
  readonly multiline: boolean;
}

/** A compiled pattern of the RE2 library. */
interface Exact {
  /** Instructions: what one character costs at most. */
  readonly size: number;
  isIn(line: string): boolean;
  findFrom(text: string, from: number): Span | undefined;
}

/**
 * Compiles a pattern.
 *
 * Loads the library unless the pattern is a plain text: what it refuses is a fault, whoever would run the pattern later.
 */
export async function makeLinePattern(pattern: string, options: PatternOptions): Promise<TextMatcher | PatternFault> {
  if (pattern === "") return { fault: "it is empty" };
  if (pattern.length > MAX_PATTERN_UNITS) return { fault: `it has more than ${MAX_PATTERN_UNITS} characters` };
  if (!pattern.isWellFormed() || pattern.includes("\0")) {
    return { fault: "it holds a NUL or half of a surrogate pair" };
  }
  const common = readCommonPattern(pattern, options.ignoreCase);
  if (common?.isLiteral === true) return { find: (text) => findLiteral(text, common.literal, options.multiline) };
  const exact = await compileExact(pattern, options);
  if ("fault" in exact) return exact;
  const literal = common?.literal ?? "";
  if (options.multiline) {
    return {
      find: (text) => {
        if (!text.includes(literal)) return [];
        return isCheap(exact, text) ? findAll(text, exact) : undefined;
      },
    };
  }
  const fast = common === undefined ? undefined : compileLinear(common);
  return {
    find: (text, isAscii) => {
      if (!text.includes(literal)) return [];
      const isSame = isAscii ? !text.includes("\r") : !options.ignoreCase && isPlain(text);
      if (fast !== undefined && isSame) return findLinear(text, fast);
      return isCheap(exact, text) ? findLines(text, exact, literal) : undefined;
    },
  };
}

/**
 * A pattern for V8, or `undefined` where this process cannot run it in linear time.
 *
 * Only the host's own flags let V8 know the flag `l`, and it then refuses what its linear engine cannot run: so a pattern
 * that it accepts is one that the engine can take over. It is run without `l`: V8 starts with its fast engine, and the
 * same set of flags lets it change to the linear one as soon as it has gone back too often.
 */
function compileLinear({ source }: CommonPattern): RegExp | undefined {
  try {
    return new RegExp(source, "gml") && new RegExp(source, "gm");
  } catch {
    return undefined;
  }
}

/** Whether every character is one unit and only `\n` ends lines, for V8 as for RE2. */
function isPlain(text: string): boolean {
  return !/[\r\u2028\u2029\ud800-\udfff]/.test(text);
}

function isCheap({ size }: Exact, text: string): boolean {
  return size * text.length <= MAX_STEPS;
}

async function compileExact(pattern: string, { ignoreCase, multiline }: PatternOptions): Promise<Exact | PatternFault> {
  const { RE2JS } = await import("re2js");
  const flags = (ignoreCase ? RE2JS.CASE_INSENSITIVE : 0) | (multiline ? RE2JS.MULTILINE : 0);
  try {
    const compiled = RE2JS.compile(pattern, flags);
    return {
      size: compiled.programSize(),
      isIn: (line) => compiled.test(line),
      findFrom: (text, from) => {
        const matcher = compiled.matcher(text);
        return matcher.find(from) ? { start: matcher.start(), end: matcher.end() } : undefined;
      },
    };
  } catch (error) {
    return { fault: faultOf(error) };
  }
}

/** What the library says of a pattern, without its name and on one line. */
function faultOf(error: unknown): string {
  const text = error instanceof Error ? error.message : "";
  const known = /^error parsing regexp: ([^`]{1,80})/.exec(text)?.[1]?.replace(/:\s*$/, "").trim();
  return `RE2 refuses it: ${known ?? "it is no regular expression"}`;
}

function* findLiteral(text: string, literal: string, multiline: boolean): Generator<Span> {
  for (let at = text.indexOf(literal); at >= 0;) {
    const end = at + literal.length;
    yield { start: at, end };
    const next = multiline ? end : lineEnd(text, at) + 1;
    at = next > text.length ? -1 : text.indexOf(literal, next);
  }
}

/** At most one match for each line: its first. */
function* findLinear(text: string, pattern: RegExp): Generator<Span> {
  for (let from = 0; from < text.length;) {
    pattern.lastIndex = from;
    const found = pattern.exec(text);
    // A text that ends with a line end has no further line behind it.
    if (found === null || (found.index === text.length && text.endsWith("\n"))) return;
    yield { start: found.index, end: found.index + found[0].length };
    from = lineEnd(text, found.index) + 1;
  }
}

function* findLines(text: string, exact: Exact, literal: string): Generator<Span> {
  for (let start = 0; start < text.length;) {
    if (literal !== "") {
      const at = text.indexOf(literal, start);
      if (at < 0) return;
      start = text.lastIndexOf("\n", at) + 1;
    }
    const end = lineEnd(text, start);
    if (exact.isIn(text.slice(start, end))) yield { start, end };
    start = end + 1;
  }
}

function* findAll(text: string, exact: Exact): Generator<Span> {
  for (let from = 0; from <= text.length;) {
    const found = exact.findFrom(text, from);
    if (found === undefined || (found.start === text.length && found.start > 0 && text.endsWith("\n"))) return;
    yield found;
    from = found.end > found.start ? found.end : found.end + 1;
  }
}

/** Offset of the `\n` that ends the line around `at`, or the text's length. */
function lineEnd(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end;
}
