/**
 * Keeps two runs on one project from changing the same file at the same time: an advisory lock on the folder that holds
 * the file, which leaves nothing behind. Editors and other programs do not know it.
 *
 * @module
 */
import { ToolError } from "../../errors.ts";
import { isStillAt } from "../path_proof.ts";

/** How often a lock is asked for while another run holds it, in milliseconds: longer each time, up to this. */
const MAX_PAUSE_MS = 20;

/** A folder that is open, proven to be where its path says, and locked until it is disposed of. */
export interface HeldFolder extends Disposable {
  /** Whether the path still names the folder that is held. */
  isStillThere(): boolean;
  /** Waits until the names in it are on disk. */
  sync(): Promise<void>;
}

/**
 * Opens and locks a folder. `path` is absolute and canonical. `undefined` where it is no folder or a link leads to it.
 *
 * @throws The reason of `signal`, if that is aborted while another run holds the lock.
 * @throws {ToolError} `lock_unavailable` if the file system has no locks.
 */
export async function holdFolder(path: string, signal: AbortSignal): Promise<HeldFolder | undefined> {
  const folder = openFolder(path);
  if (folder === undefined) return undefined;
  let held = false;
  try {
    // Asked for again and again: a thread that waits inside the kernel could not be called back at a deadline.
    for (let pause = 1; !tryLock(folder.file); pause = Math.min(2 * pause, MAX_PAUSE_MS)) {
      await new Promise((resolve) => setTimeout(resolve, pause));
      signal.throwIfAborted();
    }
    held = true;
    const { file, info } = folder;
    return {
      isStillThere: () => isStillAt(path, info),
      sync: () => file.sync(),
      [Symbol.dispose]: () => file.close(),
    };
  } finally {
    // Closing gives the lock back.
    if (!held) folder.file.close();
  }
}

function openFolder(path: string): { readonly file: Deno.FsFile; readonly info: Deno.FileInfo } | undefined {
  const file = Deno.openSync(path, { read: true });
  const info = file.statSync();
  if (info.isDirectory && isStillAt(path, info)) return { file, info };
  file.close();
  return undefined;
}

/** Asks once, without a wait: nobody holds the lock as a rule, and a thread of its own would take longer to ask. */
function tryLock(file: Deno.FsFile): boolean {
  try {
    return file.tryLockSync(true);
  } catch (cause) {
    const message = "Cannot change a file: its file system has no locks, so that two runs could undo each other's work";
    throw new ToolError("lock_unavailable", message, { cause });
  }
}
