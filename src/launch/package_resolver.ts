/**
 * Resolves what agents and packages import from packages: by the policy's list, the project's lock, and the packages'
 * own `exports`.
 *
 * A file of a package goes by `${npm}/<name>@<version>/<path>`: the same on any machine, wherever it was installed.
 *
 * @module
 */
import { nearest } from "../authority/nearest.ts";
import { packagePlace } from "../plan/plan.ts";
import { readPackages } from "../policy/inspect.ts";
import {
  addFix,
  type LockedPackage,
  type LockedPackages,
  type PackageLockName,
  type PackageProblem,
} from "../policy/package_lock.ts";
import { type Refusal, refuseImport, shownSpecifier } from "./import_refusal.ts";
import { ModuleError, type ModuleFile, readModule } from "./module_file.ts";
import { isPlainPath, resolveExports, resolveImports } from "./package_exports.ts";
import { findPackage, foldersAbove, type PackageFolder, type PackagePlaces } from "./package_folder.ts";

/** What starts the name of every file of a package; no file of a project has such a name. */
export const PACKAGED = "${npm}/";

/** A file of a package that was read. */
export interface PackagedModule {
  /** `${npm}/<name>@<version>/<path>`. */
  readonly packaged: string;
  /** Real absolute path. */
  readonly path: string;
  readonly sha256: string;
}

