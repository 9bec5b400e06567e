/**
 * `.gitignore` files of a tree, as git reads them: nested, the deepest and last match decides, and nothing below an
 * ignored folder can be brought back.
 *
 * @module
 */
import ignore from "ignore";
import { isPathError, isStillAt, readUpTo } from "./path_proof.ts";

/** Largest `.gitignore` that is read, in bytes; the largest published ones hold about 10 KiB. */
const MAX_IGNORE_FILE_BYTES = 262_144;

/** The ignore rules that hold in one folder. */
export interface IgnoreScope {
  /** Whether the rules ignore a path relative to the tree's root; a folder's path ends with `/`. */
  ignores(path: string): boolean;
  /**
   * The scope of a folder below, with the rules of its own `.gitignore` added. `undefined` when that file is there but
   * cannot be taken into account (too large, unreadable): the folder must then be treated as ignored.
   */
  enter(folder: string, gitignore: string): IgnoreScope | undefined;
}

/** The scope of a tree in which nothing is ignored yet. */
export function rootIgnoreScope(): IgnoreScope {
  return scopeOf([]);
}

function scopeOf(lines: readonly string[]): IgnoreScope {
  const rules = ignore({ ignorecase: false, allowRelativePaths: true }).add(lines);
  return {
    ignores: (path) => lines.length > 0 && rules.ignores(path),
    enter: (folder, gitignore) => {
      const text = readIgnoreFile(gitignore);
      return text === undefined ? undefined : scopeOf([...lines, ...anchorRules(text, folder)]);
    },
  };
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

/**
 * Rewrites the rules of a nested `.gitignore` so that they mean the same at the root of the tree. `folder` is relative
 * to it, without a slash at the end, and empty for the root itself.
 */
export function anchorRules(text: string, folder: string): string[] {
  const prefix = folder === "" ? "" : "/" + escapeGlob(folder);
  const rules: string[] = [];
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith("#")) continue;
    const rule = trimTrailingSpaces(line);
    if (rule === "" || prefix === "") {
      if (rule !== "") rules.push(rule);
      continue;
    }
    const negated = rule.startsWith("!");
    const body = negated ? rule.slice(1) : rule;
    // A slash at the start or in the middle ties a rule to its folder; without one it holds at any depth below.
    const tied = body.slice(0, -1).includes("/");
    const anchored = tied ? `${prefix}/${body.replace(/^\//, "")}` : `${prefix}/**/${body}`;
    rules.push(negated ? "!" + anchored : anchored);
  }
  return rules;
}

/** Makes every character of a path stand for itself in a glob. */
export function escapeGlob(path: string): string {
  return path.replace(/[\\*?[\] !#]/g, "\\$&");
}

function trimTrailingSpaces(line: string): string {
  let end = line.length;
  while (end > 0 && line[end - 1] === " " && line[end - 2] !== "\\") end--;
  return line.slice(0, end);
}
