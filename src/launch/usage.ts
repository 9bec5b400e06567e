/**
 * What a process uses: processor time and resident memory, as the system counts them.
 *
 * @module
 */

/** A reading of one process. */
export interface Usage {
  readonly cpuMs: number;
  readonly rssBytes: number;
}

/** Clock ticks per second of `/proc/<pid>/stat`; 100 on every Linux that Deno runs on. */
const TICKS_PER_SECOND = 100;

/** Reads the usage of a process; `undefined` once it is gone. */
export async function readUsage(pid: number): Promise<Usage | undefined> {
  try {
    return Deno.build.os === "linux" ? await readProc(pid) : await readPs(pid);
  } catch {
    return undefined;
  }
}

async function readProc(pid: number): Promise<Usage> {
  const [stat, status] = await Promise.all([
    Deno.readTextFile(`/proc/${pid}/stat`),
    Deno.readTextFile(`/proc/${pid}/status`),
  ]);
  // The second field, the program's name, is in parentheses and may hold anything.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = Number(fields[11]) + Number(fields[12]);
  const resident = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? "0";
  return { cpuMs: ticks * (1000 / TICKS_PER_SECOND), rssBytes: Number(resident) * 1024 };
}

async function readPs(pid: number): Promise<Usage | undefined> {
  const { success, stdout } = await new Deno.Command("/bin/ps", {
    args: ["-o", "rss=,cputime=", "-p", String(pid)],
    stdin: "null",
    stderr: "null",
    clearEnv: true,
  }).output();
  const [rss = "", time = ""] = new TextDecoder().decode(stdout).trim().split(/\s+/);
  if (!success || rss === "") return undefined;
  const seconds = time.split(/[-:]/).reduce((sum, part) => sum * 60 + Number(part), 0);
  return { cpuMs: seconds * 1000, rssBytes: Number(rss) * 1024 };
}
