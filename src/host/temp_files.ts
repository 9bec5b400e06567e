/**
 * Files that are not finished: how they are named, and how those of a killed host are found again.
 *
 * @module
 */
import type { RunContext } from "./context.ts";
import { isCanonical, isPathError, joinPath, lookAt } from "./path_proof.ts";

const TEMP_NAME = /^\.twokey-[0-9a-f]{32}\.tmp$/;

/** How long a temporary file may lie before it counts as left behind, in milliseconds: no write takes a minute. */
export const TEMP_MAX_AGE_MS = 60_000;

/** Whether a name is one of the host's temporary files. */
export function isTempName(name: string): boolean {
  return TEMP_NAME.test(name);
}

/** A new name for a temporary file. */
export function tempName({ temporaryOwner }: Pick<RunContext, "temporaryOwner">): string {
  // The first eight digits name this run: whoever ends it can tell its leftovers from those of others.
  const owner = temporaryOwner ?? Deno.pid.toString(16).padStart(8, "0");
  return `.twokey-${owner}${crypto.getRandomValues(new Uint8Array(12)).toHex()}.tmp`;
}

/** Removes a temporary file. One that cannot be removed changes nothing about the outcome; the next run sweeps it. */
export function removeQuietly(path: string): void {
  try {
    Deno.removeSync(path);
  } catch {
    // See above.
  }
}

/** What {@linkcode sweepFolder} may do. */
export interface SweepOptions {
  /** Files that were last written before this are left behind, in milliseconds since the Unix epoch. */
  readonly before: number;
  /** Names that are looked at, at most; counted down. */
  readonly names: { left: number };
  /** Whether folders below are swept as well. Default: true. */
  readonly deep?: boolean;
}

/**
 * Removes temporary files that were left behind in and below an absolute folder: regular files of the host's own naming.
 * Never follows a link, and leaves alone what it may not look at. Returns how many were removed.
 */
export function sweepFolder(folder: string, options: SweepOptions): number {
  const { before, names, deep = true } = options;
  let removed = 0;
  try {
    if (!isCanonical(folder)) return 0;
    for (const child of [...Deno.readDirSync(folder)]) {
      if (names.left-- <= 0) break;
      const path = joinPath(folder, child.name);
      if (deep && child.isDirectory && child.name !== ".git") removed += sweepFolder(path, options);
      if (!child.isFile || !TEMP_NAME.test(child.name)) continue;
      const info = lookAt(path);
      if (info === undefined || !info.isFile || (info.mtime?.getTime() ?? Infinity) >= before) continue;
      Deno.removeSync(path);
      removed++;
    }
  } catch (error) {
    if (!isPathError(error)) throw error;
  }
  return removed;
}
