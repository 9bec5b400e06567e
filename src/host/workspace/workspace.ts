/**
 * The workspace of a run: the files below the granted roots as they are now, for tools that browse and edit.
 *
 * Loaded only if a granted tool needs it.
 *
 * @module
 */
import { isInside, relativeTo } from "../../authority/path.ts";
import type { Requirement } from "../../authority/requirement.ts";
import type { DenialCode } from "../../authority/denial_codes.ts";
import type { Gate } from "../../gate/decide.ts";
import type { BrowsePower, ResolveBrowse, WorkspaceTarget } from "../../tool/powers.ts";
import { assertGranted, type CallContext, deny, type RunContext } from "../context.ts";
import { Observations } from "./observations.ts";
import { type Ground, lexicalPath, makeGround, type Place, resolvePlace, rootOf, showPath } from "./place.ts";

/** The workspace of a run. */
export interface Workspace {
  /** What the agent was shown, which changes are held to. */
  readonly observations: Observations;
  /** Makes paths canonical; the same for every call of tools with this access. */
  resolver(access: "browse" | "edit"): ResolveBrowse;
  /** The powers of one call. */
  power(access: "browse" | "edit", call: CallContext): BrowsePower;
}

/** What the tools of a workspace share. */
export interface WorkspaceContext {
  readonly run: RunContext;
  /** The host's gate: it also decides on each file that a walk finds. */
  readonly decide: Gate;
  /** Where files may be read. */
  readonly ground: Ground;
  readonly observations: Observations;
  /** The place behind each requirement that a resolver made. */
  readonly places: WeakMap<Requirement, Place>;
  readonly modules: Modules;
}

/** Modules that a call loaded: to import one again takes a turn of the event loop each time. */
export interface Modules {
  readLines?: Promise<typeof import("./read_lines.ts")>;
  findFiles?: Promise<typeof import("./find_files.ts")>;
  searchFiles?: Promise<typeof import("./search_files.ts")>;
  gitignore?: Promise<typeof import("../gitignore.ts")>;
}

/** Opens the workspace. Touches nothing yet. */
export function openWorkspace(run: RunContext, decide: Gate): Workspace {
  const context: WorkspaceContext = {
    run,
    decide,
    ground: makeGround(run, "browse"),
    observations: new Observations(),
    places: new WeakMap(),
    modules: {},
  };
  const browse: ResolveBrowse = Object.freeze({
    file: (path: string) => fileTarget(context, resolvePlace(context.ground, path)),
    trees: (path?: string) => treeTargets(context, path),
  });
  return Object.freeze({
    observations: context.observations,
    resolver: () => browse,
    power: (_access: "browse" | "edit", call: CallContext): BrowsePower => browsePower(context, call),
  });
}

function browsePower(context: WorkspaceContext, call: CallContext): BrowsePower {
  const placeOf = (target: WorkspaceTarget): Place => {
    assertGranted(call, target);
    const place = context.places.get(target.requirement);
    if (place === undefined) throw deny(call, "not_in_request");
    return place;
  };
  return {
    readLines: async (target, range) => {
      const { readLines } = await (context.modules.readLines ??= import("./read_lines.ts"));
      return readLines(context, call, placeOf(target), range);
    },
    findFiles: async (targets, files, limit) => {
      const { findFiles } = await (context.modules.findFiles ??= import("./find_files.ts"));
      return findFiles({ context, call, places: targets.map(placeOf), files }, limit);
    },
    searchFiles: async (targets, query) => {
      const { searchFiles } = await (context.modules.searchFiles ??= import("./search_files.ts"));
      return searchFiles({ context, call, places: targets.map(placeOf) }, query);
    },
  };
}

/** The target of one file that is to be read. */
export function fileTarget(context: WorkspaceContext, place: Place): WorkspaceTarget {
  return makeTarget(context, place, { target: place.canonical, refusal: readRefusal(place) });
}

function readRefusal({ refusal }: Place): DenialCode | undefined {
  if (refusal === undefined) return undefined;
  return refusal === "link" ? "symlink_refused" : "fs_read_path_not_admitted";
}

function treeTargets(context: WorkspaceContext, path: string | undefined): readonly WorkspaceTarget[] {
  const { ground } = context;
  const place = path === undefined ? undefined : resolvePlace(ground, path);
  const start = path === undefined ? ground.project : lexicalPath(ground, path);
  if (place?.refusal === "outside" || place === undefined) {
    const below = start === undefined
      ? []
      : outermost(ground).filter((root) => path === undefined || isInside(start, root));
    if (below.length > 0) return below.map((root) => treeTarget(context, rootPlace(ground, root, path ?? ".")));
    if (place === undefined) return [];
  }
  return [treeTarget(context, place)];
}

/** A root as one of several; patterns are held against paths below the folder that the agent named. */
function rootPlace(ground: Ground, root: string, named: string): Place {
  const place = resolvePlace(ground, showPath(ground, root));
  const start = lexicalPath(ground, named) ?? ground.project;
  const relative = isInside(start, root) ? relativeTo(start, root) : place.shown;
  return { ...place, prefix: relative === "" ? "" : `${relative}/` };
}

/** The granted roots that lie in no other. */
function outermost(ground: Ground): readonly string[] {
  const paths = ground.roots.map(({ path }) => path);
  const outer = paths.filter((path) => !paths.some((other) => other !== path && isInside(other, path)));
  // In the order in which agents see what lies below them.
  const key = (path: string) => `${showPath(ground, path)}/`;
  return outer.toSorted((a, b) => key(a) < key(b) ? -1 : 1);
}

/** A folder stands for all below it, and its target says so with a slash at its end. */
function treeTarget(context: WorkspaceContext, place: Place): WorkspaceTarget {
  const isFile = place.info !== undefined && !place.info.isDirectory;
  const target = isFile || place.canonical === "/" ? place.canonical : `${place.canonical}/`;
  const refusal = readRefusal(place) ?? (isBelowGit(context, place) ? "gitignore_default" : undefined);
  return makeTarget(context, place, { target, refusal });
}

/** Git's own files are no part of a workspace. */
function isBelowGit({ ground }: WorkspaceContext, { canonical }: Place): boolean {
  const root = rootOf(ground, canonical);
  return root !== undefined && canonical.slice(root.path.length).split("/").includes(".git");
}

function makeTarget(
  { places }: WorkspaceContext,
  place: Place,
  { target, refusal }: { readonly target: string; readonly refusal: DenialCode | undefined },
): WorkspaceTarget {
  const requirement: Requirement = Object.freeze({
    kind: "filesystem.read",
    target,
    description: place.shown,
    ...(refusal === undefined ? {} : { refusal }),
  });
  places.set(requirement, place);
  return Object.freeze({ requirement, path: place.shown });
}
