/**
 * Changes to the files of a workspace: named, held to what the agent has read, and published whole.
 *
 * @module
 */
import type { DenialCode } from "../../authority/denial_codes.ts";
import type { FileAccess } from "../../authority/file_access.ts";
import { agentPathProblem } from "../../authority/agent_path.ts";
import { isInside, parentOf, relativeTo, resolvePath } from "../../authority/path.ts";
import type { Requirement } from "../../authority/requirement.ts";
import { ToolError, TwokeyError } from "../../errors.ts";
import { absolute } from "../../plan/plan.ts";
import type { Changed, ChangeOptions, EditPower, EditTarget, Made, ResolveEdit, Target } from "../../tool/powers.ts";
import { artifactSegments, makeFolder } from "../artifacts.ts";
import { assertGranted, type CallContext, deny, type RunContext } from "../context.ts";
import { isCanonical, isPathError, joinPath, lookAt, sameBytes } from "../path_proof.ts";
import { makePlaceMatcher, type PlaceMatcher } from "../place_rules.ts";
import { sweepFolder, TEMP_MAX_AGE_MS, tempName } from "../temp_files.ts";
import type { WrittenBytes } from "../written_bytes.ts";
import { type HeldFolder, holdFolder } from "./folder_lock.ts";
import type { Observations } from "./observations.ts";
import { Permits, type Turn } from "./permits.ts";
import { type Ground, lexicalPath, makeGround, printable, showPath } from "./place.ts";
import { type CurrentFile, publish, PublishError, type PublishRefusal, readCurrent, syncParents } from "./publish.ts";

/** Names that the sweep at the start of a run looks at, at most: about 30 ms. */
const MAX_SWEPT_AT_START = 10_000;

/** Names that the sweep of one folder looks at, at most. */
const MAX_SWEPT_IN_FOLDER = 100_000;

/** What the changes of a run share with its other parts. */
export interface ChangeContext {
  readonly run: RunContext;
  /** What the agent was shown; changes are held to it and refresh it. */
  readonly observations: Observations;
  /** The budget that all tools of the run write from. */
  readonly written: WrittenBytes;
}

/** The changing side of a workspace. */
export interface Changes {
  /** Makes names canonical; the same for every call. */
  readonly resolve: ResolveEdit;
  /** The power to change files for one call. */
  power(call: CallContext): EditPower;
  /** Puts the calls of a run in line; a tool that touches no file as it is now needs no place in it. */
  turn(access: FileAccess | undefined): Turn | undefined;
}

/** A write root as this run uses it. */
interface Root {
  /** Absolute; a link nowhere in it, or every use is refused. */
  readonly path: string;
  readonly isProtected: PlaceMatcher;
}

/** A file that is to be changed. */
interface Place {
  readonly root: Root;
  /** Absolute and normal. */
  readonly path: string;
}

/** Everything that a change needs to know. */
interface Changing extends ChangeContext {
  readonly ground: Ground;
  readonly roots: readonly Root[];
  readonly places: WeakMap<Requirement, Place>;
  /** Folders that were swept. */
  readonly swept: Set<string>;
}

/** Opens the changing side of a run, and removes what a killed one left half-written. */
export function openChanges(context: ChangeContext): Changes {
  const { plan, places } = context.run;
  const roots = plan.fs.write.map(({ root }): Root => {
    const path = absolute(root, places);
    return {
      path,
      isProtected: makePlaceMatcher(plan.fs.protected, places, { below: path, followPlaces: true }),
    };
  });
  const changing: Changing = {
    ...context,
    ground: makeGround(context.run, "edit"),
    roots,
    places: new WeakMap(),
    swept: new Set(),
  };
  const names = { left: MAX_SWEPT_AT_START };
  for (const { path } of roots) sweepFolder(path, { before: Date.now() - TEMP_MAX_AGE_MS, names });
  const permits = new Permits();
  return Object.freeze({
    turn: (access: FileAccess | undefined) => access === undefined || access === "read" ? undefined : permits.open(),
    resolve: Object.freeze({
      fileToChange: (path: string) => resolveTarget(changing, path),
      sameFileToRead: (target: EditTarget) => readTarget(target),
    }),
    power: (call: CallContext) => ({
      change: <T>(
        target: EditTarget,
        options: ChangeOptions,
        make: (before: Uint8Array<ArrayBuffer> | undefined, limit: number) => Made<T>,
      ) => change(changing, call, { target, options, make }),
    }),
  });
}

