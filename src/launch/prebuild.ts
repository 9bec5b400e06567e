/**
 * Builds the launcher and the host into one file each, from this program's own sources and its locked packages.
 *
 * @module
 */
import manifest from "../../deno.json" with { type: "json" };
import { esbuildPath } from "./esbuild_path.ts";
import { findPrebuilt, PREBUILT_FILES, prebuiltFolder } from "./prebuilt.ts";

/** Packages that only some runs need: they stay in Deno's cache and are loaded from there. */
const EXTERNAL = ["@cfworker/json-schema", "@valibot/to-json-schema", "acorn", "esbuild", "ignore", "re2js", "ses"];

/** Packages that every run needs: they become part of the files. */
const INSIDE = ["@humanwhocodes/momoa", "@noble/hashes", "@stricli/core", "canonicalize", "valibot"];

const ROOT = decodeURIComponent(new URL("../..", import.meta.url).pathname).replace(/\/$/, "");
/** How long folders of older sources are kept: a run that has just started may still be reading one. */
const KEPT_MS = 3_600_000;

/**
 * Builds the files if they are not there. Never fails: without them everything works, and starts more slowly.
 *
 * @param options `onProblem` hears one line where they could not be made.
 * @returns The folder of the files, or `undefined` if they could not be made.
 */
export async function prebuild(options: { onProblem?(line: string): void } = {}): Promise<string | undefined> {
  try {
    const folder = prebuiltFolder();
    if (folder === undefined || findPrebuilt() !== undefined) return folder;
    const around = folder.slice(0, folder.lastIndexOf("/"));
    await Deno.mkdir(around, { recursive: true, mode: 0o700 });
    const work = await Deno.makeTempDir({ dir: around, prefix: "build-" });
    try {
      await build(work, folder);
      await Deno.rename(`${work}/out`, folder);
      await removeOlder(around, folder);
      return folder;
    } finally {
      await Deno.remove(work, { recursive: true });
    }
  } catch (error) {
    options.onProblem?.(`Cannot prebuild the command line: ${error instanceof Error ? error.message : error}`);
    return undefined;
  }
}

async function build(work: string, folder: string): Promise<void> {
  const esbuild = await esbuildPath();
  const packages = esbuild.slice(0, esbuild.lastIndexOf("/@esbuild/"));
  for (const name of INSIDE) {
    const link = `${work}/node_modules/${name}`;
    await Deno.mkdir(link.slice(0, link.lastIndexOf("/")), { recursive: true });
    await Deno.symlink(`${packages}/${name}/${versionOf(name)}`, link);
  }
  const { success, stderr } = await new Deno.Command(esbuild, {
    args: [
      `${ROOT}/src/cli/app.ts`,
      `${ROOT}/src/host/main.ts`,
      "--bundle",
      "--minify-whitespace",
      "--minify-syntax",
      "--format=esm",
      "--platform=neutral",
      "--main-fields=module,main",
      "--conditions=import",
      "--target=esnext",
      "--preserve-symlinks",
      "--tsconfig-raw={}",
      "--log-level=error",
      `--outdir=${work}/out`,
      "--entry-names=[name]",
      // Every module of ours lies two folders below the root, so one place stands for all.
      `--define:import.meta.url=${JSON.stringify(`file://${encodeURI(ROOT)}/src/cli/app.ts`)}`,
      `--define:PREBUILT_HERE=${JSON.stringify(folder)}`,
      "--external:npm:*",
      "--external:node:*",
      ...EXTERNAL.map((name) => `--alias:${name}=npm:${name}@${versionOf(name)}`),
    ],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
    clearEnv: true,
    env: { NODE_PATH: `${work}/node_modules` },
    cwd: work,
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr).trim().split("\n")[0] ?? "esbuild failed");
  await Deno.chmod(`${work}/out`, 0o700);
  for (const file of Object.values(PREBUILT_FILES)) await Deno.chmod(`${work}/out/${file}`, 0o600);
}

/** The version that `deno.json` pins. */
function versionOf(name: string): string {
  const specifier: string = manifest.imports[name as keyof typeof manifest.imports];
  return specifier.slice(specifier.lastIndexOf("@") + 1);
}

async function removeOlder(around: string, folder: string): Promise<void> {
  for await (const { name } of Deno.readDir(around)) {
    const path = `${around}/${name}`;
    if (path === folder) continue;
    const { mtime } = await Deno.lstat(path);
    if (mtime !== null && Date.now() - mtime.getTime() > KEPT_MS) await Deno.remove(path, { recursive: true });
  }
}

if (import.meta.main) {
  await prebuild({ onProblem: (line) => void Deno.stderr.writeSync(new TextEncoder().encode(`${line}\n`)) });
}
