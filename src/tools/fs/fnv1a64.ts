const TWO_TO_32 = 0x1_0000_0000;

/**
 * Hashes bytes with FNV-1a, 64 bits: 16 lower-case hexadecimal digits.
 *
 * A short name for a content, and no more: collisions are easy to make, so nothing may be trusted by it.
 */
export function fnv1a64(bytes: Uint8Array): string {
  // The state is two 32-bit halves, because no integer type of the language multiplies 64 bits quickly.
  let high = 0xcbf29ce4;
  let low = 0x84222325;
  for (let i = 0; i < bytes.length; i++) {
    low = (low ^ (bytes[i] ?? 0)) >>> 0;
    // Times 0x100000001b3: times 0x1b3, plus the state shifted left by 40.
    const product = low * 0x1b3;
    high = (Math.imul(high, 0x1b3) + ((product / TWO_TO_32) | 0) + (low << 8)) >>> 0;
    low = product >>> 0;
  }
  return high.toString(16).padStart(8, "0") + low.toString(16).padStart(8, "0");
}
