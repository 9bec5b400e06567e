/**
 * Walks one read root, once, and says of every name below it whether and why it may be read.
 *
 * Links are never followed, folders that are ignored, excluded or secret are never entered, and devices, FIFOs and
 * sockets are never opened. A limit turns what lies beyond it into entries that say so; it never ends the walk early
 * without a trace.
 *
 * @module
 */
import { makeGlob } from "../authority/glob.ts";
import { nameOf } from "../authority/path.ts";
import type { SourceEntry } from "../tool/powers.ts";
import type { IgnoreScope } from "./gitignore.ts";
import { isCanonical, isPathError, joinPath, sameFile } from "./path_proof.ts";
import type { PlaceMatcher } from "./place_rules.ts";

/** Bytes at the start of a file in which a NUL marks it as binary: the same 8 KiB in which git and grep look. */
export const BINARY_PREFIX_BYTES = 8192;

/** Entries kept for one run, readable or not; a tree beyond it is cut with a `file_limit` entry where the walk stopped. */
const MAX_ENTRIES = 200_000;

/** Why a name may not be read, by the kind that listings show. */
export const REASONS = {
  text: "admitted",
  symlink: "symlink_refused",
  ignored: "gitignore_default",
  excluded: "exclude_pattern",
  special: "non_file_refused",
  not_included: "include_pattern",
  large: "large_file_summary_only",
  binary: "binary_refused",
  secret: "secret_name",
  changed: "content_changed",
  limit: "file_limit",
} as const;

/** What a collected name is. */
export type Kind = keyof typeof REASONS;

/** The file that a collected name stood for during the walk. */
export interface Identity {
  readonly info: Deno.FileInfo;
  readonly mtimeMs: number;
}

/** One collected name. */
export interface Collected {
  /** Relative to its root. */
  readonly path: string;
  readonly root: CollectedRoot;
  /** Absolute, without links. */
  readonly canonical: string;
  /** 0 where the file was not looked at. */
  readonly bytes: number;
  readonly identity: Identity | undefined;
  kind: Kind;
  /** SHA-256 as hexadecimal digits, once the file was read. */
  hash: string | undefined;
}

/** A root and everything found below it. */
export interface CollectedRoot {
  readonly label: string;
  /** As the plan spells it; absolute. */
  readonly given: string;
  /** Without links; absolute. */
  readonly canonical: string;
  /** Whether the root is one file instead of a folder. */
  readonly isFile: boolean;
  /** By path, in the order of the paths. */
  readonly entries: Map<string, Collected>;
  /** Folders that were entered, relative to the root; `""` is the root. */
  readonly folders: Set<string>;
}

/** What the walks of one run share. */
export interface Allowance {
  /** Files that may still be admitted. */
  files: number;
  /** Entries that may still be kept. */
  entries: number;
  /** Largest readable file, in bytes. */
  readonly fileBytes: number;
}

/** What the policy says of the names below one root. */
export interface WalkRules {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  readonly isSecret: PlaceMatcher;
}

/** An allowance for one run: `files` readable files of at most `fileBytes` bytes. */
export function makeAllowance(files: number, fileBytes: number): Allowance {
  return { files, entries: MAX_ENTRIES, fileBytes };
}

/** The public view of a collected name. */
export function entryOf(collected: Collected): SourceEntry {
  return {
    path: collected.path,
    root: collected.root.label,
    bytes: collected.bytes,
    kind: collected.kind,
    readable: collected.kind === "text",
    reason: REASONS[collected.kind],
    source_hash: collected.hash === undefined ? null : `sha256:${collected.hash}`,
  };
}

/** Tests a path relative to the root; a folder's path ends with `/`. */
type Matcher = (path: string) => boolean;

/** The scope of a tree in which no `.gitignore` was found yet. */
const NOTHING_IGNORED: IgnoreScope = { rules: [], ignores: () => false };

interface Walk {
  readonly root: CollectedRoot;
  readonly allowance: Allowance;
  readonly isIncluded: Matcher;
  readonly isExcluded: Matcher;
  readonly isSecret: PlaceMatcher;
  readonly prefixBuffer: Uint8Array<ArrayBuffer>;
}

/**
 * Fills `root` with what lies below it.
 *
 * @throws {Deno.errors.NotFound} If the root is gone.
 */
export async function walkRoot(root: CollectedRoot, rules: WalkRules, allowance: Allowance): Promise<void> {
  const walk: Walk = {
    root,
    allowance,
    isIncluded: rules.include.length === 0 ? () => true : globMatcher(rules.include),
    isExcluded: globMatcher(rules.exclude),
    isSecret: rules.isSecret,
    prefixBuffer: new Uint8Array(BINARY_PREFIX_BYTES),
  };
  if (root.isFile) {
    walkFile(walk, root.canonical, nameOf(root.canonical));
    return;
  }
  await walkFolder(walk, "", NOTHING_IGNORED);
  sortEntries(root.entries);
}

/** The policy names this very file, so neither name patterns nor ignore files speak against it. */
function walkFile(walk: Walk, canonical: string, name: string): void {
  if (walk.isExcluded(name)) return keep(walk, name, canonical, "excluded");
  if (!walk.isIncluded(name)) return keep(walk, name, canonical, "not_included");
  inspectFile(walk, name, canonical);
}

