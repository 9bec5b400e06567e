/**
 * What this machine has of what a run can use, and what it means where something is missing.
 *
 * @module
 */
import { TWOKEY_DIR } from "../policy/places.ts";
import { findProgram } from "../launch/channels.ts";

/** One fact about the machine. */
export interface Fact {
  readonly name: string;
  readonly present: boolean;
  /** Absolute path, version or measurement; empty where there is none. */
  readonly detail: string;
  /** What follows from it. */
  readonly means: string;
  /** What to do where that matters; `null` where nothing needs to be done. */
  readonly fix: string | null;
  /** Whether nothing runs without it. */
  readonly required: boolean;
}

/** What the facts are gathered with; tests replace parts of it. */
export interface Machine {
  find(program: string): Promise<string | undefined>;
  /** Absolute path of esbuild in Deno's cache. @throws If it is not there. */
  esbuild(): Promise<string>;
  /** Makes and removes something in a folder, making the folder. @throws If that cannot be done. */
  write(folder: string): Promise<void>;
  /** Asks Deno for every locked package without a network. @throws If one is missing. */
  packages(): Promise<void>;
  /** Whether a child ends with its parent. `undefined` where `setpriv` is missing. */
  diesWithParent(setpriv: string | undefined): Promise<boolean | undefined>;
}

/** Programs of the system, with what each is for. */
const PROGRAMS: readonly {
  readonly name: string;
  readonly has: string;
  readonly lacks: string;
  readonly fix: string;
  readonly required?: true;
}[] = [
  {
    name: "mkfifo",
    has: "the processes of a run can be joined",
    lacks: "no run can start",
    fix: "Install coreutils",
    required: true,
  },
  {
    name: "setpriv",
    has: "the kernel ends host and agent with the launcher",
    lacks: "a thread of the agent looks every 200 ms whether the launcher is still there",
    fix: "Install util-linux, where the system has it",
  },
  {
    name: "prlimit",
    has: "a spinning agent ends even where the launcher was killed",
    lacks: "only the launcher bounds processor time and memory",
    fix: "Install util-linux, where the system has it",
  },
  {
    name: "bwrap",
    has: "programs could be confined",
    lacks: "programs cannot be confined; no shipped tool starts one",
    fix: "Install bubblewrap",
  },
  {
    name: "socat",
    has: "a confined program could be given a proxy",
    lacks: "no shipped tool needs it",
    fix: "Install socat",
  },
  { name: "git", has: "a repository can be asked", lacks: "no shipped tool needs it", fix: "Install git" },
  { name: "rg", has: "a fast search is there", lacks: "no shipped tool needs it", fix: "Install ripgrep" },
];

/** Gathers the facts. `folders`: where logs and state go, by name. */
export async function gatherFacts(
  machine: Machine,
  folders: Readonly<Record<string, string>>,
): Promise<readonly Fact[]> {
  const programs = PROGRAMS.map(async ({ name, has, lacks, fix, required }): Promise<Fact> => {
    const path = await machine.find(name);
    const present = path !== undefined;
    return {
      name,
      present,
      detail: path ?? "",
      means: present ? has : lacks,
      fix: present ? null : fix,
      required: required === true,
    };
  });
  const places = Object.entries(folders).map(async ([name, folder]): Promise<Fact> => {
    const problem = await problemOf(() => machine.write(folder));
    return {
      name,
      present: problem === undefined,
      detail: folder,
      means: problem === undefined
        ? "it can be written"
        : `it cannot be written (${problem}): a run stops with exit 74`,
      fix: problem === undefined
        ? null
        : "Make the folder writable for this user, or name another with --runs-dir or XDG_STATE_HOME",
      required: true,
    };
  });
  return await Promise.all([...programs, parentDeath(machine), esbuildFact(machine), packagesFact(machine), ...places]);
}

