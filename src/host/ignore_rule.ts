/**
 * One line of a `.gitignore`, with git's meaning. Unlike the patterns of a policy, which refuse what people rarely mean,
 * this takes whatever a repository holds: escapes, negation, character classes by name.
 *
 * Matching takes time linear in the path for a fixed rule: the file is somebody else's data, and there is no regular
 * expression in it that could backtrack.
 *
 * @module
 */
import { type Atom, matchAtoms, matchesWhole, MAX_PARTS, type Part } from "../authority/glob.ts";

/** A rule, taken apart. */
export interface IgnoreRule {
  /** Whether a match brings back what an earlier rule ignores. */
  readonly negated: boolean;
  /** Tests a path relative to the folder of the rule's file: its components, and whether it is a folder. */
  matches(path: readonly string[], isFolder: boolean): boolean;
}

/** Takes a line apart; `undefined` for one without a rule. @throws {RangeError} If it has too many components. */
export function parseIgnoreRule(line: string): IgnoreRule | undefined {
  if (line.startsWith("#")) return undefined;
  const text = trimTrailingSpaces(line);
  const negated = text.startsWith("!");
  const pattern = negated ? text.slice(1) : text;
  const isFolderOnly = pattern.endsWith("/");
  const body = isFolderOnly ? pattern.slice(0, -1) : pattern;
  if (body === "") return undefined;
  const matches = body.includes("/") ? anchored(body.replace(/^\//, "")) : byName(body);
  if (matches === undefined) return undefined;
  return { negated, matches: (path, isFolder) => (isFolder || !isFolderOnly) && matches(path) };
}

type Test = (path: readonly string[]) => boolean;

/** A slash at the start or in the middle ties a rule to its folder. */
function anchored(body: string): Test | undefined {
  const texts = body.split("/");
  if (texts.length > MAX_PARTS) throw new RangeError(`Cannot use an ignore rule: it has over ${MAX_PARTS} components`);
  const parts: Part[] = [];
  for (const [index, text] of texts.entries()) {
    const isLast = index === texts.length - 1;
    if (text === "**") {
      // At the end it stands for at least one component, elsewhere for any number.
      if (isLast) parts.push("any");
      if (parts.at(-1) !== "folders") parts.push("folders");
      continue;
    }
    const atoms = parseAtoms(text);
    if (atoms === undefined) return undefined;
    parts.push({ atoms });
  }
  return (path) => matchesWhole(parts, path);
}

/** Without a slash a rule holds for the last component, at any depth. Most rules are of this kind, most of them plain. */
function byName(body: string): Test | undefined {
  if (!/[\\*?[]/.test(body)) return (path) => path.at(-1) === body;
  if (/^\*[^\\*?[]+$/.test(body)) {
    const end = body.slice(1);
    return (path) => path.at(-1)?.endsWith(end) === true;
  }
  const atoms = parseAtoms(body);
  return atoms === undefined ? undefined : (path) => matchAtoms(atoms, path.at(-1) ?? "");
}

/** Takes a component apart; `undefined` if git would match nothing with it: an open class, a backslash at the end. */
function parseAtoms(text: string): readonly Atom[] | undefined {
  const atoms: Atom[] = [];
  for (let at = 0; at < text.length;) {
    const char = text.charAt(at);
    if (char === "*") {
      if (atoms.at(-1) !== "star") atoms.push("star");
      at++;
    } else if (char === "?") {
      atoms.push("one");
      at++;
    } else if (char === "[") {
      const parsed = parseClass(text, at + 1);
      if (parsed === undefined) return undefined;
      atoms.push(parsed.atom);
      at = parsed.end;
    } else {
      const literal = char === "\\" ? text.charAt(++at) : char;
      if (literal === "") return undefined;
      atoms.push({ literal });
      at++;
    }
  }
  return atoms;
}

/** Names of character classes; as git, in ASCII only. */
const CLASSES: ReadonlyMap<string, readonly (readonly [number, number])[]> = new Map(
  Object.entries({
    alpha: "AZaz",
    digit: "09",
    alnum: "09AZaz",
    upper: "AZ",
    lower: "az",
    xdigit: "09AFaf",
    blank: "\t\t  ",
    space: "\t\r  ",
    cntrl: "\x00\x1f\x7f\x7f",
    print: " ~",
    graph: "!~",
    punct: "!/:@[`{~",
  }).map(([name, ends]) => [name, pairs(ends)]),
);

function pairs(ends: string): [number, number][] {
  return Array.from({ length: ends.length / 2 }, (_, i) => [ends.charCodeAt(2 * i), ends.charCodeAt(2 * i + 1)]);
}

/** Takes apart what stands behind a `[`; `undefined` where no `]` closes it. */
function parseClass(text: string, start: number): { atom: Atom; end: number } | undefined {
  const negated = text[start] === "!" || text[start] === "^";
  const first = negated ? start + 1 : start;
  const ranges: (readonly [number, number])[] = [];
  for (let at = first; at < text.length;) {
    if (text[at] === "]" && at > first) return { atom: { ranges, negated }, end: at + 1 };
    const name = /^\[:([a-z]*):\]/.exec(text.slice(at, at + 16))?.[1];
    if (name !== undefined) {
      const named = CLASSES.get(name);
      if (named === undefined) return undefined;
      ranges.push(...named);
      at += name.length + 4;
      continue;
    }
    const low = classMember(text, at);
    if (low === undefined) return undefined;
    at = low.end;
    if (text[at] === "-" && at + 1 < text.length && text[at + 1] !== "]") {
      const high = classMember(text, at + 1);
      if (high === undefined) return undefined;
      ranges.push([low.unit, high.unit]);
      at = high.end;
    } else ranges.push([low.unit, low.unit]);
  }
  return undefined;
}

function classMember(text: string, at: number): { unit: number; end: number } | undefined {
  const start = text[at] === "\\" ? at + 1 : at;
  return start < text.length ? { unit: text.charCodeAt(start), end: start + 1 } : undefined;
}

function trimTrailingSpaces(line: string): string {
  let end = line.length;
  while (end > 0 && line[end - 1] === " " && line[end - 2] !== "\\") end--;
  return line.slice(0, end);
}
