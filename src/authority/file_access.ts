/**
 * What a tool does with files, and which of the policy's roots it needs for that.
 *
 * @module
 */

/**
 * `read`: the collected source of `fs.read`, as it was at the start of the run. `write`: new files below the first root
 * of `fs.write`. `browse`: files below `fs.read` as they are now. `edit`: as `browse`, and changes below any root of
 * `fs.write`.
 */
export type FileAccess = "read" | "write" | "browse" | "edit";

/** Whether a tool with this access reads below `fs.read`. */
export function readsFiles(access: FileAccess | undefined): boolean {
  return access === "read" || access === "browse" || access === "edit";
}

/** Whether a tool with this access writes below `fs.write`. */
export function writesFiles(access: FileAccess | undefined): boolean {
  return access === "write" || access === "edit";
}

/** Whether a tool with this access uses the roots of one kind. */
export function usesRoots(access: FileAccess | undefined, kind: "read" | "write"): boolean {
  return kind === "read" ? readsFiles(access) : writesFiles(access);
}

/** The roots without which a tool with this access could do nothing. */
export function rootsNeeded(access: FileAccess | undefined): readonly ("read" | "write")[] {
  if (access === undefined) return [];
  return writesFiles(access) ? ["write"] : ["read"];
}
