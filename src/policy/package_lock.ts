/**
 * The npm packages of a project as its own lock names them: `deno.lock`, or `package-lock.json` where there is none.
 *
 * Pure: it reads a text. What a package is called here, `name@version`, means the same files on any machine, as far as
 * the one who installed them checked the lock's integrity.
 *
 * @module
 */
import { isJsonObject, type Json, type JsonObject } from "../json.ts";

/** The files that lock npm packages, in the order in which they are looked for in the project's folder. */
export const PACKAGE_LOCKS = ["deno.lock", "package-lock.json"] as const;

/** One of {@linkcode PACKAGE_LOCKS}. */
export type PackageLockName = typeof PACKAGE_LOCKS[number];

/** What a package may be called: the registry's own rule for new names, a scope included. */
export const PACKAGE_NAME = /^(?:@[a-z0-9~-][a-z0-9._~-]{0,100}\/)?[a-z0-9~-][a-z0-9._~-]{0,213}$/;

/** A version as locks write it; nothing in it means something in a path. */
const VERSION = /^[0-9][0-9A-Za-z.+-]{0,127}$/;
const INTEGRITY = /^sha(?:256|384|512)-[A-Za-z0-9+/]{40,90}={0,2}$/;

/** Packages that a list of names leads to, at most. */
const MAX_PACKAGES = 2048;

/** One package of the lock. */
export interface LockedPackage {
  readonly name: string;
  readonly version: string;
  /** Digest of the package's archive, as the lock writes it: `sha512-…`. */
  readonly integrity: string;
  /** The listed package that brings it along: an index into the list. */
  readonly listed: number;
  /** By the name that its own files import: `name@version` of the package, or why that one cannot be used. */
  readonly dependencies: ReadonlyMap<string, string | PackageProblem>;
}

/** Why a package cannot be used; goes on after `Cannot use the package "<name>": `. */
export interface PackageProblem {
  readonly problem: string;
  readonly fix: string;
}

/** The packages that a list of names leads to. */
export interface LockedPackages {
  readonly lock: PackageLockName;
  /** `name@version` of each listed name, or why it cannot be used. */
  readonly listed: ReadonlyMap<string, string | PackageProblem>;
  /** Everything that can be imported, by `name@version`, sorted. */
  readonly packages: ReadonlyMap<string, LockedPackage>;
  /** Names that the project itself asks for, sorted: what could be listed. */
  readonly direct: readonly string[];
}

/** One package of a lock, whatever its form. */
interface Node {
  readonly name: string;
  readonly version: string;
  readonly integrity: Json | undefined;
  /** Whether the lock says that installing it runs a script of its own. */
  readonly hasScript: boolean;
  /** Whether it is a folder of the project, under the package's name. */
  readonly isLink: boolean;
  /** By the name that its files import, the id of the package; `undefined` where the lock has none. */
  readonly dependencies: readonly (readonly [name: string, id: string | undefined])[];
}

/** A lock in one form for both files. */
interface Graph {
  /** What the project itself asks for: ids of a name, more than one where it asks for several versions. */
  readonly direct: ReadonlyMap<string, readonly string[]>;
  readonly nodes: ReadonlyMap<string, Node>;
}

/**
 * Finds what a list of names leads to: each package that the project asks for by that name, and all that those depend on.
 *
 * @param lock The file's name; decides its form.
 * @param text The file's text; not trusted.
 * @returns A problem where the file as a whole is not usable.
 */
