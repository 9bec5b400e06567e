/**
 * Opens files so that what was opened is proven to be what was asked for.
 *
 * A path is a question that the file system answers anew each time. Checking a path and then opening it leaves a gap in
 * which another process can swap a folder for a link. Here the path is opened and then looked up once more: the open file
 * must be the very file that was seen before, and no link may lead to it. Only then do its bytes go further.
 *
 * @module
 */
import { isInside } from "../authority/path.ts";

/** The path of `name` below the absolute folder `base`; an empty name is the folder itself. */
export function joinPath(base: string, name: string): string {
  if (name === "") return base;
  return base === "/" ? `/${name}` : `${base}/${name}`;
}

/** Whether two looks saw one and the same file: equal device and inode, both known. */
export function sameFile(a: Deno.FileInfo, b: Deno.FileInfo): boolean {
  return a.ino !== null && a.dev === b.dev && a.ino === b.ino;
}

/** Whether an error says that a path leads nowhere this process may go, as opposed to a fault of the machine. */
export function isPathError(error: unknown): boolean {
  return error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory ||
    error instanceof Deno.errors.IsADirectory || error instanceof Deno.errors.FilesystemLoop ||
    error instanceof Deno.errors.PermissionDenied || error instanceof Deno.errors.NotCapable;
}

/** Looks at a path without following a link at its end; `undefined` where nothing is there. */
export function lookAt(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.lstatSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return undefined;
    throw error;
  }
}

/** Whether `path` is spelled without any link: the file system's own name for it is the same text. */
export function isCanonical(path: string): boolean {
  try {
    return Deno.realPathSync(path) === path;
  } catch (error) {
    if (isPathError(error)) return false;
    throw error;
  }
}

/** Whether an open file is, at this moment, what the canonical `path` names. */
export function isStillAt(path: string, held: Deno.FileInfo): boolean {
  try {
    return isCanonical(path) && sameFile(held, Deno.lstatSync(path));
  } catch (error) {
    if (isPathError(error)) return false;
    throw error;
  }
}

/** The bytes of a file whose place was proven, and what the open file said of itself behind them. */
export interface ProvenRead {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly info: Deno.FileInfo;
}

/**
 * Reads a regular file that was seen before, and proves that the bytes are of that very file and that `path` names a
 * place below `root`, spelled without a link. Both paths are absolute, `root` is canonical.
 *
 * `undefined` means that the proof failed: a link stands in the path, the file is gone, is no regular file, is another
 * one than `seen`, holds more than `limit` bytes, or changed its length while it was read. What was read is then thrown
 * away. A device or FIFO is never opened unless it takes the place of a regular file between two system calls.
 */
export function readProven(
  path: string,
  { root, seen, limit }: { readonly root: string; readonly seen: Deno.FileInfo; readonly limit: number },
): ProvenRead | undefined {
  if (!isInside(root, path)) return undefined;
  try {
    // A link on the way is followed here, and found below before any byte goes further.
    if (!Deno.lstatSync(path).isFile) return undefined;
    using file = Deno.openSync(path, { read: true });
    const bytes = readUpTo(file, limit, seen.size);
    const info = file.statSync();
    // Looked at twice: names that are swapped back and forth all the time may show one face to one look.
    const proven = info.isFile && sameFile(info, seen) && isStillAt(path, info) && isStillAt(path, info);
    return proven && bytes?.length === info.size ? { bytes, info } : undefined;
  } catch (error) {
    if (isPathError(error)) return undefined;
    throw error;
  }
}

/**
 * Reads a file whose place was proven before and whose bytes the caller compares with the digest of that read.
 *
 * The digest is the proof here: whatever the path leads to by now, equal bytes tell nothing new, and others go no
 * further. The look before opening keeps a device or FIFO, on which the host would hang, from being opened, and refuses
 * another file under the name. `undefined` as in {@linkcode readProven}.
 */
export function readKnown(
  path: string,
  { seen, limit }: { readonly seen: Deno.FileInfo; readonly limit: number },
): Uint8Array<ArrayBuffer> | undefined {
  try {
    const info = Deno.lstatSync(path);
    if (!info.isFile || !sameFile(info, seen)) return undefined;
    using file = Deno.openSync(path, { read: true });
    return readUpTo(file, limit, seen.size);
  } catch (error) {
    if (isPathError(error)) return undefined;
    throw error;
  }
}

/**
 * Reads an open file from its current position to its end.
 *
 * `undefined` means that it holds more than `limit` bytes; no more than `limit + 1` bytes are ever held.
 */
export function readUpTo(file: Deno.FsFile, limit: number, expected: number): Uint8Array<ArrayBuffer> | undefined {
  let buffer = new Uint8Array(Math.min(limit, Math.max(expected, 0)) + 1);
  let length = 0;
  for (;;) {
    if (length === buffer.length) {
      if (length > limit) return undefined;
      const larger = new Uint8Array(Math.min(limit + 1, buffer.length * 2));
      larger.set(buffer);
      buffer = larger;
    }
    const room = buffer.length - length;
    const count = file.readSync(buffer.subarray(length));
    if (count === null || count === 0) break;
    length += count;
    // A regular file gives less than was asked for at its end only.
    if (length === expected && count < room) break;
  }
  return length > limit ? undefined : buffer.subarray(0, length);
}

/** Whether two contents are equal. */
export function sameBytes(a: Uint8Array<ArrayBuffer>, b: Uint8Array<ArrayBuffer>): boolean {
  if (a.length !== b.length) return false;
  let at = 0;
  if (a.byteOffset % 4 === 0 && b.byteOffset % 4 === 0) {
    // Four bytes at a time.
    const left = new Int32Array(a.buffer, a.byteOffset, a.length >> 2);
    const right = new Int32Array(b.buffer, b.byteOffset, b.length >> 2);
    for (; at < left.length; at++) if (left[at] !== right[at]) return false;
    at *= 4;
  }
  for (; at < a.length; at++) if (a[at] !== b[at]) return false;
  return true;
}
