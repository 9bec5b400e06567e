/**
 * The gate's part for files.
 *
 * @module
 */
import { readsFiles, writesFiles } from "../authority/file_access.ts";
import { makeGlobs } from "../authority/glob.ts";
import { isNamed, makeNameFinder, type NameFinder } from "../authority/names.ts";
import { foldPath, nameOf, parentOf, relativeTo, resolvePath } from "../authority/path.ts";
import { isPlace } from "../plan/key1.ts";
import { absolute, type Places, type Plan, type PlannedTool } from "../plan/plan.ts";
import type { Verdict } from "./verdict.ts";

/** Decides on canonical absolute paths. */
export interface FileGate {
  read(tool: PlannedTool, path: string): Verdict;
  write(tool: PlannedTool, path: string): Verdict;
}

/** A read root, compiled. */
interface Reader {
  readonly root: string;
  readonly rule: string;
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  readonly granted: Verdict;
  included(path: string): number;
  excluded(path: string): number;
}

/** What is the same for every path directly below one folder: a walk asks for one after the other. */
interface FolderFacts {
  readonly isNormal: boolean;
  /** Whether the folder is a secret place or lies below one. */
  readonly isSecretPlace: boolean;
  readonly folded: string;
  /** The roots that hold the folder, innermost first. */
  readonly around: readonly Reader[];
  /** For each root whether nothing between it and the folder, itself included, has a secret name. */
  readonly plain: Map<Reader, boolean>;
}

/** Components at the end of a path that a secret name can span. */
const NAME_COMPONENTS = 4;

/** Folders whose facts are kept in mind, at most. */
const KNOWN_FOLDERS = 1024;

/** Paths whose verdict is kept in mind, at most: a run reads the same files again and again. */
const KNOWN_PATHS = 4096;

/** Compiles the `fs` block of a plan. */
export function makeFileGate(plan: Plan, places: Places): FileGate {
  const readers = new Map<string, Reader[]>();
  for (const { root, include, exclude, rule } of plan.fs.read) {
    const path = absolute(root, places);
    const reader: Reader = {
      root: path,
      rule,
      include,
      exclude,
      granted: { granted: rule },
      included: makeGlobs(include),
      excluded: makeGlobs(exclude),
    };
    readers.set(path, [...readers.get(path) ?? [], reader]);
  }
  const writers = new Map(plan.fs.write.map(({ root, rule }) => [absolute(root, places), rule]));
  const secretPlaces = placesOf(plan.fs.secret, places);
  const secretNames = makeNameFinder(plan.fs.secret.filter((entry) => !isPlace(entry)));
  const protectedPlaces = placesOf(plan.fs.protected, places);
  const protectedNames = makeNameFinder(plan.fs.protected.filter((entry) => !isPlace(entry)));

  const folders = new Map<string, FolderFacts>();
  const factsOf = (folder: string): FolderFacts => {
    const before = folders.get(folder);
    if (before !== undefined) return before;
    const facts = {
      isNormal: isNormal(folder),
      isSecretPlace: isBelow(secretPlaces, folder),
      folded: folder === "/" ? "" : foldPath(folder),
      around: [...upwards(folder)].flatMap((path) => readers.get(path) ?? []),
      plain: new Map<Reader, boolean>(),
    };
    if (folders.size >= KNOWN_FOLDERS) folders.clear();
    folders.set(folder, facts);
    return facts;
  };

  const decideRead = (target: string): Verdict => {
    // a folder with all below it: what the patterns of a root take in is then asked for each file
    const isTree = target.endsWith("/") && target !== "/";
    const path = isTree ? target.slice(0, -1) : target;
    const facts = factsOf(parentOf(path));
    const name = nameOf(path);
    if (!facts.isNormal || path !== `${parentOf(path) === "/" ? "" : parentOf(path)}/${name}`) {
      return { code: "fs_read_path_not_admitted", rule: null };
    }
    if (name === "." || name === ".." || (name === "" && path !== "/")) {
      return { code: "fs_read_path_not_admitted", rule: null };
    }
    if (facts.isSecretPlace || (secretPlaces.size > 0 && secretPlaces.has(`${facts.folded}/${foldPath(name)}`))) {
      return { code: "secret_name", rule: null };
    }
    const own = readers.get(path);
    const around = own === undefined ? facts.around : [...own, ...facts.around];
    // an exclude pattern takes away what any root around it admits; the innermost root speaks first otherwise
    const exclusion = excludedBy(around, path, isTree);
    if (exclusion !== undefined) return exclusion;
    let refusal: Verdict | undefined;
    for (const reader of around) {
      const relative = relativeTo(reader.root, path);
      // the root itself stands for the whole collection below it
      if (relative === "") return reader.granted;
      if (!isTree && reader.include.length > 0 && reader.included(relative) < 0) {
        refusal ??= { code: "include_pattern", rule: `${reader.rule}/include` };
      } else if (isSecretBelow(secretNames, relative, { reader, plain: facts.plain })) {
        refusal ??= { code: "secret_name", rule: null };
      } else {
        return reader.granted;
      }
    }
    return refusal ?? { code: "fs_read_path_not_admitted", rule: null };
  };

  /** What must not be read must not be made up either: a tool that changes files leaves secrets and what is excluded alone. */
  const withheldFrom = (writeRoot: string, path: string): Verdict | undefined => {
    if (isBelow(secretPlaces, path)) return { code: "secret_name", rule: null };
    const around = [...upwards(path)].flatMap((folder) => readers.get(folder) ?? []);
    const isNamedThere = around.some(({ root, include }) => !isSecret(secretNames, relativeTo(root, path), include));
    if (!isNamedThere && isSecret(secretNames, relativeTo(writeRoot, path), [])) {
      return { code: "secret_name", rule: null };
    }
    return excludedBy(around, path, false);
  };

  // The verdict follows from the plan and the path alone, and neither changes.
  const known = new Map<string, Verdict>();

  return {
    read(tool, path) {
      // A collected file is never asked for as a folder.
      const isOdd = tool.fs === "read" && path.endsWith("/") && path !== "/";
      if (!readsFiles(tool.fs) || isOdd) return { code: "fs_read_path_not_admitted", rule: null };
      const before = known.get(path);
      if (before !== undefined) return before;
      const verdict = decideRead(path);
      if (known.size < KNOWN_PATHS) known.set(path, verdict);
      return verdict;
    },

    write(tool, path) {
      if (writers.size === 0) return { code: "artifact_root_not_configured", rule: null };
      if (!writesFiles(tool.fs) || !isNormal(path)) return { code: "artifact_path_not_admitted", rule: null };
      let granting: { readonly root: string; readonly rule: string } | undefined;
      if (isBelow(protectedPlaces, path)) return { code: "protected_path", rule: null };
      for (const folder of upwards(path)) {
        const rule = writers.get(folder);
        if (rule !== undefined && folder !== path) granting ??= { root: folder, rule };
      }
      if (granting === undefined) return { code: "artifact_path_not_admitted", rule: null };
      if (protectedNames(relativeTo(granting.root, path).split("/")) >= 0) {
        return { code: "protected_path", rule: null };
      }
      const withheld = tool.fs === "edit" ? withheldFrom(granting.root, path) : undefined;
      if (withheld !== undefined) return withheld;
      return { granted: granting.rule };
    },
  };
}

