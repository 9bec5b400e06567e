/**
 * The source that agents may read: collected once at the start of a run, resolved by name, and read with proof that a
 * file is still the one that was collected.
 *
 * @module
 */
import { isNamed } from "../authority/names.ts";
import { isInside, nameOf, relativeTo } from "../authority/path.ts";
import type { Requirement } from "../authority/requirement.ts";
import type { RecordBody } from "../audit/record.ts";
import { InputError } from "../errors.ts";
import { absolute, type ReadRoot } from "../plan/plan.ts";
import type { ReadPower, ResolveRead, SourceEntry, SourceTarget, SourceText, Target } from "../tool/powers.ts";
import { assertGranted, type CallContext, deny, type RunContext } from "./context.ts";
import { joinPath, readKnown, readProven } from "./path_proof.ts";
import { makePlaceMatcher } from "./place_rules.ts";
import {
  BINARY_PREFIX_BYTES,
  type Collected,
  type CollectedRoot,
  entryOf,
  makeAllowance,
  REASONS,
  walkRoot,
} from "./source_walk.ts";

/** Entries of one `fs_read_source_manifest` record, at most. */
export const MANIFEST_PART_ENTRIES = 1000;

/** The collected source of a run. */
export interface Source {
  /** Makes names canonical; the same for every call. */
  readonly resolve: ResolveRead;
  /** The power to read for one call. */
  power(call: CallContext): ReadPower;
  /**
   * The collection as record bodies: `part` (from 1) of `parts`, `root`, at most 1,000 `entries`, `counts` by kind over
   * the whole root, and `complete`: whether no limit cut it. At least one for each root.
   */
  manifestRecords(): readonly RecordBody[];
}

/** What a requirement that the resolver made stands for. */
interface Selection {
  readonly file?: Collected;
  readonly listing?: { readonly root: CollectedRoot; readonly path: string };
}

/**
 * Walks every read root of the plan, one after the other: about 25 µs a file.
 *
 * @throws {InputError} `fs_read_root_unreadable` if a root is gone or may not be looked at.
 */
export async function collectSource(run: RunContext): Promise<Source> {
  const { plan, places } = run;
  const allowance = makeAllowance(plan.budgets.readFiles, plan.budgets.readFileBytes);
  const roots: CollectedRoot[] = [];
  // In order: the roots share one allowance, and what it leaves to the last must not depend on who was faster.
  for (const read of plan.fs.read) {
    const root = openRoot(read, absolute(read.root, places));
    roots.push(root);
    try {
      const isSecret = makePlaceMatcher(plan.fs.secret, places, {
        below: root.canonical,
        isExempt: (relative) => isNamed(read.include, relative),
      });
      await walkRoot(root, { include: read.include, exclude: read.exclude, isSecret }, allowance);
    } catch (error) {
      throw rootError(read, error);
    }
  }
  const selections = new WeakMap<Requirement, Selection>();
  const unique = uniqueNames(roots);
  return Object.freeze({
    resolve: Object.freeze({
      source: (path: string, root?: string) => {
        const known = root === undefined ? unique.get(path) : undefined;
        return known === undefined ? resolveFile(roots, selections, path, root) : targetOf(selections, known);
      },
      sources: (path?: string, root?: string) => resolveListing(roots, selections, path, root),
    }),
    power: (call: CallContext) => ({
      list: (targets: readonly Target[]) => listSelected(call, selections, targets),
      read: (target: SourceTarget) => readSelected(run, call, selections, target),
    }),
    manifestRecords: () => roots.flatMap(manifestOfRoot),
  });
}

function openRoot(read: ReadRoot, given: string): CollectedRoot {
  try {
    const seen = Deno.lstatSync(given);
    // The compiler refuses a root that is a link; one that became a link since then must not lead elsewhere.
    if (seen.isSymlink) throw new Deno.errors.FilesystemLoop("the root is a symbolic link");
    if (!seen.isDirectory && !seen.isFile) throw new Deno.errors.NotADirectory("the root is a device or FIFO");
    return {
      label: read.label,
      given,
      canonical: Deno.realPathSync(given),
      isFile: seen.isFile,
      entries: new Map(),
      folders: new Set(),
    };
  } catch (error) {
    throw rootError(read, error);
  }
}

function rootError(read: ReadRoot, cause: unknown): InputError {
  return new InputError(
    "fs_read_root_unreadable",
    `Cannot collect read root "${read.label}": it must be a file or folder that is no link and that this user may read`,
    { cause },
  );
}

