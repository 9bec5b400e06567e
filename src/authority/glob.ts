/**
 * Patterns over relative paths, with the meaning people know from `.gitignore`: `*.md` at any depth, `docs/` a folder and
 * all below it, `/top` at the top only, `**` any number of folders. No negation.
 *
 * Matching runs in time linear in the path for a fixed pattern, whatever the pattern: there is no regular expression
 * that could backtrack. It is its own implementation because the library for it takes longer to load than a policy
 * takes to compile; a property test holds the two together.
 *
 * @module
 */
import { hasHiddenCharacter, type TextProblem } from "./path.ts";

/** Longest pattern, in UTF-16 units. */
const MAX_PATTERN = 1024;

/** Most components of a pattern: a state for each fits one number, with one before the first and one behind the last. */
const MAX_PARTS = 28;

/** Folders at the top of a file system whose name in front of a pattern means that an absolute path was meant. */
const SYSTEM_FOLDERS = new Set(
  "etc home root usr var tmp proc sys Users private Volumes mnt media opt srv nix".split(" "),
);

/** Tells whether a path relative to the root matches. The path is normal: no leading `/`, no `.` or `..` component. */
export type Glob = (path: string) => boolean;

/** One component of a pattern: any number of folders, any one component, or a component with wildcards. */
export type Part = "folders" | "any" | { readonly atoms: readonly Atom[] };

/** A run of any characters, one character, one of a class, or a literal character. */
export type Atom = "star" | "one" | { readonly literal: string } | {
  readonly ranges: readonly (readonly [number, number])[];
  readonly negated: boolean;
};

/**
 * Says why a pattern may not stand in a policy, or `null`. Refused is what could never match, or what people write with
 * another meaning in mind: an absolute path, braces, negation, a backslash.
 */
