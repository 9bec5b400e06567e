/**
 * The folder of a run: what it is called, where it stands, and that no agent can reach it.
 *
 * @module
 */
import { RUN_ID_REGEXP } from "../audit/writer.ts";
import { isInside } from "../authority/path.ts";
import { AuditError, CreateError, UsageError } from "../errors.ts";
import type { CompiledPolicy } from "./compile_policy.ts";
import { assertOutOfReach } from "./out_of_reach.ts";
import { makeDir, makePrivateDir } from "./state_dir.ts";

/** How the folder of a run is made. */
export interface RunDirOptions {
  /** Absolute or relative; the default is `.twokey/runs` in the project, or the user's state folder. */
  readonly runsDir?: string;
  /** Whether the id was chosen by the caller: it may then be taken. */
  readonly named?: boolean;
}

/**
 * Refuses an id that could not name a folder, or would be something else than a name on a command line.
 *
 * @throws {UsageError} `usage_run_id`.
 */
export function assertRunId(text: string): void {
  if (RUN_ID_REGEXP.test(text)) return;
  throw new UsageError(
    "usage_run_id",
    "Cannot use --run-id: it must be 1 to 128 letters, digits or . _ : -, the first one a letter or digit, since it names a folder",
  );
}

/** `YYYYMMDD-HHMMSS-<6 letters or digits>`: sorts by time, unique on this machine. */
export function makeRunId(clock: number): string {
  const time = new Date(clock).toISOString().replaceAll(/[-:]/g, "").replace("T", "-").slice(0, 15);
  return `${time}-${crypto.getRandomValues(new Uint8Array(3)).toHex()}`;
}

/**
 * Finds the folder that runs are kept in, and makes what is above it; returns its absolute path. To be called before
 * programs are prepared: what does not exist cannot be hidden from them.
 *
 * @throws {AuditError} Where it cannot be made. @throws {UsageError} Where agents could reach it.
 */
export async function makeRunsDir(
  prepared: Pick<CompiledPolicy, "loaded" | "places" | "plan">,
  runsDir: string | undefined,
): Promise<string> {
  const { loaded, places } = prepared;
  if (runsDir !== undefined) {
    const named = await makeNamedDir(runsDir);
    assertOutOfReach(named, prepared);
    return named;
  }
  if (loaded.file === null || !await isWritable(places.project)) return `${places.state}/runs`;
  // The checkout is somebody else's data: a link in the place of `.twokey` must not decide where the log goes.
  await makeDir(`${places.project}/.twokey`, { above: places.project, mode: 0o700 });
  await ignoreInGit(`${places.project}/.twokey`);
  return `${places.project}/.twokey/runs`;
}

/**
 * Makes the folder of a run; returns its absolute path.
 *
 * @throws {CreateError} `run_id_taken` where a run of that id is there already.
 * @throws {AuditError} Where it cannot be made. @throws {UsageError} Where agents could reach it.
 */
export async function makeRunDir(
  prepared: Pick<CompiledPolicy, "loaded" | "places" | "plan">,
  runId: string,
  { runsDir, named = false }: RunDirOptions = {},
): Promise<string> {
  const dir = `${await makeRunsDir(prepared, runsDir)}/${runId}`;
  if (runsDir !== undefined) assertOutOfReach(dir, prepared);
  await assertFree(dir, { runId, named });
  if (runsDir !== undefined) await orUnusable(runsDir, () => Deno.mkdir(dir, { mode: 0o700 }));
  else if (isInside(prepared.places.project, dir)) await makeDir(dir, { above: prepared.places.project, mode: 0o700 });
  else await makePrivateDir(dir);
  return dir;
}

/**
 * Refuses an id that is taken. Two runs that start at once with one id still get one log only: it is created exclusively.
 */
async function assertFree(dir: string, { runId, named }: { runId: string; named: boolean }): Promise<void> {
  if (!named) return;
  try {
    await Deno.lstat(dir);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    throw new AuditError("runs_dir_unusable", "Cannot keep the log: its folder cannot be looked at", { cause: error });
  }
  throw new CreateError("run_id_taken", `Cannot start the run "${runId}": there is one of that id already`);
}

/** Makes the folder that the caller named for logs, and gives its real path. */
function makeNamedDir(path: string): Promise<string> {
  return orUnusable(path, async () => {
    await Deno.mkdir(path, { recursive: true, mode: 0o700 });
    return await Deno.realPath(path);
  });
}

async function orUnusable<T>(path: string, make: () => Promise<T>): Promise<T> {
  try {
    return await make();
  } catch (cause) {
    throw new AuditError("runs_dir_unusable", `Cannot keep the log below "${path}": no folder can be made there`, {
      cause,
    });
  }
}

async function isWritable(folder: string): Promise<boolean> {
  try {
    const probe = `${folder}/.twokey`;
    await Deno.mkdir(probe, { mode: 0o700 });
    return true;
  } catch (error) {
    return error instanceof Deno.errors.AlreadyExists && await canWriteInto(`${folder}/.twokey`);
  }
}

async function canWriteInto(folder: string): Promise<boolean> {
  try {
    await Deno.remove(await Deno.makeTempDir({ dir: folder, prefix: "probe-" }));
    return true;
  } catch {
    return false;
  }
}

async function ignoreInGit(folder: string): Promise<void> {
  try {
    await Deno.writeTextFile(`${folder}/.gitignore`, "*\n", { createNew: true });
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  }
}