export function lockedPackages(
  lock: PackageLockName,
  text: string,
  names: readonly string[],
): LockedPackages | PackageProblem {
  const graph = readGraph(lock, text);
  if ("problem" in graph) return graph;
  const listed = new Map<string, string | PackageProblem>();
  const packages = new Map<string, LockedPackage>();
  const ids = new Map<string, string>();
  const take = (id: string, index: number): string | PackageProblem => {
    const node = graph.nodes.get(id);
    if (node === undefined) return { problem: `${lock} does not say which version it is`, fix: installFix(lock) };
    const problem = problemOf(node, lock);
    if (problem !== undefined) return problem;
    const key = `${node.name}@${node.version}`;
    const known = ids.get(key);
    if (known === id) return key;
    if (known !== undefined) {
      if (sameDependencies(graph, known, id)) return key;
      return {
        problem: `${lock} has ${key} more than once, each with other dependencies`,
        fix: "bring both to the same dependencies",
      };
    }
    if (ids.size >= MAX_PACKAGES) {
      return { problem: `more than ${MAX_PACKAGES} packages come along`, fix: "list fewer packages" };
    }
    ids.set(key, id);
    const dependencies = new Map<string, string | PackageProblem>();
    packages.set(key, {
      name: node.name,
      version: node.version,
      integrity: String(node.integrity),
      listed: index,
      dependencies,
    });
    for (const [name, dependency] of node.dependencies) {
      dependencies.set(
        name,
        dependency === undefined
          ? { problem: `${lock} has no package for this dependency of ${key}`, fix: installFix(lock) }
          : take(dependency, index),
      );
    }
    return key;
  };
  for (const [index, name] of names.entries()) {
    const found = graph.direct.get(name) ?? [];
    const [only, more] = found;
    if (only === undefined) listed.set(name, { problem: `${lock} has no such package`, fix: addFix(lock, name) });
    else if (more !== undefined) {
      listed.set(name, {
        problem: `${lock} has more than one version of it`,
        fix: "let the project ask for one version of it",
      });
    } else listed.set(name, take(only, index));
  }
  return {
    lock,
    listed,
    packages: new Map([...packages].toSorted(([a], [b]) => a < b ? -1 : 1)),
    direct: [...graph.direct.keys()].toSorted(),
  };
}

/** The line that brings a package into a lock. */
export function addFix(lock: PackageLockName, name: string): string {
  return lock === "deno.lock"
    ? `run "deno add npm:${name}", review what it brings, and commit deno.lock`
    : `run "npm install --ignore-scripts ${name}", review what it brings, and commit package-lock.json`;
}

function installFix(lock: PackageLockName): string {
  return lock === "deno.lock" ? 'run "deno install" and commit deno.lock' : 'run "npm install --ignore-scripts"';
}

function problemOf({ name, version, integrity, hasScript, isLink }: Node, lock: string): PackageProblem | undefined {
  if (isLink) {
    return { problem: "it is a folder of this project, not a package", fix: "import its files by a relative path" };
  }
  if (!PACKAGE_NAME.test(name) || !VERSION.test(version)) {
    return { problem: `${lock} gives it a name or a version that no registry does`, fix: "use another package" };
  }
  if (typeof integrity !== "string" || !INTEGRITY.test(integrity)) {
    return {
      problem: `${lock} has no integrity for it`,
      fix: "take it from a registry: an archive by URL, a git repository and a bundled dependency have none",
    };
  }
  if (hasScript) {
    return {
      problem: "it runs a script when it is installed, so its files are not those of its archive",
      fix: "use a package of plain ES modules",
    };
  }
}

/** Whether two places of a lock hold the same package with the same dependencies. */
function sameDependencies({ nodes }: Graph, first: string, second: string): boolean {
  const keysOf = (id: string) =>
    (nodes.get(id)?.dependencies ?? []).map(([name, dependency]) => {
      const node = dependency === undefined ? undefined : nodes.get(dependency);
      return node === undefined ? name : `${name} ${node.name}@${node.version}`;
    }).toSorted().join("\n");
  return nodes.get(first)?.integrity === nodes.get(second)?.integrity && keysOf(first) === keysOf(second);
}

function readGraph(lock: PackageLockName, text: string): Graph | PackageProblem {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (!isJsonObject(value)) return { problem: `${lock} is not a JSON object`, fix: `make ${lock} again` };
  return lock === "deno.lock" ? denoGraph(value) : npmGraph(value);
}

