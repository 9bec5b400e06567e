/**
 * The part of the RE2 syntax that V8 reads in the same way, written so that V8 can run it with its linear engine.
 *
 * What is not certain to mean the same is left to the RE2 library: counted repetitions, flags, named groups, Unicode
 * classes, and everything that is an error there.
 *
 * @module
 */

/** A pattern in the form that V8 takes, for texts without surrogates and without other line ends than `\n`. */
export interface CommonPattern {
  /** Source for the flags `g` and `m`. It matches within one line: nothing in it matches a `\n`. */
  readonly source: string;
  /** A text that is in every match; `""` where none is certain. Only for a pattern that minds letter case. */
  readonly literal: string;
  /** Whether the pattern is that text and nothing else. */
  readonly isLiteral: boolean;
}

/** Groups within groups, at most. */
const MAX_DEPTH = 40;

/** Reads a pattern; `undefined` where it is not certain that V8 would read it in the same way. */
export function readCommonPattern(pattern: string, ignoreCase: boolean): CommonPattern | undefined {
  // Some characters outside of ASCII fold to ASCII letters.
  // deno-lint-ignore no-control-regex
  if (ignoreCase && !/^[\x00-\x7f]*$/.test(pattern)) return undefined;
  if (/[\ud800-\udfff\r\n\u2028\u2029]/.test(pattern)) return undefined;
  const reader: Reader = { pattern, ignoreCase, at: 0, runs: [""], depth: 0, isLiteral: true };
  const source = readAlternatives(reader);
  if (source === undefined || reader.at < pattern.length) return undefined;
  const literal = ignoreCase ? "" : reader.runs.reduce((best, run) => run.length > best.length ? run : best, "");
  return { source, literal, isLiteral: reader.isLiteral && !ignoreCase && literal !== "" };
}

interface Reader {
  readonly pattern: string;
  readonly ignoreCase: boolean;
  at: number;
  /** Texts that every match holds: each run of characters at the top, outside of groups and alternatives. */
  runs: string[];
  depth: number;
  isLiteral: boolean;
}

/** One thing that a quantifier may follow. */
interface Atom {
  readonly source: string;
  /** The character that it stands for, where it is one. */
  readonly char?: string;
  /** Whether a quantifier may follow. */
  readonly isRepeatable: boolean;
}

function readAlternatives(reader: Reader): string | undefined {
  const parts: string[] = [];
  for (;;) {
    const part = readSequence(reader);
    if (part === undefined) return undefined;
    parts.push(part);
    if (reader.pattern[reader.at] !== "|") break;
    reader.at++;
    reader.isLiteral = false;
  }
  // With a choice at the top nothing is in every match.
  if (parts.length > 1 && reader.depth === 0) reader.runs = [""];
  return parts.join("|");
}

function readSequence(reader: Reader): string | undefined {
  let source = "";
  while (reader.at < reader.pattern.length && !"|)".includes(reader.pattern.charAt(reader.at))) {
    const atom = readAtom(reader);
    if (atom === undefined) return undefined;
    const quantifier = readQuantifier(reader);
    if (quantifier === undefined || (quantifier !== "" && !atom.isRepeatable)) return undefined;
    source += atom.source + quantifier;
    if (atom.char === undefined || quantifier !== "") reader.isLiteral = false;
    if (reader.depth === 0) keepRun(reader.runs, atom.char, quantifier);
  }
  return source;
}

function keepRun(runs: string[], char: string | undefined, quantifier: string): void {
  const isThere = char !== undefined && (quantifier === "" || quantifier.startsWith("+"));
  if (isThere) runs[runs.length - 1] += char;
  if (!isThere || quantifier !== "") runs.push("");
}

/** `""` for none; `undefined` for one that V8 or its linear engine reads otherwise. */
function readQuantifier(reader: Reader): string | undefined {
  const { pattern } = reader;
  const char = pattern.charAt(reader.at);
  if (char === "{" && isCount(pattern, reader.at)) return undefined;
  if (char === "" || !"*+?".includes(char)) return "";
  reader.at++;
  const lazy = pattern[reader.at] === "?" ? "?" : "";
  reader.at += lazy.length;
  // `a**` is an error; let the library say so.
  const next = pattern.charAt(reader.at);
  if ((next !== "" && "*+?".includes(next)) || isCount(pattern, reader.at)) return undefined;
  return char + lazy;
}

function isCount(pattern: string, at: number): boolean {
  return /^\{\d*(?:,\d*)?\}/.test(pattern.slice(at, at + 32));
}

function readAtom(reader: Reader): Atom | undefined {
  const { pattern, ignoreCase } = reader;
  const char = pattern.charAt(reader.at);
  switch (char) {
    case "*":
    case "+":
    case "?":
      return undefined;
    case "^":
    case "$":
      reader.at++;
      return { source: char, isRepeatable: false };
    case ".":
      reader.at++;
      return { source: "[^\\n]", isRepeatable: true };
    case "(":
      return readGroup(reader);
    case "[":
      return readClass(reader);
    case "\\":
      return readEscape(reader);
    case "{":
      if (isCount(pattern, reader.at)) return undefined;
  }
  reader.at++;
  return { source: literalSource(char, ignoreCase), char, isRepeatable: true };
}

