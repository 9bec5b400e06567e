/**
 * New files below the write root: named, created whole, and never through a link.
 *
 * @module
 */
import type { DenialCode } from "../authority/denial_codes.ts";
import { parentOf } from "../authority/path.ts";
import type { Requirement } from "../authority/requirement.ts";
import { DenialError, ToolError } from "../errors.ts";
import { absolute } from "../plan/plan.ts";
import type { ArtifactTarget, ResolveWrite, WritePower } from "../tool/powers.ts";
import { assertGranted, type CallContext, deny, type RunContext } from "./context.ts";
import { isCanonical, isStillAt, joinPath, lookAt } from "./path_proof.ts";
import { makePlaceMatcher, type PlaceMatcher } from "./place_rules.ts";
import { isTempName, removeQuietly, sweepFolder, TEMP_MAX_AGE_MS, tempName } from "./temp_files.ts";
import { WrittenBytes } from "./written_bytes.ts";

/** Longest segment of a path, in UTF-8 bytes: what common file systems take. */
const MAX_SEGMENT_BYTES = 255;

/** Longest path relative to the write root, in UTF-8 bytes. */
const MAX_PATH_BYTES = 3072;

/**
 * What a file is created with, less the process's mask. Its content is no more secret under the temporary name than
 * under the final one, and `umask` itself cannot be asked for without a further grant.
 */
const FILE_MODE = 0o644;

/** Names that {@linkcode Artifacts.sweepTemps} looks at, at most. */
const MAX_SWEPT_NAMES = 100_000;

/** The write side of a run. */
export interface Artifacts {
  /** Makes names canonical; the same for every call. */
  readonly resolve: ResolveWrite;
  /** The power to write for one call. */
  power(call: CallContext): WritePower;
  /**
   * Removes the temporary files that a killed host left below the write root: regular files of the host's own naming
   * older than `maxAgeMs` milliseconds (60,000). Never follows a link. Returns how many were removed.
   */
  sweepTemps(options?: { readonly maxAgeMs?: number }): number;
}

/** The plan's write root as this run uses it. */
interface Ground {
  /** Absolute; a link nowhere in it, or every use is refused. */
  readonly root: string;
  readonly isProtected: PlaceMatcher;
  readonly written: WrittenBytes;
}

/** Opens the write side of a run. Touches nothing yet. `written` counts for every tool of the run that writes. */
export function openArtifacts(
  run: RunContext,
  written: WrittenBytes = new WrittenBytes(run.plan.budgets.artifactBytes),
): Artifacts {
  const { plan, places } = run;
  const [first] = plan.fs.write;
  const root = first && absolute(first.root, places);
  const ground: Ground | undefined = root === undefined ? undefined : {
    root,
    isProtected: makePlaceMatcher(plan.fs.protected, places, { below: root, followPlaces: true }),
    written,
  };
  const paths = new WeakMap<Requirement, readonly string[]>();
  return Object.freeze({
    resolve: Object.freeze({
      artifact: (path: string) => Promise.resolve().then(() => resolveArtifact(ground, paths, path)),
    }),
    power: (call: CallContext) => ({
      // Synchronous within: of writes to one path the one that was called first is done first.
      write: (target: ArtifactTarget, bytes: Uint8Array<ArrayBuffer>) =>
        Promise.resolve().then(() => write(run, call, ground, paths.get(target.requirement), target, bytes)),
    }),
    sweepTemps: ({ maxAgeMs = TEMP_MAX_AGE_MS } = {}) =>
      ground === undefined
        ? 0
        : sweepFolder(ground.root, { before: Date.now() - maxAgeMs, names: { left: MAX_SWEPT_NAMES } }),
  });
}

/**
 * Splits the name of a new file into its segments. `undefined` where the name is not one: empty, absolute, with a
 * backslash, a control character, a `..` segment, half of a surrogate pair, longer than a file system takes, or of the
 * form of the host's temporary files.
 */
export function artifactSegments(path: string): readonly string[] | undefined {
  if (path.startsWith("/") || path.includes("\\") || /\p{Cc}/u.test(path) || !path.isWellFormed()) return undefined;
  if (path.length > MAX_PATH_BYTES) return undefined;
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== ".");
  const encoder = new TextEncoder();
  const isTooLong = segments.some((segment) => encoder.encode(segment).length > MAX_SEGMENT_BYTES);
  if (segments.length === 0 || segments.includes("..") || isTooLong) return undefined;
  if (encoder.encode(path).length > MAX_PATH_BYTES) return undefined;
  return segments.some((segment) => isTempName(segment)) ? undefined : segments;
}

function resolveArtifact(
  ground: Ground | undefined,
  paths: WeakMap<Requirement, readonly string[]>,
  path: string,
): ArtifactTarget {
  const shown = path.replace(/\p{Cc}/gu, "\ufffd").toWellFormed().slice(0, MAX_PATH_BYTES).trim() || ".";
  if (ground === undefined) return targetOf(shown, shown, "artifact_root_not_configured");
  const segments = artifactSegments(path);
  if (segments === undefined) return targetOf(shown, joinPath(ground.root, shown), "artifact_path_not_admitted");
  const normal = segments.join("/");
  const target = targetOf(normal, joinPath(ground.root, normal), refusalOf(ground, segments));
  paths.set(target.requirement, segments);
  return target;
}

