/**
 * `.gitignore` files of a tree, as git reads them: nested, the deepest and last match decides, and nothing below an
 * ignored folder can be brought back.
 *
 * @module
 */
import { type IgnoreRule, parseIgnoreRule } from "./ignore_rule.ts";
import { isPathError, isStillAt, readUpTo } from "./path_proof.ts";

/** Largest `.gitignore` that is read, in bytes; the largest published ones hold about 10 KiB. */
const MAX_IGNORE_FILE_BYTES = 262_144;

/** The ignore rules that hold in one folder. */
export interface IgnoreScope {
  /** Whether the rules ignore a path relative to the tree's root; a folder's path ends with `/`. */
  ignores(path: string): boolean;
  /**
   * The scope of a folder below, with the rules of its own `.gitignore` added. `undefined` when that file is there but
   * cannot be taken into account (too large, unreadable, a rule of too many components): the folder must then be treated as ignored.
   */
  enter(folder: string, gitignore: string): IgnoreScope | undefined;
}

/** The scope of a tree in which nothing is ignored yet. */
export function rootIgnoreScope(): IgnoreScope {
  return scopeOf([]);
}

/** A rule, and how many folders lie above its file. */
interface PlacedRule {
  readonly rule: IgnoreRule;
  readonly depth: number;
}

function scopeOf(rules: readonly PlacedRule[]): IgnoreScope {
  return {
    ignores: (path) => {
      const isFolder = path.endsWith("/");
      const components = (isFolder ? path.slice(0, -1) : path).split("/");
      // The last rule that matches decides; the rules of deeper files come later.
      const placed = rules.findLast(({ rule, depth }) =>
        rule.matches(depth === 0 ? components : components.slice(depth), isFolder)
      );
      return placed !== undefined && !placed.rule.negated;
    },
    enter: (folder, gitignore) => {
      const text = readIgnoreFile(gitignore);
      if (text === undefined) return undefined;
      const own = parseIgnoreFile(text);
      if (own === undefined) return undefined;
      const depth = folder === "" ? 0 : folder.split("/").length;
      return scopeOf([...rules, ...own.map((rule) => ({ rule, depth }))]);
    },
  };
}

/** The rules of a file; `undefined` if it holds one that cannot be taken into account. */
function parseIgnoreFile(text: string): readonly IgnoreRule[] | undefined {
  try {
    return text.split(/\r?\n/).flatMap((line) => parseIgnoreRule(line) ?? []);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** `""` for a link, as git does: the file it leads to is not part of the tree. */
function readIgnoreFile(path: string): string | undefined {
  try {
    const seen = Deno.lstatSync(path);
    if (!seen.isFile) return "";
    using file = Deno.openSync(path, { read: true });
    if (!isStillAt(path, file.statSync())) return undefined;
    const bytes = readUpTo(file, MAX_IGNORE_FILE_BYTES, seen.size);
    return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    if (isPathError(error)) return undefined;
    throw error;
  }
}
