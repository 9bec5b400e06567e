/**
 * Real spellings of paths that may not exist.
 *
 * @module
 */
import { nameOf, parentOf, resolvePath } from "../authority/path.ts";

/** The real spelling of a path; of something missing, that of the nearest folder above it and the rest as written. */
export function realOf(path: string): string {
  try {
    return Deno.realPathSync(path);
  } catch {
    if (path === "/") return path;
    const leaf = maybeLstat(path);
    // where a dangling link leads is not followed up: any answer but the path itself makes the compiler refuse it
    if (leaf !== "missing") return `${path} (unreachable)`;
    return resolvePath(realOf(parentOf(path)), nameOf(path));
  }
}

/** Whether anything stands at a path, a dangling link included. What cannot be looked at counts as there. */
export function maybeLstat(path: string): "missing" | "there" {
  try {
    Deno.lstatSync(path);
    return "there";
  } catch (error) {
    return error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory ? "missing" : "there";
  }
}
