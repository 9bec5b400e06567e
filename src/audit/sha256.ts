/**
 * SHA-256 that is there at once. `node:crypto` takes as long to load as a whole process takes to start, and the digest of
 * the web platform is asynchronous; a short run hashes some ten records and should pay for neither.
 *
 * @module
 */
import { sha256 } from "@noble/hashes/sha2.js";

const ENCODER = new TextEncoder();

/** A hash function: 64 lower-case hexadecimal digits; of a text, over its UTF-8 bytes. */
export type Sha256 = (data: Uint8Array<ArrayBuffer> | string) => string;

/**
 * Digests bytes, or the UTF-8 bytes of a text, with SHA-256 (FIPS 180-4): 64 lower-case hexadecimal digits. Several times
 * slower than {@linkcode loadFastSha256}'s, and there almost without loading anything.
 */
export function sha256Now(data: Uint8Array<ArrayBuffer> | string): string {
  return sha256(typeof data === "string" ? ENCODER.encode(data) : data).toHex();
}

/** Bytes that are hashed without the fast implementation: what takes a tenth of the time that loading it takes. */
const SLOW_BYTES = 262_144;

/** A hash function that is there at once, and fast once it was used a lot. */
export class GrowingSha256 {
  #hash: Sha256 = sha256Now;
  #left = SLOW_BYTES;

  /** Whether the fast implementation is in use. */
  get isFast(): boolean {
    return this.#hash !== sha256Now;
  }

  /** Digests bytes, or the UTF-8 bytes of a text. */
  readonly digest: Sha256 = (data) => {
    if (this.#left > 0) this.spend(data.length);
    return this.#hash(data);
  };

  /** Counts bytes that were hashed elsewhere, as being too many for the slow implementation. */
  spend(bytes: number): void {
    if (this.#left <= 0) return;
    this.#left -= bytes;
    // Without it everything is right as well, and slower.
    if (this.#left <= 0) this.load().catch(() => {});
  }

  /** Loads the fast implementation now. */
  async load(): Promise<void> {
    this.#left = 0;
    this.#hash = await loadFastSha256();
  }
}

/** Loads the fast implementation, which takes some 15 milliseconds. */
export async function loadFastSha256(): Promise<Sha256> {
  const { hash } = await import("node:crypto");
  return (data) => hash("sha256", data, "hex");
}

/** SHA-256 over bytes that come in pieces, for what is too large to hold. */
export class StreamSha256 {
  readonly #state = sha256.create();

  /** Adds bytes. */
  update(bytes: Uint8Array<ArrayBuffer>): void {
    this.#state.update(bytes);
  }

  /** 64 lower-case hexadecimal digits over everything that was added; the end. */
  digest(): string {
    return this.#state.digest().toHex();
  }
}
