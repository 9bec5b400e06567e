/**
 * Makes one module of an agent: its entry and everything that it imports from the project.
 *
 * Trust: the agent's source is not trusted. Every name and every text that esbuild sees is handed to it by this module,
 * so no configuration file, symlink or environment variable takes part; what was read is listed with its digest.
 *
 * @module
 */
import { BugError, DataError, InputError, type Position } from "../errors.ts";
import { sha256 } from "../json.ts";
import type { AgentBundle } from "./agent_bundle.ts";
import { loadBundle, storeBundle } from "./bundle_cache.ts";
import { esbuildPath, esbuildVersion } from "./esbuild_path.ts";
import {
  NAMESPACE,
  type ResolveRequest,
  runEsbuild,
  type ServiceMessage,
  type ServiceRefusal,
  type ServiceResult,
} from "./esbuild_service.ts";
import { MODULE_LIMITS, ModuleError, readModule } from "./module_file.ts";
import { sesSafe } from "./ses_text.ts";
import { isSourceMap, sourcePosition, withInlineMap } from "./source_map.ts";

/** What to bundle. */
export interface BundleOptions {
  /** Absolute path of the agent's entry module, inside of the project. */
  readonly entry: string;
  /** Absolute path of the project's folder; what agents import lies inside. */
  readonly project: string;
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

const DYNAMIC_IMPORT = {
  message: "a dynamic import is refused",
  fix: "import the module at the top of the file, by a relative path",
} as const;

const REQUIRE = {
  message: "require is refused",
  fix: "import the module at the top of the file, by a relative path",
} as const;

/** What agents cannot use, by esbuild's name for its message: what is there, and what to write instead. */
const REFUSED_SYNTAX: ReadonlyMap<string, { readonly message: string; readonly fix: string }> = new Map([
  ["unsupported-dynamic-import", DYNAMIC_IMPORT],
  ["empty-glob", DYNAMIC_IMPORT],
  ["unsupported-require-call", REQUIRE],
  ["indirect-require", REQUIRE],
  ["require-resolve-not-external", REQUIRE],
  ["commonjs-variable-in-esm", { message: "module and exports are refused", fix: "use export" }],
  ["empty-import-meta", {
    message: "import.meta is refused",
    fix: "use context for what the policy hands to the agent",
  }],
  ["direct-eval", {
    message: "eval is refused",
    fix: "write the code itself; give a function of this name another one",
  }],
]);

const REQUIRE_HELPER = "var __require = /* @__PURE__ */";

interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly fix: string;
}

/**
 * Bundles an agent. Requires permission to read the project and Deno's cache, and to run esbuild unless a finished
 * bundle is in `cacheDir`.
 *
 * Agents are `.ts`, `.js` and `.mjs` modules with static imports of relative paths with their extension; `.json` needs
 * the attribute `type: "json"`. Symlinks are refused, so a path means one file.
 *
 * @throws {InputError} `agent_not_found`, if the entry or the project cannot be read.
 * @throws {DataError} `agent_import_refused`, `agent_module_refused`, `agent_syntax` or `agent_text_refused`, with the
 * position in the project and the fix.
 * @throws {ControlError} `esbuild_missing` or `bundler_failed`.
 */
