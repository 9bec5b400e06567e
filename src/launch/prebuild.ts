/**
 * Builds the launcher and the host into one file each, from this program's own sources and its locked packages.
 *
 * @module
 */
import manifest from "../../deno.json" with { type: "json" };
import { nameOf, parentOf, resolvePath } from "../authority/path.ts";
import { esbuildPath } from "./esbuild_path.ts";
import { makeEager } from "./make_eager.ts";
import {
  findPrebuilt,
  indexPath,
  PREBUILT_FILES,
  type PrebuiltIndex,
  type PrebuiltPart,
  prebuiltPlace,
  stampOf,
} from "./prebuilt.ts";

/** Packages that only some runs need: they stay in Deno's cache and are loaded from there. */
const EXTERNAL = ["@cfworker/json-schema", "@valibot/to-json-schema", "acorn", "esbuild", "js-yaml", "re2js", "ses"];

/** Packages that most starts need, or that would be loaded with the files in any case: they become part of them. */
const INSIDE = ["@humanwhocodes/momoa", "@noble/hashes", "@stricli/core", "canonicalize", "ignore", "valibot"];

/** What is built together. Names of the host's classes reach records, so they stay what they are. */
const BUILDS = [
  { entries: ["src/cli/app.ts", "src/cli/policy_app.ts", "src/cli/run_app.ts"], flags: ["--minify-identifiers"] },
  { entries: ["src/host/main.ts"], flags: [] },
] as const;

/** Files of which a start runs so much that their functions are compiled with them. */
const EAGER: readonly PrebuiltPart[] = ["policy", "run"];

/** How esbuild builds. */
const FLAGS = [
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
  "--entry-names=[name]",
  "--external:npm:*",
  "--external:node:*",
] as const;

/** What every file depends on: the packages that are inside, and how it is built. */
const ALWAYS: readonly string[] = ["deno.json", "deno.lock", "src/launch/make_eager.ts", "src/launch/prebuild.ts"];

const PARTS = Object.keys(PREBUILT_FILES) as readonly PrebuiltPart[];
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
    const place = prebuiltPlace();
    if (place === undefined) return undefined;
    const found = PARTS.map(findPrebuilt);
    if (found[0] !== undefined && !found.includes(undefined)) {
      return decodeURI(new URL(".", found[0]).pathname).replace(/\/$/, "");
    }
    await Deno.mkdir(place, { recursive: true, mode: 0o700 });
    const work = await Deno.makeTempDir({ dir: place, prefix: "build-" });
    try {
      const name = `${Deno.version.deno}-${crypto.randomUUID().slice(0, 8)}`;
      const folder = `${place}/${name}`;
      // Before they are read: a source that changes meanwhile is another one at the next start.
      const sources = ["deno.json", "deno.lock", ...filesBelow("src")].map(stampOf);
      const parts = await build(work, folder, sources.map(([path]) => path));
      await Deno.rename(`${work}/out`, folder);
      const index: PrebuiltIndex = { folder: name, sources, parts };
      await Deno.writeTextFile(`${work}/index`, JSON.stringify(index), { mode: 0o600 });
      await Deno.rename(`${work}/index`, indexPath(place));
      await removeOlder(place, [folder, indexPath(place)]);
      return folder;
    } finally {
      await Deno.remove(work, { recursive: true });
    }
  } catch (error) {
    options.onProblem?.(`Cannot prebuild the command line: ${error instanceof Error ? error.message : error}`);
    return undefined;
  }
}

/** Paths from the project's root of all files below one of its folders. */
function filesBelow(folder: string): string[] {
  return [...Deno.readDirSync(`${ROOT}/${folder}`)].flatMap(({ name, isDirectory }) =>
    isDirectory ? filesBelow(`${folder}/${name}`) : [`${folder}/${name}`]
  );
}

