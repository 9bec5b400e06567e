/**
 * The folders that a plan's places stand for on this machine.
 *
 * @module
 */
import { sha256 } from "../json.ts";
import { resolvePath } from "../authority/path.ts";
import type { Places } from "../plan/plan.ts";
import { realOf } from "./inspect.ts";

/** Letters of the project's id: enough that two projects of one user never share a state folder. */
const ID_LENGTH = 16;

/**
 * Finds the places for a project.
 *
 * @param project Absolute real path.
 * @param env Variables of the launcher: `XDG_STATE_HOME` if it is absolute, else `HOME`, says where state lives; with neither, a
 * folder that cannot be created, so that nothing is ever kept where others can write
 */
export async function placesOf(project: string, env: (name: string) => string | undefined): Promise<Places> {
  const twokey = decodeURIComponent(new URL("../..", import.meta.url).pathname).replace(/\/$/, "");
  const xdg = env("XDG_STATE_HOME");
  const home = env("HOME");
  const base = xdg?.startsWith("/") ? xdg : resolvePath(home?.startsWith("/") ? home : "/nonexistent", ".local/state");
  const id = (await sha256(project)).slice(0, ID_LENGTH);
  return {
    project,
    twokey: realOf(twokey),
    state: realOf(resolvePath(base, `twokey/${id}`)),
  };
}

/** Deno's cache folder by Deno's documented rules; `null` where they need a home folder and none is named. */
export function denoDirOf(env: (name: string) => string | undefined): string | null {
  const named = env("DENO_DIR");
  if (named !== undefined && named !== "") return resolvePath(Deno.cwd(), named);
  const home = env("HOME");
  const cache = env("XDG_CACHE_HOME");
  if (Deno.build.os === "darwin") return home === undefined ? null : `${home}/Library/Caches/deno`;
  if (cache?.startsWith("/")) return `${cache}/deno`;
  return home === undefined ? null : `${home}/.cache/deno`;
}
