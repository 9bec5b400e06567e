/**
 * Where in a JSON text a value stands, for messages about files that people wrote.
 *
 * @module
 */

/** Whatever stands between two tokens. */
const SPACE = /[ \t\r\n]*/y;
/** One string, number or keyword. */
const SCALAR = /"(?:[^"\\]|\\.)*"|[^\s,\]}]+/y;

/**
 * Finds the value at `path` in valid JSON text: 1-based line and column of its first character. Keys that repeat count
 * as JSON.parse counts them: the last one.
 *
 * @returns The position of the innermost part of `path` that exists.
 */
export function positionOf(text: string, path: readonly (string | number)[]): { line: number; column: number } {
  let at = skipSpace(text, 0);
  for (const part of path) {
    const inner = child(text, at, part);
    if (inner === undefined) break;
    at = inner;
  }
  return positionAt(text, at);
}

/** Turns an offset in UTF-16 units into a 1-based line and column. */
export function positionAt(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset);
  const line = before.split("\n").length;
  return { line, column: offset - before.lastIndexOf("\n") };
}

/** Offset of member `part` of the object or array at `at`. */
function child(text: string, at: number, part: string | number): number | undefined {
  const isObject = text[at] === "{";
  if (!isObject && text[at] !== "[") return undefined;
  let found: number | undefined;
  let next = skipSpace(text, at + 1);
  for (let index = 0; next < text.length && text[next] !== "}" && text[next] !== "]"; index++) {
    let key: string | number = index;
    if (isObject) {
      const end = skipValue(text, next);
      key = JSON.parse(text.slice(next, end)) as string;
      next = skipSpace(text, skipSpace(text, end) + 1);
    }
    if (key === part) found = next;
    next = skipSpace(text, skipValue(text, next));
    if (text[next] === ",") next = skipSpace(text, next + 1);
  }
  return found;
}

/** Offset behind the value at `at`. */
function skipValue(text: string, at: number): number {
  let depth = 0;
  let next = at;
  do {
    next = skipSpace(text, next);
    const unit = text[next];
    if (unit === undefined) return next;
    if (unit === "{" || unit === "[") depth++;
    else if (unit === "}" || unit === "]") depth--;
    if ("{}[],:".includes(unit)) next++;
    else next = match(SCALAR, text, next);
  } while (depth > 0);
  return next;
}

function skipSpace(text: string, at: number): number {
  return match(SPACE, text, at);
}

function match(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at + 1;
}
