/**
 * The form of one line of the log, read as bytes: where its parts stand, without parsing the JSON between them.
 *
 * @module
 */

const ENCODER = new TextEncoder();
const SEQ = ENCODER.encode('{"seq":');
const AT_MS = ENCODER.encode(',"at_ms":');
const RUN_ID = ENCODER.encode(',"run_id":"');
const TYPE = ENCODER.encode('","type":"');
const PREV = ENCODER.encode(',"prev":"');
const HASH = ENCODER.encode('","hash":"');
const END = ENCODER.encode('"}');
const QUOTE = 0x22;
const DIGEST_LENGTH = 64;

/** Where `prev` and `hash` stand, counted back from the end of the line without its newline. */
const HASH_BACK = END.length + DIGEST_LENGTH;
const PREV_BACK = HASH_BACK + HASH.length + DIGEST_LENGTH;

/** Where the parts of a line are, as indexes into the bytes it was found in. */
export interface LineForm {
  readonly seq: number;
  /** Start and end of the run id. */
  readonly runId: readonly [number, number];
  /** Start and end of the type. */
  readonly type: readonly [number, number];
  /** Start of the 64 digits of `prev`. */
  readonly prev: number;
  /** End of the bytes that the hash is over. */
  readonly hashed: number;
  /** Start of the 64 digits of `hash`. */
  readonly hash: number;
}

/**
 * Finds the parts of the line in `bytes[from, to)`, newline left out. Says nothing of whether the hash is right.
 *
 * @returns `undefined` where the line does not have the form of a record.
 */
export function lineForm(bytes: Uint8Array, from: number, to: number): LineForm | undefined {
  const prevLabel = to - PREV_BACK - PREV.length;
  if (prevLabel <= from) return undefined;
  const hash = to - HASH_BACK;
  if (!holds(bytes, to - END.length, END) || !holds(bytes, hash - HASH.length, HASH)) return undefined;
  if (!holds(bytes, prevLabel, PREV) || !holds(bytes, from, SEQ)) return undefined;
  let at = from + SEQ.length;
  const seqEnd = digitsEnd(bytes, at, prevLabel);
  const seq = number(bytes, at, seqEnd);
  if (seq === undefined || !holds(bytes, seqEnd, AT_MS)) return undefined;
  at = digitsEnd(bytes, seqEnd + AT_MS.length, prevLabel);
  if (at === seqEnd + AT_MS.length || !holds(bytes, at, RUN_ID)) return undefined;
  const runId = at + RUN_ID.length;
  const runIdEnd = bytes.indexOf(QUOTE, runId);
  if (runIdEnd === -1 || !holds(bytes, runIdEnd, TYPE)) return undefined;
  const type = runIdEnd + TYPE.length;
  const typeEnd = bytes.indexOf(QUOTE, type);
  if (typeEnd === -1 || typeEnd >= prevLabel) return undefined;
  return {
    seq,
    runId: [runId, runIdEnd],
    type: [type, typeEnd],
    prev: to - PREV_BACK,
    // The quote that closes `prev` is under the hash, `,"hash":"` is not.
    hashed: hash - HASH.length + 1,
    hash,
  };
}

/** Whether `part` stands at `at`. */
export function holds(bytes: Uint8Array, at: number, part: Uint8Array): boolean {
  for (let i = 0; i < part.length; i++) {
    if (bytes[at + i] !== part[i]) return false;
  }
  return true;
}

/** Whether the ASCII text stands at `at`. */
export function holdsText(bytes: Uint8Array, at: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    if (bytes[at + i] !== text.charCodeAt(i)) return false;
  }
  return true;
}

/** The bytes of `[from, to)` as a text, each byte one character: for parts that are ASCII where they are right. */
export function ascii(bytes: Uint8Array, from: number, to: number): string {
  let text = "";
  for (let i = from; i < to; i++) text += String.fromCharCode(bytes[i] ?? 0);
  return text;
}

/** Start and end of a string without escapes that follows `label` at `at`; `undefined` where it is anything else. */
export function plainString(bytes: Uint8Array, at: number, label: Uint8Array): readonly [number, number] | undefined {
  if (!holds(bytes, at, label)) return undefined;
  const from = at + label.length;
  // A call id or a tool's name is short; one that is not is left to the parser.
  for (let i = from; i < from + 256; i++) {
    const byte = bytes[i] ?? 0;
    if (byte === QUOTE) return [from, i];
    if (byte < 0x20 || byte > 0x7e || byte === 0x5c) return undefined;
  }
  return undefined;
}

function digitsEnd(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to && isDigit(bytes[at])) at++;
  return at;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

/** Reads a positive safe integer without a leading zero. */
function number(bytes: Uint8Array, from: number, to: number): number | undefined {
  if (from === to || to - from > 15 || bytes[from] === 0x30) return undefined;
  let value = 0;
  for (let i = from; i < to; i++) value = value * 10 + ((bytes[i] ?? 0) - 0x30);
  return value;
}
