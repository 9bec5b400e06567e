/**
 * JSON as plain data: its type, its canonical text (RFC 8785) and its digest.
 *
 * @module
 */
import canonicalize from "canonicalize";
import { BugError } from "./errors.ts";

/** A JSON value. Objects hold own enumerable string keys only. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** A JSON object. */
export interface JsonObject {
  /** Own enumerable string keys only. */
  readonly [key: string]: Json;
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

/** Digests bytes, or the UTF-8 bytes of a text, with SHA-256: 64 lower-case hexadecimal digits. */
export async function sha256(data: Uint8Array<ArrayBuffer> | string): Promise<string> {
  const bytes = typeof data === "string" ? ENCODER.encode(data) : data;
  return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

/** Digests a JSON value over its canonical text. */
export function digest(value: unknown): Promise<string> {
  return sha256(canonical(value));
}

/** Prints bytes as lower-case hexadecimal digits. */
export function hex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += byte.toString(16).padStart(2, "0");
  return text;
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