/** Builds every file into `out`, and says which of the sources each was made from. */
async function build(work: string, folder: string, sources: readonly string[]): Promise<PrebuiltIndex["parts"]> {
  const esbuild = await linkPackages(work);
  const made = new Map<string, ReadonlySet<string>>();
  for (const { entries, flags } of BUILDS) {
    const meta = `${work}/meta.json`;
    const { success, stderr } = await new Deno.Command(esbuild, {
      args: [
        ...entries.map((entry) => `${ROOT}/${entry}`),
        ...flags,
        ...FLAGS,
        `--outdir=${work}/out`,
        `--metafile=${meta}`,
        // Every module of ours lies two folders below the root, so one place stands for all.
        `--define:import.meta.url=${JSON.stringify(`file://${encodeURI(ROOT)}/src/cli/app.ts`)}`,
        `--define:PREBUILT_HERE=${JSON.stringify(folder)}`,
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
    const { outputs } = JSON.parse(await Deno.readTextFile(meta)) as Metafile;
    for (const [path, { inputs }] of Object.entries(outputs)) {
      made.set(nameOf(path), new Set(Object.keys(inputs).map((input) => resolvePath(work, input))));
    }
  }
  await Deno.chmod(`${work}/out`, 0o700);
  for (const part of PARTS) {
    const path = `${work}/out/${PREBUILT_FILES[part]}`;
    if (part !== "host") await Deno.writeTextFile(path, await prepareLauncher(part, await Deno.readTextFile(path)));
    await Deno.chmod(path, 0o600);
  }
  const isOf = (path: string, part: PrebuiltPart) => made.get(PREBUILT_FILES[part])?.has(`${ROOT}/${path}`) ?? false;
  const placesOf = (part: PrebuiltPart) =>
    sources.flatMap((path, at) => {
      if (ALWAYS.includes(path)) return [at];
      return isOf(path, part) || (part !== "policy" && isOf(path, "host")) ? [at] : [];
    });
  return { app: placesOf("app"), policy: placesOf("policy"), run: placesOf("run"), host: placesOf("host") };
}

/** The part of esbuild's report that is read here. */
interface Metafile {
  readonly outputs: Readonly<Record<string, { readonly inputs: Readonly<Record<string, unknown>> }>>;
}

/**
 * Makes a launcher's file quick to start. A package that it may load later is named in a way that Deno does not see, or it
 * would be looked up at every start; the host may load only what Deno has seen.
 */
async function prepareLauncher(part: PrebuiltPart, code: string): Promise<string> {
  const later = code.replaceAll(/\bimport\(("npm:[^"]+")\)/g, "import(String($1))");
  return EAGER.includes(part) ? await makeEager(later) : later;
}

/** Links the packages that become part of the files into a folder where esbuild looks for them; returns its path. */
async function linkPackages(work: string): Promise<string> {
  const esbuild = await esbuildPath();
  const packages = esbuild.slice(0, esbuild.lastIndexOf("/@esbuild/"));
  for (const name of INSIDE) {
    const link = `${work}/node_modules/${name}`;
    await Deno.mkdir(parentOf(link), { recursive: true });
    await Deno.symlink(`${packages}/${name}/${versionOf(name)}`, link);
  }
  return esbuild;
}

/** The version that `deno.json` pins. */
function versionOf(name: string): string {
  const specifier: string = manifest.imports[name as keyof typeof manifest.imports];
  return specifier.slice(specifier.lastIndexOf("@") + 1);
}

async function removeOlder(place: string, kept: readonly string[]): Promise<void> {
  for await (const { name } of Deno.readDir(place)) {
    const path = `${place}/${name}`;
    if (kept.includes(path)) continue;
    const { mtime } = await Deno.lstat(path);
    if (mtime !== null && Date.now() - mtime.getTime() > KEPT_MS) await Deno.remove(path, { recursive: true });
  }
}

if (import.meta.main) {
  await prebuild({ onProblem: (line) => void Deno.stderr.writeSync(new TextEncoder().encode(`${line}\n`)) });
}
