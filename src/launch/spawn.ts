/**
 * Starts the host and the agent: detached from the terminal, with a cleared environment, and told to die with the
 * launcher where the system can do that.
 *
 * @module
 */
import type { Budgets } from "../plan/plan.ts";
import { type ChannelPaths, findProgram } from "./channels.ts";

/** The helpers of the base system that the launcher found. */
export interface BaseSystem {
  /** Ends a child with its parent (util-linux). */
  readonly setpriv: string | undefined;
  /** Sets resource limits (util-linux). */
  readonly prlimit: string | undefined;
}

/** Looks for the helpers. */
export async function findBaseSystem(): Promise<BaseSystem> {
  const [setpriv, prlimit] = await Promise.all([findProgram("setpriv"), findProgram("prlimit")]);
  return { setpriv, prlimit };
}

/**
 * Opens the two pipe ends as standard input and output, then becomes the program. The words are arguments, never text.
 * A launcher that was killed before its child could ask to die with it is no longer the parent: opening would wait for
 * ever then.
 */
const JOIN = '[ "$PPID" = "$1" ] || exit 1; exec <"$2" >"$3"; shift 3; exec "$@"';

/** Starts the agent's process. It has no permission; its only files are its two pipe ends and standard error. */
export function spawnAgent(base: BaseSystem, paths: ChannelPaths, boot: string, budgets: Budgets): Deno.ChildProcess {
  const argv = [
    ...dieWithParent(base),
    "/bin/sh",
    "-c",
    JOIN,
    "sh",
    String(Deno.pid),
    paths.hostToAgent,
    paths.agentToHost,
    ...limits(base, budgets),
    Deno.execPath(),
    "run",
    "--no-prompt",
    "--quiet",
    "--no-config",
    "--no-lock",
    "--no-remote",
    "--no-npm",
    "--cached-only",
    `--v8-flags=--max-old-space-size=${budgets.heapMb},--disallow-code-generation-from-strings`,
    boot,
    String(Deno.pid),
    base.setpriv === undefined ? "watch" : "kernel",
  ];
  // No place to put a cache: without one the agent cannot write to the disk through caches or local storage either.
  return spawn(argv, { DENO_DIR: "/dev/null/none" });
}

/**
 * Starts the host with exactly the flags that the plan compiles to.
 *
 * @param options.prefix What is put before it: the program that gives it a pid namespace.
 */
export function spawnHost(
  base: BaseSystem,
  flags: readonly string[],
  main: readonly string[],
  { env, prefix }: { readonly env: Readonly<Record<string, string>>; readonly prefix: readonly string[] },
): Deno.ChildProcess {
  return spawn([...dieWithParent(base), ...prefix, Deno.execPath(), "run", "--quiet", ...flags, ...main], env);
}

function spawn(argv: readonly string[], env: Readonly<Record<string, string>>): Deno.ChildProcess {
  const [program, ...args] = argv;
  return new Deno.Command(program ?? "", {
    args,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
    clearEnv: true,
    // One time zone, so that the same run prints the same dates on every machine.
    env: { DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1", TZ: "UTC", ...env },
    detached: true,
    cwd: "/",
  }).spawn();
}

function dieWithParent({ setpriv }: BaseSystem): readonly string[] {
  return setpriv === undefined ? [] : [setpriv, "--pdeathsig", "KILL", "--"];
}

/** Limits that hold even if the launcher is gone: processor seconds, data segment, no core file. */
function limits({ prlimit }: BaseSystem, { cpuMs, heapMb, rssMb }: Budgets): readonly string[] {
  if (prlimit === undefined) return [];
  // The launcher acts on the exact bound; these are behind it. V8 reserves address space beyond what it uses.
  const seconds = Math.ceil(cpuMs / 1000) + 5;
  const data = (Math.max(rssMb, heapMb) + 1024) * 1_048_576;
  return [prlimit, `--cpu=${seconds}`, `--data=${data}`, "--core=0", "--"];
}
