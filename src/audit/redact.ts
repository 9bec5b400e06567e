/**
 * Keeps secrets out of the log: by the name of a field, and by known value wherever it stands in a text.
 *
 * @module
 */
import { DataError } from "../errors.ts";
import { canonical, type Json, type JsonObject, utf8Length } from "../json.ts";
import type { AuditMode } from "../tool/define.ts";

/** What stands in the place of a secret. */
export const REDACTED = "[redacted]";

/** What stands in the place of a field that the log does not keep. */
export const DROPPED = "[dropped]";

/** Bytes of a secret, at least: a shorter one would be found in harmless text everywhere, and tell by its absence. */
export const MIN_SECRET_BYTES = 8;

/** Field names whose values are secrets in any tool, without `_` and `-`, in lower case. */
export const SECRET_FIELDS: readonly string[] = [
  "secret",
  "secrets",
  "token",
  "accesstoken",
  "refreshtoken",
  "idtoken",
  "authtoken",
  "sessiontoken",
  "bearertoken",
  "password",
  "passwd",
  "passphrase",
  "apikey",
  "xapikey",
  "accesskey",
  "secretkey",
  "secretaccesskey",
  "clientsecret",
  "authorization",
  "proxyauthorization",
  "cookie",
  "setcookie",
  "privatekey",
  "credential",
  "credentials",
];

/** Levels that are looked into; what lies deeper is replaced as a whole. No membrane lets so deep a value through. */
const MAX_DEPTH = 256;

/** Removes secrets from values and texts. */
export interface Redactor {
  /**
   * Replaces the values of secret fields, and every known secret inside texts and keys, with {@linkcode REDACTED}.
   * Returns `value` itself where nothing had to be replaced. To be called before a value is serialised.
   */
  redact(value: Json): Json;
  /** Replaces every known secret in a text. */
  scrub(text: string): string;
  /**
   * Replaces every known secret inside texts, keys and numbers, and leaves fields alone whatever they are called. Returns
   * `value` itself where nothing had to be replaced.
   */
  scrubValue(value: Json): Json;
  /** Starts the scrubbing of a text that arrives in pieces. */
  stream(): ScrubStream;
}

/** Scrubs a text that arrives in pieces: a secret that lies over the border of two pieces is found. */
export interface ScrubStream {
  /** Takes a piece; returns what can be shown. Holds back only what may be the start of a secret. */
  push(piece: string): string;
  /** Returns what was held back. */
  end(): string;
}

/** What a redactor knows. */
export interface RedactorOptions {
  /** Field names beside the built-in ones; case, `_` and `-` do not matter. */
  readonly fields: readonly string[];
  /** Known secrets by the name they go by in messages. */
  readonly secrets: ReadonlyMap<string, string>;
}

/**
 * Makes a redactor. A secret is found as it is, as base64 and base64url (also in the middle of a longer encoded text),
 * percent-encoded, as hexadecimal digits, and as it looks inside a JSON text.
 *
 * @throws {DataError} If a secret is under {@linkcode MIN_SECRET_BYTES} bytes.
 */
export function makeRedactor({ fields, secrets }: RedactorOptions): Redactor {
  const names: ReadonlySet<string> = new Set([...SECRET_FIELDS, ...fields.map(fieldName)]);
  const forms = new Set<string>();
  for (const [name, value] of secrets) {
    if (utf8Length(value) < MIN_SECRET_BYTES) {
      throw new DataError("secret_short", `Cannot use the secret "${name}": it is under ${MIN_SECRET_BYTES} bytes`, {
        fix: "Use a longer secret: one so short cannot be told from harmless text in the log",
      });
    }
    for (const form of formsOf(value)) forms.add(form);
  }
  const patterns = [...forms];
  const scrub = (text: string): string =>
    patterns.length === 0 ? text : render(text, spansOf(text, patterns), { from: 0, to: text.length });
  const walk: Walk = { isSecret: makeFieldTest(names), scrub };
  const byValue: Walk = { isSecret: () => false, scrub, hasNumbers: true };
  return Object.freeze({
    scrub,
    scrubValue: (value: Json): Json => patterns.length === 0 ? value : redactValue(value, byValue, 0),
    redact: (value: Json): Json => redactValue(value, walk, 0),
    stream: (): ScrubStream => new Scrubber(patterns),
  });
}

function fieldName(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, "");
}

/** Names of fields whose verdict is kept in mind, at most: an agent can make up as many as it likes. */
const KNOWN_FIELDS = 1000;

/** Tells fields that hold secrets by their names. The same few names come again in every record. */
function makeFieldTest(names: ReadonlySet<string>): (key: string) => boolean {
  const known = new Map<string, boolean>();
  return (key) => {
    const before = known.get(key);
    if (before !== undefined) return before;
    const verdict = names.has(fieldName(key));
    if (known.size < KNOWN_FIELDS) known.set(key, verdict);
    return verdict;
  };
}

