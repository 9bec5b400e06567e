/**
 * Where the runner may keep what agents must not reach.
 *
 * @module
 */
import { isInside } from "../authority/path.ts";
import { UsageError } from "../errors.ts";
import { isPlace } from "../plan/key1.ts";
import { absolute } from "../plan/plan.ts";
import type { CompiledPolicy } from "./compile_policy.ts";

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
  const reached = [
    ["write root", plan.fs.write],
    ["read root", plan.fs.read],
    ["folder of programs", plan.process?.cwd ?? []],
  ] as const;
  for (const [what, roots] of reached) {
    const root = roots.find((root) => isInside(absolute(root.root, places), dir));
    if (root === undefined || (what !== "write root" && kept.some((place) => isInside(place, dir)))) continue;
    throw new UsageError(
      code,
      `Cannot keep ${log} below the ${what} "${root.label}": agents have access there; name a folder outside of it`,
    );
  }
}
