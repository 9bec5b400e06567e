/**
 * Finds the native esbuild program in Deno's npm cache.
 *
 * @module
 */
import manifest from "../../deno.json" with { type: "json" };
import { BugError, ControlError } from "../errors.ts";
import { denoDirOf } from "../authority/deno_dir.ts";
import { subfolders } from "./look.ts";

/** What {@linkcode esbuildPath} may be told; tests inject the last two. */
export interface EsbuildPathOptions {
  /** Hears one line when packages are being installed, which can take seconds. */
  readonly onProgress?: ((line: string) => void) | undefined;
  /** Absolute folder of Deno's cache; left out, Deno's own rules find it. */
  readonly denoDir?: string | undefined;
  /** Installs the locked packages; resolves to whether that went well. */
  readonly install?: (() => Promise<boolean>) | undefined;
}

/** How deep below `npm/` a package may lie: a registry that is served from a path has one folder for each segment. */
const REGISTRY_DEPTH = 3;

/**
 * Finds the native esbuild program of the pinned version: an absolute path to an executable regular file.
 *
 * When it is missing, the locked packages are installed once and the cache is searched again; nothing else is fetched.
 * Requires permission to read the cache and to run `deno`.
 *
 * @throws {ControlError} `esbuild_missing`, if the program is not there and cannot be installed.
 */
export async function esbuildPath(options: EsbuildPathOptions = {}): Promise<string> {
  const inPackage = packageFolder();
  const found = await findIn(options.denoDir ?? denoDirOf((name) => Deno.env.get(name)) ?? undefined, inPackage);
  if (found !== undefined) return found;
  options.onProgress?.("Installing the locked npm packages (esbuild is not in the cache)");
  const installed = await (options.install ?? installLocked)();
  const again = installed ? await findIn(options.denoDir ?? await reportedDenoDir(), inPackage) : undefined;
  if (again !== undefined) return again;
  throw new ControlError(
    "esbuild_missing",
    `Cannot bundle the agent: esbuild ${esbuildVersion()} is not in Deno's cache; run "deno task install" in the folder of twokey`,
  );
}

/** The version of esbuild that `deno.json` pins. */
export function esbuildVersion(): string {
  const version = /@(\d+\.\d+\.\d+)$/.exec(manifest.imports.esbuild)?.[1];
  if (version === undefined) throw new BugError("bug_esbuild_pin", "Cannot read the version of esbuild from deno.json");
  return version;
}

function packageFolder(): string {
  const arch = Deno.build.arch === "aarch64" ? "arm64" : "x64";
  return `@esbuild/${Deno.build.os}-${arch}/${esbuildVersion()}/bin/esbuild`;
}

/** Deno's cache as Deno itself reports it: slower, but right where no variable names a home folder. */
async function reportedDenoDir(): Promise<string | undefined> {
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", "--no-config"],
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).output();
  if (!success) return undefined;
  const report: unknown = JSON.parse(new TextDecoder().decode(stdout));
  const folder = typeof report === "object" && report !== null && "denoDir" in report ? report.denoDir : undefined;
  return typeof folder === "string" ? folder : undefined;
}

/** Looks below each registry's folder, nearest first; the caches of several registries are searched in name order. */
async function findIn(denoDir: string | undefined, inPackage: string): Promise<string | undefined> {
  if (denoDir === undefined) return undefined;
  let folders = [`${denoDir}/npm`];
  for (let depth = 0; depth < REGISTRY_DEPTH; depth++) {
    folders = (await Promise.all(folders.map(subfolders))).flat();
    for (const folder of folders) {
      const path = `${folder}/${inPackage}`;
      if (await isProgram(path)) return path;
    }
  }
  return undefined;
}

async function isProgram(path: string): Promise<boolean> {
  try {
    const info = await Deno.lstat(path);
    return info.isFile && ((info.mode ?? 0) & 0o111) !== 0;
  } catch {
    return false;
  }
}

async function installLocked(): Promise<boolean> {
  const config = new URL("../../deno.json", import.meta.url);
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: ["install", "--frozen", "--quiet", "--config", decodeURIComponent(config.pathname)],
    cwd: new URL(".", config),
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).output();
  return success;
}