function resolveTarget(changing: Changing, name: string): EditTarget {
  const { ground, roots } = changing;
  const path = agentPathProblem(name) === null ? lexicalPath(ground, name) : undefined;
  if (path === undefined) {
    const shown = printable(name);
    return targetOf(shown, resolvePath(ground.project, `./${shown}`), refusalWithoutPlace(changing));
  }
  const shown = showPath(ground, path);
  const root = innermost(roots, path);
  if (root === undefined) return targetOf(shown, path, refusalWithoutPlace(changing));
  const place = { root, path };
  const target = targetOf(shown, path, refusalOf(place));
  changing.places.set(target.requirement, place);
  return target;
}

function refusalWithoutPlace({ roots }: Changing): DenialCode {
  return roots.length === 0 ? "artifact_root_not_configured" : "artifact_path_not_admitted";
}

function innermost(roots: readonly Root[], path: string): Root | undefined {
  let found: Root | undefined;
  for (const root of roots) {
    if (root.path === path || !isInside(root.path, path)) continue;
    if (found === undefined || root.path.length > found.path.length) found = root;
  }
  return found;
}

function targetOf(path: string, canonical: string, refusal: DenialCode | undefined): EditTarget {
  const requirement: Requirement = Object.freeze({
    kind: "filesystem.write",
    target: canonical,
    description: path,
    ...(refusal === undefined ? {} : { refusal }),
  });
  return Object.freeze({ requirement, path });
}

function readTarget({ requirement: { target, description } }: EditTarget): Target {
  return Object.freeze({ requirement: Object.freeze({ kind: "filesystem.read", target, description }) });
}

/**
 * Why no file at a place may be changed, as a reason slug; `undefined` if one may. Looks at every component that exists,
 * from the root down, so that neither the file nor a folder above it is a link.
 */
function refusalOf(place: Place): DenialCode | undefined {
  try {
    return refusalAt(place);
  } catch (error) {
    if (isPathError(error)) return "artifact_path_not_admitted";
    throw error;
  }
}

function refusalAt({ root, path }: Place): DenialCode | undefined {
  const segments = artifactSegments(relativeTo(root.path, path));
  if (segments === undefined) return "artifact_path_not_admitted";
  if (root.isProtected(path)) return "protected_path";
  let deepest = root.path;
  for (const [index, segment] of ["", ...segments].entries()) {
    const at = joinPath(deepest, segment);
    const info = lookAt(at);
    if (info === undefined) break;
    if (info.isSymlink) return "symlink_refused";
    if (!info.isDirectory && index < segments.length) return "artifact_path_not_admitted";
    deepest = at;
  }
  // Also refuses a second spelling of an existing name where the file system folds case or composition.
  return lookAt(deepest) === undefined || isCanonical(deepest) ? undefined : "symlink_refused";
}

/** One change. */
interface Wish<T> {
  readonly target: EditTarget;
  readonly options: ChangeOptions;
  make(before: Uint8Array<ArrayBuffer> | undefined, limit: number): Made<T>;
}

