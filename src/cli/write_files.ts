/**
 * Writes several files, all of them or none.
 *
 * @module
 */
import { parentOf } from "../authority/path.ts";
import { CreateError } from "../errors.ts";
import { escapeText } from "../report/escape.ts";

/** One file to write. */
export interface PlannedWrite {
  /** Absolute path. */
  readonly path: string;
  readonly text: string;
  /** What the file holds now; `null` where there is none. */
  readonly before: string | null;
}

/**
 * Writes files, and folders above them that are missing. Where one cannot be written, those before it are put back.
 *
 * @throws {CreateError} If something is in the way or the system refuses; then nothing has changed.
 */
export async function writeFiles(writes: readonly PlannedWrite[]): Promise<void> {
  const undo: (() => Promise<void>)[] = [];
  for (const write of writes) {
    try {
      await makeFolder(parentOf(write.path), undo);
      if (write.before === null) await create(write, undo);
      else await replace(write, write.before, undo);
    } catch (cause) {
      for (const step of undo.toReversed()) await step().catch(() => {});
      const what = cause instanceof Deno.errors.AlreadyExists ? "it was made meanwhile" : "the system refused";
      throw new CreateError(
        "cannot_write",
        `Cannot write "${escapeText(write.path)}": ${what}; nothing was changed`,
        {
          cause,
        },
      );
    }
  }
}

async function makeFolder(path: string, undo: (() => Promise<void>)[]): Promise<void> {
  try {
    await Deno.mkdir(path);
    undo.push(() => Deno.remove(path));
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return;
    if (!(error instanceof Deno.errors.NotFound) || path === "/") throw error;
    await makeFolder(parentOf(path), undo);
    await Deno.mkdir(path);
    undo.push(() => Deno.remove(path));
  }
}

async function create({ path, text }: PlannedWrite, undo: (() => Promise<void>)[]): Promise<void> {
  using file = await Deno.open(path, { write: true, createNew: true });
  undo.push(() => Deno.remove(path));
  await writeAll(file, text);
}

/** Another file takes the place of the one that is there, so that a reader never sees half of it. */
async function replace({ path, text }: PlannedWrite, before: string, undo: (() => Promise<void>)[]): Promise<void> {
  const { mode } = await Deno.stat(path);
  const put = async (content: string): Promise<void> => {
    const temporary = `${path}.${crypto.randomUUID()}.tmp`;
    try {
      using file = await Deno.open(temporary, { write: true, createNew: true });
      await writeAll(file, content);
      if (mode !== null) await Deno.chmod(temporary, mode & 0o777);
      await Deno.rename(temporary, path);
    } catch (error) {
      await Deno.remove(temporary).catch(() => {});
      throw error;
    }
  };
  await put(text);
  undo.push(() => put(before));
}

async function writeAll(file: Deno.FsFile, text: string): Promise<void> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
}
