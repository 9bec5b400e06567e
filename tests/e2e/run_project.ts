/** A project in a temporary folder, and the command line run in it as a child with an environment of its own. */
import type { Record as AuditRecord } from "../../src/audit/record.ts";

/** The command line's own module. */
export const MAIN = new URL("../../src/cli/main.ts", import.meta.url).pathname;

/** What a test's project holds beside a `deno.json`. */
export interface ProjectOptions {
  /** Written as `agent.policy.jsonc`; `version` and `agent` are filled in where they are missing. */
  readonly policy?: Readonly<Record<string, unknown>>;
  /** Text of `agent.ts`. */
  readonly agent?: string;
  /** Further files by path; a path that ends in `/` is an empty folder. */
  readonly files?: Readonly<Record<string, string>>;
  /** Where links lead, by path. */
  readonly links?: Readonly<Record<string, string>>;
}

/** How to run. */
export interface RunOptions {
  /** Words of the command line; the default is `run --json`. */
  readonly args?: readonly string[];
  /** Variables beside the clean ones. */
  readonly env?: Readonly<Record<string, string>>;
  /** Called with the started child. */
  readonly onStart?: (child: Deno.ChildProcess) => void | Promise<void>;
}

/** What a run left. */
export interface RunResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Records of the run's log, in order; whole lines only. */
  readonly records: readonly AuditRecord[];
  /** The newest log below the project or its state folder; empty where there is none. */
  readonly auditPath: string;
}

/** A project that exists. */
export interface Project {
  /** Real path. */
  readonly dir: string;
  /** The state folder's parent: `XDG_STATE_HOME` of every run. */
  readonly stateHome: string;
  /** Folder for temporary files of every run: FIFOs of a run that was killed stay here. */
  readonly tmp: string;
  run(options?: RunOptions): Promise<RunResult>;
  write(path: string, text: string): Promise<void>;
  /** Writes the policy again. */
  policy(policy: Readonly<Record<string, unknown>>): Promise<void>;
}

/** Runs `body` in a fresh project and removes it. */
export async function withProject(
  options: ProjectOptions,
  body: (project: Project) => Promise<void>,
): Promise<void> {
  const root = await Deno.realPath(await Deno.makeTempDir({ prefix: "twokey-e2e-" }));
  const dir = `${root}/project`;
  try {
    await Promise.all(["project", "state", "tmp"].map((name) => Deno.mkdir(`${root}/${name}`, { mode: 0o700 })));
    const project: Project = {
      dir,
      stateHome: `${root}/state`,
      tmp: `${root}/tmp`,
      run: (run) => runIn(root, run ?? {}),
      write: (path, text) => write(dir, path, text),
      policy: (policy) => write(dir, "agent.policy.jsonc", policyText(policy)),
    };
    await write(dir, "deno.json", "{}");
    for (const [path, text] of Object.entries(options.files ?? {})) await write(dir, path, text);
    for (const [path, target] of Object.entries(options.links ?? {})) await Deno.symlink(target, `${dir}/${path}`);
    if (options.agent !== undefined) await write(dir, "agent.ts", options.agent);
    if (options.policy !== undefined) await project.policy(options.policy);
    await body(project);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

function policyText(policy: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ version: 1, agent: "agent.ts", ...policy }, null, 2);
}

async function write(dir: string, path: string, text: string): Promise<void> {
  const full = `${dir}/${path}`;
  await Deno.mkdir(path.endsWith("/") ? full : full.slice(0, full.lastIndexOf("/")), { recursive: true });
  if (!path.endsWith("/")) await Deno.writeTextFile(full, text);
}

/** The environment of a clean run: nothing of the caller's but where Deno's cache is. */
export function cleanEnv(root: string): Record<string, string> {
  return {
    HOME: root,
    PATH: "/usr/bin:/bin",
    TMPDIR: `${root}/tmp`,
    XDG_STATE_HOME: `${root}/state`,
    DENO_DIR: denoCache(),
    DENO_NO_UPDATE_CHECK: "1",
  };
}

function denoCache(): string {
  return Deno.env.get("DENO_DIR") ?? `${Deno.env.get("XDG_CACHE_HOME") ?? `${Deno.env.get("HOME")}/.cache`}/deno`;
}

async function runIn(root: string, { args = ["run", "--json"], env = {}, onStart }: RunOptions): Promise<RunResult> {
  const before = new Set(await logsIn(root));
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-prompt", "--quiet", MAIN, ...args],
    cwd: `${root}/project`,
    clearEnv: true,
    env: { ...cleanEnv(root), ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const output = Promise.all([child.status, new Response(child.stdout).text(), new Response(child.stderr).text()]);
  await onStart?.(child);
  const [{ code }, stdout, stderr] = await output;
  const auditPath = (await logsIn(root)).find((path) => !before.has(path)) ?? "";
  return { code, stdout, stderr, auditPath, records: auditPath === "" ? [] : await readLog(auditPath) };
}

/** The logs of a project, those in its state folder included. */
export async function logsIn(root: string): Promise<string[]> {
  const folders = [`${root}/project/.twokey/runs`];
  for (const id of await namesIn(`${root}/state/twokey`)) folders.push(`${root}/state/twokey/${id}/runs`);
  const paths: string[] = [];
  for (const folder of folders) {
    for (const run of await namesIn(folder)) {
      const path = `${folder}/${run}/audit.jsonl`;
      if (await exists(path)) paths.push(path);
    }
  }
  return paths;
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch {
    return false;
  }
}

/** Parses the whole lines of a log. */
export async function readLog(path: string): Promise<AuditRecord[]> {
  const text = await Deno.readTextFile(path);
  return text.slice(0, text.lastIndexOf("\n") + 1).split("\n").filter((line) => line !== "").map((line) =>
    JSON.parse(line)
  );
}

/** Processes whose command line names `text`; a run's FIFO folder is in the host's, its temporary folder in both. */
export async function processesNaming(text: string): Promise<number[]> {
  const found: number[] = [];
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name) || Number(name) === Deno.pid) continue;
    try {
      if ((await Deno.readTextFile(`/proc/${name}/cmdline`)).includes(text)) found.push(Number(name));
    } catch {
      // it ended while we looked
    }
  }
  return found;
}

/** Waits until `isDone` holds, at most `ms` milliseconds; says whether it did. */
export async function eventually(isDone: () => boolean | Promise<boolean>, ms: number): Promise<boolean> {
  const until = performance.now() + ms;
  while (!await isDone()) {
    if (performance.now() > until) return false;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return true;
}
