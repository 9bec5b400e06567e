/**
 * The packets of esbuild's service protocol.
 *
 * @module
 */

/** A value of the protocol. Numbers are unsigned 32-bit integers. */
export type PacketValue = null | boolean | number | string | Uint8Array | readonly PacketValue[] | {
  readonly [key: string]: PacketValue;
};

/** What esbuild sent is not a packet. The message goes on after "esbuild:". */
export class PacketError extends Error {
  override readonly name = "PacketError";
}

/**
 * Cuts the stream into packets: a length of four bytes, little-endian, then as many bytes.
 *
 * @throws {PacketError} If a packet is longer than `maxBytes`.
 */
export async function* packets(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Uint8Array> {
  let rest = new Uint8Array(64 * 1024); // bounded: a longer packet is refused by its length alone
  let used = 0;
  for (;;) {
    const { value: chunk } = await reader.read();
    if (chunk === undefined) return;
    if (used + chunk.length > rest.length) {
      const grown = new Uint8Array(Math.max(rest.length * 2, used + chunk.length));
      grown.set(rest.subarray(0, used));
      rest = grown;
    }
    rest.set(chunk, used);
    used += chunk.length;
    let at = 0;
    while (at + 4 <= used) {
      const length = new DataView(rest.buffer).getUint32(at, true);
      if (length > maxBytes) throw new PacketError(`it sent more than ${maxBytes} bytes at once`);
      if (at + 4 + length > used) break;
      yield rest.slice(at + 4, at + 4 + length);
      at += 4 + length;
    }
    rest.copyWithin(0, at, used);
    used -= at;
  }
}

/** Prints a request, or the response to the request of the same number. */
export function encodePacket(id: number, isResponse: boolean, value: PacketValue): Uint8Array {
  let bytes = new Uint8Array(1024);
  let length = 4;
  const reserve = (size: number): DataView => {
    if (length + size > bytes.length) {
      const grown = new Uint8Array((length + size) * 2);
      grown.set(bytes.subarray(0, length));
      bytes = grown;
    }
    length += size;
    return new DataView(bytes.buffer, length - size, size);
  };
  const uint32 = (number: number): void => reserve(4).setUint32(0, number, true);
  const tag = (kind: number): void => reserve(1).setUint8(0, kind);
  const blob = (data: Uint8Array): void => {
    uint32(data.length);
    reserve(data.length);
    bytes.set(data, length - data.length);
  };
  const encoder = new TextEncoder();
  const visit = (item: PacketValue): void => {
    if (item === null) tag(0);
    else if (typeof item === "boolean") {
      tag(1);
      reserve(1).setUint8(0, item ? 1 : 0);
    } else if (typeof item === "number") {
      tag(2);
      uint32(item);
    } else if (typeof item === "string") {
      tag(3);
      blob(encoder.encode(item));
    } else if (item instanceof Uint8Array) {
      tag(4);
      blob(item);
    } else if (Array.isArray(item)) {
      tag(5);
      uint32(item.length);
      item.forEach(visit);
    } else {
      const entries = Object.entries(item);
      tag(6);
      uint32(entries.length);
      for (const [key, inner] of entries) {
        blob(encoder.encode(key));
        visit(inner);
      }
    }
  };
  uint32((id << 1) | (isResponse ? 1 : 0));
  visit(value);
  new DataView(bytes.buffer).setUint32(0, length - 4, true);
  return bytes.subarray(0, length);
}

/**
 * Reads a packet; objects become maps, so that no key of theirs has a meaning to us.
 *
 * @throws {PacketError} If it is not one.
 */
export function decodePacket(
  bytes: Uint8Array,
): { readonly id: number; readonly isResponse: boolean; readonly value: ReadonlyMap<string, PacketValue> } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const decoder = new TextDecoder();
  let at = 0;
  const uint32 = (): number => {
    at += 4;
    return view.getUint32(at - 4, true);
  };
  const blob = (): Uint8Array => {
    const size = uint32();
    at += size;
    if (at > bytes.length) throw new PacketError("it sent a broken packet");
    return bytes.subarray(at - size, at);
  };
  const visit = (): unknown => {
    const kind = view.getUint8(at++);
    switch (kind) {
      case 0:
        return null;
      case 1:
        return view.getUint8(at++) !== 0;
      case 2:
        return uint32();
      case 3:
        return decoder.decode(blob());
      case 4:
        return blob();
      case 5:
        return Array.from({ length: uint32() }, visit);
      case 6: {
        const entries = new Map<string, unknown>();
        for (let left = uint32(); left > 0; left--) entries.set(decoder.decode(blob()), visit());
        return entries;
      }
      default:
        throw new PacketError("it sent a broken packet");
    }
  };
  const head = uint32();
  const value = visit();
  if (!(value instanceof Map) || at !== bytes.length) throw new PacketError("it sent a broken packet");
  return { id: head >>> 1, isResponse: (head & 1) === 1, value };
}
