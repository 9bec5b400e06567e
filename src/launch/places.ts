/**
 * Where things are on this machine: twokey itself, Deno's cache, the user's state.
 *
 * @module
 */
import { ControlError } from "../errors.ts";
import { sha256 } from "../json.ts";
import type { Places } from "../plan/plan.ts";

/** Absolute path of twokey's own folder. */
export function twokeyDir(): string {
  return decodeURIComponent(new URL("../../", import.meta.url).pathname).replace(/\/$/, "");
}

/** Absolute path of Deno's cache: the caller's `DENO_DIR`, else the platform's default. */
export function denoDir(): string | null {
  const named = Deno.env.get("DENO_DIR");
  if (named !== undefined && named !== "") return named.startsWith("/") ? named : `${Deno.cwd()}/${named}`;
  const home = Deno.env.get("HOME");
  if (Deno.build.os === "darwin") return home === undefined ? null : `${home}/Library/Caches/deno`;
  const cache = Deno.env.get("XDG_CACHE_HOME");
  if (cache !== undefined && cache.startsWith("/")) return `${cache}/deno`;
  return home === undefined ? null : `${home}/.cache/deno`;
}

/** The places of a project. Nothing is created. */
export async function findPlaces(project: string): Promise<Places> {
  const id = (await sha256(project)).slice(0, 16);
  return { project, twokey: await Deno.realPath(twokeyDir()), state: `${stateHome()}/twokey/${id}` };
}

function stateHome(): string {
  const named = Deno.env.get("XDG_STATE_HOME");
  if (named !== undefined && named.startsWith("/")) return named;
  const home = Deno.env.get("HOME");
  if (home === undefined || !home.startsWith("/")) {
    throw new ControlError("control_no_home", "Cannot find a place for state: neither XDG_STATE_HOME nor HOME is set");
  }
  return `${home}/.local/state`;
}
