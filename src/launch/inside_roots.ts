/**
 * Which write roots of a plan confined programs may write into, and whether they wrote there what no tool may write.
 *
 * A program is no tool: key 2 never sees what it writes. So a root that holds a protected place, or anything that has a
 * protected name already, is mounted read-only. Into any other root a program can put a file of a protected name, at any
 * depth, which no mount can prevent: the launcher looks for it when no program is left.
 *
 * @module
 */
import { makeNameFinder, SECRET_PLACES } from "../authority/names.ts";
import { foldPath, isInside } from "../authority/path.ts";
import { isPlace } from "../plan/key1.ts";
import { absolute, type Places, type Plan } from "../plan/plan.ts";

/** A plan on this machine. */
export interface PlacedPlan {
  readonly plan: Plan;
  readonly places: Places;
}

/** The write roots of a plan as confined programs have them; absolute paths. */
export interface InsideRoots {
  readonly write: readonly string[];
  readonly readOnly: readonly string[];
}

/** Sorts the write roots by what they hold now; looks through each of them. */
export function insideRoots({ plan, places }: PlacedPlan): InsideRoots {
  const protectedAt = protectedPlaces({ plan, places }).filter((place) => !isSecretPlace(place));
  const roots = plan.fs.write.map(({ root }) => absolute(root, places));
  const kept = roots.filter((root) => protectedAt.some((place) => isInside(root, place)));
  const others = roots.filter((root) => !kept.includes(root));
  const held = others.filter((root) => findProtected([root], { plan, places }) !== undefined);
  return { write: others.filter((root) => !held.includes(root)), readOnly: [...kept, ...held] };
}

/**
 * Finds something in the roots that no tool may write; `undefined` where there is none. Links are not followed. A folder
 * that cannot be looked through counts as found: whoever closed it could open it again.
 */
export function findProtected(roots: readonly string[], { plan, places }: PlacedPlan): string | undefined {
  const isProtectedName = makeNameFinder(plan.fs.protected.filter((entry) => !isPlace(entry)));
  const known = new Set(protectedPlaces({ plan, places }).map(foldPath));
  const folders = [...roots];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    try {
      for (const { name, isDirectory } of Deno.readDirSync(folder)) {
        const path = `${folder}/${name}`;
        if (isProtectedName([name]) >= 0 || known.has(foldPath(path))) return path;
        if (isDirectory) folders.push(path);
      }
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound) || roots.includes(folder)) return folder;
    }
  }
  return undefined;
}

function protectedPlaces({ plan, places }: PlacedPlan): string[] {
  return plan.fs.protected.filter(isPlace).map((place) => absolute(place, places));
}

/** Whether a place is protected because of secrets that may be there one day: an empty one is no reason to close a root. */
function isSecretPlace(path: string): boolean {
  return SECRET_PLACES.some((name) => path.endsWith(`/${name}`));
}
