/**
 * Paths as text: containment by component, lexical normal form, and what no path of a policy may look like. Nothing here
 * touches the disk, so that the launcher and the gate can use it without a permission.
 *
 * @module
 */

/**
 * Whether `path` is `root` or lies below it. Both are absolute and normalised; components are compared whole, so that
 * `/srv/allowed-evil` is not below `/srv/allowed` and `/a/..hidden` is below `/a`.
 */
export function isInside(root: string, path: string): boolean {
  if (path === root) return true;
  return path.startsWith(root.endsWith("/") ? root : root + "/");
}

/** The path below `root`, without a leading slash; `""` for the root itself. Only for a path {@linkcode isInside} it. */
export function relativeTo(root: string, path: string): string {
  if (path === root) return "";
  return path.slice(root.endsWith("/") ? root.length : root.length + 1);
}

/**
 * Makes a path absolute and normal: `path` is read relative to the absolute folder `base` unless it starts with `/`;
 * repeated slashes, `.` and a trailing slash go, `..` takes one component back and stops at `/`. Links are not followed.
 */
export function resolvePath(base: string, path: string): string {
  const parts: string[] = [];
  for (const part of (path.startsWith("/") ? path : `${base}/${path}`).split("/")) {
    if (part === "" || part === ".") continue;
    if (part === "..") parts.pop();
    else parts.push(part);
  }
  return "/" + parts.join("/");
}

/** The folder that holds an absolute, normal path; `/` holds itself. */
export function parentOf(path: string): string {
  const slash = path.lastIndexOf("/");
  return slash <= 0 ? "/" : path.slice(0, slash);
}

/** The last component of a normal path; `""` for `/`. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/**
 * Writes an absolute, normal path as seen from the absolute, normal folder `from`: `.` for the folder itself, `../x` for
 * what lies beside it.
 */
export function pathFrom(from: string, path: string): string {
  const a = from.split("/").filter((part) => part !== "");
  const b = path.split("/").filter((part) => part !== "");
  let same = 0;
  while (same < a.length && same < b.length && a[same] === b[same]) same++;
  const parts = [...a.slice(same).map(() => ".."), ...b.slice(same)];
  return parts.length === 0 ? "." : parts.join("/");
}

/** Whether a text holds a control character (C0, DEL, C1) or one that reorders or hides what a reader sees. */
export function hasHiddenCharacter(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x20 || (unit >= 0x7f && unit <= 0x9f)) return true;
    // line and paragraph separators, bidirectional controls, zero-width characters, the byte order mark
    if (unit === 0x2028 || unit === 0x2029 || (unit >= 0x200b && unit <= 0x200f)) return true;
    if ((unit >= 0x202a && unit <= 0x202e) || (unit >= 0x2060 && unit <= 0x2069) || unit === 0xfeff) return true;
  }
  return false;
}

/**
 * Folds names that some file system takes for one and the same to the same text: letter case, composed and decomposed
 * letters, characters that are ignored. For refusals only: there a match too many is safe.
 */
export function foldPath(path: string): string {
  // deno-lint-ignore no-control-regex
  if (/^[\x00-\x7f]*$/.test(path)) return path.toLowerCase();
  // upper case first: some letters have several lower-case forms and one upper-case form
  return path.replace(/\p{Default_Ignorable_Code_Point}/gu, "").normalize("NFKC").toUpperCase().toLowerCase();
}

/** What is wrong with a path in a policy, and what to write instead. */
export interface TextProblem {
  /** Completes `Cannot use … :`. */
  readonly problem: string;
  readonly fix: string;
}

/**
 * Says why a path may not stand in a policy, or `null`. Deno splits a list of paths at commas and knows no escape, so a
 * comma would grant two other paths.
 */
export function pathProblem(path: string): TextProblem | null {
  if (path === "") return { problem: "the path is empty", fix: 'Write "." for the folder of the policy' };
  if (path.includes("\0")) return { problem: "the path holds a NUL", fix: "Remove the NUL" };
  if (!path.isWellFormed()) return { problem: "the path is not well-formed text", fix: "Remove the lone surrogate" };
  if (hasHiddenCharacter(path)) {
    return { problem: "the path holds a control or invisible character", fix: "Rename the file or folder" };
  }
  if (path.includes(",")) {
    return {
      problem: "the path holds a comma, which would split it into two grants",
      fix: "Rename the folder, or grant the folder above it",
    };
  }
  if (path.includes("\\")) {
    return { problem: "the path holds a backslash", fix: "Separate folders with /" };
  }
  if (path.includes("${")) {
    return { problem: "the path holds ${, and nothing is filled in here", fix: "Write the path itself" };
  }
  if (path === "~" || path.startsWith("~/")) {
    return { problem: "the path starts with ~, which nothing expands", fix: "Write the path itself" };
  }
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(path)) {
    return { problem: "this is a URL, not a path", fix: "Write the path itself" };
  }
  if (/^[a-z]:/i.test(path)) return { problem: "the path starts with a drive letter", fix: "Write a path with /" };
  if (/[*?[\]{}]/.test(path)) {
    return { problem: "a path is not a pattern", fix: 'Name the folder here and put the pattern in "include"' };
  }
  if (path !== path.trim()) return { problem: "the path starts or ends with white space", fix: "Remove it" };
  return null;
}
