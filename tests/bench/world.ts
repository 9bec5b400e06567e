/**
 * What the bench works in: a temporary folder with its own state, the peers' packages, and the way to start processes.
 *
 * @module
 */

/** The repository's root. */
export const ROOT = new URL("../..", import.meta.url).pathname.replace(/\/$/, "");

/** Where the bench works. */
export interface World {
  /** Real absolute path of the temporary folder. */
  readonly dir: string;
  /** Environment of every process of the product. */
  readonly env: Readonly<Record<string, string>>;
  /** The peers' packages, or why they are not there. */
  readonly peers: Peers | { readonly missing: string };
}

/** Node, and the packages that the peers are made of. */
export interface Peers {
  readonly node: string;
  readonly modules: string;
}

/** A finished process. */
export interface Finished {
  readonly stdout: string;
  /** From just before it was started until it was gone, in milliseconds. */
  readonly ms: number;
}

/** Makes the temporary folder and installs the peers into it. The caller removes `dir`. */
export async function makeWorld(): Promise<World> {
  const dir = await Deno.realPath(await Deno.makeTempDir({ prefix: "twokey-bench-" }));
  const env: Record<string, string> = { XDG_STATE_HOME: `${dir}/state`, DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" };
  for (const name of ["HOME", "PATH", "DENO_DIR", "XDG_CACHE_HOME", "TMPDIR"]) {
    const value = Deno.env.get(name);
    if (value !== undefined) env[name] = value;
  }
  return { dir, env, peers: await installPeers(`${dir}/peers`) };
}

/** Installs the peers from their lock file: exactly these bytes, without running anything of theirs. */
async function installPeers(dir: string): Promise<World["peers"]> {
  const [node, npm] = await Promise.all([findOnPath("node"), findOnPath("npm")]);
  if (node === undefined || npm === undefined) return { missing: "node or npm is not on PATH" };
  await Deno.mkdir(dir);
  for (const name of ["package.json", "package-lock.json"]) {
    await Deno.copyFile(`${ROOT}/tests/bench/peers/${name}`, `${dir}/${name}`);
  }
  const { success, stderr } = await new Deno.Command(npm, {
    args: ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"],
    cwd: dir,
    stdin: "null",
    stdout: "null",
  }).output();
  if (success) return { node, modules: `${dir}/node_modules` };
  const first = new TextDecoder().decode(stderr).trim().split("\n")[0] ?? "";
  return { missing: `npm cannot install them: ${first}` };
}

/** A program of `PATH`; `undefined` where there is none. */
export async function findOnPath(name: string): Promise<string | undefined> {
  for (const folder of (Deno.env.get("PATH") ?? "").split(":")) {
    try {
      if (folder.startsWith("/") && (await Deno.stat(`${folder}/${name}`)).isFile) return `${folder}/${name}`;
    } catch {
      // not there
    }
  }
  return undefined;
}

/** Runs a process to its end. @throws {Error} If it fails: a bench that measures a failure measures nothing. */
export async function runProcess(
  command: string,
  args: readonly string[],
  options: { readonly env?: Readonly<Record<string, string>>; readonly cwd?: string } = {},
): Promise<Finished> {
  const child = new Deno.Command(command, {
    args: [...args],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    ...(options.env === undefined ? {} : { env: { ...options.env }, clearEnv: true }),
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  const start = performance.now();
  const { code, stdout, stderr } = await child.output();
  const ms = performance.now() - start;
  const decoder = new TextDecoder();
  if (code !== 0) {
    const words = [command, ...args].join(" ");
    throw new Error(`Cannot measure: ${words} ended with ${code}: ${decoder.decode(stderr)}${decoder.decode(stdout)}`);
  }
  return { stdout: decoder.decode(stdout), ms };
}

/** Runs a script that prints one JSON line, and returns that line's value. */
export async function runScript(
  command: string,
  args: readonly string[],
  options: { readonly env?: Readonly<Record<string, string>>; readonly cwd?: string } = {},
): Promise<Finished & { readonly value: Readonly<Record<string, unknown>> }> {
  const finished = await runProcess(command, args, options);
  return { ...finished, value: JSON.parse(finished.stdout) };
}

/** The words that start the product's command line, without the program `deno`. */
export function twokey(...words: readonly string[]): string[] {
  return ["run", "-A", "--no-prompt", `${ROOT}/src/cli/main.ts`, ...words];
}

/** Reads a number out of a script's line. */
export function numberOf(value: unknown): number {
  if (typeof value !== "number") throw new Error("Cannot measure: a script did not print its number");
  return value;
}
