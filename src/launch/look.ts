/**
 * Looks at what is on the disk that only say what is there.
 *
 * @module
 */

/** Folders directly below one, in the order of their names, those of scopes (`@…`) left out; none where it cannot be listed. */
export async function subfolders(folder: string): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const entry of Deno.readDir(folder)) {
      if (entry.isDirectory && !entry.name.startsWith("@")) names.push(`${folder}/${entry.name}`);
    }
  } catch {
    return []; // a folder that cannot be listed holds nothing for us
  }
  return names.sort();
}

/** Whether something is there that this user may look at. A link counts, wherever it leads. */
export async function isThere(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch {
    return false;
  }
}

/** Looks at a path without following a link at its end; `undefined` where nothing is there. */
export async function lstatOrUndefined(path: string): Promise<Deno.FileInfo | undefined> {
  try {
    return await Deno.lstat(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return undefined;
    throw error;
  }
}
