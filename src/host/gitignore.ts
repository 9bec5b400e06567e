/**
 * `.gitignore` files of a tree, as git reads them: nested, the deepest and last match decides, and nothing below an
 * ignored folder can be brought back. What a rule means is the library's; which rules hold where is decided here.
 *
 * Loaded when the first such file is found: a tree without one needs no library.
 *
 * @module
 */
import ignore from "ignore";
import { isPathError, isStillAt, readUpTo } from "./path_proof.ts";

/** Largest `.gitignore` that is read, in bytes; the largest published ones hold about 10 KiB. */
const MAX_IGNORE_FILE_BYTES = 262_144;

/**
 * Most `**` of a rule. The file is somebody else's data, and each `**` multiplies the ways to match a path by its depth;
 * published rules hold one or two.
 */
const MAX_FOLDER_WILDCARDS = 4;

/** The ignore rules that hold in one folder. */
export interface IgnoreScope {
  /** In the order in which they were read, each as it would be written in a `.gitignore` of the tree's root. */
  readonly rules: readonly string[];
  /** Whether the rules ignore a path relative to the tree's root; a folder's path ends with `/`. */
  ignores(path: string): boolean;
}

/**
 * The scope of `folder` (relative to the tree's root, `""` for the root) inside of `outer`, with the rules of its own
 * `.gitignore` added. `undefined` when that file is there but cannot be taken into account (too large, unreadable, a
 * rule of too many `**`): the folder must then be treated as ignored.
 */
export function enterIgnoreScope(outer: IgnoreScope, folder: string, gitignore: string): IgnoreScope | undefined {
  const text = readIgnoreFile(gitignore);
  if (text === undefined) return undefined;
  const own = anchorRules(text, folder);
  if (own.some((rule) => rule.split("**").length > MAX_FOLDER_WILDCARDS + 1)) return undefined;
  const rules = [...outer.rules, ...own];
  const matcher = ignore({ ignorecase: false, allowRelativePaths: true }).add(rules);
  return { rules, ignores: (path) => matcher.ignores(path) };
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
  const lines = text.split(/\r?\n/).filter((line) => !line.startsWith("#")).map(trimTrailingSpaces);
  // The library ignores a rule of nothing but marks, which the path of a folder in front would make one of everything.
  const rules = lines.filter((rule) => /[^!/]/.test(rule));
  if (folder === "") return rules;
  const prefix = "/" + escapeGlob(folder);
  return rules.map((rule) => {
    const negation = rule.startsWith("!") ? "!" : "";
    const body = rule.slice(negation.length);
    // A slash at the start or in the middle ties a rule to its folder; without one it holds at any depth below.
    const isTied = body.slice(0, -1).includes("/");
    return isTied ? `${negation}${prefix}/${body.replace(/^\//, "")}` : `${negation}${prefix}/**/${body}`;
  });
}

/** Makes every character of a path stand for itself in a rule. */
export function escapeGlob(path: string): string {
  return path.replace(/[\\*?[\] !#]/g, "\\$&");
}

function trimTrailingSpaces(line: string): string {
  let end = line.length;
  while (end > 0 && line[end - 1] === " " && line[end - 2] !== "\\") end--;
  return line.slice(0, end);
}