async function walkFolder(walk: Walk, folder: string, outer: IgnoreScope): Promise<void> {
  const { root } = walk;
  const canonical = joinPath(root.canonical, folder);
  const prefix = folder === "" ? "" : folder + "/";
  const children = readFolder(canonical);
  if (children === undefined) return keep(walk, folder === "" ? "." : folder, canonical, "special");
  // A folder that became a link since its parent was read would list names from elsewhere.
  if (!isCanonical(canonical)) return keep(walk, folder === "" ? "." : folder, canonical, "changed");
  const hasRules = children.some((child) => child.name === ".gitignore");
  const scope = hasRules ? await enterScope(outer, folder, canonical) : outer;
  if (scope === undefined) return keep(walk, folder === "" ? "." : folder, canonical, "ignored");
  root.folders.add(folder);
  for (const child of children) {
    const path = prefix + child.name;
    const place = joinPath(canonical, child.name);
    if (walk.allowance.entries <= 0) {
      // One last entry, so that a listing shows that and where it is cut.
      add(walk, path, place, "limit");
      return;
    }
    const refusal = refusalOf(walk, path, place, child, scope);
    if (refusal !== undefined) keep(walk, path, place, refusal);
    else if (child.isDirectory) await walkFolder(walk, path, scope);
    else inspectFile(walk, path, place);
  }
}

async function enterScope(outer: IgnoreScope, folder: string, canonical: string): Promise<IgnoreScope | undefined> {
  const { enterIgnoreScope } = await import("./gitignore.ts");
  return enterIgnoreScope(outer, folder, joinPath(canonical, ".gitignore"));
}

/** Why a name is not looked at; `undefined` for a folder to enter and for a file to inspect. */
function refusalOf(
  walk: Walk,
  path: string,
  canonical: string,
  child: Deno.DirEntry,
  scope: IgnoreScope,
): Kind | undefined {
  if (child.isSymlink) return "symlink";
  const spelled = child.isDirectory ? path + "/" : path;
  if (child.name === ".git") return "ignored";
  if (walk.isSecret(canonical)) return "secret";
  if (scope.ignores(spelled)) return "ignored";
  if (walk.isExcluded(spelled)) return "excluded";
  if (child.isDirectory) return undefined;
  if (!child.isFile) return "special";
  return walk.isIncluded(path) ? undefined : "not_included";
}

function inspectFile(walk: Walk, path: string, canonical: string): void {
  const { allowance } = walk;
  try {
    const info = Deno.lstatSync(canonical);
    if (info.isSymlink) return keep(walk, path, canonical, "symlink");
    if (!info.isFile) return keep(walk, path, canonical, "special");
    if (info.size > allowance.fileBytes) return keep(walk, path, canonical, "large", info);
    if (allowance.files <= 0) return keep(walk, path, canonical, "limit", info);
    const kind = info.size === 0 ? "text" : sniff(canonical, info, walk.prefixBuffer);
    if (kind === "text") allowance.files--;
    keep(walk, path, canonical, kind, info);
  } catch (error) {
    // Key 1 denies the file, or this user may not open it, or it went away since its folder was read.
    if (error instanceof Deno.errors.NotCapable) return keep(walk, path, canonical, "secret");
    if (error instanceof Deno.errors.NotFound) return keep(walk, path, canonical, "changed");
    if (isPathError(error)) return keep(walk, path, canonical, "special");
    throw error;
  }
}

function sniff(canonical: string, seen: Deno.FileInfo, buffer: Uint8Array<ArrayBuffer>): "text" | "binary" | "changed" {
  using file = Deno.openSync(canonical, { read: true });
  if (!sameFile(file.statSync(), seen)) return "changed";
  const count = file.readSync(buffer) ?? 0;
  return buffer.subarray(0, count).includes(0) ? "binary" : "text";
}

/** The names in a folder in the order of the paths they lead to; `undefined` where this process may not look. */
function readFolder(canonical: string): Deno.DirEntry[] | undefined {
  try {
    const children = [...Deno.readDirSync(canonical)];
    // A name that is no well-formed text could not be opened by the text that is left of it.
    return children.filter((child) => child.name.isWellFormed()).sort(byName);
  } catch (error) {
    if (isPathError(error)) return undefined;
    throw error;
  }
}

function byName(a: Deno.DirEntry, b: Deno.DirEntry): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

function keep(walk: Walk, path: string, canonical: string, kind: Kind, info?: Deno.FileInfo): void {
  walk.allowance.entries--;
  add(walk, path, canonical, kind, info);
}

function add(walk: Walk, path: string, canonical: string, kind: Kind, info?: Deno.FileInfo): void {
  walk.root.entries.set(path, {
    path,
    root: walk.root,
    canonical,
    bytes: info?.size ?? 0,
    identity: info && { info, mtimeMs: info.mtime?.getTime() ?? 0 },
    kind,
    hash: undefined,
  });
}

/** Folders sort by their own name during the walk; the whole is put in the order of the paths. */
function sortEntries(entries: Map<string, Collected>): void {
  const sorted = [...entries.values()].sort((a, b) => a.path < b.path ? -1 : a.path > b.path ? 1 : 0);
  entries.clear();
  for (const entry of sorted) entries.set(entry.path, entry);
}

function globMatcher(patterns: readonly string[]): Matcher {
  const globs = patterns.map((pattern) => ({ matches: makeGlob(pattern), isForFolders: pattern.endsWith("/") }));
  // Without the slash, so that `docs/*` speaks of what is in `docs` and not of `docs` itself.
  return (path) => globs.some(({ matches, isForFolders }) => matches(isForFolders ? path : path.replace(/\/$/, "")));
}
