/**
 * The compiler's step for files: roots, what is protected, what is secret, and what lies outside the project.
 *
 * @module
 */
import { globProblem, makeGlobs } from "../authority/glob.ts";
import {
  isNamed,
  LOCK_FILE,
  makeNameFinder,
  PROTECTED_NAMES,
  PROTECTED_PLACES,
  SECRET_NAMES,
  SECRET_PLACES,
} from "../authority/names.ts";
import { isInside, nameOf, parentOf, relativeTo, resolvePath } from "../authority/path.ts";
import { isDay } from "../plan/day.ts";
import {
  isInProject,
  type Plan,
  type PortablePath,
  type ReadRoot,
  stateHome,
  type UnsafeGrant,
  type WriteRoot,
} from "../plan/plan.ts";
import { type Check, quote } from "./check.ts";

/** Most places for which key 1 gets a denied read: each costs every operation 0.15 µs. */
const MAX_SECRET_PLACES = 12;

/** A root while it is checked. */
interface Root {
  readonly at: string;
  readonly path: string;
  readonly folder: boolean;
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

/**
 * Plans the `fs` block. `kept` are files that no tool may write: agent modules, fixtures, certificates, programs.
 *
 * @param options `work` are folders that the host may look into because programs start there; `secret` are files that no
 * tool may read.
 */
export function planFiles(
  check: Check,
  kept: readonly string[],
  { work = [], secret: hidden = [] }: { readonly work?: readonly string[]; readonly secret?: readonly string[] } = {},
): Plan["fs"] {
  const read = readRoots(check);
  const write = writeRoots(check);
  checkNesting(check, read);
  const places = protectedPlaces(check, kept);
  for (const root of write) refuseProtected(check, root, places);
  const seen = work.map((path): Root => ({ at: "", path, folder: true, include: [], exclude: [] }));
  const secret = secretPlaces(check, [...read, ...seen], hidden);
  // a tool that changes files leaves the names of secrets alone, also where nothing may be read
  const edits = check.granted().some(({ authority }) => authority.fs === "edit");
  // what key 1 denies to read could not be verified after writing it, and other programs obey it without asking
  const inWriteRoot = [...new Set([...places, ...secret])].toSorted().filter((place) =>
    write.some(({ path }) => isInside(path, place))
  );
  return {
    read: labelled(check, read).map(([root, label]) => ({
      root: check.portable(root.path),
      label,
      include: root.include,
      exclude: root.exclude,
      ...(root.folder ? {} : { file: true as const }),
      rule: root.at,
    } satisfies ReadRoot)),
    write: labelled(check, write).map(([root, label]) => ({
      root: check.portable(root.path),
      label,
      rule: root.at,
    } satisfies WriteRoot)),
    protected: write.length === 0 ? [] : [...portables(check, inWriteRoot), ...PROTECTED_NAMES],
    secret: read.length + work.length === 0 && !edits ? [] : [...portables(check, secret), ...SECRET_NAMES],
  };
}

/** Lists what the policy and the operator accepted outside the project; refuses entries that expired or are not used. */
export function planUnsafe(check: Check, fs: Plan["fs"]): UnsafeGrant[] {
  const grants: UnsafeGrant[] = [];
  for (const [index, { root, reason, expires }] of (check.loaded.policy.unsafe?.outside ?? []).entries()) {
    const at = `/unsafe/outside/${index}`;
    const fact = check.path(`${at}/root`, root);
    if (fact === undefined) continue;
    if (!isDay(expires)) {
      const message = `Cannot use ${check.name(`${at}/expires`)}: ${quote(expires)} is no day of the calendar`;
      check.refuse({ at: `${at}/expires`, code: "policy_bad_date", message, fix: "Write YYYY-MM-DD" });
    } else if (expires < check.facts.today) {
      const message = `Cannot use ${check.name(at)}: it expired on ${expires}`;
      const fix = "Review it again: move the date, or remove the entry and its root";
      check.refuse({ at: `${at}/expires`, code: "policy_unsafe_expired", message, fix });
    }
    if (isInside(check.facts.places.project, fact.path)) {
      const message = `Cannot use ${check.name(at)}: the root lies inside the project`;
      check.refuse({ at, code: "policy_unsafe_unused", message, fix: "Remove the entry" });
    } else if (!check.usedUnsafe.has(index)) {
      const message = `Cannot use ${check.name(at)}: no root of the policy needs it`;
      check.refuse({ at, code: "policy_unsafe_unused", message, fix: "Remove the entry" });
    }
    grants.push({ key: "outside", path: check.portable(fact.path), reason, expires });
  }
  for (const { root, rule } of [...fs.read, ...fs.write]) {
    if (!isInProject(root) && check.loaded.isOperators(rule)) {
      grants.push({ key: "outside", path: root, reason: "named on the command line", expires: null });
    }
  }
  return grants;
}

function readRoots(check: Check): Root[] {
  const roots: Root[] = [];
  for (const [index, { root, include, exclude }] of (check.loaded.policy.fs?.read ?? []).entries()) {
    const at = `/fs/read/${index}`;
    for (const [list, patterns] of [["include", include ?? []], ["exclude", exclude ?? []]] as const) {
      for (const [i, pattern] of patterns.entries()) checkPattern(check, `${at}/${list}/${i}`, pattern);
    }
    const fact = check.path(`${at}/root`, root);
    if (fact === undefined || !check.insideOrAccepted(`${at}/root`, fact.path)) continue;
    const name = `${check.name(`${at}/root`)} ${quote(root)}`;
    if (fact.kind === "missing") {
      const fix = `Create it, or correct the path: it is relative to ${quote(check.loaded.base)}`;
      check.refuse({
        at: `${at}/root`,
        code: "policy_root_missing",
        message: `Cannot read ${name}: it does not exist`,
        fix,
      });
      continue;
    }
    if (fact.kind === "other") {
      const message = `Cannot read ${name}: it is neither a folder nor a regular file`;
      check.refuse({ at: `${at}/root`, code: "policy_root_kind", message, fix: "Name a folder or a regular file" });
      continue;
    }
    if (fact.kind === "file" && (include !== undefined || exclude !== undefined)) {
      const message = `Cannot use patterns with ${name}: it is a file`;
      check.refuse({ at, code: "policy_dead_rule", message, fix: 'Remove "include" and "exclude"' });
    }
    roots.push({
      at,
      path: fact.path,
      folder: fact.kind === "directory",
      include: include ?? [],
      exclude: exclude ?? [],
    });
  }
  return roots;
}

function checkPattern(check: Check, at: string, pattern: string): void {
  const { project } = check.facts.places;
  const absolute = pattern === project || pattern.startsWith(project + "/");
  const problem = absolute
    ? { problem: "the pattern looks like an absolute path", fix: "Write it relative to the root" }
    : globProblem(pattern);
  if (problem === null) return;
  const message = `Cannot use ${check.name(at)} ${quote(pattern)}: ${problem.problem}`;
  check.refuse({ at, code: "policy_bad_pattern", message, fix: problem.fix });
}

function writeRoots(check: Check): Root[] {
  const roots: Root[] = [];
  for (const [index, { root }] of (check.loaded.policy.fs?.write ?? []).entries()) {
    const at = `/fs/write/${index}`;
    const fact = check.path(`${at}/root`, root);
    if (fact === undefined || !check.insideOrAccepted(`${at}/root`, fact.path)) continue;
    if (fact.kind === "file" || fact.kind === "other") {
      const message = `Cannot write below ${check.name(`${at}/root`)} ${quote(root)}: it is not a folder`;
      check.refuse({ at: `${at}/root`, code: "policy_root_kind", message, fix: "Name a folder; it may be missing" });
      continue;
    }
    const same = roots.find(({ path }) => path === fact.path);
    if (same !== undefined) {
      const message = `Cannot use ${check.name(at)}: it is the same folder as ${check.name(same.at)}`;
      check.refuse({ at, code: "policy_duplicate_root", message, fix: "Keep one of the two" });
      continue;
    }
    roots.push({ at, path: fact.path, folder: true, include: [], exclude: [] });
  }
  return roots;
}

/** Refuses equal roots, and a root that another root's exclude or the runner's state covers: an allow nested in a deny. */
function checkNesting(check: Check, roots: readonly Root[]): void {
  const around = makeAround(roots);
  for (const [index, inner] of roots.entries()) {
    const { project } = check.facts.places;
    if (isInside(stateHome(check.facts.places), inner.path) || isInside(resolvePath(project, ".twokey"), inner.path)) {
      const message = `Cannot read ${check.name(`${inner.at}/root`)}: the runner keeps its state there`;
      check.refuse({ at: `${inner.at}/root`, code: "policy_protected", message, fix: "Remove the root" });
    }
    for (const outer of around(inner.path)) {
      if (outer === inner) continue;
      const relative = relativeTo(outer.path, inner.path);
      if (relative === "") {
        if (roots.indexOf(outer) < index) {
          const message = `Cannot use ${check.name(inner.at)}: it is the same place as ${check.name(outer.at)}`;
          const fix = "Put the patterns of both into one entry";
          check.refuse({ at: inner.at, code: "policy_duplicate_root", message, fix });
        }
      } else if (makeGlobs(outer.exclude)(relative) >= 0) {
        const message = `Cannot use ${check.name(inner.at)}: an exclude pattern of ${check.name(outer.at)} covers it`;
        const fix = "Remove the pattern or the root: a denied place holds no granted one";
        check.refuse({ at: inner.at, code: "policy_allow_in_deny", message, fix });
      }
    }
  }
}

/** Finds the roots that are a path or lie around it, by walking up from the path: many roots cost no more than few. */
function makeAround(roots: readonly Root[]): (path: string) => readonly Root[] {
  const byPath = new Map<string, Root[]>();
  for (const root of roots) byPath.set(root.path, [...byPath.get(root.path) ?? [], root]);
  return (path) => {
    const found: Root[] = [];
    for (let at = path;; at = parentOf(at)) {
      found.push(...byPath.get(at) ?? []);
      if (at === "/") return found;
    }
  };
}

/** Every protected place, absolute, whether it exists or not. */
function protectedPlaces(check: Check, kept: readonly string[]): string[] {
  const { places: { project, twokey }, denoDir } = check.facts;
  const places = [
    ...PROTECTED_PLACES.map((place) => resolvePath(project, place)),
    resolvePath(check.loaded.base, LOCK_FILE),
    ...["src", "mod.ts", "deno.json", "deno.lock"].map((place) => resolvePath(twokey, place)),
    // the state of every project: what one agent was refused is not to be had through another one
    stateHome(check.facts.places),
    ...kept,
  ];
  if (check.loaded.file !== null) places.push(check.loaded.file);
  if (denoDir !== null) places.push(denoDir);
  return [...new Set(places)].toSorted();
}

function refuseProtected(check: Check, root: Root, places: readonly string[]): void {
  const at = `${root.at}/root`;
  const fix = "Name a folder of its own for what agents write, such as out";
  const place = places.find((protectedPlace) => isInside(protectedPlace, root.path));
  if (place !== undefined) {
    const message = `Cannot write below ${check.name(at)}: ${quote(check.portable(place))} is protected`;
    check.refuse({ at, code: "policy_protected", message, fix });
    return;
  }
  const { project } = check.facts.places;
  // above the project only the last component can be judged: a checkout may itself lie below some .git
  const components = isInside(project, root.path) ? relativeTo(project, root.path).split("/") : [nameOf(root.path)];
  const index = makeNameFinder(PROTECTED_NAMES)(components);
  if (index >= 0) {
    const message = `Cannot write below ${check.name(at)}: the name ${quote(components[index] ?? "")} is protected`;
    check.refuse({ at, code: "policy_protected", message, fix });
  }
}

/** The places below read roots that key 1 denies: the runner's state first, then likely secrets the policy does not name. */
function secretPlaces(check: Check, roots: readonly Root[], hidden: readonly string[]): string[] {
  const { project } = check.facts.places;
  const folders = roots.filter(({ folder }) => folder);
  const around = makeAround(roots);
  const places = [resolvePath(project, ".twokey"), stateHome(check.facts.places), ...hidden].filter((place) =>
    folders.some(({ path }) => isInside(path, place))
  );
  for (const name of SECRET_PLACES) {
    // also the project's own, for a root that lies beside or inside of what the place is in
    for (const folder of new Set([...folders.map(({ path }) => path), project])) {
      const place = resolvePath(folder, name);
      if (!folders.some(({ path }) => isInside(path, place))) continue;
      const named = around(place).some((root) =>
        root.path === place || isNamed(root.include, relativeTo(root.path, place))
      );
      if (!named && !places.includes(place)) places.push(place);
    }
  }
  return places.slice(0, MAX_SECRET_PLACES);
}

/** Pairs each root with the name that agents see: relative to the project, else the last component; unique. */
function labelled(check: Check, roots: readonly Root[]): [Root, string][] {
  const { project } = check.facts.places;
  const used = new Set<string>();
  return roots.map((root) => {
    const inside = isInside(project, root.path);
    const plain = inside ? relativeTo(project, root.path) || "." : nameOf(root.path) || "root";
    let label = plain;
    for (let n = 2; used.has(label); n++) label = `${plain}~${n}`;
    used.add(label);
    return [root, label];
  });
}

function portables(check: Check, paths: readonly string[]): PortablePath[] {
  return paths.map((path) => check.portable(path));
}

/** Whether a text is a day of the calendar, `YYYY-MM-DD`. */
export function isDate(text: string): boolean {
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}