function denoGraph(lock: JsonObject): Graph | PackageProblem {
  if (lock.version !== "4" && lock.version !== "5") {
    return { problem: "deno.lock has another form than 4 or 5", fix: 'run "deno install" with Deno 2' };
  }
  const nodes = new Map<string, Node>();
  const npm = objectOf(lock.npm);
  const ids = Object.keys(npm);
  const byName = new Map<string, string[]>();
  for (const id of ids) {
    const name = nameIn(id);
    const known = byName.get(name);
    if (known === undefined) byName.set(name, [id]);
    else known.push(id);
  }
  for (const id of ids) {
    const entry = objectOf(npm[id]);
    const name = nameIn(id);
    const dependencies = ["dependencies", "optionalDependencies"].flatMap((key) => textsOf(entry[key]));
    nodes.set(id, {
      name,
      // behind the version stand the peers that it was resolved with
      version: id.slice(name.length + 1).split("_")[0] ?? "",
      integrity: entry.integrity,
      hasScript: entry.scripts === true,
      isLink: false,
      dependencies: dependencies.map((text) => denoDependency(text, byName)),
    });
  }
  const specifiers = objectOf(lock.specifiers);
  const workspace = objectOf(lock.workspace);
  const asked = [...textsOf(workspace.dependencies), ...textsOf(objectOf(workspace.packageJson).dependencies)];
  const direct = new Map<string, string[]>();
  for (const specifier of asked.length > 0 ? asked : Object.keys(specifiers)) {
    const version = Object.hasOwn(specifiers, specifier) ? specifiers[specifier] : undefined;
    if (!specifier.startsWith("npm:") || typeof version !== "string") continue;
    const name = nameIn(specifier.slice("npm:".length));
    const id = `${name}@${version}`;
    const known = direct.get(name) ?? [];
    if (!known.includes(id)) direct.set(name, [...known, id]);
  }
  return { direct, nodes };
}

/** `name`, `name@version`, or `alias@npm:name@version`; the version is left out where the lock has one alone. */
function denoDependency(text: string, byName: ReadonlyMap<string, readonly string[]>): [string, string | undefined] {
  const name = nameIn(text);
  const rest = text.slice(name.length + 1);
  const target = rest.startsWith("npm:") ? rest.slice("npm:".length) : text;
  const targetName = nameIn(target);
  const ids = byName.get(targetName) ?? [];
  if (target === targetName) return [name, ids.length === 1 ? ids[0] : undefined];
  return [name, ids.find((id) => id === target)];
}

/** The name in front of a version: a scope starts with the same sign that ends the name. */
function nameIn(text: string): string {
  const at = text.indexOf("@", 1);
  return at < 0 ? text : text.slice(0, at);
}

function npmGraph(lock: JsonObject): Graph | PackageProblem {
  if (lock.lockfileVersion !== 2 && lock.lockfileVersion !== 3) {
    return { problem: "package-lock.json has another form than 2 or 3", fix: 'run "npm install" with npm 7 or later' };
  }
  const packages = objectOf(lock.packages);
  const nodes = new Map<string, Node>();
  for (const [path, value] of Object.entries(packages)) {
    if (path === "") continue;
    const entry = objectOf(value);
    const wanted = ["dependencies", "optionalDependencies", "peerDependencies"].flatMap((key) =>
      Object.keys(objectOf(entry[key]))
    );
    const installedAs = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
    nodes.set(path, {
      name: typeof entry.name === "string" ? entry.name : installedAs,
      version: typeof entry.version === "string" ? entry.version : "",
      integrity: entry.integrity,
      hasScript: entry.hasInstallScript === true,
      isLink: entry.link === true || !path.includes("node_modules/"),
      dependencies: [...new Set(wanted)].map((name) => [name, npmDependency(packages, path, name)]),
    });
  }
  const root = objectOf(packages[""]);
  const direct = new Map<string, string[]>();
  for (const key of ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"]) {
    for (const name of Object.keys(objectOf(root[key]))) {
      const path = `node_modules/${name}`;
      if (Object.hasOwn(packages, path)) direct.set(name, [path]);
    }
  }
  return { direct, nodes };
}

/** Looks for a dependency as Node does: beside the files of the package, then in each folder above. */
function npmDependency(packages: JsonObject, path: string, name: string): string | undefined {
  for (let at = path;;) {
    const found = at === "" ? `node_modules/${name}` : `${at}/node_modules/${name}`;
    if (Object.hasOwn(packages, found)) return found;
    if (at === "") return undefined;
    const above = at.lastIndexOf("/node_modules/");
    at = above < 0 ? "" : at.slice(0, above);
  }
}

function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** The texts of a list; of an object with versions as values, `name@version`. */
function textsOf(value: Json | undefined): readonly string[] {
  if (Array.isArray(value)) return value.filter((item) => typeof item === "string");
  return Object.entries(objectOf(value)).flatMap(([name, version]) =>
    typeof version === "string" ? [`${name}@${version}`] : []
  );
}
