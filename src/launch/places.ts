/**
 * Where Deno keeps its cache.
 *
 * @module
 */

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