interface Walk {
  isSecret(key: string): boolean;
  scrub(text: string): string;
  /** Whether a number may be a secret: one that is made of digits alone. */
  readonly hasNumbers?: true;
}

function redactValue(value: Json, walk: Walk, depth: number): Json {
  if (typeof value === "string") return walk.scrub(value);
  if (typeof value === "number" && walk.hasNumbers === true) {
    const text = String(value);
    return walk.scrub(text) === text ? value : REDACTED;
  }
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_DEPTH) return REDACTED;
  if (isArray(value)) {
    let changed = false;
    const items = value.map((item) => {
      const clean = redactValue(item, walk, depth + 1);
      changed ||= clean !== item;
      return clean;
    });
    return changed ? items : value;
  }
  return redactObject(value, walk, depth);
}

function redactObject(value: JsonObject, walk: Walk, depth: number): JsonObject {
  let changed = false;
  const keys = Object.keys(value);
  const inner = keys.map((key): Json => {
    const held = value[key] as Json;
    const clean = walk.isSecret(key) ? REDACTED : redactValue(held, walk, depth + 1);
    changed ||= clean !== held || walk.scrub(key) !== key;
    return clean;
  });
  if (!changed) return value;
  const taken = new Set(keys.filter((key) => walk.scrub(key) === key));
  // `fromEntries` defines properties: a key `__proto__` stays a key.
  return Object.fromEntries(keys.map((key, at): [string, Json] => {
    let name = walk.scrub(key);
    // Two keys that differ in the secret alone must both stay to be seen, and so must one that looks like a scrubbed one.
    for (let n = 2; name !== key && taken.has(name); n++) name = `${walk.scrub(key)} (${n})`;
    taken.add(name);
    return [name, inner[at] ?? null];
  }));
}