async function change<T>(changing: Changing, call: CallContext, wish: Wish<T>): Promise<Changed<T>> {
  const { target, options } = wish;
  assertGranted(call, target);
  if (options.read !== undefined) assertGranted(call, options.read);
  call.signal.throwIfAborted();
  const place = changing.places.get(target.requirement);
  if (place === undefined) throw deny(call, "not_in_request");
  const placed = { ...wish, place };
  try {
    return await changeHeld(changing, call, placed);
  } catch (error) {
    if (error instanceof PublishError) throw publishProblem(changing, call, placed, error.refusal);
    if (error instanceof TwokeyError || call.signal.aborted) throw error;
    const problem = error instanceof Deno.errors.NotCapable || error instanceof Deno.errors.PermissionDenied
      ? "this user or process may not write there"
      : "the file system did not take it";
    throw fail(wish, "write_failed", problem, error);
  }
}

/** A change at a place. */
type Placed<T> = Wish<T> & { readonly place: Place };

async function changeHeld<T>(changing: Changing, call: CallContext, wish: Placed<T>): Promise<Changed<T>> {
  const { path } = wish.place;
  // Everything is looked at again: the answer of the preparation is as old as the gate and the record took.
  const refusal = refusalOf(wish.place);
  if (refusal !== undefined) throw deny(call, refusal);
  const folderPath = parentOf(path);
  if (lookAt(folderPath) === undefined) {
    expectAbsent(changing, wish);
    await syncParents(makeFolder(call, folderPath));
  }
  using folder = await holdFolder(folderPath, call.signal);
  if (folder === undefined) throw deny(call, "symlink_refused");
  sweepOnce(changing, folderPath);
  const before = readExpected(changing, call, wish);
  const limit = changing.run.plan.budgets.editFileBytes;
  const { bytes, describe } = await makeContent(wish, before, limit);
  const isSame = before !== undefined && sameBytes(before.bytes, bytes);
  const examine = once(async () => {
    const sha256Before = await before?.verify() ?? null;
    const sha256 = isSame && sha256Before !== null ? sha256Before : await changing.run.sha256(bytes);
    return { sha256Before, sha256, description: describe() };
  });
  const writes = !isSame && !wish.options.dryRun;
  // Examined while the disk is at work, and before the file gets its new content.
  if (writes) await write(changing, call, { wish, folder, before, bytes, ready: examine });
  const { sha256Before, sha256, description } = await examine();
  if (writes) changing.observations.set(path, { sha256, complete: knowsAll(changing, wish, before) });
  const changed: Changed<T> = {
    path: wish.target.path,
    created: before === undefined,
    changed: !isSame,
    bytes: bytes.length,
    sha256,
    sha256Before,
    description,
  };
  call.note({
    path: changed.path,
    bytes: changed.bytes,
    sha256_before: sha256Before,
    sha256_after: sha256,
    ...(writes ? { written_bytes: bytes.length } : {}),
  });
  return changed;
}

/** Makes the new content. What is wrong with a file that is no longer the known one is that, whatever else is. */
async function makeContent<T>(wish: Placed<T>, before: KnownFile | undefined, limit: number): Promise<Made<T>> {
  try {
    const made = wish.make(before?.bytes, limit);
    if (made.bytes.length <= limit) return made;
    throw fail(wish, "too_large", `it would have ${made.bytes.length} bytes, the budget editFileBytes is ${limit}`);
  } catch (error) {
    await before?.verify();
    throw error;
  }
}

/** Whether the agent knows all of the file after its change: what it was shown in part it still knows in part. */
function knowsAll<T>(
  { observations }: Changing,
  { options, place }: Placed<T>,
  before: CurrentFile | undefined,
): boolean {
  return options.known === "all" || before === undefined || observations.get(place.path)?.complete === true;
}

function once<T>(act: () => Promise<T>): () => Promise<T> {
  let done: Promise<T> | undefined;
  return () => done ??= act();
}

interface Writing<T> {
  readonly wish: Placed<T>;
  readonly folder: HeldFolder;
  readonly before: CurrentFile | undefined;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly ready: () => Promise<unknown>;
}

