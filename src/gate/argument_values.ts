/**
 * What one value of a command line may be. Pure.
 *
 * @module
 */
import { makeNameFinder, SECRET_NAMES } from "../authority/names.ts";
import { hasHiddenCharacter } from "../authority/path.ts";
import type { ValueKind } from "../plan/process_plan.ts";

/** UTF-16 units of one argument, at most. */
export const MAX_ARGUMENT = 8_192;

const MAX_REVISION = 256;

/** The runner's own folder holds logs, and its names are no secret's. */
const findSecret = makeNameFinder([...SECRET_NAMES, ".twokey"]);

/** A commit, or what it holds: no leading dash, no white space, nothing that a shell would read. */
const REVISION = /^\^?[A-Za-z0-9_@][A-Za-z0-9_@./~^{}:+-]*$/;

/**
 * Says why a value is not of a kind, as the end of a sentence; `null` if it is. No value but an attached `pattern` may
 * start with a dash: it would be read as an option.
 *
 * @param attached The value stands behind `=` in the same argument.
 */
export function valueProblem(kind: ValueKind, value: string, attached = false): string | null {
  if (typeof kind !== "string") return kind.includes(value) ? null : `must be one of ${kind.join(", ")}`;
  if (value.startsWith("-") && !(attached && kind === "pattern")) return "starts with a dash";
  switch (kind) {
    case "number":
      return /^\d{1,15}$/.test(value) ? null : "must be a whole number";
    case "revision":
      return value.length <= MAX_REVISION && REVISION.test(value) ? null : "must name a revision";
    case "path":
      return pathProblem(value);
    case "text":
    case "pattern":
      return null;
  }
}

/** Says why no program is ever handed an argument; `null` if it may be. */
export function argumentProblem(argument: string): string | null {
  if (argument.length > MAX_ARGUMENT) return `is over ${MAX_ARGUMENT} characters`;
  if (argument.includes("\0")) return "holds a NUL";
  return argument.isWellFormed() ? null : "is not well-formed text";
}

function pathProblem(path: string): string | null {
  if (path === "") return "must be a path, it is empty";
  if (path.startsWith("/") || path.startsWith("~")) return "must be a path relative to the folder of the call";
  if (hasHiddenCharacter(path)) return "must be a path without control or invisible characters";
  const components = path.split("/");
  if (components.includes("..")) return "must be a path without ..";
  const named = components.filter((part) => part !== "" && part !== ".");
  return findSecret(named) < 0 ? null : "has the name of a secret";
}
