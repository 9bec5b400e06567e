/**
 * Removes the temporary files that a killed host may have left below a write root: nothing half-written stays.
 *
 * @module
 */
import { absolute, type Places, type PortablePath } from "../plan/plan.ts";

/** The names that the host gives to files it has not finished. */
export const TEMP_NAME_REGEXP = /^\.twokey-[0-9a-f]{32}\.tmp$/;

/** Removes unfinished files below a write root. Links are not followed; a folder that cannot be read is left alone. */
export function sweepTemps(root: PortablePath, places: Places): void {
  const folders = [absolute(root, places)];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    try {
      for (const entry of Deno.readDirSync(folder)) {
        const path = `${folder}/${entry.name}`;
        if (entry.isDirectory) folders.push(path);
        else if (entry.isFile && TEMP_NAME_REGEXP.test(entry.name)) Deno.removeSync(path);
      }
    } catch {
      // it is gone, or not ours to read
    }
  }
}
