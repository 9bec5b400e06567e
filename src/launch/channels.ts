/**
 * The pipes between the three processes: named FIFOs in a private folder, gone from the file system before agent code
 * starts.
 *
 * The host opens its ends by path, because an end that it inherited as a number would leak into every program it runs.
 * An open file stays open when its name is removed, so the names live only until everyone has opened.
 *
 * @module
 */
import { ControlError } from "../errors.ts";

/** Paths of the FIFOs, and the folder that holds them. */
export interface ChannelPaths {
  readonly dir: string;
  readonly records: string;
  readonly answers: string;
  readonly agentToHost: string;
  readonly hostToAgent: string;
  /** A file that nobody was granted: the host must fail to read it. */
  readonly canary: string;
}

/** Makes the FIFOs. Runs in the background of loading the policy: starting `mkfifo` is the slowest part of the set-up. */
export async function makeChannels(): Promise<ChannelPaths> {
  const dir = await makeFolder();
  const [records, answers, agentToHost, hostToAgent, canary] = ["rec", "ans", "a2h", "h2a", "canary"].map((name) =>
    `${dir}/${name}`
  ) as [string, string, string, string, string];
  const mkfifo = await findProgram("mkfifo");
  if (mkfifo === undefined) throw new ControlError("control_no_mkfifo", "Cannot join the processes: mkfifo is missing");
  const { success } = await new Deno.Command(mkfifo, {
    args: ["-m", "600", records, answers, agentToHost, hostToAgent],
    stdin: "null",
    stdout: "null",
    stderr: "null",
    clearEnv: true,
  }).output();
  if (!success) {
    await Deno.remove(dir, { recursive: true });
    throw new ControlError(
      "control_no_fifo",
      "Cannot join the processes: mkfifo failed in the folder for temporary files",
    );
  }
  await Deno.writeTextFile(canary, "canary\n", { createNew: true, mode: 0o600 });
  return { dir, records, answers, agentToHost, hostToAgent, canary };
}

async function makeFolder(): Promise<string> {
  try {
    return await Deno.realPath(await Deno.makeTempDir({ prefix: "twokey-" }));
  } catch (cause) {
    throw new ControlError("control_no_fifo", "Cannot join the processes: the folder for temporary files is unusable", {
      cause,
    });
  }
}

/** Finds a program of the base system by absolute path. The caller's `PATH` has no say. */
export async function findProgram(name: string): Promise<string | undefined> {
  for (const folder of ["/usr/bin", "/bin", "/usr/sbin", "/sbin"]) {
    try {
      if ((await Deno.stat(`${folder}/${name}`)).isFile) return `${folder}/${name}`;
    } catch {
      // not there
    }
  }
  return undefined;
}

/** The launcher's ends. */
export interface LauncherEnds {
  readonly records: Deno.FsFile;
  readonly answers: Deno.FsFile;
  /** Lets go of what kept the host's and the agent's ends from blocking, and removes the names. */
  release(): void;
  /** Lets the record channel end once the host is gone. */
  closeRecords(): void;
  close(): void;
}

/**
 * Opens the launcher's ends.
 *
 * Each FIFO is first opened for reading and writing, which never blocks; while such a keeper is open, every other open
 * returns at once. The keepers of the agent's pipes must go before agent code starts: a kept end hides a dead peer.
 */
export function openLauncherEnds(paths: ChannelPaths): LauncherEnds {
  const keep = (path: string) => Deno.openSync(path, { read: true, write: true });
  const keepers = [keep(paths.answers), keep(paths.agentToHost), keep(paths.hostToAgent)];
  const keepRecords = keep(paths.records);
  const records = Deno.openSync(paths.records, { read: true });
  const answers = Deno.openSync(paths.answers, { write: true });
  const open = new Set<Deno.FsFile>([...keepers, keepRecords, records, answers]);
  const closeAll = (files: readonly Deno.FsFile[]) => {
    for (const file of files) {
      if (open.delete(file)) file.close();
    }
  };
  const removeNames = () => {
    try {
      Deno.removeSync(paths.dir, { recursive: true });
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  };
  return {
    records,
    answers,
    release() {
      closeAll(keepers);
      removeNames();
    },
    closeRecords: () => closeAll([keepRecords]),
    close() {
      closeAll([...open]);
      removeNames();
    },
  };
}
