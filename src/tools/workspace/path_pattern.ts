/**
 * Patterns over paths, as agents write them: `*` and `?` within a name, `**` for any number of folders, `[a-z]`, `[!a]`,
 * `{a,b}`, and `\` in front of a character that stands for itself. The whole path must match.
 *
 * Matching takes time linear in the path for a fixed pattern. These are not the patterns of a policy, which mean what
 * they mean in a `.gitignore`.
 *
 * @module
 */
import { closure } from "../../authority/glob.ts";

/** Longest pattern, in UTF-16 units. */
export const MAX_PATH_PATTERN_UNITS = 1024;

/** Most alternatives that braces may stand for. */
const MAX_ALTERNATIVES = 64;

/** Most components: a state for each fits one number, with one before the first and one behind the last. */
const MAX_PARTS = 28;

/** A compiled pattern. */
export interface PathPattern {
  /** Whether a relative, normal path matches as a whole. */
  matches(path: string): boolean;
  /** Whether a path below this relative, normal folder can match. */
  mayHold(folder: string): boolean;
}

/** What is wrong with a pattern, as the end of `"pattern" must be a path pattern, …`. */
export interface PatternFault {
  readonly fault: string;
}

type Atom = "star" | "one" | { readonly literal: string } | {
  readonly ranges: readonly (readonly [number, number])[];
  readonly negated: boolean;
};

/** One component: any number of folders, or a name. */
type Part = "folders" | readonly Atom[];

/** Options of {@linkcode makePathPattern}. */
export interface PathPatternOptions {
  /** Whether a pattern without a slash speaks of names at any depth. */
  readonly anyDepth?: boolean;
}

/** Compiles a pattern. A leading `/` or `./` means nothing: every pattern starts where the search does. */
export function makePathPattern(pattern: string, options: PathPatternOptions = {}): PathPattern | PatternFault {
  if (pattern === "") return { fault: "it is empty" };
  if (pattern.length > MAX_PATH_PATTERN_UNITS) {
    return { fault: `it has more than ${MAX_PATH_PATTERN_UNITS} characters` };
  }
  if (!pattern.isWellFormed() || /\p{Cc}/u.test(pattern)) {
    return { fault: "it holds a control character or half of a surrogate pair" };
  }
  const expanded = expandBraces(pattern);
  if (expanded === undefined) return { fault: "a { has no }" };
  if (expanded === "many") return { fault: `its braces stand for more than ${MAX_ALTERNATIVES} patterns` };
  const compiled: Part[][] = [];
  for (const one of expanded) {
    const parts = parseParts(one, options.anyDepth === true);
    if ("fault" in parts) return parts;
    compiled.push(parts);
  }
  return {
    matches: (path) => compiled.some((parts) => matchesPath(parts, path)),
    mayHold: (folder) => folder === "" || compiled.some((parts) => statesAfter(parts, folder.split("/")) !== 0),
  };
}

/** The alternatives of a pattern, in order; a brace with a `\` in front stands for itself. */
function expandBraces(pattern: string): string[] | "many" | undefined {
  let done: string[] = [""];
  for (let at = 0; at < pattern.length;) {
    const char = pattern.charAt(at);
    if (char === "{") {
      const group = readGroup(pattern, at);
      if (group === undefined) return undefined;
      const inner: string[] = [];
      for (const choice of group.choices) {
        const expanded = expandBraces(choice);
        if (expanded === undefined || expanded === "many") return expanded;
        inner.push(...expanded);
      }
      if (done.length * inner.length > MAX_ALTERNATIVES) return "many";
      done = done.flatMap((before) => inner.map((one) => before + one));
      at = group.end;
    } else {
      const size = char === "\\" ? 2 : char === "[" ? classEnd(pattern, at) - at : 1;
      const text = pattern.slice(at, at + size);
      done = done.map((before) => before + text);
      at += size;
    }
  }
  return done;
}

function readGroup(pattern: string, open: number): { choices: string[]; end: number } | undefined {
  const choices: string[] = [];
  let depth = 0;
  let start = open + 1;
  for (let at = open + 1; at < pattern.length; at++) {
    const char = pattern.charAt(at);
    if (char === "\\") at++;
    else if (char === "[") at = classEnd(pattern, at) - 1;
    else if (char === "{") depth++;
    else if (char === "," && depth === 0) {
      choices.push(pattern.slice(start, at));
      start = at + 1;
    } else if (char === "}" && depth-- === 0) {
      choices.push(pattern.slice(start, at));
      return { choices, end: at + 1 };
    }
  }
  return undefined;
}

/** Behind the `]` of a class; behind the `[` alone where none closes it, for the parser to refuse. */
function classEnd(pattern: string, open: number): number {
  const first = open + 1 + (/[!^]/.test(pattern.charAt(open + 1)) ? 1 : 0);
  // A ] in the first place stands for itself.
  const close = pattern.indexOf("]", first + 1);
  return close < 0 ? open + 1 : close + 1;
}

