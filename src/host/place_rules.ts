/**
 * Rules about places that stand under every grant: what no tool may write, what no tool may read.
 *
 * @module
 */
import { makeGlob } from "../authority/glob.ts";
import { isInside, relativeTo } from "../authority/path.ts";
import { absolute, type Places, type PortablePath } from "../plan/plan.ts";

/** Whether an absolute, normal path is one of the places or lies below one. */
export type PlaceMatcher = (path: string) => boolean;

/** Options of {@linkcode makePlaceMatcher}. */
export interface PlaceOptions {
  /** The absolute folder below which patterns without a place match, at any depth unless they hold a slash. */
  readonly below: string;
  /** Also match what a place leads to at the time of asking, where it is or goes through a link. */
  readonly followPlaces?: boolean;
}

/**
 * Compiles a list of places. An entry is a portable or absolute path, maybe with wildcards in its last components, or a
 * pattern without a place (`.env*`). A place is matched by name, whether it exists or not, and under any spelling that a
 * case-folding or normalising file system would take for the same name: the rules refuse, so a match too many is safe.
 */
export function makePlaceMatcher(
  entries: readonly PortablePath[],
  places: Places,
  options: PlaceOptions,
): PlaceMatcher {
  const literals: string[] = [];
  const globs: { readonly base: string; readonly matches: (path: string) => boolean }[] = [];
  for (const entry of entries) {
    const path = absolute(entry, places).replace(/\/+$/, "");
    if (!path.startsWith("/")) {
      globs.push({ base: foldPath(options.below), matches: makeGlob(foldPath(path)) });
      continue;
    }
    // The place in front may hold any character; what the entry adds to it may be a pattern.
    const added = entry.startsWith("${") ? entry.replace(/\/+$/, "").split("/").slice(1) : path.split("/").slice(1);
    const wild = added.findIndex((segment) => /[*?[]/.test(segment));
    literals.push(path);
    if (wild < 0) continue;
    const tail = "/" + added.slice(wild).join("/");
    globs.push({ base: foldPath(path.slice(0, -tail.length) || "/"), matches: makeGlob(foldPath(tail)) });
  }
  const folded = literals.map(foldPath);
  return (path) => {
    const asked = foldPath(path);
    if (folded.some((place) => isInside(place, asked))) return true;
    if (globs.some(({ base, matches }) => isInside(base, asked) && matches(relativeTo(base, asked)))) return true;
    return options.followPlaces === true && literals.some((place) => isInside(foldPath(realPlace(place)), asked));
  };
}

/** Folds names that some file system takes for one and the same to the same text. */
export function foldPath(path: string): string {
  // deno-lint-ignore no-control-regex
  if (/^[\x00-\x7f]*$/.test(path)) return path.toLowerCase();
  return path.replace(/\p{Default_Ignorable_Code_Point}/gu, "").normalize("NFKC").toUpperCase().toLowerCase();
}

/** Where a place leads now; the place itself where it does not exist or may not be looked at. */
function realPlace(place: string): string {
  try {
    return Deno.realPathSync(place);
  } catch {
    return place;
  }
}