async function write<T>(
  { run, written }: Changing,
  { signal }: CallContext,
  { wish, folder, before, bytes, ready }: Writing<T>,
): Promise<void> {
  const { place: { path }, target } = wish;
  written.reserve(bytes.length, `"${target.path}"`);
  try {
    await publish({ path, folder, temp: tempName(run), bytes, before, ready, signal });
  } catch (error) {
    written.release(bytes.length);
    throw error;
  }
}

/** A file that the agent knows, if its digest says so. */
interface KnownFile extends CurrentFile {
  /** Digests the file: 64 hexadecimal digits. @throws {ToolError} `stale` if it is not what the agent knows. */
  verify(): Promise<string>;
}

/**
 * Reads what is to be changed, if the agent knows it. `undefined` where nothing is there.
 *
 * @throws {ToolError} `not_read`, `stale`, `file_not_found`, `not_a_file`, `not_replaceable` or `too_large`.
 */
function readExpected<T>(changing: Changing, call: CallContext, wish: Placed<T>): KnownFile | undefined {
  const { run, observations } = changing;
  const { path } = wish.place;
  const current = readCurrent(path, run.plan.budgets.editFileBytes);
  switch (current.kind) {
    case "absent":
      expectAbsent(changing, wish);
      return undefined;
    case "denied":
      throw deny(call, current.code);
    case "refused":
      throw fail(wish, current.code, current.what);
    case "file":
      break;
  }
  const seen = observations.get(path);
  const { known, expectedSha256 } = wish.options;
  const wasShown = seen !== undefined && (seen.complete || known === "lines");
  if (expectedSha256 === undefined && !wasShown) {
    const what = known === "all" ? "this run has not read all of it" : "this run has not read it";
    throw fail(wish, "not_read", `${what}; read it with ReadFile, or give "expected_sha256"`);
  }
  const { file } = current;
  const verify = async (): Promise<string> => {
    const sha256 = await run.sha256(file.bytes);
    if (sha256 === (expectedSha256 ?? seen?.sha256)) return sha256;
    throw stale(changing, wish, "it is no longer what was read; read it again");
  };
  return { ...file, verify };
}

/** Nothing is there: that is a new file, unless one was there before or had to be. */
function expectAbsent<T>(changing: Changing, wish: Placed<T>): void {
  const { options, place } = wish;
  const seen = changing.observations.get(place.path)?.sha256 ?? null;
  if (seen !== null || options.expectedSha256 !== undefined) throw stale(changing, wish, "it is gone; look again");
  if (options.mustExist) throw fail(wish, "file_not_found", "there is no such file");
}

function stale<T>({ observations }: Changing, wish: Placed<T>, problem: string): ToolError {
  observations.delete(wish.place.path);
  return fail(wish, "stale", problem);
}

function fail<T>({ options, target }: Wish<T>, code: string, problem: string, cause?: unknown): ToolError {
  const message = `Cannot ${options.verb} "${target.path}": ${problem}`;
  return new ToolError(code, message, { fields: { path: target.path }, ...(cause === undefined ? {} : { cause }) });
}

function publishProblem<T>(changing: Changing, call: CallContext, wish: Placed<T>, refusal: PublishRefusal): Error {
  switch (refusal) {
    case "symlink_refused":
      return deny(call, refusal);
    case "stale":
      return stale(changing, wish, "something else changed it at the same moment; read it again");
    case "not_replaceable":
      return fail(wish, refusal, "it belongs to another user or group, and would not any more");
  }
}

/** Removes what killed runs left in a folder, once a run: the sweep at its start may not have come this far. */
function sweepOnce({ swept }: Changing, folder: string): void {
  if (swept.has(folder)) return;
  swept.add(folder);
  sweepFolder(folder, { before: Date.now() - TEMP_MAX_AGE_MS, names: { left: MAX_SWEPT_IN_FOLDER }, deep: false });
}