function targetOf(path: string, canonical: string, refusal: DenialCode | undefined): ArtifactTarget {
  const requirement: Requirement = Object.freeze({
    kind: "filesystem.write",
    target: canonical,
    description: path,
    ...(refusal === undefined ? {} : { refusal }),
  });
  return Object.freeze({ requirement, path });
}

/**
 * Why a file may not be created at a place, as a reason slug; `undefined` if it may. Looks at every component that
 * exists, from the root down, so that the tail of a path is only ever appended to a real folder.
 */
function refusalOf({ root, isProtected }: Ground, segments: readonly string[]): DenialCode | undefined {
  const target = joinPath(root, segments.join("/"));
  if (isProtected(target)) return "protected_path";
  const rootInfo = lookAt(root);
  if (rootInfo === undefined) return nearestIsCanonical(root) ? undefined : "symlink_refused";
  if (rootInfo.isSymlink) return "symlink_refused";
  if (!rootInfo.isDirectory) return "artifact_path_not_admitted";
  let deepest = root;
  for (const [index, segment] of segments.entries()) {
    const place = joinPath(deepest, segment);
    const info = lookAt(place);
    if (info === undefined) break;
    if (info.isSymlink) return "symlink_refused";
    if (index === segments.length - 1) return "artifact_overwrite_denied";
    if (!info.isDirectory) return "artifact_path_not_admitted";
    deepest = place;
  }
  // Also refuses a second spelling of an existing folder where the file system folds case or composition.
  return isCanonical(deepest) ? undefined : "symlink_refused";
}

/**
 * Whether the nearest folder above a missing one is spelled without a link. Folders above the write root may lie outside
 * of what this process may look at: then what the compiler found stands, and the root is looked at once it is made.
 */
function nearestIsCanonical(path: string): boolean {
  let place = path;
  while (place !== "/" && !isThereOrHidden(place)) place = parentOf(place);
  return isCanonicalOrHidden(place);
}

function isThereOrHidden(path: string): boolean {
  try {
    return lookAt(path) !== undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) return true;
    throw error;
  }
}

function isCanonicalOrHidden(path: string): boolean {
  try {
    Deno.lstatSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) return true;
    throw error;
  }
  return isCanonical(path);
}

function write(
  run: RunContext,
  call: CallContext,
  ground: Ground | undefined,
  segments: readonly string[] | undefined,
  target: ArtifactTarget,
  bytes: Uint8Array<ArrayBuffer>,
): void {
  assertGranted(call, target);
  call.signal.throwIfAborted();
  if (ground === undefined || segments === undefined) throw deny(call, "not_in_request");
  ground.written.reserve(bytes.length, `artifact "${target.path}"`);
  try {
    // Everything is looked at again: the answer of the preparation is as old as the gate and the record took.
    const refusal = refusalOf(ground, segments);
    if (refusal !== undefined) throw deny(call, refusal);
    const folder = joinPath(ground.root, segments.slice(0, -1).join("/"));
    makeFolder(call, folder);
    createWhole(call, { folder, name: segments.at(-1) ?? "", temp: tempName(run) }, bytes);
  } catch (error) {
    ground.written.release(bytes.length);
    if (error instanceof DenialError) throw error;
    const message = error instanceof Deno.errors.NotCapable || error instanceof Deno.errors.PermissionDenied
      ? "this user or process may not write there"
      : "the file system did not take it";
    throw new ToolError("artifact_write_failed", `Cannot write artifact "${target.path}": ${message}`, {
      cause: error,
    });
  }
}

/**
 * Makes an absolute folder and the ones above it that are missing, one at a time, each in a real folder. Returns those
 * that were made, the outermost first.
 *
 * @throws {DenialError} `symlink_refused` if a link leads to the folder.
 */
export function makeFolder(call: CallContext, folder: string): readonly string[] {
  const missing: string[] = [];
  for (let place = folder; place !== "/" && !isThereOrHidden(place); place = parentOf(place)) missing.push(place);
  for (const place of missing.reverse()) {
    if (!isCanonicalOrHidden(parentOf(place))) throw deny(call, "symlink_refused");
    try {
      Deno.mkdirSync(place);
    } catch (error) {
      if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    }
  }
  if (!isCanonical(folder)) throw deny(call, "symlink_refused");
  return missing;
}

/**
 * Creates a file under a temporary name, fills it, and links it to its own name: the link fails where that name exists,
 * so of two writers one wins and none overwrites. The place is proven before the first byte is written and again before
 * the name is given.
 */
function createWhole(
  call: CallContext,
  { folder, name, temp: tempName }: { readonly folder: string; readonly name: string; readonly temp: string },
  bytes: Uint8Array<ArrayBuffer>,
): void {
  const temp = joinPath(folder, tempName);
  const target = joinPath(folder, name);
  using file = Deno.openSync(temp, { write: true, createNew: true, mode: FILE_MODE });
  try {
    const held = file.statSync();
    if (!isStillAt(temp, held)) throw deny(call, "symlink_refused");
    for (let done = 0; done < bytes.length;) done += file.writeSync(bytes.subarray(done));
    file.syncDataSync();
    if (!isStillAt(temp, held)) throw deny(call, "symlink_refused");
    Deno.linkSync(temp, target);
    if (!isStillAt(target, held)) throw deny(call, "symlink_refused");
  } catch (error) {
    throw error instanceof Deno.errors.AlreadyExists ? deny(call, "artifact_overwrite_denied") : error;
  } finally {
    removeQuietly(temp);
  }
}
