/**
 * The gate's part for skills: one that is loaded must be one that the policy names.
 *
 * @module
 */
import type { Plan, PlannedTool } from "../plan/plan.ts";
import type { Verdict } from "./verdict.ts";

/** What the target of a skill begins with; its name follows. */
export const SKILL_PREFIX = "skill:";

/** Decides on a canonical target, `skill:<name>`. */
export function decideSkill({ skills = {} }: Plan, tool: PlannedTool, target: string): Verdict {
  if (tool.skills !== true || !target.startsWith(SKILL_PREFIX)) return { code: "tool_not_granted", rule: null };
  const name = target.slice(SKILL_PREFIX.length);
  const skill = Object.hasOwn(skills, name) ? skills[name] : undefined;
  return skill === undefined ? { code: "skill_not_admitted", rule: "/skills" } : { granted: skill.rule };
}
