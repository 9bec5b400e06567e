/**
 * Digests files, in constant memory.
 *
 * @module
 */
import { InputError } from "../errors.ts";

/** What a file was while it was read. */
export interface FileDigest {
  readonly bytes: number;
  /** 64 lower-case hexadecimal digits. */
  readonly sha256: string;
}

/**
 * Digests a regular file that is reached without a link.
 *
 * @throws {InputError} If it is anything else, or cannot be read.
 */
export async function digestFile(path: string, shown: string): Promise<FileDigest> {
  const { createHash } = await import("node:crypto");
  const hash = createHash("sha256");
  let bytes = 0;
  try {
    const named = await Deno.lstat(path);
    if (!named.isFile) throw new Deno.errors.NotFound();
    using file = await Deno.open(path);
    const opened = await file.stat();
    if (opened.ino !== named.ino || opened.dev !== named.dev) throw new Deno.errors.NotFound();
    const buffer = new Uint8Array(262_144);
    for (let count = await file.read(buffer); count !== null; count = await file.read(buffer)) {
      hash.update(buffer.subarray(0, count));
      bytes += count;
    }
  } catch (cause) {
    throw new InputError("evidence_unreadable", `Cannot read "${shown}": it is missing, or no regular file`, { cause });
  }
  return { bytes, sha256: hash.digest("hex") };
}
