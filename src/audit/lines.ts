/**
 * Reads a log as blocks of whole lines, in constant memory.
 *
 * @module
 */
import { InputError } from "../errors.ts";
import { MAX_BODY_BYTES } from "./writer.ts";

/** Bytes of one line, at most: a body, what the launcher puts around it, and some room. */
export const MAX_LINE_BYTES = MAX_BODY_BYTES + 4096;

/** Bytes asked of the system at once; also how large the buffer stays while lines are short. */
const CHUNK_BYTES = 256 * 1024;

/** A piece of the file. */
export interface Block {
  /** Valid until the next block is asked for. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Where in the file it starts, in bytes. */
  readonly offset: number;
  /**
   * `lines`: one or more lines, each with its newline. `tail`: what stands behind the last newline; the last block.
   * `overlong`: the start of a line over the limit; the last block, whatever follows it.
   */
  readonly kind: "lines" | "tail" | "overlong";
}

/**
 * Reads a file as blocks of whole lines. Nothing is decoded: a character that lies on the border of two chunks is never
 * taken apart. Opened for reading only.
 *
 * @param maxLineBytes A line longer than this, its newline left out, is `overlong`.
 * @throws {InputError} If the file cannot be opened or read, or is not a regular file.
 */
export async function* readBlocks(path: string, maxLineBytes: number = MAX_LINE_BYTES): AsyncGenerator<Block> {
  using file = await openRegular(path);
  let buffer = new Uint8Array(CHUNK_BYTES);
  let used = 0;
  let offset = 0;
  while (true) {
    if (used === buffer.length) {
      const grown = new Uint8Array(Math.min(buffer.length * 2, maxLineBytes + 1 + CHUNK_BYTES));
      grown.set(buffer);
      buffer = grown;
    }
    const count = await read(file, buffer.subarray(used), path);
    if (count === null) break;
    // The bytes before `used` hold no newline, they were looked at before.
    const end = buffer.subarray(0, used + count).lastIndexOf(0x0a) + 1;
    used += count;
    if (end > 0) {
      yield { bytes: buffer.subarray(0, end), offset, kind: "lines" };
      buffer.copyWithin(0, end, used);
      offset += end;
      used -= end;
    }
    if (used > maxLineBytes) {
      yield { bytes: buffer.subarray(0, used), offset, kind: "overlong" };
      return;
    }
  }
  if (used > 0) yield { bytes: buffer.subarray(0, used), offset, kind: "tail" };
}

/** Opens a file that is one: a FIFO would hang the reader, a device need not end. */
async function openRegular(path: string): Promise<Deno.FsFile> {
  let what = "it is not a regular file";
  let cause: unknown;
  try {
    if ((await Deno.stat(path)).isFile) return await Deno.open(path, { read: true });
  } catch (error) {
    what = error instanceof Deno.errors.NotFound ? "it does not exist" : "the system refused";
    cause = error;
  }
  throw new InputError("audit_unreadable", `Cannot read the audit log "${path}": ${what}`, { cause });
}

async function read(file: Deno.FsFile, into: Uint8Array<ArrayBuffer>, path: string): Promise<number | null> {
  try {
    return await file.read(into);
  } catch (cause) {
    throw new InputError("audit_unreadable", `Cannot read the audit log "${path}": the system refused`, { cause });
  }
}
