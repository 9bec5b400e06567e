/**
 * Gives a file its new content, so that whoever looks sees the old one or the new one in full, also after a crash.
 *
 * Steps: a temporary file in the same folder, filled and brought to the disk; one atomic step that gives it the name;
 * the folder brought to the disk. Between any two of them the file is the old one or the new one.
 *
 * @module
 */
import type { DenialCode } from "../../authority/denial_codes.ts";
import { parentOf } from "../../authority/path.ts";
import { isPathError, isStillAt, joinPath, lookAt, readUpTo, sameBytes, sameFile } from "../path_proof.ts";
import { removeQuietly } from "../temp_files.ts";
import type { HeldFolder } from "./folder_lock.ts";

/** Mode of a new file, less the process's mask. */
const FILE_MODE = 0o644;

/** The bits of a mode that a file keeps; that it runs as its owner or group is not one of them. */
const KEPT_BITS = 0o777;

/** A file that was written less than this before it was read, in milliseconds, may change again and look the same. */
const CLOCK_DOUBT_MS = 50;

/** A file as it was read, and what it needs to be recognised. */
export interface CurrentFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly info: Deno.FileInfo;
  /** When it was read, in milliseconds since the Unix epoch. */
  readonly readAt: number;
}

/** What is at a path: a file, nothing, or why it is none that can be changed. */
export type Current =
  | { readonly kind: "file"; readonly file: CurrentFile }
  | { readonly kind: "absent" }
  | { readonly kind: "denied"; readonly code: DenialCode }
  | { readonly kind: "refused"; readonly code: "not_a_file" | "not_replaceable" | "too_large"; readonly what: string };

/** Why a content was not published. */
export type PublishRefusal = "stale" | "symlink_refused" | "not_replaceable";

/** Thrown inside this folder of modules only. */
export class PublishError extends Error {
  readonly refusal: PublishRefusal;

  constructor(refusal: PublishRefusal) {
    super(refusal);
    this.refusal = refusal;
  }
}

/**
 * Reads what is at an absolute path, with proof that the bytes are of that very file. A device or FIFO is never opened.
 * `limit` is in bytes.
 */
export function readCurrent(path: string, limit: number): Current {
  const seen = lookAt(path);
  if (seen === undefined) return { kind: "absent" };
  if (seen.isSymlink) return { kind: "denied", code: "symlink_refused" };
  if (!seen.isFile) return { kind: "refused", code: "not_a_file", what: kindOf(seen) };
  if (((seen.mode ?? 0) & 0o222) === 0 && seen.mode !== null) {
    return { kind: "refused", code: "not_replaceable", what: "it is read-only" };
  }
  // A further name would keep the old content: whoever uses it would not notice.
  if ((seen.nlink ?? 1) > 1) return { kind: "denied", code: "hard_link_refused" };
  const readAt = Date.now();
  using file = Deno.openSync(path, { read: true });
  const bytes = seen.size > limit ? undefined : readUpTo(file, limit, seen.size);
  if (bytes === undefined) {
    return { kind: "refused", code: "too_large", what: `it has more than ${limit} bytes, the budget editFileBytes` };
  }
  const info = file.statSync();
  if (!sameFile(info, seen) || !isStillAt(path, info) || !isStillAt(path, info)) {
    return { kind: "denied", code: "symlink_refused" };
  }
  return { kind: "file", file: { bytes, info, readAt } };
}

function kindOf({ isDirectory, isFifo, isSocket }: Deno.FileInfo): string {
  if (isDirectory) return "it is a folder";
  if (isFifo === true) return "it is a FIFO";
  return isSocket === true ? "it is a socket" : "it is a device";
}

/** What is published, and where. */
export interface Publication {
  /** Absolute and canonical; below `folder`. */
  readonly path: string;
  readonly folder: HeldFolder;
  /** Name of the temporary file. */
  readonly temp: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** What the file was; `undefined`: there must be none. */
  readonly before: CurrentFile | undefined;
  /** Called while the disk is at work; rejects where the content must not get its name. */
  readonly ready: () => Promise<unknown>;
  /** Aborted: nothing is published any more. */
  readonly signal: AbortSignal;
}