function isArray(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

/** Every text that gives the secret away. */
function formsOf(secret: string): string[] {
  const bytes = new TextEncoder().encode(secret);
  const forms = [secret, JSON.stringify(secret).slice(1, -1)];
  const trimmed = secret.trim();
  if (utf8Length(trimmed) >= MIN_SECRET_BYTES) forms.push(trimmed);
  const percent = percentEncode(bytes);
  forms.push(percent, percent.replaceAll("%20", "+"), lowerEscapes(percent));
  forms.push(encodeURI(secret.toWellFormed()), new URLSearchParams({ s: secret }).toString().slice(2));
  const digits = bytes.toHex();
  forms.push(digits, digits.toUpperCase());
  for (let shift = 0; shift < 3; shift++) {
    const core = base64Core(bytes, shift);
    forms.push(core, core.replaceAll("+", "-").replaceAll("/", "_"));
  }
  return forms;
}

/** As `encodeURIComponent`, but for any bytes. */
function percentEncode(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) {
    const character = String.fromCharCode(byte);
    text += /[A-Za-z0-9\-_.!~*'()]/.test(character)
      ? character
      : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return text;
}

function lowerEscapes(percent: string): string {
  return percent.replaceAll(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase());
}

/**
 * The base64 digits that depend on the secret alone where it starts `shift` bytes into a group of three: what is before
 * and behind it in a longer text, and the padding, change only the digits at the borders.
 */
function base64Core(bytes: Uint8Array, shift: number): string {
  const shifted = new Uint8Array(shift + bytes.length);
  shifted.set(bytes, shift);
  const text = shifted.toBase64({ omitPadding: true });
  const start = Math.ceil(shift * 8 / 6);
  const end = Math.floor((shift + bytes.length) * 8 / 6);
  return text.slice(start, end);
}

/** A secret in a text: where it starts, and where it ends. */
type Span = readonly [from: number, to: number];

/** Finds every occurrence of every pattern, overlapping ones too, and joins those that overlap. */
function spansOf(text: string, patterns: readonly string[]): Span[] {
  const found: [number, number][] = [];
  for (const pattern of patterns) {
    for (let at = text.indexOf(pattern); at !== -1; at = text.indexOf(pattern, at + 1)) {
      const last = found.at(-1);
      // A repeated letter matches itself at every place: one span, not a million.
      if (last !== undefined && at >= last[0] && at < last[1]) last[1] = Math.max(last[1], at + pattern.length);
      else found.push([at, at + pattern.length]);
    }
  }
  if (found.length < 2) return found;
  found.sort((a, b) => a[0] - b[0]);
  const joined: [number, number][] = [];
  for (const [from, to] of found) {
    const last = joined.at(-1);
    if (last !== undefined && from < last[1]) last[1] = Math.max(last[1], to);
    else joined.push([from, to]);
  }
  return joined;
}

/** Prints `text[from, to)` with the spans replaced; a span that started before `from` has its marker already. */
function render(text: string, spans: readonly Span[], { from, to }: { from: number; to: number }): string {
  if (spans.length === 0) return from === 0 && to === text.length ? text : text.slice(from, to);
  let out = "";
  let at = from;
  for (const [start, end] of spans) {
    if (start >= to) break;
    if (end <= at) continue;
    if (start >= at) out += text.slice(at, start) + REDACTED;
    at = end;
  }
  return at < to ? out + text.slice(at, to) : out;
}

class Scrubber implements ScrubStream {
  readonly #patterns: readonly string[];
  #held = "";
  /** How much of `#held` belongs to a secret whose marker was already shown. */
  #covered = 0;

  constructor(patterns: readonly string[]) {
    this.#patterns = patterns;
  }

  push(piece: string): string {
    if (this.#patterns.length === 0) return piece;
    const text = this.#held + piece;
    return this.#show(text, text.length - this.#startedLength(text));
  }

  end(): string {
    return this.#show(this.#held, this.#held.length);
  }

  /** Shows the text up to `cut`; keeps the rest. */
  #show(text: string, cut: number): string {
    const spans = spansOf(text, this.#patterns);
    // Joined by hand: the covered part is a span without a pattern.
    const all: Span[] = this.#covered === 0 ? spans : joinCovered(this.#covered, spans);
    const out = this.#covered === 0
      ? render(text, all, { from: 0, to: cut })
      : render(text, all.slice(1), { from: Math.min(all[0]?.[1] ?? 0, cut), to: cut });
    const over = all.find(([from, to]) => from < cut && to > cut);
    this.#covered = over === undefined ? 0 : over[1] - cut;
    this.#held = text.slice(cut);
    return out;
  }

  /** Length of the longest end of the text that may be the start of a secret. */
  #startedLength(text: string): number {
    let longest = 0;
    for (const pattern of this.#patterns) {
      for (let length = Math.min(pattern.length - 1, text.length); length > longest; length--) {
        if (text.endsWith(pattern.slice(0, length))) longest = length;
      }
    }
    return longest;
  }
}

/** Puts the covered start of a text before its spans, joined with those that overlap it. */
function joinCovered(covered: number, spans: readonly Span[]): Span[] {
  let to = covered;
  const rest: Span[] = [];
  for (const span of spans) {
    if (span[0] < to) to = Math.max(to, span[1]);
    else rest.push(span);
  }
  // It starts before the text: also a cut at its very start goes through it.
  return [[-1, to], ...rest];
}

/** Levels and keys that a shape shows, at most. */
const SHAPE_DEPTH = 3;
const SHAPE_KEYS = 32;

/**
 * Describes a value without its content: `string(12)` (UTF-8 bytes), `array(3)`, `number`, and for objects the shape of
 * each key. Deeper than three levels, and in arrays, an object is `object(<keys>)`; behind 32 keys stands `…` with
 * the number left out.
 */
export function shapeOf(value: Json): Json {
  return shapeAt(value, 0);
}

function shapeAt(value: Json, depth: number): Json {
  if (value === null) return "null";
  if (typeof value === "string") return `string(${utf8Length(value)})`;
  if (typeof value !== "object") return typeof value;
  if (isArray(value)) return `array(${value.length})`;
  const keys = Object.keys(value);
  if (depth >= SHAPE_DEPTH) return `object(${keys.length})`;
  const shown = keys.slice(0, SHAPE_KEYS).map((key): [string, Json] => [key, shapeAt(value[key] ?? null, depth + 1)]);
  if (keys.length > SHAPE_KEYS) shown.push(["…", keys.length - SHAPE_KEYS]);
  return Object.fromEntries(shown);
}

/**
 * What the log keeps of a value: the value itself; its SHA-256, size and shape; or {@linkcode DROPPED}. The hash of a
 * text is over its UTF-8 bytes (what `sha256sum` prints for a file of it), that of any other value over its canonical
 * JSON. A hash hides only what cannot be guessed: a field that may hold a short secret is for `drop`.
 *
 * @param sha256 64 lower-case hexadecimal digits of a text's UTF-8 bytes; where it is a promise, so is the result.
 * @param printed What `JSON.stringify` prints of the value, where it is at hand: with sorted keys, that is its canonical
 * JSON.
 */
export function auditValue(
  value: Json,
  mode: AuditMode,
  { sha256, printed }: {
    readonly sha256: (text: string) => string | Promise<string>;
    readonly printed?: string | undefined;
  },
): Json | Promise<Json> {
  if (mode === "keep") return value;
  if (mode === "drop") return DROPPED;
  const text = typeof value === "string"
    ? value
    : printed !== undefined && isSorted(value)
    ? printed
    : canonical(value);
  const rest = { bytes: utf8Length(text), shape: shapeOf(value) };
  const hash = sha256(text);
  return typeof hash === "string" ? { sha256: hash, ...rest } : hash.then((done) => ({ sha256: done, ...rest }));
}

/** Whether every object of a value has its keys in the order of canonical JSON. Deep values are not looked into. */
function isSorted(value: Json, depth = 0): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (depth > SHAPE_DEPTH) return false;
  if (isArray(value)) return value.every((item) => isSorted(item, depth + 1));
  let before = "";
  for (const key of Object.keys(value)) {
    if (key < before || !isSorted(value[key] ?? null, depth + 1)) return false;
    before = key;
  }
  return true;
}
