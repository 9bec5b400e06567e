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
  const folder = await Deno.open(path, { read: true });
  let held = false;
  try {
    const info = await folder.stat();
    const isStillThere = (): boolean => isStillAt(path, info);
    if (!info.isDirectory || !isStillThere()) return undefined;
    await lock(folder, signal);
    held = true;
    return { isStillThere, sync: () => folder.sync(), [Symbol.dispose]: () => folder.close() };
  } finally {
    // Closing gives the lock back.
    if (!held) folder.close();
  }
}

async function lock(folder: Deno.FsFile, signal: AbortSignal): Promise<void> {
  // Asked for again and again: a thread that waits inside the kernel could not be called back at a deadline.
  for (let pause = 1; !await tryLock(folder); pause = Math.min(2 * pause, MAX_PAUSE_MS)) {
    await new Promise((resolve) => setTimeout(resolve, pause));
    signal.throwIfAborted();
  }
}

async function tryLock(folder: Deno.FsFile): Promise<boolean> {
  try {
    return await folder.tryLock(true);
  } catch (cause) {
    const message = "Cannot change a file: its file system has no locks, so that two runs could undo each other's work";
    throw new ToolError("lock_unavailable", message, { cause });
  }
}
