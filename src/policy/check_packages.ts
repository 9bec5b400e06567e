/**
 * The compiler's step for npm packages: each listed one is in the project's lock, at one version, with its integrity.
 *
 * @module
 */
import { nearest } from "../authority/nearest.ts";
import type { PlannedPackage } from "../plan/plan.ts";
import { type Check, quote } from "./check.ts";

/** Plans the `packages` list; `undefined` where the policy has none. */
export function planPackages(check: Check): readonly PlannedPackage[] | undefined {
  const names = check.loaded.policy.packages ?? [];
  const locked = check.facts.packages;
  if (names.length === 0 || locked === null) return undefined;
  if (check.loaded.policy.agent === undefined) {
    const message = `Cannot use ${check.name("/packages")}: the policy names no agent that could import them`;
    check.refuse({ at: "/packages", code: "policy_dead_rule", message, fix: "Remove it, or add an agent" });
  }
  if ("problem" in locked) {
    const message = `Cannot use ${check.name("/packages")}: ${locked.problem}`;
    check.refuse({ at: "/packages", code: "policy_package_lock", message, fix: sentence(locked.fix) });
    return undefined;
  }
  for (const [index, name] of names.entries()) {
    const at = `/packages/${index}`;
    const found = locked.listed.get(name);
    if (names.indexOf(name) < index) {
      const message = `Cannot use ${check.name(at)} ${quote(name)}: it is listed twice`;
      check.refuse({ at, code: "policy_duplicate_package", message, fix: "Keep one of the two" });
    } else if (found !== undefined && typeof found !== "string") {
      const message = `Cannot use the package ${quote(name)}: ${found.problem}`;
      const meant = locked.direct.includes(name) ? undefined : nearest(name, locked.direct);
      const fix = meant === undefined ? sentence(found.fix) : `Write ${quote(meant)}`;
      check.refuse({ at, code: "policy_package", message, fix });
    }
  }
  return [...locked.packages.values()].map(({ name, version, integrity, listed }) => ({
    name,
    version,
    integrity,
    rule: `/packages/${listed}`,
  }));
}

function sentence(fix: string): string {
  return fix.slice(0, 1).toUpperCase() + fix.slice(1);
}
