/**
 * Finds the folder of one npm package: in the project's `node_modules`, or in Deno's cache. Nothing is ever fetched.
 *
 * Trust: the folders are somebody else's. Links are followed once, to the real path of the package's folder, and what
 * they lead to must lie in one of the two places; below that folder no link is followed.
 *
 * @module
 */
import { isInside, parentOf } from "../authority/path.ts";
import { isJsonObject, type JsonObject } from "../json.ts";
import type { LockedPackage } from "../policy/package_lock.ts";
import { isThere, subfolders } from "./look.ts";
import { ModuleError, readModule } from "./module_file.ts";

/** Where packages may lie. */
export interface PackagePlaces {
  /** Real absolute path of the project. */
  readonly project: string;
  /** Absolute path of Deno's cache; `undefined` where nobody knows it. */
  readonly denoDir: string | undefined;
}

/** A package that was found. */
export interface PackageFolder {
  /** Real absolute path. */
  readonly folder: string;
  /** Its `package.json`; `name` and `version` are those of the lock. */
  readonly manifest: JsonObject;
  /** SHA-256 of that file. */
  readonly sha256: string;
}

/** How deep below `npm/` a package may lie: a registry that is served from a path has one folder for each segment. */
const REGISTRY_DEPTH = 3;

/** Scripts of a package that an installer runs, so that what lies there is not what was packed. */
const INSTALL_SCRIPTS = ["preinstall", "install", "postinstall"];

/**
 * Finds a package of exactly the version that the lock names.
 *
 * @param wanted `installedAs`: the name that its importer uses, which an alias makes another one.
 * @param above Folders in whose `node_modules` it may be, nearest first: real absolute paths inside of the project.
 * @throws {ModuleError} If it is nowhere, is another version, leads out of both places, or cannot be used. The message
 * goes on after "the package <name> is".
 */
export async function findPackage(
  wanted: Pick<LockedPackage, "name" | "version" | "integrity"> & { readonly installedAs: string },
  places: PackagePlaces,
  above: readonly string[],
): Promise<PackageFolder> {
  let other: string | undefined;
  for (const folder of above) {
    const real = await realFolder(`${folder}/node_modules/${wanted.installedAs}`);
    if (real === undefined) continue;
    if (!packageRoots(places).some((root) => isInside(root, real) && real !== root)) {
      throw new ModuleError("a link out of the project's node_modules", {
        fix: 'install it inside of the project: "deno install" or "npm ci"',
      });
    }
    const found = await readManifest(real);
    if (found.manifest.name === wanted.name && found.manifest.version === wanted.version) {
      return usable(found);
    }
    other ??= typeof found.manifest.version === "string" ? found.manifest.version : "unknown";
  }
  const cached = await findCached(wanted, places);
  if (cached !== undefined) return usable(cached);
  throw new ModuleError(
    other === undefined
      ? "neither in node_modules nor in Deno's cache"
      : `of version ${JSON.stringify(other.slice(0, 64))} in node_modules, not ${wanted.version} as the lock says`,
    { fix: 'install what the lock says: "deno install --frozen" or "npm ci --ignore-scripts"', isMissing: true },
  );
}

/** Folders inside of which a package must really lie. */
export function packageRoots({ project, denoDir }: PackagePlaces): readonly string[] {
  return [`${project}/node_modules`, ...(denoDir === undefined ? [] : [`${denoDir}/npm`])];
}

/** Folders in whose `node_modules` a package's own dependencies may be, nearest first; all inside of the project. */
export function foldersAbove(folder: string, { project }: PackagePlaces): readonly string[] {
  const found: string[] = [];
  for (let at = folder; isInside(project, at); at = parentOf(at)) {
    if (!at.endsWith("/node_modules")) found.push(at);
    if (at === project) break;
  }
  return found.includes(project) ? found : [...found, project];
}

async function realFolder(path: string): Promise<string | undefined> {
  try {
    const real = await Deno.realPath(path);
    return (await Deno.lstat(real)).isDirectory ? real : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Looks through the cache of each registry. The cache notes the integrity of each archive that it unpacked: it must be
 * the lock's, so that a package of the same name from another registry is not taken for it.
 */
async function findCached(
  { name, version, integrity }: Pick<LockedPackage, "name" | "version" | "integrity">,
  { denoDir }: PackagePlaces,
): Promise<PackageFolder | undefined> {
  if (denoDir === undefined) return undefined;
  let registries = [`${denoDir}/npm`];
  for (let depth = 0; depth < REGISTRY_DEPTH; depth++) {
    registries = (await Promise.all(registries.map(subfolders))).flat();
    for (const registry of registries) {
      const folder = `${registry}/${name}/${version}`;
      if (await realFolder(folder) !== folder) continue;
      if (await notedIntegrity(`${registry}/${name}/registry.json`, version) !== integrity) continue;
      const found = await readManifest(folder);
      if (found.manifest.name === name && found.manifest.version === version) return found;
    }
  }
  return undefined;
}

async function notedIntegrity(path: string, version: string): Promise<string | undefined> {
  try {
    const value: unknown = JSON.parse(await Deno.readTextFile(path));
    const versions = isJsonObject(value) ? value.versions : undefined;
    const entry = isJsonObject(versions) && Object.hasOwn(versions, version) ? versions[version] : undefined;
    const dist = isJsonObject(entry) ? entry.dist : undefined;
    return isJsonObject(dist) && typeof dist.integrity === "string" ? dist.integrity : undefined;
  } catch {
    return undefined;
  }
}

async function readManifest(folder: string): Promise<PackageFolder> {
  const { bytes, sha256 } = await readModule(folder, "package.json");
  let manifest: unknown;
  try {
    manifest = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    manifest = undefined;
  }
  if (!isJsonObject(manifest)) {
    throw new ModuleError("without a package.json that can be read", { fix: "install it again" });
  }
  return { folder, manifest, sha256 };
}

/** Refuses what is more than modules. */
async function usable(found: PackageFolder): Promise<PackageFolder> {
  const { manifest: { scripts, gypfile }, folder } = found;
  const script = isJsonObject(scripts)
    ? INSTALL_SCRIPTS.find((name) => Object.hasOwn(scripts, name) && scripts[name] !== "")
    : undefined;
  if (script !== undefined) {
    throw new ModuleError(`one that runs a script when it is installed: ${JSON.stringify(`scripts.${script}`)}`, {
      fix: "use a package of plain ES modules",
    });
  }
  if (gypfile === true || await isThere(`${folder}/binding.gyp`)) {
    throw new ModuleError("a native add-on", { fix: "use a package of plain ES modules" });
  }
  return found;
}
