/**
 * Makes one module of an agent: its entry and everything that it imports from the project.
 *
 * Trust: the agent's source is not trusted. Every name and every text that esbuild sees is handed to it by this module,
 * so no configuration file, symlink or environment variable takes part; what was read is listed with its digest.
 *
 * @module
 */
import { makeNameFinder, SECRET_NAMES } from "../authority/names.ts";
import { BugError, DataError, InputError } from "../errors.ts";
import { digest, sha256 } from "../json.ts";
import type { LockedPackages } from "../policy/package_lock.ts";
import type { AgentBundle } from "./agent_bundle.ts";
import { loadBundle, storeBundle } from "./bundle_cache.ts";
import { byPosition, DYNAMIC_IMPORT, refused, REQUIRE, toError, withoutNamespace } from "./bundle_error.ts";
import { esbuildPath, esbuildVersion } from "./esbuild_path.ts";
import { type ResolveRequest, runEsbuild, type ServiceRefusal, type ServiceResult } from "./esbuild_service.ts";
import { type Refusal, refuseImport, shownSpecifier } from "./import_refusal.ts";
import { MODULE_LIMITS, ModuleError, readModule } from "./module_file.ts";
import { packageRoots } from "./package_folder.ts";
import { PACKAGED, PackageResolver } from "./package_resolver.ts";
import { sesSafe } from "./ses_text.ts";
import { isSourceMap, sourcePosition, withInlineMap } from "./source_map.ts";

/** What to bundle. */
export interface BundleOptions {
  /** Absolute path of the agent's entry module, inside of the project. */
  readonly entry: string;
  /** Absolute path of the project's folder; what agents import lies inside. */
  readonly project: string;
  /** npm packages that the agent may import, by name; they must be in the project's lock, and installed. */
  readonly packages?: readonly string[] | undefined;
  /** Absolute path of Deno's cache, where packages may lie beside the project's `node_modules`. */
  readonly denoDir?: string | undefined;
  /** Absolute path of a folder for finished bundles; used only if it is the caller's own and closed to others (0700). */
  readonly cacheDir?: string | undefined;
  /** Hears one line when esbuild must be installed first. */
  readonly onProgress?: ((line: string) => void) | undefined;
}

/** Limits of one bundle, inclusive. */
export const BUNDLE_LIMITS = {
  ...MODULE_LIMITS,
  modules: 1_000,
  totalBytes: 16 * 1024 * 1024,
  /** Milliseconds of esbuild's work. */
  ms: 30_000,
  /** Bytes of esbuild's answer. */
  outputBytes: 128 * 1024 * 1024,
} as const;

const FLAGS = [
  "--log-level=silent",
  "--log-limit=0",
  "--color=false",
  "--bundle",
  "--format=esm",
  "--target=es2022",
  "--platform=neutral",
  "--charset=ascii",
  "--tsconfig-raw={}",
  "--sourcemap=external",
  "--sources-content=false",
  "--legal-comments=none",
  "--ignore-annotations",
  "--metafile",
  "--outfile=/agent.js",
  "--supported:import-meta=false",
  "--log-override:unsupported-dynamic-import=error",
  "--log-override:empty-glob=error",
  "--log-override:unsupported-require-call=error",
  "--log-override:indirect-require=error",
  "--log-override:require-resolve-not-external=error",
  "--log-override:commonjs-variable-in-esm=error",
  "--log-override:empty-import-meta=error",
  "--log-override:direct-eval=error",
] as const;

/**
 * Everything beside the modules that decides what comes out; part of the cache's key. Its number counts up whenever
 * this module or `sesSafe` prints something else for the same modules.
 */
const RECIPE = ["agent bundle 1", ...FLAGS] as const;

const LOADERS: ReadonlyMap<string, "ts" | "js" | "json"> = new Map([
  ["ts", "ts"],
  ["js", "js"],
  ["mjs", "js"],
  ["json", "json"],
]);

const REQUIRE_HELPER = "var __require = /* @__PURE__ */";