export function globProblem(pattern: string): TextProblem | null {
  if (pattern === "") return { problem: "the pattern is empty and matches nothing", fix: "Remove it" };
  if (pattern.length > MAX_PATTERN) {
    return { problem: `the pattern is longer than ${MAX_PATTERN} characters`, fix: "Write several shorter patterns" };
  }
  if (!pattern.isWellFormed() || hasHiddenCharacter(pattern)) {
    return { problem: "the pattern holds a control or invisible character", fix: "Write only what can be seen" };
  }
  if (pattern !== pattern.trim()) {
    return { problem: "the pattern starts or ends with white space", fix: "Remove it" };
  }
  if (pattern.startsWith("!")) {
    return { problem: "a pattern cannot be negated", fix: 'Put it into "exclude" without the !' };
  }
  if (pattern.startsWith("#")) return { problem: "the pattern reads as a comment", fix: "Write [#] for a leading #" };
  if (pattern.includes("\\")) return { problem: "the pattern holds a backslash", fix: "Separate folders with /" };
  if (/^[a-z]:/i.test(pattern) || pattern.includes("://") || pattern.startsWith("~")) {
    return { problem: "the pattern looks like an absolute path", fix: "Write it relative to the root" };
  }
  if (/[{}]/.test(pattern)) {
    return { problem: "braces match only themselves", fix: "Write one pattern for each alternative" };
  }
  const body = pattern.replace(/^\//, "").replace(/\/$/, "");
  const parts = body.split("/");
  if (body === "") return { problem: "the pattern matches nothing", fix: 'Write "**" for everything' };
  if (parts.length > MAX_PARTS) {
    return { problem: `the pattern has more than ${MAX_PARTS} components`, fix: "Put the root deeper" };
  }
  if (parts.includes("")) return { problem: "the pattern holds //", fix: "Write a single /" };
  if (parts.includes(".") || parts.includes("..")) {
    return { problem: "a pattern matches below its root and knows no . or ..", fix: "Write it relative to the root" };
  }
  if (pattern.startsWith("/") && SYSTEM_FOLDERS.has(parts[0] ?? "") && parts.length > 1) {
    return {
      problem: "the pattern looks like an absolute path, but it is read relative to the root",
      fix: `Write it relative to the root; for a folder of that name inside the root write "${body}"`,
    };
  }
  for (const part of parts) {
    if (parsePart(part) === null) {
      return { problem: "the pattern holds a [ that no ] closes, or an empty class", fix: "Write [[] for a [" };
    }
  }
  return null;
}

/** Whether a pattern is a plain name or path without any wildcard. */
export function isLiteral(pattern: string): boolean {
  return !/[*?[\]]/.test(pattern);
}

/** A pattern taken apart. */
export interface ParsedGlob {
  readonly parts: readonly Part[];
  /** Whether only folders match, and with them what lies below. */
  readonly folderOnly: boolean;
}

/** Takes a pattern apart; `null` for one that {@linkcode globProblem} refuses. */
export function parseGlob(pattern: string): ParsedGlob | null {
  if (globProblem(pattern) !== null) return null;
  const folderOnly = pattern.endsWith("/");
  const body = pattern.replace(/^\//, "").replace(/\/$/, "");
  const texts = body.split("/");
  const anchored = pattern.startsWith("/") || texts.length > 1;
  const parts: Part[] = anchored ? [] : ["folders"];
  for (const [index, text] of texts.entries()) {
    // at the end `**` stands for whatever lies below, so at least one component
    if (text === "**" && index < texts.length - 1) {
      if (parts.at(-1) !== "folders") parts.push("folders");
      continue;
    }
    const part = parsePart(text);
    if (part === null) return null;
    parts.push(part);
  }
  return { parts, folderOnly };
}

/** Compiles one pattern. A pattern that {@linkcode globProblem} refuses matches nothing. */
export function makeGlob(pattern: string): Glob {
  const parsed = parseGlob(pattern);
  if (parsed === null) return () => false;
  const { parts, folderOnly } = parsed;
  return (path) => path !== "" && matchParts(parts, path.split("/"), folderOnly);
}

/** Compiles a list; the result gives the index of the first pattern that matches, or -1. */
export function makeGlobs(patterns: readonly string[]): (path: string) => number {
  const globs = patterns.map(makeGlob);
  return (path) => globs.findIndex((glob) => glob(path));
}

/**
 * Runs the pattern as an automaton over the components; bit n of `states` is the state before part n. A folder that
 * matches brings all below it along.
 */
function matchParts(parts: readonly Part[], path: readonly string[], folderOnly: boolean): boolean {
  const accept = 1 << parts.length;
  let states = closure(parts, 1);
  for (const [index, component] of path.entries()) {
    states = closure(parts, step(parts, states, component));
    if ((states & accept) !== 0 && (!folderOnly || index < path.length - 1)) return true;
    if (states === 0) return false;
  }
  return false;
}

/** Adds what is reached without a component: `folders` may stand for none. Bit n of `states` is the state before part n. */
export function closure(parts: readonly unknown[], states: number): number {
  let closed = states;
  for (const [state, part] of parts.entries()) {
    if (part === "folders" && (closed & (1 << state)) !== 0) closed |= 1 << (state + 1);
  }
  return closed;
}

/** The states behind one more component. */
function step(parts: readonly Part[], states: number, component: string): number {
  let next = 0;
  for (const [state, part] of parts.entries()) {
    const bit = 1 << state;
    if ((states & bit) === 0) continue;
    if (part === "folders") next |= bit;
    else if (part === "any" || matchAtoms(part.atoms, component)) next |= bit << 1;
  }
  return next;
}

/** Greedy matching with one point of return, the latest star: at most the product of both lengths. */
function matchAtoms(atoms: readonly Atom[], text: string): boolean {
  let atom = 0;
  let at = 0;
  let starAtom = -1;
  let starAt = 0;
  while (at < text.length) {
    const current = atoms[atom];
    if (current === "star") {
      starAtom = atom++;
      starAt = at;
    } else if (current !== undefined && matchOne(current, text, at)) {
      atom++;
      at++;
    } else if (starAtom >= 0) {
      atom = starAtom + 1;
      at = ++starAt;
    } else {
      return false;
    }
  }
  while (atoms[atom] === "star") atom++;
  return atom === atoms.length;
}

function matchOne(atom: Exclude<Atom, "star">, text: string, at: number): boolean {
  if (atom === "one") return true;
  if ("literal" in atom) return atom.literal === text[at];
  const unit = text.charCodeAt(at);
  return atom.ranges.some(([low, high]) => unit >= low && unit <= high) !== atom.negated;
}

function parsePart(text: string): Part | null {
  if (/^\*+$/.test(text)) return "any";
  const atoms: Atom[] = [];
  for (let i = 0; i < text.length; i++) {
    const char = text.charAt(i);
    if (char === "*") {
      if (atoms.at(-1) !== "star") atoms.push("star");
    } else if (char === "?") {
      atoms.push("one");
    } else if (char === "[") {
      const end = text.indexOf("]", i + 1);
      const negated = text[i + 1] === "!" || text[i + 1] === "^";
      const inner = text.slice(i + (negated ? 2 : 1), end);
      if (end < 0 || inner === "") return null;
      const ranges = parseRanges(inner);
      if (ranges === null) return null;
      atoms.push({ ranges, negated });
      i = end;
    } else {
      atoms.push({ literal: char });
    }
  }
  return { atoms };
}

function parseRanges(inner: string): (readonly [number, number])[] | null {
  const ranges: (readonly [number, number])[] = [];
  for (let i = 0; i < inner.length; i++) {
    const low = inner.charCodeAt(i);
    if (inner[i + 1] === "-" && i + 2 < inner.length) {
      const high = inner.charCodeAt(i + 2);
      if (high < low) return null;
      ranges.push([low, high]);
      i += 2;
    } else {
      ranges.push([low, low]);
    }
  }
  return ranges;
}