export async function bundleAgent(options: BundleOptions): Promise<AgentBundle> {
  const { project, entry } = await locate(options);
  const key = await sha256([...RECIPE, esbuildVersion(), project, entry].join("\n"));
  const cached = options.cacheDir === undefined ? undefined : await loadBundle(options.cacheDir, { key, project });
  if (cached !== undefined) return cached;
  const bundle = await build({ project, entry }, await esbuildPath({ onProgress: options.onProgress }));
  if (options.cacheDir !== undefined) await storeBundle(options.cacheDir, { key, bundle });
  return bundle;
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

async function build(agent: { project: string; entry: string }, binary: string): Promise<AgentBundle> {
  const refusals: Refusal[] = [];
  const modules = new Map<string, string>();
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
    resolve: (request) => {
      if (request.kind === "entry-point") return { path: agent.entry };
      const answer = resolveImport(request);
      return typeof answer === "string" ? { path: answer } : refuse(answer);
    },
    load: async (path) => {
      try {
        const { bytes, sha256 } = await readModule(agent.project, path);
        modules.set(path, sha256);
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
    modules: Array.from(modules, ([path, sha256]) => ({ path: `${agent.project}/${path}`, sha256 }))
      .sort((a, b) => a.path < b.path ? -1 : 1),
    digest: await sha256(code),
  };
}

/** Names the module that an import means by its path in the project, or says why it is refused. */
function resolveImport({ path, importer, kind, attributes }: ResolveRequest): string | Refusal {
  const refusal = (what: string, fix: string): Refusal => ({ code: "agent_import_refused", message: what, fix });
  const shown = JSON.stringify(path.length > 200 ? path.slice(0, 200) + "…" : path);
  if (kind === "dynamic-import") return refusal(DYNAMIC_IMPORT.message, DYNAMIC_IMPORT.fix);
  if (kind !== "import-statement") return refusal(REQUIRE.message, REQUIRE.fix);
  if (!/^\.\.?\//.test(path)) {
    return refusal(
      `the import of ${shown} is not of a relative path`,
      "import files of the project by a relative path, such as ./lib.ts; for everything else use callTool",
    );
  }
  // deno-lint-ignore no-control-regex
  if (/[\\%?#\x00-\x1f\x7f]/.test(path) || path.includes("//")) {
    return refusal(`the import of ${shown} is not a plain path`, "use a path without \\ % ? # and empty segments");
  }
  const extension = extensionOf(path);
  if (!LOADERS.has(extension)) {
    return refusal(
      `the import of ${shown} does not end in .ts, .js, .mjs or .json`,
      "write the path with the file's extension",
    );
  }
  const type = attributes.get("type");
  if (extension === "json" ? type !== "json" || attributes.size > 1 : attributes.size > 0) {
    return extension === "json"
      ? refusal(`the import of ${shown} is not typed as JSON`, `write: with { type: "json" }`)
      : refusal(`the import of ${shown} has an attribute that agents cannot use`, "remove the attribute");
  }
  return resolveInside(importer, path) ??
    refusal(`the import of ${shown} lies outside of the project`, "move the file into the project");
}

/** Joins a relative path to the folder of a module, both inside of the project; `undefined` if it leaves the project. */
function resolveInside(importer: string, path: string): string | undefined {
  const segments = importer.split("/").slice(0, -1);
  for (const segment of path.split("/")) {
    if (segment === ".." && segments.pop() === undefined) return undefined;
    if (segment !== "" && segment !== "." && segment !== "..") segments.push(segment);
  }
  return segments.join("/");
}

function extensionOf(path: string): string {
  return /[^/]\.([^./]+)$/.exec(path)?.[1] ?? "";
}

function refused(position: Position, { code, message, fix }: Refusal): DataError {
  return new DataError(code, `Cannot bundle the agent: ${message}`, { position, fix });
}

function toError(message: ServiceMessage, refusals: readonly Refusal[], entry: string): DataError {
  const { location } = message;
  const position = location === undefined || location.file === "" ? { file: entry, line: 1, column: 1 } : {
    file: withoutNamespace(location.file),
    line: location.line,
    column: utf16Column(location.lineText, location.column),
  };
  const refusal = message.detail === undefined ? undefined : refusals[message.detail];
  if (refusal !== undefined) return refused(position, refusal);
  const pattern = /^Could not resolve (import|require)\(/.exec(message.text)?.[1]; // with a computed part in its path
  const byPattern = pattern === undefined ? undefined : pattern === "import" ? DYNAMIC_IMPORT : REQUIRE;
  const syntax = byPattern ?? REFUSED_SYNTAX.get(message.id);
  if (syntax !== undefined) return refused(position, { code: "agent_import_refused", ...syntax });
  return refused(position, {
    code: "agent_syntax",
    message: message.text.replaceAll(`"${NAMESPACE}:`, '"'),
    fix: "correct the module at this place",
  });
}

/** 1-based column in UTF-16 code units of a 0-based one in UTF-8 bytes. */
function utf16Column(line: string, column: number): number {
  return new TextDecoder().decode(new TextEncoder().encode(line).subarray(0, column)).length + 1;
}

function withoutNamespace(path: string): string {
  return path.startsWith(NAMESPACE + ":") ? path.slice(NAMESPACE.length + 1) : path;
}

/** esbuild reports as its threads find errors; sorted, the first one is the same each time. */
function byPosition(a: DataError, b: DataError): number {
  const [left, right] = [a.position, b.position];
  if (left === undefined || right === undefined) return 0;
  if (left.file !== right.file) return left.file < right.file ? -1 : 1;
  return left.line - right.line || left.column - right.column;
}

/** Checks esbuild's own account: nothing is imported at run time, and every input is one that was handed over. */
function checkClosed(metafile: string, modules: ReadonlyMap<string, string>): void {
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
        fix: "use import and export instead of require, module and exports",
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