async function parentDeath(machine: Machine): Promise<Fact> {
  const works = await machine.diesWithParent(await machine.find("setpriv"));
  return {
    name: "parent death signal",
    present: works === true,
    detail: works === undefined ? "not tried: setpriv is missing" : "tried",
    means: works === true
      ? "a child ended when its parent was killed"
      : works === false
      ? "a child outlived its killed parent: after kill -9 of the launcher an agent may go on until its limits"
      : "the watchdog takes its place",
    fix: works === false ? "Run where prctl(PR_SET_PDEATHSIG) is not filtered" : null,
    required: false,
  };
}

async function esbuildFact(machine: Machine): Promise<Fact> {
  let detail = "";
  const problem = await problemOf(async () => {
    detail = await machine.esbuild();
  });
  return {
    name: "esbuild",
    present: problem === undefined,
    detail,
    means: problem === undefined ? "agents can be bundled" : "no agent can be bundled",
    fix: problem === undefined ? null : 'Run "deno task install" in the folder of twokey',
    required: true,
  };
}

async function packagesFact(machine: Machine): Promise<Fact> {
  const problem = await problemOf(() => machine.packages());
  return {
    name: "npm packages",
    present: problem === undefined,
    detail: "",
    means: problem === undefined
      ? "every locked package is in Deno's cache"
      : "a run needs a package that is not in Deno's cache",
    fix: problem === undefined ? null : 'Run "deno task install" in the folder of twokey',
    required: true,
  };
}

async function problemOf(run: () => Promise<void>): Promise<string | undefined> {
  try {
    await run();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.name : "it failed";
  }
}

/** This machine. */
export function thisMachine(): Machine {
  return {
    find: findProgram,
    async esbuild() {
      const { esbuildPath } = await import("../launch/esbuild_path.ts");
      // Doctor looks; it installs nothing.
      return await esbuildPath({ install: () => Promise.resolve(false) });
    },
    async write(folder) {
      await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
      await Deno.remove(await Deno.makeTempDir({ dir: folder, prefix: "doctor-" }));
    },
    packages: findPackages,
    diesWithParent: tryParentDeath,
  };
}

async function findPackages(): Promise<void> {
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: ["install", "--quiet", "--frozen", "--cached-only"],
    cwd: TWOKEY_DIR,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).output();
  if (!success) throw new Deno.errors.NotFound("a locked package");
}

/** Starts a shell that starts a sleeper, kills the shell and looks whether the sleeper is gone. */
async function tryParentDeath(setpriv: string | undefined): Promise<boolean | undefined> {
  if (setpriv === undefined) return undefined;
  const parent = new Deno.Command("/bin/sh", {
    args: ["-c", '"$1" --pdeathsig KILL -- /bin/sleep 20 >/dev/null 2>&1 & echo $!; wait', "sh", setpriv],
    stdin: "null",
    stdout: "piped",
    stderr: "null",
    clearEnv: true,
  }).spawn();
  const reader = parent.stdout.getReader();
  const { value } = await reader.read();
  const child = Number(new TextDecoder().decode(value).trim());
  // Only once it sleeps has the kernel been told.
  await until(async () => (await stateOf(child))?.name === "sleep");
  parent.kill("SIGKILL");
  await parent.status;
  await reader.cancel();
  const gone = await until(async () => {
    const state = await stateOf(child);
    return state === undefined || state.letter === "Z";
  });
  if (!gone) Deno.kill(child, "SIGKILL");
  return gone;
}

async function stateOf(pid: number): Promise<{ readonly name: string; readonly letter: string } | undefined> {
  try {
    const stat = await Deno.readTextFile(`/proc/${pid}/stat`);
    const [, name = "", letter = ""] = /^\d+ \((.*)\) (\S)/s.exec(stat) ?? [];
    return { name, letter };
  } catch {
    return undefined;
  }
}

/** Looks every 10 ms, for a second at most. */
async function until(holds: () => Promise<boolean>): Promise<boolean> {
  for (let i = 0; i < 100; i++) {
    if (await holds()) return true;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return false;
}
