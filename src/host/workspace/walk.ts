/**
 * Walks folders of the workspace and says which files are in the set that a look asks for: one rule for every tool.
 *
 * Links are never followed, `.git` is never entered, and the gate decides on every file and folder as it would if the
 * agent had named it. What is left out is counted by reason, and never named.
 *
 * @module
 */
import { isInside, nameOf, parentOf, relativeTo } from "../../authority/path.ts";
import type { FileSet } from "../../tool/powers.ts";
import type { CallContext } from "../context.ts";
import type { enterIgnoreScope, IgnoreScope } from "../gitignore.ts";
import { isCanonical, isPathError, joinPath, lookAt } from "../path_proof.ts";
import type { Place, WorkspaceRoot } from "./place.ts";
import type { WorkspaceContext } from "./workspace.ts";

/** A file that is in the set. */
export interface WalkedFile {
  /** As agents see it. */
  readonly shown: string;
  /** Absolute. No link was in it when its folder was read. */
  readonly canonical: string;
}

/** Why names are left out. */
export type SkipReason =
  | "approval_required"
  | "binary"
  | "changed"
  | "denied"
  | "hidden"
  | "ignored"
  | "link"
  | "oversized"
  | "special"
  | "too_costly"
  | "unreadable";

/** How many names were left out, by reason; a folder that was not entered is one. */
export class Skips {
  readonly #counts = new Map<SkipReason, number>();

  /** Counts one more. */
  add(reason: SkipReason): void {
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
  }