const SPECIFIER = /^((?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*)(\/.+)?$/;

/** What Node itself answers to, whatever is installed. */
const BUILTINS: ReadonlySet<string> = new Set(
  ("assert async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns domain events " +
    "fs http http2 https inspector module net os path perf_hooks process punycode querystring readline repl stream " +
    "string_decoder sys test timers tls trace_events tty url util v8 vm wasi worker_threads zlib").split(" "),
);

const NO_BUILTIN = "agents have no built-in modules: use what the language has, and callTool for everything else";

/** A package that was opened. */
interface Opened extends PackageFolder {
  readonly key: string;
  readonly locked: LockedPackage;
}

/** Resolves imports of packages for one bundle. */
export class PackageResolver {
  readonly #names: readonly string[];
  readonly #places: PackagePlaces;
  readonly #locked: LockedPackages | PackageProblem | null;
  readonly #opened = new Map<string, Promise<Opened>>();
  readonly #manifests = new Map<string, PackagedModule>();

  private constructor(names: readonly string[], places: PackagePlaces, locked: PackageResolver["locked"]) {
    this.#names = names;
    this.#places = places;
    this.#locked = locked;
  }

  /** Reads the project's lock. @param names Packages that the policy lists. */
  static async create(names: readonly string[], places: PackagePlaces): Promise<PackageResolver> {
    const denoDir = places.denoDir === undefined
      ? undefined
      : await Deno.realPath(places.denoDir).catch(() => undefined);
    return new PackageResolver(names, { ...places, denoDir }, await readPackages(names, places.project));
  }

  /** What the lock says of the listed packages; `null` where none is listed. */
  get locked(): LockedPackages | PackageProblem | null {
    return this.#locked;
  }

  /** Real folders inside of which every file of a package lies. */
  get places(): PackagePlaces {
    return this.#places;
  }

  /** The `package.json` of every package that was opened: they decide what an import means. */
  get manifests(): readonly PackagedModule[] {
    return [...this.#manifests.values()];
  }

  /** Names the file that a specifier in the project means: anything but a relative path. */
  async fromProject(specifier: string): Promise<string | Refusal> {
    const shown = shownSpecifier(specifier);
    const plain = specifier.startsWith("npm:") ? specifier.slice(4).replace(/^(.[^@/]*(?:\/[^@/]+)?)@[^/]*/, "$1") : "";
    if (plain !== "" && SPECIFIER.test(plain)) {
      return refuseImport(`the import of ${shown} names a registry`, `write "${plain}", and list the package`);
    }
    const { name, subpath, refusal } = split(specifier);
    if (refusal !== undefined) return refusal;
    const locked = this.#locked;
    const key = locked !== null && "listed" in locked ? locked.listed.get(name) : undefined;
    if (key === undefined) return await this.#unlisted(specifier, name);
    return await this.#exported(key, { name, subpath, shown, above: [this.#places.project] });
  }

  /** Names the file that a specifier means in a file of a package. */
  async fromPackage(importer: string, specifier: string): Promise<string | Refusal> {
    const shown = shownSpecifier(specifier);
    const opened = await this.#openedBy(importer);
    if (specifier.startsWith("./") || specifier.startsWith("../")) {
      const path = join(importer.slice(packagePlace(opened.locked).length), specifier);
      return path !== undefined && isPlainPath(path)
        ? this.#named(opened, path, shown)
        : refuseImport(`the import of ${shown} leads out of the package`, "use another package");
    }
    if (specifier.startsWith("#")) {
      const target = resolveImports(opened.manifest, specifier);
      if (target === undefined || target.startsWith("#")) {
        const message =
          `the import of ${shown} has no entry in "imports" of ${opened.key} that holds for import or default`;
        return refuseImport(message, "use another package");
      }
      return target.startsWith("./")
        ? this.#named(opened, target.slice(2), shown)
        : await this.fromPackage(importer, target);
    }
    const { name, subpath, refusal } = split(specifier);
    if (refusal !== undefined) return refusal;
    // a package may import itself by its own name, as others do
    const key = opened.locked.dependencies.get(name) ??
      (name === opened.locked.name && opened.manifest.exports !== undefined ? opened.key : undefined);
    if (key === undefined) {
      return refuseImport(
        `the import of ${shown} is of no dependency of ${opened.key}`,
        "use another package: this one asks for something that it does not bring",
      );
    }
    return await this.#exported(key, {
      name,
      subpath,
      shown,
      above: foldersAbove(opened.folder, this.#places),
    });
  }

  /** Reads a file by the name that it was resolved to. @throws {ModuleError} If it cannot be read, or is no module. */
  async read(packaged: string): Promise<ModuleFile & { readonly path: string }> {
    const { folder, locked } = await this.#openedBy(packaged);
    const path = packaged.slice(packagePlace(locked).length);
    return { ...await readModule(folder, path), path: `${folder}/${path}` };
  }

  async #exported(
    key: string | PackageProblem,
    { name, subpath, shown, above }: {
      readonly name: string;
      readonly subpath: string;
      readonly shown: string;
      readonly above: readonly string[];
    },
  ): Promise<string | Refusal> {
    const failed = (what: string, fix: string): Refusal =>
      refuseImport(`the import of ${shown} cannot be used: ${what}`, fix);
    if (typeof key !== "string") return failed(key.problem, key.fix);
    let opened: Opened;
    try {
      opened = await this.#open(key, name, above);
    } catch (error) {
      if (!(error instanceof ModuleError)) throw error;
      return failed(`the package ${key} is ${error.message}`, error.fix);
    }
    const path = resolveExports(opened.manifest, subpath);
    if (path === undefined) {
      const what = opened.manifest.exports === undefined ? "has no such file" : `exports no ES module as "${subpath}"`;
      return failed(
        `${key} ${what}`,
        "import what it exports under the conditions import or default; CommonJS cannot be used",
      );
    }
    return this.#named(opened, path, shown);
  }

  #named({ key }: Opened, path: string, shown: string): string | Refusal {
    const extension = /[^/]\.([^./]+)$/.exec(path)?.[1] ?? "";
    if (extension === "js" || extension === "mjs" || extension === "json") return `${PACKAGED}${key}/${path}`;
    const what = extension === "cjs"
      ? "a CommonJS module"
      : extension === "node"
      ? "a native add-on"
      : "not a .js, .mjs or .json file";
    return refuseImport(
      `the import of ${shown} is ${what}: ${key}/${path}`,
      "use a package of plain ES modules, whose imports name files with their extension",
    );
  }

  /** Opens a package once; whoever asks first says where it is looked for. */
  #open(key: string, installedAs: string, above: readonly string[]): Promise<Opened> {
    const known = this.#opened.get(key);
    if (known !== undefined) return known;
    const opening = this.#find(key, installedAs, above);
    this.#opened.set(key, opening);
    return opening;
  }

  async #find(key: string, installedAs: string, above: readonly string[]): Promise<Opened> {
    const locked = this.#locked;
    const wanted = locked !== null && "packages" in locked ? locked.packages.get(key) : undefined;
    if (wanted === undefined) throw new ModuleError("not in the lock");
    const found = await findPackage({ ...wanted, installedAs }, this.#places, above);
    const packaged = `${packagePlace(wanted)}package.json`;
    this.#manifests.set(key, { packaged, path: `${found.folder}/package.json`, sha256: found.sha256 });
    return { ...found, key, locked: wanted };
  }

  /** The package of a file that was resolved before. */
  async #openedBy(packaged: string): Promise<Opened> {
    const key = /^\$\{npm\}\/((?:@[^/]+\/)?[^/]+)\//.exec(packaged)?.[1];
    const opening = key === undefined ? undefined : this.#opened.get(key);
    if (opening === undefined) throw new ModuleError("of no package that was opened");
    return await opening;
  }

  /** Says which line of the policy an import lacks. */
  async #unlisted(specifier: string, name: string): Promise<Refusal> {
    const message = `the import of ${shownSpecifier(specifier)} is of a package that the policy does not list`;
    const listed = this.#names;
    const lineWith = (names: readonly string[]) =>
      `the policy needs: "packages": [${[...new Set(names)].map((one) => JSON.stringify(one)).join(", ")}]`;
    const line = lineWith([...listed, name]);
    const locked = await readPackages([name], this.#places.project);
    const direct = locked !== null && "direct" in locked ? locked.direct : [];
    const near = nearest(name, listed);
    if (direct.includes(name)) {
      if (near === undefined || direct.includes(near)) return refuseImport(message, line);
      return refuseImport(message, lineWith(listed.map((one) => one === near ? name : one)));
    }
    if (near !== undefined) return refuseImport(message, `write "${near}", which the policy lists`);
    const meant = nearest(name, direct);
    if (meant !== undefined) return refuseImport(message, `write "${meant}"; ${lineWith([...listed, meant])}`);
    const missing = locked !== null && "problem" in locked ? locked.fix : undefined;
    return refuseImport(message, `${missing ?? addFix(lockOf(locked), name)}; then ${line}`);
  }
}

