/**
 * The launcher and the host as a few files in place of hundreds, kept in Deno's cache beside the packages and the compiled
 * code that Deno itself keeps there. Whoever can write to that folder can change what runs in any case; no tool can.
 *
 * @module
 */
import { denoDirOf } from "../authority/deno_dir.ts";

/**
 * Names of the files in a prebuilt folder: the command line, whole and with the commands that most starts ask for, and the
 * host.
 */
export const PREBUILT_FILES = Object.freeze({
  app: "app.js",
  policy: "policy_app.js",
  run: "run_app.js",
  host: "main.js",
});

/** One of the prebuilt files. */
export type PrebuiltPart = keyof typeof PREBUILT_FILES;

/** A source file as it was when the files were built: its path from the project's root, its size and times of change. */
export type SourceStamp = readonly [path: string, size: number, mtimeMs: number, ctimeMs: number];

/** What lies beside a prebuilt folder, under the name of Deno's version. */
export interface PrebuiltIndex {
  /** Name of the folder. */
  readonly folder: string;
  readonly sources: readonly SourceStamp[];
  /** Places in `sources` of what each file was made from; a file that starts a host depends on the host's sources as well. */
  readonly parts: Readonly<Record<PrebuiltPart, readonly number[]>>;
}

/** In a prebuilt file its own folder; nothing like it exists in the sources. */
declare const PREBUILT_HERE: string | undefined;

/** Root of this program. */
const ROOT = decodeURIComponent(new URL("../../", import.meta.url).pathname);
/** Longest name of a folder. */
const MAX_NAME = 255;
/** Commands that the part `policy` knows. */
const POLICY_COMMANDS: readonly (string | undefined)[] = ["validate", "explain", "diff"];

/** The part that knows the command which a command line names. */
export function partFor([first, second, ...rest]: readonly string[]): PrebuiltPart {
  if (first === "run") return "run";
  const isSmall = first === "policy" && POLICY_COMMANDS.includes(second);
  return isSmall && !rest.some((word) => word.startsWith("--call")) ? "policy" : "app";
}

/**
 * Finds a file that was built from exactly these sources, as a `file:` URL; `undefined` where there is none that can be
 * trusted. Sizes and times tell old from new, not good from bad: that is what the owner of the files is looked at for.
 */
export function findPrebuilt(part: PrebuiltPart): string | undefined {
  try {
    // A prebuilt file has been found by its caller already: the host that belongs to it lies beside it.
    const folder = typeof PREBUILT_HERE === "string" ? PREBUILT_HERE : freshFolder(part);
    if (folder === undefined || !isOwn(Deno.lstatSync(folder), "isDirectory")) return undefined;
    const path = `${folder}/${PREBUILT_FILES[part]}`;
    return isOwn(Deno.lstatSync(path), "isFile") ? `file://${encodeURI(path)}` : undefined;
  } catch {
    return undefined;
  }
}

/** Folder that holds the index and the prebuilt folders of this program: named by where its sources lie. */
export function prebuiltPlace(): string | undefined {
  const cache = denoDirOf((name) => Deno.env.get(name));
  const place = encodeURIComponent(ROOT);
  return cache === null || place.length > MAX_NAME ? undefined : `${cache}/twokey/${place}`;
}

/** Path of the index in its place. */
export function indexPath(place: string): string {
  return `${place}/${Deno.version.deno}.json`;
}

/** Says what a source file is now, by its path from the project's root. */
export function stampOf(path: string): SourceStamp {
  const { size, mtime, ctime } = Deno.statSync(ROOT + path);
  // Tools that copy set the time of change to what they like; that of the inode nobody can set.
  return [path, size, mtime?.getTime() ?? 0, ctime?.getTime() ?? 0];
}

function freshFolder(part: PrebuiltPart): string | undefined {
  const place = prebuiltPlace();
  if (place === undefined || !isOwn(Deno.lstatSync(place), "isDirectory")) return undefined;
  const path = indexPath(place);
  if (!isOwn(Deno.lstatSync(path), "isFile")) return undefined;
  const { folder, sources, parts } = JSON.parse(Deno.readTextFileSync(path)) as PrebuiltIndex;
  const isFresh = parts[part].every((at) => {
    const was = sources[at];
    return was !== undefined && stampOf(was[0]).every((value, i) => value === was[i]);
  });
  return isFresh ? `${place}/${folder}` : undefined;
}

/** Whether a file or folder is the caller's own, and nobody else may write to it. */
function isOwn(info: Deno.FileInfo, kind: "isFile" | "isDirectory"): boolean {
  return info[kind] && !info.isSymlink && info.uid === Deno.uid() && ((info.mode ?? 0o022) & 0o022) === 0;
}
