/**
 * Opens files so that what was opened is proven to be what was asked for.
 *
 * A path is a question that the file system answers anew each time. Checking a path and then opening it leaves a gap in
 * which another process can swap a folder for a link. Here the path is resolved, opened, and resolved once more; the
 * open file must be the very file that the second answer names. Only then are bytes taken from it.
 *
 * @module
 */
import { isInside } from "../authority/path.ts";

/** The path of `name` below the absolute folder `base`; an empty name is the folder itself. */
export function joinPath(base: string, name: string): string {
  if (name === "") return base;
  return base === "/" ? `/${name}` : `${base}/${name}`;
}

/** An open file whose place was proven. The holder closes it. */
export interface ProvenFile {
  readonly file: Deno.FsFile;
  /** What the open file says of itself. */
  readonly info: Deno.FileInfo;
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

/**
 * Opens a regular file for reading, and proves that it is the file that `path` names below `root`.
 *
 * Both paths are canonical and absolute. `undefined` means that the proof failed: a link stands in the path, the file
 * is gone, is no regular file, or was swapped in between. A device or FIFO is never opened unless it takes the place of
 * a regular file between two system calls.
 */
export function openProven(path: string, root: string): ProvenFile | undefined {
  if (!isInside(root, path)) return undefined;
  try {
    // Links on the way are followed here and found below, before anything is read.
    if (!Deno.lstatSync(path).isFile) return undefined;
    const file = Deno.openSync(path, { read: true });
    try {
      const info = file.statSync();
      if (info.isFile && isStillAt(path, info)) return { file, info };
    } catch (error) {
      file.close();
      throw error;
    }
    file.close();
    return undefined;
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
