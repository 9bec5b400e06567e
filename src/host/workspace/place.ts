/**
 * How a path that an agent names becomes canonical for the workspace tools, and how a canonical path is shown to agents.
 *
 * An agent names a path relative to the project, as `<label>/…` below a root outside of the project, or absolute inside
 * of either. What it is shown has one of the first two forms, and leads back to the same place. Links are resolved by
 * the file system and only then compared with the roots; a link that leads out of them is refused in the same words
 * whether anything stands behind it or not.
 *
 * @module
 */
import { agentPathProblem, normalRelative } from "../../authority/agent_path.ts";
import { isInside, nameOf, parentOf, relativeTo, resolvePath } from "../../authority/path.ts";
import { absolute, type Places, type Plan } from "../../plan/plan.ts";
import { joinPath } from "../path_proof.ts";

/** A granted root as the workspace tools see it. */
export interface WorkspaceRoot {
  /** Absolute and normal; the compiler refuses a root with a link in its path. */
  readonly path: string;
  /** What stands before a shown path; `""` for a root inside the project, which needs nothing. */
  readonly label: string;
  /** Whether the policy says that the root is one file. */
  readonly isFile: boolean;
}

/** Where the workspace tools of one kind may look. */
export interface Ground {
  /** The absolute folder that plain paths are relative to. It need not be granted itself. */
  readonly project: string;
  /** Without duplicates, in the order of the policy. */
  readonly roots: readonly WorkspaceRoot[];
}

/** What a path led to at the time of asking. */
export interface Place {
  /**
   * Absolute, without links. Where nothing stands there yet, the missing names are appended to the deepest folder that
   * exists. With a `refusal`, where the text alone leads: nothing was looked up that could be told.
   */
  readonly canonical: string;
  /** As agents see it: never absolute. */
  readonly shown: string;
  /** The root that holds it, the innermost one; absent with a `refusal`. */
  readonly root?: WorkspaceRoot;
  /** What stood there; `undefined` where nothing did, or nothing that this process may look at. */
  readonly info?: Deno.FileInfo | undefined;
  /**
   * Of a folder that a look over several starts at: what stands before a path below it when a pattern is held against
   * it, with a `/` at its end unless it is empty. Absent where the agent named the place: patterns then start there.
   */
  readonly prefix?: string;
  /** `outside`: below no granted root. `link`: a link in it leads nowhere, or out of the granted roots. */
  readonly refusal?: "outside" | "link";
}

/**
 * The ground of tools that read (`browse`: the roots of `fs.read`) or also write (`edit`: those of `fs.write` as well).
 * Touches nothing.
 */
export function makeGround(
  { plan, places }: { readonly plan: Plan; readonly places: Places },
  access: "browse" | "edit",
): Ground {
  const roots = new Map<string, WorkspaceRoot>();
  const granted = access === "browse" ? plan.fs.read : [...plan.fs.read, ...plan.fs.write];
  for (const read of granted) {
    const path = absolute(read.root, places);
    const label = isInside(places.project, path) ? "" : read.label;
    if (!roots.has(path)) roots.set(path, { path, label, isFile: "file" in read && read.file === true });
  }
  return Object.freeze({ project: places.project, roots: Object.freeze([...roots.values()]) });
}

/**
 * Finds what an agent's path leads to now. Looks at nothing outside of the granted roots but the links that lead there.
 *
 * A path that {@linkcode agentPathProblem} refuses is `outside`: tools refuse it before with a better message.
 */
export function resolvePlace(ground: Ground, path: string): Place {
  const lexical = agentPathProblem(path) === null ? lexicalPath(ground, path) : undefined;
  if (lexical === undefined) {
    const shown = printable(path);
    // As it was written: resolved, it would name a folder above the project.
    return { canonical: joinPath(ground.project, shown), shown, refusal: "outside" };
  }
  const shown = showPath(ground, lexical);
  const refuse = (refusal: "outside" | "link"): Place => ({ canonical: lexical, shown, refusal });
  if (rootOf(ground, lexical) === undefined) return refuse("outside");
  const canonical = realPlace(lexical);
  const root = canonical === undefined ? undefined : rootOf(ground, canonical);
  if (canonical === undefined || root === undefined) return refuse("link");
  return { canonical, shown: showPath(ground, canonical), root, info: lookQuietly(canonical) };
}

/**
 * Shows an absolute, normal path to agents: relative to the project, or `<label>/…` below a root outside of it. Leads
 * back to the same path when an agent names it. A path that lies in neither is shown as its last name.
 */
export function showPath({ project, roots }: Ground, canonical: string): string {
  if (isInside(project, canonical)) {
    const relative = relativeTo(project, canonical);
    if (relative === "") return ".";
    // A label would be read as the root outside that has it.
    const isTaken = roots.some(({ label }) => label !== "" && isInside(label, relative));
    return isTaken ? `./${relative}` : relative;
  }
  const root = rootOf({ project, roots }, canonical);
  if (root === undefined) return nameOf(canonical);
  return root.isFile && root.path === canonical ? root.label : joinShown(root.label, relativeTo(root.path, canonical));
}

/** The innermost granted root that holds an absolute, normal path. */
export function rootOf({ roots }: Ground, path: string): WorkspaceRoot | undefined {
  let found: WorkspaceRoot | undefined;
  for (const root of roots) {
    if (isInside(root.path, path) && (found === undefined || root.path.length > found.path.length)) found = root;
  }
  return found;
}

/**
 * Where a path leads by its text: absolute and normal. `undefined` where a `..` leads out. A name that starts with the
 * label of a root outside the project means that root; with `./` in front it means the project.
 */
export function lexicalPath({ project, roots }: Ground, path: string): string | undefined {
  if (path.startsWith("/")) return resolvePath("/", path);
  const relative = normalRelative(path);
  if (relative === undefined) return undefined;
  if (!path.startsWith("./")) {
    const outside = roots.find(({ label }) => label !== "" && isInside(label, relative));
    if (outside !== undefined) return joinPath(outside.path, relativeTo(outside.label, relative));
  }
  return joinPath(project, relative);
}

/** A path without links; `undefined` where a link in it leads nowhere or where this process may not look. */
function realPlace(path: string): string | undefined {
  const missing: string[] = [];
  for (let at = path;; at = parentOf(at)) {
    const real = realQuietly(at);
    if (real !== undefined) {
      const first = missing.at(-1);
      // Something stands where nothing could be resolved: a link, whatever it leads to.
      if (first !== undefined && lookQuietly(joinPath(real, first))?.isSymlink === true) return undefined;
      return missing.reduceRight(joinPath, real);
    }
    if (at === "/") return undefined;
    missing.push(nameOf(at));
  }
}

/** Every failure counts as one: which one it is would tell what stands behind a link. */
function realQuietly(path: string): string | undefined {
  try {
    return Deno.realPathSync(path);
  } catch {
    return undefined;
  }
}

function lookQuietly(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.lstatSync(path);
  } catch {
    return undefined;
  }
}

function joinShown(label: string, relative: string): string {
  return relative === "" ? label : `${label}/${relative}`;
}

/** Text that fits a requirement and a record, whatever the agent wrote. */
export function printable(path: string): string {
  return path.replace(/\p{Cc}/gu, "\ufffd").toWellFormed().slice(0, 256).trim() || ".";
}