  /** The counts, in the order of their names. */
  toJSON(): Record<string, number> {
    return Object.fromEntries([...this.#counts].sort(([a], [b]) => a < b ? -1 : 1));
  }
}

/** Reads ignore files; absent where they do not count. */
type EnterScope = typeof enterIgnoreScope;

/** What a walk shares with the look that it is part of. */
export interface Look {
  readonly context: WorkspaceContext;
  readonly call: CallContext;
  readonly files: FileSet;
  readonly skips: Skips;
}

/** The scope of a tree in which no ignore file was found yet. */
const NOTHING_IGNORED: IgnoreScope = { rules: [], ignores: () => false };

/** A folder that is being walked. */
interface Level {
  readonly canonical: string;
  /** What stands before a name in it when it is shown; empty, or with a `/` at its end. */
  readonly shown: string;
  /** As above, for the patterns of the look. */
  readonly pattern: string;
  /** As above, for ignore files. */
  readonly ignore: string;
  readonly scope: IgnoreScope;
  readonly children: readonly Deno.DirEntry[];
  next: number;
}

/**
 * The files below one place in the order of their shown paths, each once. `null` stands for a step without a file, so
 * that whoever asks can look at the clock.
 *
 * @throws {Deno.errors.NotFound} If the place is gone.
 */
export async function startWalk(look: Look, place: Place): Promise<Generator<WalkedFile | null>> {
  if (look.files.ignored) return walk(look, place, undefined);
  const { enterIgnoreScope } = await import("../gitignore.ts");
  return walk(look, place, enterIgnoreScope);
}

function* walk(look: Look, place: Place, enter: EnterScope | undefined): Generator<WalkedFile | null> {
  const { files, skips } = look;
  const info = Deno.lstatSync(place.canonical);
  if (!info.isDirectory) {
    // The agent or the policy named this very file, so neither a dot nor an ignore file speaks against it.
    if (files.wants(place.prefix?.slice(0, -1) ?? nameOf(place.canonical))) {
      yield { shown: place.shown, canonical: place.canonical };
    }
    return;
  }
  const start = enter === undefined ? { ignore: "", scope: NOTHING_IGNORED } : scopeAbove(look, place, enter);
  if (start === undefined) return skips.add("ignored");
  const first = openLevel(look, {
    canonical: place.canonical,
    shown: place.shown === "." ? "" : `${place.shown}/`,
    pattern: place.prefix ?? "",
    ...start,
  }, enter);
  const levels = first === undefined ? [] : [first];
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    const child = level.children[level.next++];
    if (child === undefined) {
      levels.pop();
      yield null;
      continue;
    }
    if (!isWanted(look, level, child)) continue;
    const canonical = joinPath(level.canonical, child.name);
    const refusal = decide(look, level, child, canonical);
    if (refusal !== undefined) {
      skips.add(refusal);
    } else if (!child.isDirectory) {
      yield { shown: level.shown + child.name, canonical };
    } else {
      const name = `${child.name}/`;
      const entered = openLevel(look, {
        canonical,
        shown: level.shown + name,
        pattern: level.pattern + name,
        ignore: level.ignore + name,
        scope: level.scope,
      }, enter);
      if (entered !== undefined) levels.push(entered);
    }
  }
}

/** Whether a name could be in the set by its text: one that is not is no loss to count. */
function isWanted({ files, skips }: Look, level: Level, child: Deno.DirEntry): boolean {
  const { name } = child;
  if (name === ".git") return false;
  const path = level.pattern + name;
  if (child.isDirectory ? !files.recursive || files.mayHold?.(path) === false : !files.wants(path)) return false;
  if (files.hidden || !name.startsWith(".")) return true;
  skips.add("hidden");
  return false;
}

/** Why a name is left out although it is wanted. */
function decide(look: Look, level: Level, child: Deno.DirEntry, canonical: string): SkipReason | undefined {
  if (child.isSymlink) return "link";
  const slash = child.isDirectory ? "/" : "";
  if (level.scope.ignores(level.ignore + child.name + slash)) return "ignored";
  if (slash === "" && !child.isFile) return "special";
  const decision = look.context.decide({
    tool: look.call.tool,
    requirements: [{ kind: "filesystem.read", target: canonical + slash, description: child.name }],
  });
  if (decision.kind === "allow") return undefined;
  return decision.kind === "ask" ? "approval_required" : "denied";
}

/** Reads a folder; `undefined` where it may not be entered, which is counted. */
function openLevel(
  { skips }: Look,
  level: Omit<Level, "children" | "next">,
  enter: EnterScope | undefined,
): Level | undefined {
  const children = readFolder(level.canonical);
  if (typeof children === "string") {
    skips.add(children);
    return undefined;
  }
  const scope = enter === undefined ? level.scope : scopeOf(level, children, enter);
  if (scope === undefined) {
    skips.add("ignored");
    return undefined;
  }
  return { ...level, scope, children, next: 0 };
}

/** The rules that hold in a folder: those around it, then those that git keeps beside the tree, then its own. */
function scopeOf(
  { canonical, ignore, scope }: Pick<Level, "canonical" | "ignore" | "scope">,
  children: readonly Pick<Deno.DirEntry, "name" | "isDirectory">[],
  enter: EnterScope,
): IgnoreScope | undefined {
  const folder = ignore.slice(0, -1);
  let inner: IgnoreScope | undefined = scope;
  if (children.some(({ name, isDirectory }) => name === ".git" && isDirectory)) {
    inner = enter(inner, folder, joinPath(canonical, ".git/info/exclude"));
  }
  if (inner !== undefined && children.some(({ name }) => name === ".gitignore")) {
    inner = enter(inner, folder, joinPath(canonical, ".gitignore"));
  }
  return inner;
}

/**
 * The rules of the folders above a place, from the top of its repository, or of the granted root around it, down to the
 * place without its own. `undefined` where they ignore the place, or cannot be read.
 */
function scopeAbove(
  { context }: Look,
  { canonical }: Place,
  enter: EnterScope,
): { readonly ignore: string; readonly scope: IgnoreScope } | undefined {
  const top = repositoryTop(outermostRoot(context.ground.roots, canonical), canonical);
  if (!isInside(top, canonical) || top === canonical) return { ignore: "", scope: NOTHING_IGNORED };
  let scope: IgnoreScope | undefined = NOTHING_IGNORED;
  let folder = top;
  let ignore = "";
  for (const name of relativeTo(top, canonical).split("/")) {
    const names = [".git", ".gitignore"].map((name) => ({ name, isDirectory: isFolder(joinPath(folder, name)) }));
    scope = scopeOf({ canonical: folder, ignore, scope }, names, enter);
    if (scope === undefined) return undefined;
    ignore += `${name}/`;
    folder = joinPath(folder, name);
    if (scope.ignores(ignore)) return undefined;
  }
  return { ignore, scope };
}

function outermostRoot(roots: readonly WorkspaceRoot[], path: string): string {
  const around = roots.filter((root) => isInside(root.path, path));
  return around.reduce((outer, root) => root.path.length < outer.length ? root.path : outer, path);
}

/** The innermost folder at or above `path`, and not above `limit`, that holds a `.git`; `limit` where none does. */
function repositoryTop(limit: string, path: string): string {
  for (let at = path; at !== limit && isInside(limit, at); at = parentOf(at)) {
    if (quietly(() => lookAt(joinPath(at, ".git"))) !== undefined) return at;
  }
  return limit;
}

function isFolder(path: string): boolean {
  return quietly(() => lookAt(path))?.isDirectory === true;
}

/** What key 1 or this user may not look at is not there. */
function quietly<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (isPathError(error)) return undefined;
    throw error;
  }
}

/** The names in a folder, in the order of the paths that lead to what is there. */
function readFolder(canonical: string): readonly Deno.DirEntry[] | SkipReason {
  try {
    const children = [...Deno.readDirSync(canonical)];
    // A folder that became a link meanwhile would have listed names from elsewhere.
    if (!isCanonical(canonical)) return "changed";
    return children.filter(({ name }) => name.isWellFormed()).sort(byPath);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return "changed";
    if (error instanceof Deno.errors.NotCapable) return "denied";
    if (isPathError(error)) return "unreadable";
    throw error;
  }
}

/** A folder sorts as its name with a `/`: so the whole walk is in the order of the paths. */
function byPath(a: Deno.DirEntry, b: Deno.DirEntry): number {
  const [left, right] = [a.isDirectory ? `${a.name}/` : a.name, b.isDirectory ? `${b.name}/` : b.name];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Whether a walked name is still a regular file that no link leads to. */
export function isStillFile(canonical: string): boolean {
  return quietly(() => isCanonical(canonical) && Deno.lstatSync(canonical).isFile) === true;
}
