/**
 * Where the runner may keep what agents must not reach.
 *
 * @module
 */
import { isInside } from "../authority/path.ts";
import { UsageError } from "../errors.ts";
import { isPlace } from "../plan/key1.ts";
import { absolute } from "../plan/plan.ts";
import type { CompiledPolicy } from "./prepare.ts";

/**
 * Refuses a place below a root of the plan: a log there could be read by a later agent, and a made-up one could be
 * written beside it.
 *
 * @param dir Absolute real path.
 * @throws {UsageError} Naming the root.
 */
export function assertOutOfReach(
  dir: string,
  { plan, places }: Pick<CompiledPolicy, "plan" | "places">,
  { code, log }: { readonly code: string; readonly log: string } = { code: "usage_runs_dir", log: "the log" },
): void {
  const kept = plan.fs.secret.filter(isPlace).map((place) => absolute(place, places));
  for (const [what, roots] of [["write", plan.fs.write], ["read", plan.fs.read]] as const) {
    const root = roots.find((root) => isInside(absolute(root.root, places), dir));
    if (root === undefined || (what === "read" && kept.some((place) => isInside(place, dir)))) continue;
    throw new UsageError(
      code,
      `Cannot keep ${log} below the ${what} root "${root.label}": agents have access there; name a folder outside of it`,
    );
  }
}
