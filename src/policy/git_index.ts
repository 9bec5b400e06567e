/**
 * Reads which files git tracks, straight from its index: no program is started for it.
 *
 * @module
 */
import { isInside, parentOf, relativeTo, resolvePath } from "../authority/path.ts";

/** Largest index, in bytes: a repository of a million files. */
const MAX_INDEX = 256 * 1024 * 1024;

/** Largest `.git` that is a file, in bytes: a path and the words around it. */
const MAX_GIT_FILE = 8192;

/** Bytes of an entry before its flags: times, device, mode, owner, size, and a SHA-1. */
const FLAGS_AT = 60;

/**
 * Whether git tracks `path` or something below it. `path` is absolute and real. `false` where there is no repository,
 * and where its index is one that this reader does not know (SHA-256 repositories, split indexes).
 */
export function isTracked(path: string): boolean {
  const repository = findRepository(parentOf(path));
  if (repository === undefined) return false;
  const wanted = relativeTo(repository.root, path);
  for (const name of readNames(repository.index)) {
    if (isInside("/" + wanted, "/" + name)) return true;
  }
  return false;
}

function findRepository(folder: string): { readonly root: string; readonly index: string } | undefined {
  for (let at = folder;; at = parentOf(at)) {
    const git = resolvePath(at, ".git");
    try {
      const { isDirectory, isFile, size } = Deno.statSync(git);
      if (isDirectory) return { root: at, index: `${git}/index` };
      // whoever packed the folder may have put a FIFO or a device there, which would never end
      if (!isFile || size > MAX_GIT_FILE) return undefined;
      // the .git of a worktree or submodule is a file that names the folder
      const named = /^gitdir: (.+)\n?$/.exec(Deno.readTextFileSync(git))?.[1];
      return named === undefined ? undefined : { root: at, index: `${resolvePath(at, named)}/index` };
    } catch {
      if (at === "/") return undefined;
    }
  }
}

/** The names in an index, in its order. A file that is no index, or torn, gives the names before the tear. */
function* readNames(index: string): Generator<string> {
  let bytes: Uint8Array;
  try {
    const { isFile, size } = Deno.statSync(index);
    if (!isFile || size > MAX_INDEX) return;
    bytes = Deno.readFileSync(index);
  } catch {
    return;
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 12 || view.getUint32(0) !== 0x44495243) return; // DIRC
  const version = view.getUint32(4);
  const count = view.getUint32(8);
  if (version < 2 || version > 4) return;
  const decoder = new TextDecoder();
  let previous = new Uint8Array();
  let at = 12;
  for (let entry = 0; entry < count && at + FLAGS_AT + 2 < bytes.length; entry++) {
    const extended = version >= 3 && (view.getUint16(at + FLAGS_AT) & 0x4000) !== 0;
    let start = at + FLAGS_AT + (extended ? 4 : 2);
    let kept = new Uint8Array();
    if (version === 4) {
      // names share the beginning of the one before; a number says how much of its end goes
      let strip = -1;
      let byte = 0x80;
      while ((byte & 0x80) !== 0 && start < bytes.length) {
        byte = bytes[start++] ?? 0;
        strip = (strip + 1) * 128 + (byte & 0x7f);
      }
      kept = previous.slice(0, Math.max(0, previous.length - strip));
    }
    const end = bytes.indexOf(0, start);
    if (end < 0) return;
    const name = new Uint8Array(kept.length + end - start);
    name.set(kept);
    name.set(bytes.subarray(start, end), kept.length);
    yield decoder.decode(name);
    previous = name;
    // older versions pad each entry with NULs to a multiple of eight, at least one
    at = version === 4 ? end + 1 : at + ((end - at + 8) & ~7);
  }
}