function parseParts(pattern: string, anyDepth: boolean): Part[] | PatternFault {
  const texts = splitAtSlashes(pattern).filter((text) => text !== "" && text !== ".");
  if (texts.length === 0) return { fault: "it matches nothing" };
  if (texts.length > MAX_PARTS) return { fault: `it has more than ${MAX_PARTS} components` };
  if (texts.includes("..")) return { fault: "it holds .., and matches only below where the search starts" };
  const parts: Part[] = anyDepth && !pattern.includes("/") ? ["folders"] : [];
  for (const text of texts) {
    if (text === "**") {
      if (parts.at(-1) !== "folders") parts.push("folders");
      continue;
    }
    const atoms = parseName(text);
    if (atoms === undefined) return { fault: "a [ has no ], or what is between them is no range" };
    parts.push(atoms);
  }
  return parts;
}

function splitAtSlashes(pattern: string): string[] {
  const parts: string[] = [];
  let start = 0;
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern.charAt(at);
    if (char === "\\") at++;
    else if (char === "/") {
      parts.push(pattern.slice(start, at));
      start = at + 1;
    }
  }
  return [...parts, pattern.slice(start)];
}

function parseName(text: string): Atom[] | undefined {
  const atoms: Atom[] = [];
  for (let at = 0; at < text.length;) {
    const char = String.fromCodePoint(text.codePointAt(at) ?? 0);
    if (char === "*") {
      if (atoms.at(-1) !== "star") atoms.push("star");
      at++;
    } else if (char === "?") {
      atoms.push("one");
      at++;
    } else if (char === "[") {
      const end = classEnd(text, at);
      if (end === at + 1) return undefined;
      const negated = /[!^]/.test(text.charAt(at + 1));
      const ranges = parseRanges([...text.slice(at + (negated ? 2 : 1), end - 1)]);
      if (ranges === undefined) return undefined;
      atoms.push({ ranges, negated });
      at = end;
    } else if (char === "\\" && at + 1 < text.length) {
      const literal = String.fromCodePoint(text.codePointAt(at + 1) ?? 0);
      atoms.push({ literal });
      at += 1 + literal.length;
    } else {
      atoms.push({ literal: char });
      at += char.length;
    }
  }
  return atoms;
}

function parseRanges(chars: readonly string[]): (readonly [number, number])[] | undefined {
  const points = chars.map((char) => char.codePointAt(0) ?? 0);
  const ranges: (readonly [number, number])[] = [];
  for (let at = 0; at < points.length;) {
    const low = points[at] ?? 0;
    const high = chars[at + 1] === "-" ? points[at + 2] : undefined;
    if (high !== undefined && high < low) return undefined;
    ranges.push([low, high ?? low]);
    at += high === undefined ? 1 : 3;
  }
  return ranges.length === 0 ? undefined : ranges;
}

function matchesPath(parts: readonly Part[], path: string): boolean {
  const [first, second] = parts;
  // What nearly every pattern is: a name at any depth.
  if (parts.length === 2 && first === "folders" && second !== undefined && second !== "folders") {
    return matchesName(second, path.slice(path.lastIndexOf("/") + 1));
  }
  return (statesAfter(parts, path.split("/")) & (1 << parts.length)) !== 0;
}

/** Runs the pattern as an automaton over the components; bit n is the state before part n. */
function statesAfter(parts: readonly Part[], components: readonly string[]): number {
  let states = closure(parts, 1);
  for (const component of components) {
    let next = 0;
    for (const [state, part] of parts.entries()) {
      if ((states & (1 << state)) === 0) continue;
      if (part === "folders") next |= 1 << state;
      else if (matchesName(part, component)) next |= 1 << (state + 1);
    }
    states = closure(parts, next);
    if (states === 0) return 0;
  }
  return states;
}

/** Greedy matching with one point of return, the latest star: at most the product of both lengths. */
function matchesName(atoms: readonly Atom[], text: string): boolean {
  const last = atoms[atoms.length - 1];
  if (atoms.length === 1 && last === "star") return true;
  // Most names that do not match end with another character.
  if (last !== undefined && typeof last === "object" && "literal" in last && !text.endsWith(last.literal)) return false;
  let atom = 0;
  let at = 0;
  let starAtom = -1;
  let starAt = 0;
  while (at < text.length) {
    const current = atoms[atom];
    if (current === "star") {
      starAtom = atom++;
      starAt = at;
      continue;
    }
    const point = text.codePointAt(at) ?? 0;
    if (current !== undefined && matchesPoint(current, point)) {
      atom++;
      at += point > 0xffff ? 2 : 1;
    } else if (starAtom >= 0) {
      atom = starAtom + 1;
      starAt += (text.codePointAt(starAt) ?? 0) > 0xffff ? 2 : 1;
      at = starAt;
    } else {
      return false;
    }
  }
  while (atoms[atom] === "star") atom++;
  return atom === atoms.length;
}

function matchesPoint(atom: Exclude<Atom, "star">, point: number): boolean {
  if (atom === "one") return true;
  if ("literal" in atom) return atom.literal.codePointAt(0) === point;
  return atom.ranges.some(([low, high]) => point >= low && point <= high) !== atom.negated;
}
