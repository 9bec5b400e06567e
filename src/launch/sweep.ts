/**
 * Removes the temporary files that a killed host may have left below a write root: nothing half-written stays.
 *
 * @module
 */
import { absolute, type Places, type PortablePath } from "../plan/plan.ts";

/**
 * Removes the unfinished files of one run below a write root: their names start with its eight digits. Files of other
 * runs that are still at work stay. Links are not followed; a folder that cannot be read is left alone.
 */
export function sweepTemps(owner: string, root: PortablePath, places: Places): void {
  const own = new RegExp(`^\\.twokey-${owner}[0-9a-f]{24}\\.tmp$`);
  const folders = [absolute(root, places)];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    try {
      for (const entry of Deno.readDirSync(folder)) {
        const path = `${folder}/${entry.name}`;
        if (entry.isDirectory && entry.name !== ".git") folders.push(path);
        else if (entry.isFile && own.test(entry.name)) Deno.removeSync(path);
      }
    } catch {
      // it is gone, or not ours to read
    }
  }
}
