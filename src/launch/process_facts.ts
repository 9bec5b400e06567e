/**
 * What the system says of a process: whose child it is, its group and session, and when it began. Synchronous, so that a
 * look and the signal that follows it are as close as they can be.
 *
 * @module
 */

/** Facts of one process. */
export interface ProcessFacts {
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** When it began; with its number it names a process for ever. */
  readonly start: string;
  /** The same for comparing: a later process has no smaller number. */
  readonly order: number;
}

/** Reads the facts of a process; `undefined` once it is gone, also where its parent has not noticed yet. */
export function readProcess(pid: number): ProcessFacts | undefined {
  return Deno.build.os === "linux" ? readStat(pid) : listProcesses(["-p", String(pid)]).get(pid);
}

/** Reads the facts of every process of a group that has not ended. */
export function readMembers(group: number): readonly ProcessFacts[] {
  // Nearly every group is empty by then, and a look at every process of the machine takes milliseconds.
  if (isGone(group)) return [];
  if (Deno.build.os !== "linux") return [...listProcesses(["-ax"]).values()].filter((facts) => facts.group === group);
  const found: ProcessFacts[] = [];
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const facts = readStat(Number(name));
    if (facts?.group === group) found.push(facts);
  }
  return found;
}

/** Whether the system knows nothing of a group: signal 0 only asks. A doubt is no. */
function isGone(group: number): boolean {
  try {
    Deno.kill(-group, 0 as unknown as Deno.Signal);
    return false;
  } catch (error) {
    return error instanceof Deno.errors.NotFound;
  }
}

/** The children of a process, as the system lists them; empty where it does not. */
export function readChildren(pid: number): readonly number[] {
  try {
    return Deno.readTextFileSync(`/proc/${pid}/task/${pid}/children`).split(" ").filter((word) => word !== "").map(
      Number,
    );
  } catch {
    return [];
  }
}

/**
 * Whether this process was started with its hang-up signal ignored, as `nohup` does. Unknown is no; so is every answer
 * once a listener for any signal was added.
 */
export function ignoresHangup(): boolean {
  try {
    const mask = /^SigIgn:\s*([0-9a-f]+)$/m.exec(Deno.readTextFileSync("/proc/self/status"))?.[1] ?? "0";
    // the signal has number 1, the lowest bit
    return (parseInt(mask.slice(-1), 16) & 1) === 1;
  } catch {
    return false;
  }
}

function readStat(pid: number): ProcessFacts | undefined {
  let stat: string;
  try {
    stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
  } catch {
    return undefined;
  }
  // The second field, the program's name, is in parentheses and may hold anything.
  const [state, parent, group, session, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (state === "Z" || state === "X") return undefined;
  const start = rest[15] ?? "";
  return { parent: Number(parent), group: Number(group), session: Number(session), start, order: Number(start) };
}

/** The same from `ps`, which knows no sessions: the group stands for it. */
function listProcesses(selection: readonly string[]): Map<number, ProcessFacts> {
  const { stdout } = new Deno.Command("/bin/ps", {
    args: [...selection, "-o", "pid=,ppid=,pgid=,state=,lstart="],
    stdin: "null",
    stderr: "null",
    clearEnv: true,
    env: { LC_ALL: "C", TZ: "UTC" },
  }).outputSync();
  const found = new Map<number, ProcessFacts>();
  for (const line of new TextDecoder().decode(stdout).split("\n")) {
    const [pid, parent, group, state = "", ...words] = line.trim().split(/\s+/);
    if (pid === undefined || pid === "" || state.startsWith("Z")) continue;
    const start = words.join(" ");
    found.set(Number(pid), {
      parent: Number(parent),
      group: Number(group),
      session: Number(group),
      start,
      order: Date.parse(`${start} UTC`),
    });
  }
  return found;
}
