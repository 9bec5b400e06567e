/**
 * Finds what a package exports under a name: the `exports` and `imports` fields of its `package.json`, with the
 * conditions `import` and `default` alone. Pure; the value is somebody else's data.
 *
 * @module
 */
import { isJsonObject, type Json, type JsonObject } from "../json.ts";

/** Conditions that hold for an agent: it is neither Node, nor Deno, nor a browser. */
const CONDITIONS: ReadonlySet<string> = new Set(["import", "default"]);

/** Levels of conditions and lists that are looked into. */
const MAX_DEPTH = 16;

/**
 * Finds what `import "pkg"` or `import "pkg/sub"` means.
 *
 * @param subpath `.` or `./sub`.
 * @returns A path inside of the package, without `./` in front; `undefined` where it exports nothing of that name.
 */
export function resolveExports(manifest: JsonObject, subpath: string): string | undefined {
  const { exports } = manifest;
  if (exports === undefined || exports === null) return withoutExports(manifest, subpath);
  const hasNames = isJsonObject(exports) && Object.keys(exports).some((key) => key.startsWith("."));
  const table: JsonObject = hasNames ? exports : { ".": exports };
  return insideOf(resolveIn(table, subpath));
}

/**
 * Finds what `import "#name"` means inside of the package.
 *
 * @returns A path that starts with `./`, or what another package is imported by; `undefined` where nothing has the name.
 */
export function resolveImports({ imports }: JsonObject, name: string): string | undefined {
  if (!isJsonObject(imports ?? null) || name === "#" || name.startsWith("#/")) return undefined;
  const target = resolveIn(imports as JsonObject, name);
  return target?.startsWith(".") === true && insideOf(target) === undefined ? undefined : target;
}

/** Before there was `exports`, a package was its `main`, and every file of it could be imported by its path. */
function withoutExports({ main }: JsonObject, subpath: string): string | undefined {
  if (subpath !== ".") return insideOf(subpath);
  if (main === undefined) return "index.js";
  if (typeof main !== "string") return undefined;
  return insideOf(main.startsWith("./") ? main : `./${main}`);
}

/** Looks a name up: as it is, else by the pattern whose start is the longest. */
function resolveIn(table: JsonObject, name: string): string | undefined {
  if (Object.hasOwn(table, name) && !name.includes("*")) return pick(table[name] ?? null, undefined, 0);
  let best: { readonly key: string; readonly start: string; readonly match: string } | undefined;
  for (const key of Object.keys(table)) {
    const [start = "", end, ...more] = key.split("*");
    if (end === undefined || more.length > 0 || !name.startsWith(start) || !name.endsWith(end)) continue;
    if (name.length <= start.length + end.length) continue;
    const isBetter = best === undefined || start.length > best.start.length ||
      (start.length === best.start.length && key.length > best.key.length);
    if (isBetter) best = { key, start, match: name.slice(start.length, name.length - end.length) };
  }
  return best === undefined ? undefined : pick(table[best.key] ?? null, best.match, 0);
}

/** Follows conditions, in the order of the file, and lists, to the first target. */
function pick(value: Json, match: string | undefined, depth: number): string | undefined {
  if (depth > MAX_DEPTH) return undefined;
  if (typeof value === "string") return match === undefined ? value : value.replaceAll("*", () => match);
  if (Array.isArray(value)) {
    for (const item of value) {
      const found = pick(item, match, depth + 1);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (!isJsonObject(value)) return undefined;
  for (const [condition, item] of Object.entries(value)) {
    if (!CONDITIONS.has(condition)) continue;
    const found = pick(item, match, depth + 1);
    if (found !== undefined) return found;
    // a condition that holds and says `null` closes the name for those behind it
    if (item === null) return undefined;
  }
  return undefined;
}

/** A target as a path inside of the package; `undefined` for one that leaves it, or means something else in a URL. */
function insideOf(target: string | undefined): string | undefined {
  if (target === undefined || !target.startsWith("./")) return undefined;
  const path = target.slice(2);
  return isPlainPath(path) ? path : undefined;
}

/** Whether a path names a file below a folder, in one way only, and not that of a package inside of it. */
export function isPlainPath(path: string): boolean {
  // deno-lint-ignore no-control-regex
  if (/[\\%?#\x00-\x1f\x7f]/.test(path)) return false;
  return path.split("/").every((segment) =>
    segment !== "" && segment !== "." && segment !== ".." && segment.toLowerCase() !== "node_modules"
  );
}
