/**
 * What the launcher tells the host about programs: how each is started on this machine, now.
 *
 * @module
 */

/** Numbers of a file that change when it is replaced or written. */
export interface FileIdentity {
  /** Number of the device that holds the file. */
  readonly dev: number;
  /** Number of the file on its device. */
  readonly ino: number;
  /** Bytes of the file. */
  readonly size: number;
  /** Milliseconds since the Unix epoch. */
  readonly mtimeMs: number;
}

/** Numbers of a folder that change when another one takes its place. */
export interface FolderIdentity {
  /** Absolute real path. */
  readonly path: string;
  /** Number of the device that holds the folder. */
  readonly dev: number;
  /** Number of the folder on its device. */
  readonly ino: number;
}

/** How one program is started. */
export interface ProgramStart {
  /** What is run: the program itself, or the wrapper that the launcher wrote for it. Absolute. */
  readonly run: string;
  /**
   * What is run when an agent gives a variable another value, `NAME=value` words and `--` before the arguments; `null`
   * where the environment can be handed over directly.
   */
  readonly runWithEnv: string | null;
  /** Whether what is run begins a session of its own. */
  readonly ownSession: boolean;
  /** The program. Absolute. */
  readonly path: string;
  /** What the program was when its digest was taken. */
  readonly identity: FileIdentity;
}

/** How programs are started in a run. */
export interface ProgramSetup {
  /** By the name that agents use. */
  readonly programs: Readonly<Record<string, ProgramStart>>;
  /** Values of the variables that the caller passes on; those that are not set are absent. */
  readonly passed: Readonly<Record<string, string>>;
  /** What the folders were at the start that are mounted for confined programs; empty where nothing is confined. */
  readonly folders: readonly FolderIdentity[];
  /** Whether every program runs confined. */
  readonly confined: boolean;
  /** Whether the host has a pid namespace of its own: then its numbers mean nothing outside, and all in it ends with it. */
  readonly namespaced: boolean;
}

/** Everything that is started in the place of the programs: themselves, or their wrappers. */
export function startedBy({ programs }: ProgramSetup): string[] {
  return Object.values(programs).flatMap(({ run, runWithEnv }) => runWithEnv === null ? [run] : [run, runWithEnv]);
}
