/**
 * Where Deno keeps its cache: packages that run as code, so no tool may write there.
 *
 * @module
 */
import { resolvePath } from "./path.ts";

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
