/**
 * Where in a JSON text a value stands, for messages about files that people wrote.
 *
 * @module
 */

/** Whatever stands between two tokens. */
const SPACE = /[ \t\r\n]*/y;
/** One string, number or keyword. */
const SCALAR = /"[^"\\]*(?:\\.[^"\\]*)*"|[^\s,\]}]+/y;
/** One token of RFC 8259: a string, another scalar, or a mark of structure. */
const TOKEN =
  // deno-lint-ignore no-control-regex -- control characters are what a JSON string must not hold
  /("(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)|([{}[\],:])/y;

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

/**
 * Finds the first character that no JSON text could have there; the end of the text if it only stops too early.
 *
 * JSON.parse knows, but names the place in some of its messages only.
 */
export function syntaxErrorAt(text: string): { line: number; column: number } {
  const open: ("{" | "[")[] = [];
  // What may come: a value, a key, ":", or "," and an end; `first` also admits the end of an empty container
  let expected: "value" | "key" | "colon" | "next" = "value";
  let first = false;
  let at = skipSpace(text, 0);
  while (at < text.length) {
    TOKEN.lastIndex = at;
    const [token, string, scalar, mark] = TOKEN.exec(text) ?? [];
    if (token === undefined) break;
    const container = open.at(-1);
    const closes = container === "{" ? "}" : container === "[" ? "]" : undefined;
    if (mark !== undefined && mark === closes && (expected === "next" || first)) {
      open.pop();
      expected = "next";
      first = false;
    } else if (expected === "value" && (mark === "{" || mark === "[")) {
      open.push(mark);
      expected = mark === "{" ? "key" : "value";
      first = true;
    } else if (
      (expected === "value" && (string ?? scalar) !== undefined) || (expected === "key" && string !== undefined)
    ) {
      expected = expected === "value" ? "next" : "colon";
      first = false;
    } else if (expected === "colon" && mark === ":") {
      expected = "value";
    } else if (expected === "next" && mark === "," && container !== undefined) {
      expected = container === "{" ? "key" : "value";
    } else {
      break;
    }
    at = skipSpace(text, at + token.length);
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
