/**
 * The launcher and the host as one file each, kept in Deno's cache beside the packages and the compiled code that Deno
 * itself keeps there. Whoever can write to that folder can change what runs in any case; no tool can.
 *
 * @module
 */
import { denoDirOf } from "../authority/deno_dir.ts";

/** Prebuilt files, as `file:` URLs. */
export interface Prebuilt {
  readonly cli: string;
  readonly host: string;
}

/** Names of the files in a prebuilt folder. */
export const PREBUILT_FILES: { readonly [K in keyof Prebuilt]: string } = Object.freeze({
  cli: "app.js",
  host: "main.js",
});

/** In a prebuilt file its own folder; nothing like it exists in the sources. */
declare const PREBUILT_HERE: string | undefined;

/** Folder of this program's own sources. */
const SOURCE = new URL("../", import.meta.url);
/** Longest name of a folder. */
const MAX_NAME = 255;

/** Finds the files that were built from exactly these sources; `undefined` where there are none that can be trusted. */
export function findPrebuilt(): Prebuilt | undefined {
  try {
    // A prebuilt file has been found by its caller already: the other one lies beside it.
    const folder = typeof PREBUILT_HERE === "string" ? PREBUILT_HERE : prebuiltFolder();
    if (folder === undefined || !isOwn(Deno.lstatSync(folder), "isDirectory")) return undefined;
    const urls: Record<string, string> = {};
    for (const [name, file] of Object.entries(PREBUILT_FILES)) {
      if (!isOwn(Deno.lstatSync(`${folder}/${file}`), "isFile")) return undefined;
      urls[name] = `file://${encodeURI(`${folder}/${file}`)}`;
    }
    return urls as unknown as Prebuilt;
  } catch {
    return undefined;
  }
}

/**
 * Folder of the files that belong to these sources: named by where they lie and by a fingerprint of Deno's version and
 * of every source file's size and times of change. A changed source has another folder. The fingerprint tells old from
 * new, not good from bad: that is what the folder's owner is looked at for.
 */
export function prebuiltFolder(): string | undefined {
  const cache = denoDirOf((name) => Deno.env.get(name));
  const place = encodeURIComponent(SOURCE.pathname);
  if (cache === null || place.length > MAX_NAME) return undefined;
  const print = new Fingerprint();
  for (const name of ["../deno.json", "../deno.lock"]) print.addFile(new URL(name, SOURCE).pathname);
  print.addFolder(decodeURIComponent(SOURCE.pathname));
  return `${cache}/twokey/${place}/${Deno.version.deno}-${print}`;
}

/** Two 32-bit mixes over sizes and times: synchronous and without a module to load, because every start waits for it. */
class Fingerprint {
  #a = 0x9e3779b1;
  #b = 0x85ebca77;

  addFolder(path: string): void {
    const names: string[] = [];
    for (const { name, isDirectory } of Deno.readDirSync(path)) names.push(isDirectory ? `${name}/` : name);
    for (const name of names.sort()) {
      if (name.endsWith("/")) this.addFolder(`${path}${name}`);
      else this.addFile(`${path}${name}`);
    }
  }

  addFile(path: string): void {
    const { size, mtime, ctime } = Deno.statSync(path);
    const time = mtime?.getTime() ?? 0;
    // Tools that copy set the time of change to what they like; that of the inode nobody can set.
    const changed = (ctime?.getTime() ?? 0) / 1000;
    for (const word of [size, time % 0x1_0000_0000, Math.floor(time / 0x1_0000_0000), changed]) {
      this.#a = Math.imul(this.#a ^ word, 0x9e3779b1) ^ (this.#a >>> 15);
      this.#b = Math.imul(this.#b ^ word, 0x85ebca77) ^ (this.#b >>> 13);
    }
  }

  toString(): string {
    return [this.#a, this.#b].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
  }
}

/** Whether a file or folder is the caller's own, and nobody else may write to it. */
function isOwn(info: Deno.FileInfo, kind: "isFile" | "isDirectory"): boolean {
  return info[kind] && !info.isSymlink && info.uid === Deno.uid() && ((info.mode ?? 0o022) & 0o022) === 0;
}