/**
 * Bundles an agent. Requires permission to read the project and Deno's cache, and to run esbuild unless a finished
 * bundle is in `cacheDir`.
 *
 * Agents are `.ts`, `.js` and `.mjs` modules with static imports of relative paths with their extension; `.json` needs
 * the attribute `type: "json"`. Symlinks are refused, so a path means one file. Packages that the policy lists are
 * imported by name: plain ES modules, of the version that the project's lock says, wherever they are installed.
 *
 * @throws {InputError} `agent_not_found`, if the entry or the project cannot be read.
 * @throws {DataError} `agent_import_refused`, `agent_module_refused`, `agent_syntax` or `agent_text_refused`, with the
 * position in the project and the fix.
 * @throws {ControlError} `esbuild_missing` or `bundler_failed`.
 */
export async function bundleAgent(options: BundleOptions): Promise<AgentBundle> {
  const { project, entry } = await locate(options);
  const { packages: names = [] } = options;
  const packages = await PackageResolver.create(names, { project, denoDir: options.denoDir });
  const { locked } = packages;
  const from = locked !== null && "packages" in locked ? [JSON.stringify(names), await digestLocked(locked)] : [];
  const key = await sha256([...RECIPE, esbuildVersion(), project, entry, ...from].join("\n"));
  const cached = options.cacheDir === undefined
    ? undefined
    : await loadBundle(options.cacheDir, { key, project, packageRoots: packageRoots(packages.places) });
  if (cached !== undefined) return cached;
  const bundle = await build({ project, entry, packages }, await esbuildPath({ onProgress: options.onProgress }));
  if (options.cacheDir !== undefined) await storeBundle(options.cacheDir, { key, bundle });
  return bundle;
}

/** Digests what a lock says of the listed packages: it decides what an import means. */
function digestLocked({ listed, packages }: LockedPackages): Promise<string> {
  return digest([
    ...listed,
    ...[...packages].map(([key, { integrity, dependencies }]) => [key, integrity, ...dependencies]),
  ]);
}

/** Finds the project's real path, and the entry's path inside of it. */
async function locate(options: BundleOptions): Promise<{ project: string; entry: string }> {
  let project: string;
  try {
    project = await Deno.realPath(options.project);
  } catch (cause) {
    throw new InputError("agent_not_found", "Cannot bundle the agent: the project's folder cannot be read", { cause });
  }
  for (const root of [options.project.replace(/\/+$/, ""), project]) {
    if (!options.entry.startsWith(root + "/")) continue;
    const entry = resolveInside("", `./${options.entry.slice(root.length + 1)}`);
    if (entry === undefined) break;
    const extension = extensionOf(entry);
    if (!LOADERS.has(extension) || extension === "json") {
      throw refused({ file: entry, line: 1, column: 1 }, {
        code: "agent_module_refused",
        message: "its entry is not a TypeScript or JavaScript module",
        fix: "name a file that ends in .ts, .js or .mjs",
      });
    }
    return { project, entry };
  }
  throw new DataError("agent_module_refused", "Cannot bundle the agent: its entry lies outside of the project", {
    fix: "move the agent into the project",
  });
}

/** What is to be bundled. */
interface Agent {
  readonly project: string;
  /** Path in the project. */
  readonly entry: string;
  readonly packages: PackageResolver;
}

/** A module that was read, by the name that esbuild knows: its path in the project, or `${npm}/…`. */
type ReadModules = Map<string, AgentBundle["modules"][number]>;

