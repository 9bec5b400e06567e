/**
 * SHA-256 that is there at once. `node:crypto` takes as long to load as a whole process takes to start, and the digest of
 * the web platform is asynchronous; a short run hashes some ten records and should pay for neither.
 *
 * @module
 */

/** The first 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4, 4.2.2). */
const K = new Int32Array([
  ...[0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5],
  ...[0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174],
  ...[0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da],
  ...[0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967],
  ...[0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85],
  ...[0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070],
  ...[0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3],
  ...[0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2],
]);

/** The first 32 bits of the fractional parts of the square roots of the first 8 primes (FIPS 180-4, 5.3.3). */
const START = [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];

const BLOCK = 64;
const ENCODER = new TextEncoder();

/** A hash function: 64 lower-case hexadecimal digits; of a text, over its UTF-8 bytes. */
export type Sha256 = (data: Uint8Array<ArrayBuffer> | string) => string;

/**
 * Digests bytes, or the UTF-8 bytes of a text, with SHA-256 (FIPS 180-4): 64 lower-case hexadecimal digits. Five times
 * slower than {@linkcode loadFastSha256}'s, and there without loading anything.
 */
export function sha256Now(data: Uint8Array<ArrayBuffer> | string): string {
  const bytes = typeof data === "string" ? ENCODER.encode(data) : data;
  const state = new Int32Array(START);
  const words = new Int32Array(BLOCK);
  const whole = bytes.length - bytes.length % BLOCK;
  for (let at = 0; at < whole; at += BLOCK) compress(state, words, { bytes, at });
  // The end: what is left, a 1 bit, zeros, and the length in bits in the last eight bytes.
  const rest = bytes.subarray(whole);
  const tail = new Uint8Array(rest.length + 9 <= BLOCK ? BLOCK : 2 * BLOCK);
  tail.set(rest);
  tail[rest.length] = 0x80;
  const view = new DataView(tail.buffer);
  view.setUint32(tail.length - 8, Math.floor(bytes.length / 0x2000_0000));
  view.setUint32(tail.length - 4, bytes.length << 3);
  for (let at = 0; at < tail.length; at += BLOCK) compress(state, words, { bytes: tail, at });
  let digits = "";
  for (const word of state) digits += (word >>> 0).toString(16).padStart(8, "0");
  return digits;
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

/**
 * One block (FIPS 180-4, 6.2.2). Written out, because most of its life this runs before any compiler has seen it. A
 * 32-bit word of an array is always there, which the type checker cannot know.
 */
function compress(
  state: Int32Array,
  words: Int32Array,
  { bytes, at }: { readonly bytes: Uint8Array; readonly at: number },
): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, BLOCK);
  for (let i = 0; i < 16; i++) words[i] = view.getInt32(4 * i);
  for (let i = 16; i < 64; i++) {
    const x = words[i - 15] as number;
    const y = words[i - 2] as number;
    words[i] = ((words[i - 16] as number) + (words[i - 7] as number) +
      (((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3)) +
      (((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10))) | 0;
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let i = 0; i < 64; i++) {
    const t1 = (h + (((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7))) +
      ((e & f) ^ (~e & g)) + (K[i] as number) + (words[i] as number)) | 0;
    const t2 = ((((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10))) +
      ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  for (const [i, word] of [a, b, c, d, e, f, g, h].entries()) state[i] = ((state[i] as number) + word) | 0;
}
