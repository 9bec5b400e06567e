/**
 * The quick way to read JSON with comments: through the platform's own parser, and only where there is but one reading.
 *
 * @module
 */
import { type Json, pointerPart } from "../json.ts";

/** Offsets by JSON Pointer: where each value starts, and where the key of each member does. */
export interface Offsets {
  readonly values: ReadonlyMap<string, number>;
  readonly keys: ReadonlyMap<string, number>;
}

/** A text that was read. */
export interface PlainJsonc {
  readonly value: Json;
  /** Finds where everything stands. */
  locate(): Offsets;
}

/** Limits of a text that can be read here. */
export interface PlainLimits {
  /** Deepest nesting. */
  readonly depth: number;
  /** Strings that are no keys. */
  readonly forbiddenKeys: ReadonlySet<string>;
}

/** Comments and white space, and behind them one token. A comment has one end only, wherever the token does not fit. */
const TOKEN =
  // deno-lint-ignore no-control-regex -- control characters are what a JSON string must not hold
  /(?:[ \t\r\n]+|\/\/[^\n\r]*(?![^\n\r])|\/\*(?:[^*]|\*(?!\/))*\*\/)*(?:("(?:[^"\\\u0000-\u001f]|\\["\\/bfnrt])*")|([{}[\],:])|(true|false|null|-?\d{1,15}(?:\.\d+)?)|$)/y;

/** A token, and where it starts. */
interface Token {
  readonly text: string;
  readonly at: number;
  readonly isScalar: boolean;
}

/**
 * Reads a text; `undefined` for one that is wrong, or that needs a closer look: numbers with an exponent or more than 15
 * digits, characters that are escaped by their number, forbidden keys, keys that stand twice or look like an index.
 *
 * Comments, white space and trailing commas are left out, and the rest must be, to the letter, how its own value is
 * printed: no key can have been lost, and nothing can be read in another way.
 */
export function readPlainJsonc(text: string, limits: PlainLimits): PlainJsonc | undefined {
  const tokens = text.isWellFormed() ? tokensOf(text, limits) : undefined;
  if (tokens === undefined) return undefined;
  const plain = tokens.map((token) => token.text).join("");
  try {
    const value = JSON.parse(plain) as Json;
    if (JSON.stringify(value) !== plain) return undefined;
    return { value, locate: () => locate(tokens) };
  } catch {
    return undefined;
  }
}

function tokensOf(text: string, { depth, forbiddenKeys }: PlainLimits): readonly Token[] | undefined {
  const tokens: Token[] = [];
  let open = 0;
  TOKEN.lastIndex = 0;
  while (true) {
    const [whole, string, mark, word] = TOKEN.exec(text) ?? [];
    if (whole === undefined) return undefined;
    const token = string ?? mark ?? word;
    if (token === undefined) return tokens;
    const last = tokens.at(-1);
    const isScalar = mark === undefined;
    // two numbers with a space between them would run into one
    if (isScalar && last?.isScalar === true) return undefined;
    if (string !== undefined && forbiddenKeys.has(string.slice(1, -1))) return undefined;
    if (mark === "{" || mark === "[") {
      if (++open > depth) return undefined;
    } else if (mark === "}" || mark === "]") {
      open--;
      // a comma behind a value may trail, any other is an error
      if (last?.text === "," && isEnd(tokens.at(-2))) tokens.pop();
    }
    tokens.push({ text: token, at: TOKEN.lastIndex - token.length, isScalar });
  }
}

/** Whether a value may end with a token. */
function isEnd(token: Token | undefined): boolean {
  return token !== undefined && (token.isScalar || token.text === "}" || token.text === "]");
}

/** Follows the tokens of a valid text. */
function locate(tokens: readonly Token[]): Offsets {
  const values = new Map<string, number>();
  const keys = new Map<string, number>();
  let next = 0;
  const take = (): Token => tokens[next++] ?? { text: "", at: 0, isScalar: true };
  const isAt = (text: string): boolean => tokens[next]?.text === text;
  const value = (pointer: string): void => {
    const { text, at } = take();
    values.set(pointer, at);
    if (text !== "{" && text !== "[") return;
    const end = text === "{" ? "}" : "]";
    for (let index = 0; !isAt(end) && next < tokens.length; index++) {
      if (isAt(",")) take();
      let inner = pointer + pointerPart(index);
      if (text === "{") {
        const key = take();
        inner = pointer + pointerPart(JSON.parse(key.text) as string);
        keys.set(inner, key.at);
        take();
      }
      value(inner);
    }
    take();
  };
  value("");
  return { values, keys };
}