/**
 * Publishes a content. It is on the disk when the promise resolves, and the file is as it was where it rejects.
 *
 * @throws {PublishError} If the file is no longer what was read, if a link leads to it, or if it would change its owner.
 */
export async function publish({ path, folder, temp: name, bytes, before, ready, signal }: Publication): Promise<void> {
  const temp = joinPath(parentOf(path), name);
  const mode = before === undefined ? FILE_MODE : (before.info.mode ?? FILE_MODE) & KEPT_BITS;
  using file = createFile(temp, mode);
  try {
    const held = openedAs(file, temp, before, mode);
    // At once, so that the caller has the time that the disk takes.
    writeAll(file, bytes);
    await Promise.all([file.sync(), ready()]);
    signal.throwIfAborted();
    if (!folder.isStillThere() || !isStillAt(temp, held)) throw new PublishError("symlink_refused");
    giveName(temp, path, before);
    if (!isStillAt(path, held)) throw new PublishError("symlink_refused");
  } finally {
    removeQuietly(temp);
  }
  await folder.sync();
}

function createFile(path: string, mode: number): Deno.FsFile {
  return Deno.openSync(path, { write: true, createNew: true, mode });
}

function writeAll(file: Deno.FsFile, bytes: Uint8Array<ArrayBuffer>): void {
  for (let done = 0; done < bytes.length;) done += file.writeSync(bytes.subarray(done));
}

/** Proves where a temporary file is, before anything is written to it, and gives it the owner and mode of the old one. */
function openedAs(
  file: Deno.FsFile,
  temp: string,
  before: CurrentFile | undefined,
  mode: number,
): Deno.FileInfo {
  const held = file.statSync();
  if (!isStillAt(temp, held)) throw new PublishError("symlink_refused");
  if (before !== undefined) {
    keepOwner(temp, held, before.info);
    // The process's mask may have taken a bit that the old file has.
    if (((held.mode ?? mode) & KEPT_BITS) !== mode) Deno.chmodSync(temp, mode);
  }
  return held;
}

/** The one atomic step. */
function giveName(temp: string, path: string, before: CurrentFile | undefined): void {
  if (before !== undefined) {
    if (!isStill(path, before)) throw new PublishError("stale");
    Deno.renameSync(temp, path);
    return;
  }
  try {
    // Fails where the name is taken, so that of two who create it one wins and none overwrites.
    Deno.linkSync(temp, path);
  } catch (error) {
    throw error instanceof Deno.errors.AlreadyExists ? new PublishError("stale") : error;
  }
}

/** A file that is replaced by another one keeps its owner and group, or is not replaced. */
function keepOwner(temp: string, held: Deno.FileInfo, { uid, gid }: Deno.FileInfo): void {
  if (held.uid === uid && held.gid === gid) return;
  try {
    Deno.chownSync(temp, held.uid === uid ? null : uid, held.gid === gid ? null : gid);
  } catch {
    throw new PublishError("not_replaceable");
  }
}

/** Whether a path still names the file that was read, with the content that was read. */
function isStill(path: string, { bytes, info, readAt }: CurrentFile): boolean {
  try {
    const now = Deno.lstatSync(path);
    const isSame = now.isFile && sameFile(now, info) && now.size === info.size && sameTime(now.mtime, info.mtime) &&
      sameTime(now.ctime, info.ctime);
    if (!isSame) return false;
    if (readAt - (info.mtime?.getTime() ?? readAt) > CLOCK_DOUBT_MS) return true;
    using file = Deno.openSync(path, { read: true });
    const again = readUpTo(file, bytes.length, bytes.length);
    return again !== undefined && sameBytes(again, bytes);
  } catch (error) {
    if (isPathError(error)) return false;
    throw error;
  }
}

function sameTime(a: Date | null, b: Date | null): boolean {
  return a?.getTime() === b?.getTime();
}

/** Brings the names of folders that were just made to the disk. `folders` are absolute. */
export async function syncParents(folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    try {
      using parent = await Deno.open(parentOf(folder), { read: true });
      await parent.sync();
    } catch (error) {
      // A folder above the write root may lie outside of what this process may open: it was there before.
      if (!isPathError(error)) throw error;
    }
  }
}
