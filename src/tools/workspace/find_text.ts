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

/** Steps that the quick search may take for each byte of the file, before the steady one takes over. */
const STEPS_PER_BYTE = 4;

/**
 * Finds every occurrence of `text`, which is not empty. `bytes` come from a repository and `text` from an agent, and the
 * two together must not be able to keep the host busy: the quick search gives up where it is not quick.
 */
export function findText(bytes: Uint8Array, text: Uint8Array, options: FindOptions): Search {
  return findQuickly(bytes, text, options) ?? findSteadily(bytes, text, options);
}

/**
 * Looks for the longest line of the text, and then at what stands around it. `undefined` where that takes more than a few
 * steps for each byte.
 */
export function findQuickly(bytes: Uint8Array, text: Uint8Array, options: FindOptions): Search | undefined {
  const { anyLineBreak, overlapping, limit } = options;
  const anchor = anyLineBreak ? longestLine(text) : { start: 0, end: text.length };
  const length = anchor.end - anchor.start;
  if (length === 0) return undefined;
  const next = stepper(bytes, text, anchor);
  const found: Found[] = [];
  let count = 0;
  let behind = 0;
  let left = STEPS_PER_BYTE * bytes.length + text.length;
  for (let end = next(length); end <= bytes.length; end = next(end + 1)) {
    let same = 0;
    while (same < length && bytes[end - 1 - same] === text[anchor.end - 1 - same]) same++;
    left -= same + 1;
    if (same === length) {
      const place = around(bytes, text, { anchor, end, anyLineBreak });
      left -= text.length - length;
      if (place !== undefined && (overlapping || place.start >= behind)) {
        count++;
        behind = place.end;
        if (found.length < limit) found.push(place);
      }
    }
    if (left < 0) return undefined;
  }
  return { count, found };
}

/** Bytes of the file by which the bytes of a text are judged to be rare. */
const SAMPLE_BYTES = 4096;

/** Gives, from an end on, the first one at which the anchor may end; behind the file where there is none. */
function stepper(bytes: Uint8Array, text: Uint8Array, anchor: Found): (end: number) => number {
  const rare = rarestOf(bytes, text, anchor);
  if (rare !== undefined) {
    const byte = text[rare] ?? 0;
    const toEnd = anchor.end - rare;
    return (end) => {
      const at = bytes.indexOf(byte, end - toEnd);
      return at < 0 ? bytes.length + 1 : at + toEnd;
    };
  }
  // The search of Horspool: how far a byte at the end lets it go on.
  const shifts = shiftsOf(text, anchor);
  const last = text[anchor.end - 1];
  return (end) => {
    let at = end;
    while (at <= bytes.length && bytes[at - 1] !== last) at += shifts[bytes[at - 1] ?? 0] ?? 1;
    return at;
  };
}

/** Index of a byte of the anchor that is rare in the file; `undefined` where none is. */
function rarestOf(bytes: Uint8Array, text: Uint8Array, { start, end }: Found): number | undefined {
  const counts = new Uint32Array(256);
  const step = Math.max(1, Math.floor(bytes.length / SAMPLE_BYTES));
  let seen = 0;
  for (let at = 0; at < bytes.length; at += step, seen++) counts[bytes[at] ?? 0] = (counts[bytes[at] ?? 0] ?? 0) + 1;
  let rarest = start;
  for (let at = start; at < end; at++) {
    if ((counts[text[at] ?? 0] ?? 0) < (counts[text[rarest] ?? 0] ?? 0)) rarest = at;
  }
  return (counts[text[rarest] ?? 0] ?? 0) * 256 < seen ? rarest : undefined;
}

/** The longest part of a text without a line feed. */
function longestLine(text: Uint8Array): Found {
  let longest: Found = { start: 0, end: 0 };
  for (let start = 0; start <= text.length;) {
    const feed = text.indexOf(LF, start);
    const end = feed < 0 ? text.length : feed;
    if (end - start > longest.end - longest.start) longest = { start, end };
    start = end + 1;
  }
  return longest;
}

/** How far the search may go on behind a place whose last byte is this one. */
function shiftsOf(text: Uint8Array, { start, end }: Found): Uint32Array {
  const length = end - start;
  const shifts = new Uint32Array(256).fill(length);
  for (let index = 0; index < length - 1; index++) shifts[text[start + index] ?? 0] = length - 1 - index;
  return shifts;
}

/** The whole text around a place where its anchor ends. */
function around(
  bytes: Uint8Array,
  text: Uint8Array,
  { anchor, end, anyLineBreak }: { readonly anchor: Found; readonly end: number; readonly anyLineBreak: boolean },
): Found | undefined {
  let to = end;
  for (let index = anchor.end; index < text.length; index++, to++) {
    if (anyLineBreak && text[index] === LF && bytes[to] === CR && bytes[to + 1] === LF) to++;
    if (bytes[to] !== text[index]) return undefined;
  }
  let from = end - (anchor.end - anchor.start);
  for (let index = anchor.start - 1; index >= 0; index--) {
    from--;
    if (from < 0 || bytes[from] !== text[index]) return undefined;
    if (anyLineBreak && text[index] === LF && bytes[from - 1] === CR) from--;
  }
  return { start: from, end: to };
}

/** The search of Knuth, Morris and Pratt: as many steps as there are bytes, whatever they are. */
export function findSteadily(bytes: Uint8Array, text: Uint8Array, options: FindOptions): Search {
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