function select(
  selections: WeakMap<Requirement, Selection>,
  target: string,
  description: string,
  selection: Selection,
  refusal?: string,
): Requirement {
  const requirement: Requirement = Object.freeze({
    kind: "filesystem.read",
    target,
    description,
    ...(refusal === undefined ? {} : { refusal }),
  });
  selections.set(requirement, selection);
  return requirement;
}

/** A name that an agent used, as a path below each root that it may mean. */
interface Lookup {
  readonly root: CollectedRoot;
  readonly path: string;
}

/**
 * Finds where a name may lead, by text alone. Empty and `.` segments mean nothing and are dropped; a `..` segment leads
 * nowhere, and nothing is percent-decoded or case-folded.
 */
function lookUp(roots: readonly CollectedRoot[], path: string, label: string | undefined): Lookup[] {
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== ".");
  if (segments.includes("..") || path.includes("\0")) return [];
  const joined = segments.join("/");
  const candidates = roots.filter((root) => label === undefined || root.label === label);
  if (!path.startsWith("/")) return candidates.map((root) => ({ root, path: joined }));
  const full = "/" + joined;
  return candidates.flatMap((root) => {
    const base = [root.canonical, root.given].find((spelling) => isInside(spelling, full));
    if (base === undefined) return [];
    if (root.isFile) return [{ root, path: nameOf(root.canonical) }];
    return [{ root, path: relativeTo(base, full) }];
  });
}

/** The nearest folder above `path` that was found but not entered: what is below it shares its reason. */
function findBarrier({ root, path }: Lookup): Collected | undefined {
  for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
    const entry = root.entries.get(path.slice(0, end));
    if (entry !== undefined && entry.kind !== "text") return entry;
  }
  const whole = root.entries.get(".");
  return root.folders.has("") || root.isFile ? undefined : whole;
}

/** Names that stand in one root only, as they are usually written: found without asking every root. */
function uniqueNames(roots: readonly CollectedRoot[]): ReadonlyMap<string, Collected | undefined> {
  const names = new Map<string, Collected | undefined>();
  for (const { entries } of roots) {
    for (const [path, entry] of entries) names.set(path, names.has(path) ? undefined : entry);
  }
  // The reason why a whole root could not be entered is no name.
  names.delete(".");
  return names;
}

function targetOf(selections: WeakMap<Requirement, Selection>, entry: Collected): SourceTarget {
  const refusal = entry.kind === "text" ? undefined : REASONS[entry.kind];
  const requirement = select(selections, entry.canonical, entry.path, { file: entry }, refusal);
  return Object.freeze({ requirement, entry: entryOf(entry) });
}

function resolveFile(
  roots: readonly CollectedRoot[],
  selections: WeakMap<Requirement, Selection>,
  path: string,
  label: string | undefined,
): SourceTarget {
  const lookups = lookUp(roots, path, label);
  const found = lookups.flatMap((lookup) => lookup.root.entries.get(lookup.path) ?? []);
  const first = found.find((entry) => entry.kind === "text") ?? found[0];
  // An absolute name means one file, in however many roots it lies; a relative one may mean several files.
  if (first !== undefined && (found.length === 1 || path.startsWith("/"))) return targetOf(selections, first);
  const refusal = found.length > 1
    ? "fs_read_path_ambiguous"
    : refusalAt(lookups.flatMap((lookup) => findBarrier(lookup) ?? [])[0]);
  return refuse(selections, lookups, path, refusal);
}

function resolveListing(
  roots: readonly CollectedRoot[],
  selections: WeakMap<Requirement, Selection>,
  path: string | undefined,
  label: string | undefined,
): readonly Target[] {
  const lookups = lookUp(roots, path ?? ".", label);
  const found = lookups.filter(({ root, path }) => path === "" || root.folders.has(path) || root.entries.has(path));
  if (found.length === 0 && (path !== undefined || label !== undefined)) {
    const barrier = lookups.flatMap((lookup) => findBarrier(lookup) ?? [])[0];
    return [refuse(selections, lookups, path ?? ".", refusalAt(barrier))];
  }
  return found.map(({ root, path }) => {
    // Names were collected under the grant of the root, so that is what a listing of any part of it needs.
    const target = root.canonical;
    const description = path === "" ? root.label : path;
    return Object.freeze({ requirement: select(selections, target, description, { listing: { root, path } }) });
  });
}

