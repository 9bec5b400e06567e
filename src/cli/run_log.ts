/**
 * Finds the log of a run from what somebody typed: its file, its folder, or the run's id.
 *
 * @module
 */
import { RUN_ID_REGEXP } from "../audit/writer.ts";
import { InputError } from "../errors.ts";
import { findProject } from "../policy/load.ts";
import { placesOf } from "../policy/places.ts";
import { AUDIT_FILE } from "../replay/history.ts";
import { escapeText } from "../report/escape.ts";

/**
 * The path of a log.
 *
 * @param word A path to a log or to the folder of a run, else the id of a run of this project.
 * @throws {InputError} If there is none.
 */
export async function findLog(word: string): Promise<string> {
  const info = await statOrUndefined(word);
  if (info?.isFile) return word;
  if (info?.isDirectory) {
    const inFolder = `${word.replace(/\/+$/, "")}/${AUDIT_FILE}`;
    if ((await statOrUndefined(inFolder))?.isFile) return inFolder;
    throw new InputError("audit_missing", `Cannot read the audit log: "${escapeText(word)}" holds no ${AUDIT_FILE}`);
  }
  if (info !== undefined) {
    throw new InputError("audit_unreadable", `Cannot read the audit log: "${escapeText(word)}" is not a regular file`);
  }
  if (RUN_ID_REGEXP.test(word)) {
    for (const folder of await runFolders(Deno.cwd())) {
      const path = `${folder}/${word}/${AUDIT_FILE}`;
      if ((await statOrUndefined(path))?.isFile) return path;
    }
  }
  throw new InputError(
    "audit_missing",
    `Cannot read the audit log "${escapeText(word)}": no such file, and no run of this project has that id; ` +
      "`twokey history` lists them",
  );
}

/** The folders that keep the runs of the project around a folder: in the project, and in the user's state folder. */
export async function runFolders(folder: string): Promise<readonly string[]> {
  const project = findProject(await Deno.realPath(folder));
  const { state } = await placesOf(project, (name) => Deno.env.get(name));
  return [`${project}/.twokey/runs`, `${state}/runs`];
}

async function statOrUndefined(path: string): Promise<Deno.FileInfo | undefined> {
  try {
    return await Deno.stat(path);
  } catch (error) {
    // A text with a NUL, or one that is longer than any path, names no file.
    if (error instanceof Deno.errors.PermissionDenied) {
      throw new InputError("audit_unreadable", `Cannot read the audit log: "${escapeText(path)}" cannot be reached`, {
        cause: error,
      });
    }
    return undefined;
  }
}
