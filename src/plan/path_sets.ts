/**
 * The files that a plan admits, as sets that can be compared: the same rules as the gate's, over portable paths.
 *
 * @module
 */
import { isLiteral } from "../authority/glob.ts";
import { makeNameFinder } from "../authority/names.ts";
import type { PathSet } from "../authority/path_language.ts";
import type { PlacedGlob } from "../authority/path_machine.ts";
import { isPlace } from "./key1.ts";
import type { GateRule, Plan, PortablePath, ReadRoot } from "./plan.ts";

/** How far a set goes: what happens without a question, or what a question could still allow. */
export type Reach = "allowed" | "allowed_or_asked";

/** The parts of a plan that decide on files. */
export type FilePlan = Pick<Plan, "fs" | "gate">;

/** Stands for `${project}` in sets: a character for private use, which no name starts with in earnest. */
const PROJECT = "\ue000";

/** Everything below a folder, without the folder itself. */
const BELOW = "**";

/** Options of {@linkcode readSet} and {@linkcode writeSet}. */
export interface SetOptions {
  readonly reach: Reach;
  /**
   * Whether the path of a read root that is a folder belongs. As a folder it is no file; should it become one, the same
   * policy would admit it. So it belongs to what a plan holds, and not to what a plan needs.
   */
  readonly folders: boolean;
  /** Leaves out what `fs.secret` takes away; default: it counts. */
  readonly withSecrets?: boolean;
}

/** Collects patterns; each gets the place of its answer in `matched`. */
class Globs {
  readonly all: PlacedGlob[] = [];

  add(root: PortablePath, glob: string | null, more: Pick<PlacedGlob, "folded" | "but"> = {}): number {
    return this.all.push({ root: componentsOf(root), glob, ...more }) - 1;
  }
}

/** The files that a plan lets its tools read. */
export function readSet({ fs, gate }: FilePlan, { reach, folders, withSecrets = true }: SetOptions): PathSet {
  const globs = new Globs();
  const secret = withSecrets ? fs.secret : [];
  const readers = fs.read.map((root) => layReader(globs, secret, root));
  const taken = layTaken(globs, { gate, kind: "filesystem.read", reach });
  const places = layPlaces(globs, secret, fs.read);
  return setOf(globs, (matched) =>
    all([
      not(any(pick(matched, taken))),
      not(any(pick(matched, places))),
      ...readers.map(({ below, excluded }) => not(all([matched[below], any(pick(matched, excluded))]))),
      any(readers.map(({ root, below, included, secrets }) =>
        any([
          folders && all([matched[root], not(matched[below])]),
          all([
            matched[below],
            included === null ? true : any(pick(matched, included)),
            not(any(pick(matched, secrets))),
          ]),
        ])
      )),
    ]));
}

/** The places where a plan lets its tools create files. */
export function writeSet({ fs, gate }: FilePlan, { reach }: SetOptions): PathSet {
  const globs = new Globs();
  const names = fs.protected.filter((entry) => !isPlace(entry));
  const roots = fs.write.map(({ root }) => ({
    inside: globs.add(root, BELOW),
    kept: names.map((name) => globs.add(root, anywhere(name), { folded: true })),
  }));
  const taken = layTaken(globs, { gate, kind: "filesystem.write", reach });
  const places = layPlaces(globs, fs.protected, fs.write);
  return setOf(globs, (matched) =>
    all([
      not(any(pick(matched, taken))),
      not(any(pick(matched, places))),
      any(roots.map(({ inside, kept }) => all([matched[inside], not(any(pick(matched, kept)))]))),
    ]));
}

interface Reader {
  /** The root and everything below it. */
  readonly root: number;
  /** What of that the root speaks of: a file itself, or all below a folder. */
  readonly below: number;
  /** `null` admits everything. */
  readonly included: readonly number[] | null;
  readonly excluded: readonly number[];
  readonly secrets: readonly number[];
}

function layReader(globs: Globs, secret: readonly string[], { root, include, exclude, file }: ReadRoot): Reader {
  const whole = globs.add(root, null);
  if (file === true) return { root: whole, below: whole, included: null, excluded: [], secrets: [] };
  return {
    root: whole,
    below: globs.add(root, BELOW),
    included: include.length === 0 ? null : include.map((glob) => globs.add(root, glob)),
    excluded: exclude.map((glob) => globs.add(root, glob)),
    secrets: secret.filter((entry) => !isPlace(entry)).map((name) => {
      const but = liftsOf(name, include);
      return globs.add(root, anywhere(name), { folded: true, ...(but.length === 0 ? {} : { but }) });
    }),
  };
}

