/**
 * The paths that a plan admits, as sets that can be compared: the same rules as the gate's, over portable paths.
 *
 * @module
 */
import { isLiteral, makeGlob } from "../authority/glob.ts";
import type { PathSet, PlacedGlob } from "../authority/path_language.ts";
import { isPlace } from "./key1.ts";
import type { GateRule, Plan, PortablePath, ReadRoot } from "./plan.ts";

/** How far a set goes: what happens without a question, or what a question could still allow. */
export type Reach = "allowed" | "allowed_or_asked";

/** Collects patterns; each gets the place of its answer in `matched`. */
class Globs {
  readonly all: PlacedGlob[] = [];

  add(root: PortablePath, glob: string | null): number {
    return this.all.push({ root: componentsOf(root), glob }) - 1;
  }
}

/** The files that a plan lets its tools read. */
export function readSet(plan: Plan, reach: Reach): PathSet {
  const globs = new Globs();
  const readers = plan.fs.read.map((root) => layReader(globs, plan, root));
  const taken = layTaken(globs, plan, "filesystem.read", reach);
  const places = plan.fs.secret.filter(isPlace).map((place) => globs.add(place, null));
  return {
    globs: globs.all,
    has(matched) {
      if (isAny(matched, taken) || isAny(matched, places)) return false;
      const around = readers.filter(({ inside }) => matched[inside]);
      if (around.some(({ excluded }) => isAny(matched, excluded))) return false;
      return around.some((reader) => admits(reader, matched));
    },
  };
}

/** The places where a plan lets its tools create files. */
export function writeSet(plan: Plan, reach: Reach): PathSet {
  const globs = new Globs();
  const roots = plan.fs.write.map(({ root }) => ({
    inside: globs.add(root, null),
    protected: plan.fs.protected.filter((entry) => !isPlace(entry)).map((name) => globs.add(root, anywhere(name))),
  }));
  const taken = layTaken(globs, plan, "filesystem.write", reach);
  const places = plan.fs.protected.filter(isPlace).map((place) => globs.add(place, null));
  return {
    globs: globs.all,
    has(matched) {
      if (isAny(matched, taken) || isAny(matched, places)) return false;
      return roots.some((root) => matched[root.inside] && !isAny(matched, root.protected));
    },
  };
}

interface Reader {
  readonly inside: number;
  readonly includesAll: boolean;
  readonly included: readonly number[];
  readonly excluded: readonly number[];
  readonly secrets: readonly { readonly name: number; readonly lifted: readonly number[] }[];
}

function layReader(globs: Globs, plan: Plan, { root, include, exclude }: ReadRoot): Reader {
  const inside = globs.add(root, null);
  const included = include.map((glob) => globs.add(root, glob));
  const excluded = exclude.map((glob) => globs.add(root, glob));
  const secrets = plan.fs.secret.filter((entry) => !isPlace(entry)).map((name) => {
    const test = makeGlob(anywhere(name));
    // an include pattern that spells a secret name out means it
    const lifted = included.filter((_, i) => {
      const pattern = include[i] ?? "";
      return isLiteral(pattern) && test(pattern.replaceAll(/^\/|\/$/g, ""));
    });
    return { name: globs.add(root, anywhere(name)), lifted };
  });
  return { inside, includesAll: include.length === 0, included, excluded, secrets };
}

function admits({ includesAll, included, secrets }: Reader, matched: readonly boolean[]): boolean {
  if (!includesAll && !isAny(matched, included)) return false;
  return !secrets.some(({ name, lifted }) => matched[name] && !isAny(matched, lifted));
}

/** Rules for every tool take from the set; a rule for some tools is compared as a rule. */
function layTaken(globs: Globs, { gate }: Plan, kind: GateRule["kind"], reach: Reach): readonly number[] {
  return gate
    .filter((rule) => rule.kind === kind && rule.tools.length === 0)
    .filter(({ effect }) => effect === "deny" || reach === "allowed")
    .map(({ match }) => globs.add("${project}", match));
}

function anywhere(name: string): string {
  return name.includes("/") ? `**/${name}` : name;
}

function isAny(matched: readonly boolean[], places: readonly number[]): boolean {
  return places.some((place) => matched[place]);
}

function componentsOf(path: PortablePath): readonly string[] {
  return path.split("/").filter((component) => component !== "");
}
