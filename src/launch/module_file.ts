/**
 * Reads one module of an agent from the project.
 *
 * @module
 */
import { sha256 } from "../json.ts";

/** Limits of one module, inclusive. */
export const MODULE_LIMITS = { moduleBytes: 4 * 1024 * 1024 } as const;

/** A file is not one that an agent may consist of. The message goes on after "<path> is". */
export class ModuleError extends Error {
  override readonly name = "ModuleError";
  /** What to change. */
  readonly fix: string;
  readonly isMissing: boolean;

  constructor(message: string, options: { fix?: string; isMissing?: boolean; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.fix = options.fix ?? "make the agent smaller";
    this.isMissing = options.isMissing ?? false;
  }
}

/** A module's bytes, valid UTF-8, and their SHA-256. */
export interface ModuleFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly sha256: string;
}

/**
 * Reads a regular file that is reached without any symlink. Requires permission to read the project.
 *
 * What was opened is compared with a second look-up of the path, so that a file that is swapped for a symlink meanwhile
 * is not read.
 *
 * @param project Real absolute path of the project.
 * @param path Path inside of the project, without `.` and `..`.
 * @throws {ModuleError} If it is anything else, too large or not UTF-8.
 */
export async function readModule(project: string, path: string): Promise<ModuleFile> {
  const absolute = `${project}/${path}`;
  try {
    await checkPlain(absolute);
    using file = await Deno.open(absolute);
    const opened = await file.stat();
    const named = await checkPlain(absolute);
    if (!opened.isFile || opened.dev !== named.dev || opened.ino !== named.ino) {
      throw new ModuleError("a file that changes while it is read", { fix: "run again" });
    }
    const bytes = await readAll(file, opened.size);
    try {
      new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch (cause) {
      throw new ModuleError("not UTF-8 text", { fix: "save the file as UTF-8", cause });
    }
    return { bytes, sha256: await sha256(bytes) };
  } catch (cause) {
    if (cause instanceof ModuleError) throw cause;
    if (cause instanceof Deno.errors.NotFound || cause instanceof Deno.errors.NotADirectory) {
      throw new ModuleError("not there", { fix: "correct the path", isMissing: true, cause });
    }
    throw new ModuleError("not readable", { fix: "make the file readable for this user", cause });
  }
}

/** Looks a path up twice, through links and without: it must be its own real path, and a regular file. */
async function checkPlain(path: string): Promise<Deno.FileInfo> {
  if (await Deno.realPath(path) !== path) {
    throw new ModuleError("reached through a symlink, or written in other letters than on disk", {
      fix: "import the file itself by its own path",
    });
  }
  const info = await Deno.lstat(path);
  if (!info.isFile) throw new ModuleError("not a regular file", { fix: "import a file" });
  return info;
}

async function readAll(file: Deno.FsFile, size: number): Promise<Uint8Array<ArrayBuffer>> {
  const limit = MODULE_LIMITS.moduleBytes;
  const tooLarge = new ModuleError(`larger than ${limit} bytes`, { fix: "read large data with a tool" });
  if (size > limit) throw tooLarge;
  const bytes = new Uint8Array(size + 1); // one more, to see a file that grows
  let length = 0;
  while (length < bytes.length) {
    const count = await file.read(bytes.subarray(length));
    if (count === null) return bytes.slice(0, length);
    length += count;
  }
  throw new ModuleError("a file that changes while it is read", { fix: "run again" });
}
