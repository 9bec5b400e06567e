/**
 * JSON as plain data: its type, its canonical text (RFC 8785) and its digest.
 *
 * @module
 */
import { sha256 as sha256Now } from "@noble/hashes/sha2.js";
import canonicalize from "canonicalize";
import { BugError } from "./errors.ts";

/** A JSON value. Objects hold own enumerable string keys only. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** A JSON object. */
export interface JsonObject {
  /** Own enumerable string keys only. */
  readonly [key: string]: Json;
}

/** Whether a parsed JSON value is an object: no list, and not `null`. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** One step of a JSON Pointer (RFC 6901), its slash in front. */
export function pointerPart(key: string | number): string {
  return "/" + String(key).replaceAll("~", "~0").replaceAll("/", "~1");
}

/**
 * Whether a JSON text nests deeper than `limit` levels, told by the brackets outside of strings: cheaper than a parse,
 * and nothing deep is ever built.
 */
export function nestsDeeper(text: string, limit: number): boolean {
  let depth = 0;
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (quoted) {
      if (unit === 0x5c) i++;
      else if (unit === 0x22) quoted = false;
    } else if (unit === 0x22) quoted = true;
    else if (unit === 0x7b || unit === 0x5b) {
      if (++depth > limit) return true;
    } else if (unit === 0x7d || unit === 0x5d) depth--;
  }
  return false;
}

/**
 * Prints a JSON value in the one canonical form of RFC 8785: keys sorted by UTF-16 code unit, no white space.
 *
 * @throws {BugError} If `value` is not plain JSON.
 */
export function canonical(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new BugError("bug_not_json", "Cannot print a value canonically: it is not JSON");
  return text;
}

const ENCODER = new TextEncoder();

/** Bytes that are hashed here: the platform's own digest takes longer to start than that. */
const SMALL_BYTES = 4096;

/** Digests bytes, or the UTF-8 bytes of a text, with SHA-256: 64 lower-case hexadecimal digits. */
export async function sha256(data: Uint8Array<ArrayBuffer> | string): Promise<string> {
  const bytes = typeof data === "string" ? ENCODER.encode(data) : data;
  if (bytes.length <= SMALL_BYTES) return sha256Now(bytes).toHex();
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

/** Digests a JSON value over its canonical text. */
export function digest(value: unknown): Promise<string> {
  return sha256(canonical(value));
}

/** Where texts are encoded only to be counted. Nothing reads it. */
const SCRATCH = new Uint8Array(16_384);

/** Counts the UTF-8 bytes of a text; a lone surrogate counts as the three bytes that an encoder puts in its place. */
export function utf8Length(text: string): number {
  let bytes = 0;
  // Encoding into memory that is there already is fifty times faster than looking at each character.
  for (let at = 0; at < text.length;) {
    const { read, written } = ENCODER.encodeInto(at === 0 ? text : text.slice(at), SCRATCH);
    bytes += written;
    at += read;
  }
  return bytes;
}

/** Freezes a JSON value and everything in it; returns it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
}