/** The exclude pattern of a root around a path that takes it away. */
function excludedBy(around: readonly Reader[], path: string, isTree: boolean): Verdict | undefined {
  for (const { root, rule, exclude, excluded } of around) {
    if (exclude.length === 0) continue;
    const relative = relativeTo(root, path);
    const index = excluded(isTree && relative !== "" ? `${relative}/` : relative);
    if (index >= 0) return { code: "exclude_pattern", rule: `${rule}/exclude/${index}` };
  }
  return undefined;
}

/** As {@linkcode isSecret}, where the folder was asked about before. */
function isSecretBelow(
  names: NameFinder,
  relative: string,
  { reader, plain }: { readonly reader: Reader; readonly plain: Map<Reader, boolean> },
): boolean {
  const slash = relative.lastIndexOf("/");
  if (slash < 0) return isSecret(names, relative, reader.include);
  let isPlain = plain.get(reader);
  if (isPlain === undefined) plain.set(reader, isPlain = names(relative.slice(0, slash).split("/")) < 0);
  if (!isPlain) return isSecret(names, relative, reader.include);
  const tail = relative.split("/").slice(-NAME_COMPONENTS);
  return names(tail, tail.length - 1) >= 0 && isSecret(names, relative, reader.include);
}

/** Whether a component of the path has a secret name and the root does not name that very path. */
function isSecret(names: NameFinder, relative: string, include: readonly string[]): boolean {
  const components = relative.split("/");
  for (let at = names(components); at >= 0; at = names(components, at + 1)) {
    if (!isNamed(include, components.slice(0, at + 1).join("/"))) return true;
  }
  return false;
}

function placesOf(entries: readonly string[], places: Places): ReadonlySet<string> {
  return new Set(entries.filter(isPlace).map((entry) => foldPath(absolute(entry, places))));
}

/** Whether a path is one of the folded places or lies below one. */
function isBelow(folded: ReadonlySet<string>, path: string): boolean {
  if (folded.size === 0) return false;
  for (const folder of upwards(foldPath(path))) if (folded.has(folder)) return true;
  return false;
}

/** The path and every folder above it, innermost first. */
function* upwards(path: string): Generator<string> {
  for (let at = path;; at = parentOf(at)) {
    yield at;
    if (at === "/") return;
  }
}

/** A path that is not its own normal form was not made by the resolver. */
function isNormal(path: string): boolean {
  return path.startsWith("/") && resolvePath("/", path) === path;
}
