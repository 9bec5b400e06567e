/**
 * The folders that a plan's places stand for on this machine.
 *
 * @module
 */
import { sha256 } from "../json.ts";
import { resolvePath } from "../authority/path.ts";
import type { Places } from "../plan/plan.ts";
import { realOf } from "./real_path.ts";

/** Letters of the project's id: enough that two projects of one user never share a state folder. */
const ID_LENGTH = 16;

/** Absolute path of twokey's folder, as this program was started; links are not followed. */
export const TWOKEY_DIR = resolvePath("/", decodeURIComponent(new URL("../..", import.meta.url).pathname));

/**
 * Finds the places for a project.
 *
 * @param project Absolute real path.
 * @param env Variables of the launcher: `XDG_STATE_HOME` if it is absolute, else `HOME`, says where state lives; with neither, a
 * folder that cannot be created, so that nothing is ever kept where others can write
 */
export async function placesOf(project: string, env: (name: string) => string | undefined): Promise<Places> {
  const xdg = env("XDG_STATE_HOME");
  const home = env("HOME");
  const base = xdg?.startsWith("/") ? xdg : resolvePath(home?.startsWith("/") ? home : "/nonexistent", ".local/state");
  const id = (await sha256(project)).slice(0, ID_LENGTH);
  return {
    project,
    twokey: realOf(TWOKEY_DIR),
    state: realOf(resolvePath(base, `twokey/${id}`)),
  };
}
