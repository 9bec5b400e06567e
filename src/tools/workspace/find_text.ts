/**
 * Finds a text in the bytes of a file, in linear time whatever both hold.
 *
 * @module
 */

const LF = 10;
const CR = 13;

/** Where a text was found: byte offsets into the file, `end` exclusive. */
export interface Found {
  readonly start: number;
  readonly end: number;
}

/** How to search. */
export interface FindOptions {
  /**
   * A line feed of the text stands for both kinds of line break: it also matches a carriage return with a line feed, and
   * takes both. Only for a text without carriage returns.
   */
  readonly anyLineBreak: boolean;
  /** Whether a match may start inside the one before it. */
  readonly overlapping: boolean;
  /** Places that are remembered, at most; all are counted. */
  readonly limit: number;
}

/** Every place where a text was found. */
export interface Search {
  /** How often it was found, also beyond `limit`. */
  readonly count: number;
  /** The first ones, in the order of the file. */
  readonly found: readonly Found[];
}

/**
 * Finds every occurrence of `text`, which is not empty. The search is Knuth, Morris and Pratt's: `bytes` come from a
 * repository and `text` from an agent, and the two together must not be able to keep the host busy.
 */
export function findText(bytes: Uint8Array, text: Uint8Array, options: FindOptions): Search {
  const { anyLineBreak, overlapping, limit } = options;
  const found: Found[] = [];
  const { length } = text;
  const first = text[0] ?? LF;
  const borders = bordersOf(text);
  let count = 0;
  let matched = 0;
  for (let at = 0; at < bytes.length; at++) {
    if (matched === 0 && bytes[at] !== first) {
      at = bytes.indexOf(first, at);
      if (at < 0) break;
    }
    const byte = bytes[at];
    if (anyLineBreak && byte === CR && bytes[at + 1] === LF) continue;
    while (matched > 0 && text[matched] !== byte) matched = borders[matched - 1] ?? 0;
    if (text[matched] === byte) matched++;
    if (matched < length) continue;
    count++;
    if (found.length < limit) found.push({ start: startOf(bytes, text, at, anyLineBreak), end: at + 1 });
    matched = overlapping ? borders[length - 1] ?? 0 : 0;
  }
  return { count, found };
}

/** For each prefix the length of the longest proper prefix that is also its end. */
function bordersOf(text: Uint8Array): Uint32Array {
  const borders = new Uint32Array(text.length);
  let border = 0;
  for (let at = 1; at < text.length; at++) {
    while (border > 0 && text[at] !== text[border]) border = borders[border - 1] ?? 0;
    if (text[at] === text[border]) border++;
    borders[at] = border;
  }
  return borders;
}

/** Where a match that ends with the byte at `last` starts. */
function startOf(bytes: Uint8Array, text: Uint8Array, last: number, anyLineBreak: boolean): number {
  if (!anyLineBreak) return last + 1 - text.length;
  let at = last + 1;
  for (let index = text.length - 1; index >= 0; index--) {
    at--;
    if (text[index] === LF && bytes[at - 1] === CR) at--;
  }
  return at;
}
