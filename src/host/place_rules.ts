/**
 * Rules that stand under every grant: what no tool may write, what no tool may read.
 *
 * @module
 */
import { makeNameFinder } from "../authority/names.ts";
import { foldPath, isInside, relativeTo } from "../authority/path.ts";
import { isPlace } from "../plan/key1.ts";
import { absolute, type Places, type PortablePath } from "../plan/plan.ts";

/** Whether an absolute, normal path is one of the places, has one of the names in it, or lies below either. */
export type PlaceMatcher = (path: string) => boolean;

/** Options of {@linkcode makePlaceMatcher}. */
export interface PlaceOptions {
  /** The absolute folder below which names match, at any depth. What lies above it is not judged by its name. */
  readonly below: string;
  /** Also match what a place leads to at the time of asking, where it is or goes through a link. */
  readonly followPlaces?: boolean;
  /** Whether a path relative to `below` is exempt from the names: the policy spells it out. */
  isExempt?(relative: string): boolean;
}

/**
 * Compiles `Plan.fs.protected` or `Plan.fs.secret`. A place is matched whether it exists or not, and places and names
 * under any spelling that a case-folding or normalising file system would take for the same: the rules refuse, so a
 * match too many is safe.
 */
export function makePlaceMatcher(
  entries: readonly PortablePath[],
  places: Places,
  options: PlaceOptions,
): PlaceMatcher {
  const { below, followPlaces = false } = options;
  const literals = entries.filter(isPlace).map((entry) => absolute(entry, places));
  const folded = literals.map(foldPath);
  const findName = makeNameFinder(entries.filter((entry) => !isPlace(entry)));
  return (path) => {
    const asked = foldPath(path);
    if (folded.some((place) => isInside(place, asked))) return true;
    if (followPlaces && literals.some((place) => isInside(foldPath(realPlace(place)), asked))) return true;
    if (!isInside(below, path)) return false;
    const components = relativeTo(below, path).split("/");
    for (let at = findName(components); at >= 0; at = findName(components, at + 1)) {
      if (options.isExempt?.(components.slice(0, at + 1).join("/")) !== true) return true;
    }
    return false;
  };
}

/** Where a place leads now; the place itself where it does not exist or may not be looked at. */
function realPlace(place: string): string {
  try {
    return Deno.realPathSync(place);
  } catch {
    return place;
  }
}