function lockOf(locked: LockedPackages | PackageProblem | null): PackageLockName {
  return locked !== null && "lock" in locked ? locked.lock : "deno.lock";
}

interface Split {
  readonly name: string;
  /** `.` or `./sub`. */
  readonly subpath: string;
  readonly refusal?: Refusal;
}

function split(specifier: string): Split {
  const shown = shownSpecifier(specifier);
  const [, name = "", rest] = SPECIFIER.exec(specifier) ?? [];
  const subpath = rest === undefined ? "." : `.${rest}`;
  if (specifier.startsWith("node:") || BUILTINS.has(name)) {
    const refusal = refuseImport(`the import of ${shown} is of a module that is built into Node`, NO_BUILTIN);
    return { name, subpath, refusal };
  }
  if (name === "" || (rest !== undefined && !isPlainPath(rest.slice(1)))) {
    const refusal = refuseImport(
      `the import of ${shown} is neither of a relative path nor of a package`,
      "import files of the project by a relative path, such as ./lib.ts, and packages by their name; " +
        "for everything else use callTool",
    );
    return { name, subpath, refusal };
  }
  return { name, subpath };
}

/** Joins a relative path to the folder of a file, both inside of a package; `undefined` if it leaves the package. */
function join(importer: string, path: string): string | undefined {
  const segments = importer.split("/").slice(0, -1);
  for (const segment of path.split("/")) {
    if (segment === ".." && segments.pop() === undefined) return undefined;
    if (segment !== "." && segment !== "..") segments.push(segment);
  }
  return segments.join("/");
}
