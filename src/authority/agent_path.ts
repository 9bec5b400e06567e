/**
 * Paths as agents write them, judged by their text alone.
 *
 * @module
 */

/** Longest path, in UTF-16 units: `PATH_MAX` of Linux. */
export const MAX_AGENT_PATH_UNITS = 4096;

/**
 * Says why a text cannot be a path, or `null`: completes `"path" must be a path, …`. Nothing is said of where the path
 * leads. A control character is refused because a name with one cannot be shown on one line of a list or of a log.
 */
export function agentPathProblem(path: string): string | null {
  if (path === "") return "it is empty";
  if (path.length > MAX_AGENT_PATH_UNITS) return `it has more than ${MAX_AGENT_PATH_UNITS} characters`;
  if (!path.isWellFormed()) return "it holds half of a surrogate pair";
  if (/\p{Cc}/u.test(path)) return path.includes("\0") ? "it holds a NUL" : "it holds a control character";
  return null;
}

/**
 * Resolves `.`, `..`, repeated and trailing slashes of a relative path, by text. `undefined` where a `..` leads above the
 * start; `""` for the start itself.
 */
export function normalRelative(path: string): string | undefined {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.pop() === undefined) return undefined;
  }
  return parts.join("/");
}