/**
 * Whether secrets take the same from both plans, so that they can be left out of both sets and what one admits beyond the
 * other can only become more: the roots are the same, none lies in another, and no pattern spells a secret out.
 */
export function sharesSecrets({ fs: base }: FilePlan, { fs: head }: FilePlan): boolean {
  const rootsOf = ({ read }: Plan["fs"]) => read.map(({ root }) => root).toSorted();
  const roots = rootsOf(base);
  const names = base.secret.filter((entry) => !isPlace(entry));
  const isNested = (root: string) => roots.some((other) => root !== other && `${root}/`.startsWith(`${other}/`));
  return roots.join("\n") === rootsOf(head).join("\n") &&
    base.secret.join("\n") === head.secret.join("\n") &&
    new Set(roots).size === roots.length && !roots.some(isNested) &&
    [...base.read, ...head.read].every(({ include }) => names.every((name) => liftsOf(name, include).length === 0));
}

/** The patterns that spell a secret name out, and so mean it: without wildcards, and ending in the very name. */
function liftsOf(name: string, include: readonly string[]): readonly string[] {
  const literal = include.filter(isLiteral);
  if (literal.length === 0) return literal;
  const isSecret = makeNameFinder([lastOf(name)]);
  return literal.map((pattern) => pattern.replace(/\/$/, "")).flatMap((pattern) => {
    const last = lastOf(pattern);
    if (isSecret([last]) < 0) return [];
    return pattern.includes("/") ? [pattern, `${pattern}/**/${last}`] : [pattern];
  });
}

/** Rules for every tool take from the set; a rule for some tools is compared as a rule. */
function layTaken(
  globs: Globs,
  { gate, kind, reach }: { readonly gate: readonly GateRule[]; readonly kind: GateRule["kind"]; readonly reach: Reach },
): readonly number[] {
  return gate
    .filter((rule) => rule.kind === kind && rule.tools.length === 0)
    .filter(({ effect }) => effect === "deny" || reach === "allowed")
    .map(({ match }) => globs.add("${project}", match));
}

/** The places that take from any of the roots. */
function layPlaces(globs: Globs, kept: readonly string[], roots: readonly { readonly root: string }[]): number[] {
  const folders = roots.map(({ root }) => `${root.toLowerCase()}/`);
  return kept.filter(isPlace)
    .filter((place) => {
      const folded = `${place.toLowerCase()}/`;
      return folders.some((folder) => folded.startsWith(folder) || folder.startsWith(folded));
    })
    .map((place) => globs.add(place, null, { folded: true }));
}

function anywhere(name: string): string {
  return name.includes("/") ? `**/${name}` : name;
}

function lastOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Yes, no, or not known yet. */
type Maybe = boolean | undefined;

function setOf(globs: Globs, admits: (matched: readonly Maybe[]) => Maybe): PathSet {
  return { globs: globs.all, has: (matched) => admits(matched) === true, settled: admits };
}

function pick(matched: readonly Maybe[], places: readonly number[]): readonly Maybe[] {
  return places.map((place) => matched[place]);
}

function any(values: readonly Maybe[]): Maybe {
  if (values.includes(true)) return true;
  return values.includes(undefined) ? undefined : false;
}

function all(values: readonly Maybe[]): Maybe {
  if (values.includes(false)) return false;
  return values.includes(undefined) ? undefined : true;
}

function not(value: Maybe): Maybe {
  return value === undefined ? undefined : !value;
}

/** The place in front is one character, so that walking it is one step; {@linkcode pathOf} puts it back. */
function componentsOf(path: PortablePath): readonly string[] {
  const [first, ...rest] = path.split("/").filter((component) => component !== "");
  return first === undefined ? [] : [first === "${project}" ? PROJECT : first, ...rest];
}

/** The portable path of a witness. */
export function pathOf(witness: string): PortablePath {
  return witness.startsWith(PROJECT) ? "${project}" + witness.slice(PROJECT.length) : witness;
}
