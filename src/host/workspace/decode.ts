/**
 * What the bytes of a file are as text.
 *
 * @module
 */
import { BINARY_PREFIX_BYTES } from "../source_walk.ts";

/** How text is written; `unknown`: no NUL is in it, but it is not UTF-8; `binary`: no text. */
export type Encoding = "utf-8" | "utf-8-bom" | "utf-16le" | "utf-16be" | "unknown" | "binary";

/** Tells an encoding from its mark, or from the first bytes of a file: then UTF-8 is a guess, and the rest may disprove it. */
export function sniffEncoding(prefix: Uint8Array): Encoding {
  const [first, second, third] = prefix;
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8-bom";
  if (first === 0xff && second === 0xfe) return "utf-16le";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  return prefix.subarray(0, BINARY_PREFIX_BYTES).includes(0) ? "binary" : "utf-8";
}

const DECODERS = new Map<string, TextDecoder>();

/** A whole file as text without its mark, malformed bytes as U+FFFD; `undefined` for a binary one. */
export function decodeWhole(bytes: Uint8Array<ArrayBuffer>): string | undefined {
  const encoding = sniffEncoding(bytes);
  const isWide = encoding === "utf-16le" || encoding === "utf-16be";
  if (encoding === "binary" || (!isWide && bytes.includes(0))) return undefined;
  const label = isWide ? encoding : "utf-8";
  let decoder = DECODERS.get(label);
  if (decoder === undefined) DECODERS.set(label, decoder = new TextDecoder(label));
  return decoder.decode(bytes);
}