function refusalAt(barrier: Collected | undefined): string {
  return barrier === undefined ? "fs_read_path_not_admitted" : REASONS[barrier.kind];
}

/** A target that the gate denies. Its path was not resolved: resolving would tell what exists outside the collection. */
function refuse(
  selections: WeakMap<Requirement, Selection>,
  lookups: readonly Lookup[],
  path: string,
  refusal: string,
): Target {
  const shown = path.replace(/\p{Cc}/gu, "\ufffd").trim() || ".";
  const [lookup] = lookups;
  const target = path.startsWith("/") || lookup === undefined ? shown : joinPath(lookup.root.canonical, shown);
  return Object.freeze({ requirement: select(selections, target, shown, {}, refusal) });
}

function listSelected(
  call: CallContext,
  selections: WeakMap<Requirement, Selection>,
  targets: readonly Target[],
): readonly SourceEntry[] {
  return targets.flatMap((target) => {
    assertGranted(call, target);
    const listing = selections.get(target.requirement)?.listing;
    if (listing === undefined) throw deny(call, "not_in_request");
    const { root, path } = listing;
    const entries = [...root.entries.values()];
    if (path === "") return entries.map(entryOf);
    return entries.filter((entry) => entry.path === path || entry.path.startsWith(path + "/")).map(entryOf);
  });
}

const STRICT_UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Reads one file. What comes back are the bytes of the file that was collected: same place, same file, and the same
 * bytes as at its first read, or, before that, the same size and time of change as at the walk.
 */
async function readSelected(
  run: RunContext,
  call: CallContext,
  selections: WeakMap<Requirement, Selection>,
  target: SourceTarget,
): Promise<SourceText> {
  assertGranted(call, target);
  const entry = selections.get(target.requirement)?.file;
  if (entry === undefined) throw deny(call, "not_in_request");
  if (entry.kind !== "text") throw deny(call, REASONS[entry.kind]);
  const bytes = readBytes(run, entry);
  if (bytes === undefined) throw deny(call, "content_changed");
  const sha256 = await run.sha256(bytes);
  // Compared after the wait: of two first reads that overlap, the second is held to the first.
  if (entry.hash !== undefined && entry.hash !== sha256) throw deny(call, "content_changed");
  entry.hash = sha256;
  const content = decodeText(bytes);
  if (content === undefined) {
    entry.kind = "binary";
    throw deny(call, "binary_refused");
  }
  return { path: entry.path, content, bytes: bytes.length, sha256 };
}

function readBytes(run: RunContext, entry: Collected): Uint8Array<ArrayBuffer> | undefined {
  const { identity, root, canonical } = entry;
  if (identity === undefined) return undefined;
  const limit = run.plan.budgets.readFileBytes;
  // Read before: the digest that the caller compares holds the bytes to those that were proven then.
  if (entry.hash !== undefined) return readKnown(canonical, { seen: identity.info, limit });
  const read = readProven(canonical, { root: root.canonical, seen: identity.info, limit });
  if (read === undefined) return undefined;
  const { bytes, info } = read;
  // Before the first read there is no hash to compare: a write since the walk leaves another time or length.
  const isUntouched = info.size === identity.info.size && info.mtime?.getTime() === identity.mtimeMs;
  return isUntouched ? bytes : undefined;
}

function decodeText(bytes: Uint8Array<ArrayBuffer>): string | undefined {
  if (bytes.subarray(0, BINARY_PREFIX_BYTES).includes(0)) return undefined;
  try {
    return STRICT_UTF8.decode(bytes);
  } catch {
    return undefined;
  }
}

function manifestOfRoot(root: CollectedRoot): RecordBody[] {
  const entries = [...root.entries.values()].map((collected) => {
    const { root: _, ...entry } = entryOf(collected);
    return entry;
  });
  const counts: Record<string, number> = {};
  for (const { kind } of entries) counts[kind] = (counts[kind] ?? 0) + 1;
  const complete = counts["limit"] === undefined;
  const parts = Math.max(1, Math.ceil(entries.length / MANIFEST_PART_ENTRIES));
  return Array.from({ length: parts }, (_, index): RecordBody => ({
    type: "fs_read_source_manifest",
    part: index + 1,
    parts,
    root: root.label,
    entries: entries.slice(index * MANIFEST_PART_ENTRIES, (index + 1) * MANIFEST_PART_ENTRIES),
    counts,
    complete,
  }));
}
