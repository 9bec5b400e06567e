/**
 * The policy that is meant where none is named.
 *
 * @module
 */
import { DEFAULT_POLICY } from "../authority/names.ts";
import { findProject } from "../policy/load.ts";

/** The default policy: `agent.policy.jsonc` in this folder or the nearest one above it that is a project. */
export function findDefaultPolicy(): string | undefined {
  const here = Deno.cwd();
  for (const folder of new Set([here, findProject(Deno.realPathSync(here))])) {
    const path = `${folder}/${DEFAULT_POLICY}`;
    try {
      if (Deno.statSync(path).isFile) return path;
    } catch {
      // not there
    }
  }
  return undefined;
}