async function build(agent: Agent, binary: string): Promise<AgentBundle> {
  const refusals: Refusal[] = [];
  const modules: ReadModules = new Map();
  let totalBytes = 0;
  const refuse = (refusal: Refusal): ServiceRefusal => ({
    refused: refusal.message,
    detail: refusals.push(refusal) - 1,
  });
  const result = await runEsbuild({
    binary,
    version: esbuildVersion(),
    flags: FLAGS,
    entry: agent.entry,
    timeoutMs: BUNDLE_LIMITS.ms,
    packetBytes: BUNDLE_LIMITS.outputBytes,
    resolve: async (request) => {
      if (request.kind === "entry-point") return { path: agent.entry };
      const answer = await resolveImport(request, agent.packages);
      return typeof answer === "string" ? { path: answer } : refuse(answer);
    },
    load: async (path) => {
      try {
        const { bytes, ...module } = await read(agent, path);
        modules.set(path, module);
        totalBytes += bytes.length;
        if (modules.size > BUNDLE_LIMITS.modules) throw new ModuleError(`more than ${BUNDLE_LIMITS.modules} modules`);
        if (totalBytes > BUNDLE_LIMITS.totalBytes) {
          throw new ModuleError(`more than ${BUNDLE_LIMITS.totalBytes} bytes of modules in total`);
        }
        return { contents: bytes, loader: LOADERS.get(extensionOf(path)) ?? "js" };
      } catch (error) {
        if (!(error instanceof ModuleError)) throw error;
        if (path === agent.entry && error.isMissing) {
          throw new InputError("agent_not_found", `Cannot bundle the agent: there is no file ${path} in the project`);
        }
        return refuse({ code: "agent_module_refused", message: `${path} is ${error.message}`, fix: error.fix });
      }
    },
  });
  const first = result.errors.map((message) => toError(message, refusals, agent.entry)).sort(byPosition)[0];
  if (first !== undefined) throw first;
  checkClosed(result.metafile, modules);
  const code = await sesSafe(compose(result));
  return {
    code,
    modules: [...modules.values(), ...agent.packages.manifests.filter(({ packaged }) => !modules.has(packaged))]
      .sort((a, b) => a.path < b.path ? -1 : 1),
    digest: await sha256(code),
  };
}

async function read(
  { project, packages }: Agent,
  path: string,
): Promise<AgentBundle["modules"][number] & { readonly bytes: Uint8Array }> {
  if (path.startsWith(PACKAGED)) return { ...await packages.read(path), packaged: path };
  return { ...await readModule(project, path), path: `${project}/${path}` };
}

/** Names the module that an import means, or says why it is refused. */
async function resolveImport(
  { path, importer, kind, attributes }: ResolveRequest,
  packages: PackageResolver,
): Promise<string | Refusal> {
  if (kind === "dynamic-import") return refuseImport(DYNAMIC_IMPORT.message, DYNAMIC_IMPORT.fix);
  if (kind !== "import-statement") return refuseImport(REQUIRE.message, REQUIRE.fix);
  const found = importer.startsWith(PACKAGED)
    ? await packages.fromPackage(importer, path)
    : /^\.\.?\//.test(path)
    ? resolveRelative(importer, path)
    : await packages.fromProject(path);
  return typeof found === "string" ? checkAttributes(found, shownSpecifier(path), attributes) ?? found : found;
}