function readGroup(reader: Reader): Atom | undefined {
  const { pattern } = reader;
  if (pattern[reader.at + 1] === "?" && pattern[reader.at + 2] !== ":") return undefined;
  if (++reader.depth > MAX_DEPTH) return undefined;
  reader.at += pattern[reader.at + 1] === "?" ? 3 : 1;
  const inner = readAlternatives(reader);
  if (inner === undefined || pattern[reader.at] !== ")") return undefined;
  reader.at++;
  reader.depth--;
  return { source: `(?:${inner})`, isRepeatable: true };
}

/** What a class escape stands for, without a `\n` where it would match one: inside and outside of a class. */
const CLASSES: Readonly<Record<string, { readonly inner?: string; readonly outer: string }>> = {
  d: { inner: "0-9", outer: "[0-9]" },
  w: { inner: "0-9A-Za-z_", outer: "[0-9A-Za-z_]" },
  s: { inner: "\\t\\f ", outer: "[\\t\\f ]" },
  D: { outer: "[^0-9\\n]" },
  W: { outer: "[^0-9A-Za-z_\\n]" },
  S: { outer: "[^\\t\\n\\f\\r ]" },
};

function readEscape(reader: Reader): Atom | undefined {
  const char = reader.pattern.charAt(reader.at + 1);
  reader.at += 2;
  if (char === "b" || char === "B") return { source: `\\${char}`, isRepeatable: false };
  const known = Object.hasOwn(CLASSES, char) ? CLASSES[char] : undefined;
  if (known !== undefined) return { source: known.outer, isRepeatable: true };
  const literal = escapedChar(char);
  return literal === undefined
    ? undefined
    : { source: literalSource(literal, reader.ignoreCase), char: literal, isRepeatable: true };
}

/** The character that an escape stands for in both syntaxes. */
function escapedChar(char: string): string | undefined {
  if (char === "t") return "\t";
  if (char === "f") return "\f";
  return /^[!-/:-@[-^`{-~]$/.test(char) ? char : undefined;
}

function literalSource(char: string, ignoreCase: boolean): string {
  if (ignoreCase && /[A-Za-z]/.test(char)) return `[${char.toLowerCase()}${char.toUpperCase()}]`;
  return escapeChar(char);
}

function escapeChar(char: string): string {
  if (/[A-Za-z0-9_]/.test(char) || char > "\x7f") return char;
  return `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`;
}

function readClass(reader: Reader): Atom | undefined {
  const { pattern, ignoreCase } = reader;
  let at = reader.at + 1;
  const negated = pattern[at] === "^";
  if (negated) at++;
  // A ] in the first place stands for itself in one syntax and ends the class in the other.
  if (pattern[at] === "]") return undefined;
  let source = "";
  for (;;) {
    const item = readItem(pattern, at);
    if (item === undefined) return undefined;
    if (item === "end") break;
    at = item.end;
    if ("inner" in item) {
      source += item.inner;
      if (pattern[at] === "-" && pattern[at + 1] !== "]") return undefined;
      continue;
    }
    let high = item.char;
    if (pattern[at] === "-" && pattern[at + 1] !== "]") {
      const end = readItem(pattern, at + 1);
      if (end === undefined || end === "end" || !("char" in end) || end.char < item.char) return undefined;
      high = end.char;
      at = end.end;
    }
    source += rangeSource(item.char, high, ignoreCase);
  }
  reader.at = at + 1;
  return { source: negated ? `[^${source}\\n]` : `[${source}]`, isRepeatable: true };
}

type Item = "end" | { readonly char: string; readonly end: number } | { readonly inner: string; readonly end: number };

function readItem(pattern: string, at: number): Item | undefined {
  const char = pattern[at];
  if (char === undefined) return undefined;
  if (char === "]") return "end";
  if (char === "[" && (pattern[at + 1] === ":" || pattern[at + 1] === "." || pattern[at + 1] === "=")) return undefined;
  if (char !== "\\") return { char, end: at + 1 };
  const escaped = pattern.charAt(at + 1);
  const inner = Object.hasOwn(CLASSES, escaped) ? CLASSES[escaped]?.inner : undefined;
  if (inner !== undefined) return { inner, end: at + 2 };
  const literal = escapedChar(escaped);
  return literal === undefined ? undefined : { char: literal, end: at + 2 };
}

/** A range, with the same letters in the other case where case is ignored; a `\n` in it is left out. */
function rangeSource(low: string, high: string, ignoreCase: boolean): string {
  const [from, to] = [low.charCodeAt(0), high.charCodeAt(0)];
  let source = spanSource(from, Math.min(to, 9)) + spanSource(Math.max(from, 11), to);
  if (!ignoreCase) return source;
  source += spanSource(Math.max(from, 0x41) + 32, Math.min(to, 0x5a) + 32);
  return source + spanSource(Math.max(from, 0x61) - 32, Math.min(to, 0x7a) - 32);
}

function spanSource(from: number, to: number): string {
  if (from > to) return "";
  const write = (unit: number) => `\\u${unit.toString(16).padStart(4, "0")}`;
  return from === to ? write(from) : `${write(from)}-${write(to)}`;
}