function resolveRelative(importer: string, path: string): string | Refusal {
  const shown = shownSpecifier(path);
  // deno-lint-ignore no-control-regex
  if (/[\\%?#\x00-\x1f\x7f]/.test(path) || path.includes("//")) {
    return refuseImport(`the import of ${shown} is not a plain path`, "use a path without \\ % ? # and empty segments");
  }
  if (!LOADERS.has(extensionOf(path))) {
    return refuseImport(
      `the import of ${shown} does not end in .ts, .js, .mjs or .json`,
      "write the path with the file's extension",
    );
  }
  const found = resolveInside(importer, path);
  if (found === undefined) {
    return refuseImport(`the import of ${shown} lies outside of the project`, "move the file into the project");
  }
  if (isKept(found)) {
    return refuseImport(
      `the import of ${shown} is of a place where secrets or the runner's own files are kept`,
      "give the agent what it needs in context, or through a tool that the policy grants",
    );
  }
  if (isInstalled(found) && !isInstalled(importer)) {
    return refuseImport(
      `the import of ${shown} leads into node_modules`,
      'list the package in "packages" of the policy, and import it by its name',
    );
  }
  return found;
}

const findKept = makeNameFinder([...SECRET_NAMES, ".git", ".twokey"]);

/** Whether a path has a secret's name in it, or is the runner's own. A file of code may be called like a key. */
function isKept(path: string): boolean {
  const components = path.split("/");
  return findKept(extensionOf(path) === "json" ? components : components.slice(0, -1)) >= 0;
}

/** Whether a path leads through a folder of packages, in whatever case a file system takes for the same. */
function isInstalled(path: string): boolean {
  return path.toLowerCase().split("/").includes("node_modules");
}

/** JSON is typed as such, and nothing else is. */
function checkAttributes(
  found: string,
  shown: string,
  attributes: ResolveRequest["attributes"],
): Refusal | undefined {
  const isJson = extensionOf(found) === "json";
  if (isJson && (attributes.get("type") !== "json" || attributes.size > 1)) {
    return refuseImport(`the import of ${shown} is not typed as JSON`, `write: with { type: "json" }`);
  }
  if (!isJson && attributes.size > 0) {
    return refuseImport(`the import of ${shown} has an attribute that agents cannot use`, "remove the attribute");
  }
}

/**
 * Joins a relative path to the folder of a module, both inside of the project; `undefined` if it leaves the project, or
 * would be taken for a file of a package.
 */
function resolveInside(importer: string, path: string): string | undefined {
  const segments = importer.split("/").slice(0, -1);
  for (const segment of path.split("/")) {
    if (segment === ".." && segments.pop() === undefined) return undefined;
    if (segment !== "" && segment !== "." && segment !== "..") segments.push(segment);
  }
  const joined = segments.join("/");
  return joined.startsWith(PACKAGED) ? undefined : joined;
}

function extensionOf(path: string): string {
  return /[^/]\.([^./]+)$/.exec(path)?.[1] ?? "";
}

/** Checks esbuild's own account: nothing is imported at run time, and every input is one that was handed over. */
function checkClosed(metafile: string, modules: Readonly<Pick<ReadModules, "has">>): void {
  const account = JSON.parse(metafile) as {
    readonly inputs: Readonly<Record<string, { readonly format?: string }>>;
    readonly outputs: Readonly<Record<string, { readonly imports: readonly unknown[] }>>;
  };
  for (const [name, { format }] of Object.entries(account.inputs)) {
    const path = withoutNamespace(name.replace(/ with \{.*\}$/, ""));
    if (!modules.has(path)) throw new BugError("bug_bundle_input", "Cannot bundle the agent: an input was not checked");
    if (format === "cjs") {
      throw refused({ file: path, line: 1, column: 1 }, {
        code: "agent_module_refused",
        message: `${path} is a CommonJS module`,
        fix: path.startsWith(PACKAGED)
          ? "use a package of plain ES modules"
          : "use import and export instead of require, module and exports",
      });
    }
  }
  if (Object.values(account.outputs).some(({ imports }) => imports.length > 0)) {
    throw new BugError("bug_bundle_import", "Cannot bundle the agent: the bundle still imports something");
  }
}

/** Puts code and source map together; the map names modules by `agent:///` URLs. */
function compose({ files }: ServiceResult): string {
  const decoder = new TextDecoder();
  const map: unknown = JSON.parse(decoder.decode(files.get("/agent.js.map")));
  const code = files.get("/agent.js");
  if (code === undefined || !isSourceMap(map)) throw new BugError("bug_bundle_output", "Cannot read esbuild's output");
  const sources = map.sources.map((source) =>
    withoutNamespace(source).split("/").map((segment) => encodeURIComponent(segment)).join("/")
      .replace(/^%24%7Bnpm%7D\/.*/, decodeURIComponent) // a package's files need none of it
  );
  const body = decoder.decode(code);
  const portable = { version: 3, sourceRoot: "agent:///", sources, names: map.names, mappings: map.mappings } as const;
  // esbuild says nothing about `require.resolve`, but prints a stand-in for `require`; its uses follow it.
  if (body.includes(REQUIRE_HELPER)) {
    const use = body.indexOf("__require.", body.indexOf("\n});\n", body.indexOf(REQUIRE_HELPER)));
    const position = sourcePosition({ body, map: portable }, use);
    throw refused(position, { code: "agent_import_refused", ...REQUIRE });
  }
  return withInlineMap(body, portable);
}
