/**
 * The compiler's step for skills: each is a file that is there, has a name, and is pinned by its digest.
 *
 * @module
 */
import { isInside } from "../authority/path.ts";
import { MAX_SKILL_BYTES, SKILL_FILE, type SkillPlan, WORKSPACE_SKILLS } from "../plan/skill_plan.ts";
import type { Plan } from "../plan/plan.ts";
import type { ToolManifest } from "../tool/manifest.ts";
import { type Check, quote } from "./check.ts";
import type { LoadedPolicy } from "./load.ts";

/** What the skills of a policy come to. */
export interface PlannedSkills {
  /** By name, sorted; absent where the policy names none. */
  readonly plan?: NonNullable<Plan["skills"]>;
  /** Absolute paths that no tool may write. */
  readonly kept: readonly string[];
}

/** Where a skill of the policy stands: its JSON Pointer, its name, and the path that is looked at. */
export interface NamedSkill {
  readonly at: string;
  readonly name: string;
  readonly source: SkillPlan["source"];
  /** As the policy writes it; for a skill of the workspace, relative to the project. */
  readonly path: string;
}

/** Every skill that a policy names. */
export function skillsOf({ skills }: LoadedPolicy["policy"], project: string): NamedSkill[] {
  return [
    ...Object.entries(skills?.embedded ?? {}).map(([name, path]): NamedSkill => ({
      at: `/skills/embedded/${name}`,
      name,
      source: "embedded",
      path,
    })),
    ...(skills?.workspace ?? []).map((name, index): NamedSkill => ({
      at: `/skills/workspace/${index}`,
      name,
      source: "workspace",
      path: `${project}/${WORKSPACE_SKILLS}/${name}/${SKILL_FILE}`,
    })),
  ];
}

/** Whether a tool loads skills. */
export function loadsSkills({ authority }: ToolManifest): boolean {
  return authority.skills === true;
}

/** Plans the `skills` block. */
export function planSkills(check: Check): PlannedSkills {
  const { skills, tools = [] } = check.loaded.policy;
  const users = check.granted().filter(loadsSkills);
  const named = skillsOf(check.loaded.policy, check.facts.places.project);
  if (named.length === 0) {
    for (const { name } of users) {
      check.refuse({
        at: `/tools/${tools.indexOf(name)}`,
        code: "policy_tool_without_authority",
        message: `Cannot grant ${quote(name)}: the policy names no skill for it`,
        fix: 'Add "skills": { "embedded": { "name": "skills/name" } }, or remove the tool',
      });
    }
  }
  if (skills === undefined) return { kept: [] };
  if (users.length === 0) {
    check.refuse({
      at: "/skills",
      code: "policy_unused_authority",
      message: `Cannot grant ${check.name("/skills")}: no granted tool loads a skill`,
      fix: check.removeOrGrant("/skills", Object.values(check.manifests).filter(loadsSkills)),
    });
  }
  const planned = new Map<string, SkillPlan>();
  const kept: string[] = [];
  for (const skill of named) {
    if (planned.has(skill.name)) {
      const message = `Cannot use ${check.name(skill.at)}: another skill is named ${quote(skill.name)}`;
      check.refuse({ at: skill.at, code: "policy_duplicate_skill", message, fix: "Keep one of the two" });
      continue;
    }
    const one = planSkill(check, skill);
    if (one === undefined) continue;
    planned.set(skill.name, one.plan);
    kept.push(...one.kept);
  }
  // Whoever could write there could prepare the next skill that somebody names.
  if (skills.workspace !== undefined) kept.push(`${check.facts.places.project}/${WORKSPACE_SKILLS}`);
  const entries = [...planned].toSorted(([a], [b]) => a < b ? -1 : 1);
  return { plan: Object.fromEntries(entries), kept };
}

function planSkill(
  check: Check,
  { at, name, source, path }: NamedSkill,
): { readonly plan: SkillPlan; readonly kept: readonly string[] } | undefined {
  const shown = source === "embedded" ? quote(path) : quote(`${WORKSPACE_SKILLS}/${name}/${SKILL_FILE}`);
  const fact = check.path(at, source === "embedded" ? path : path.slice(check.facts.places.project.length + 1));
  if (fact === undefined || !check.insideOrAccepted(at, fact.path)) return undefined;
  const refuse = (code: string, what: string, fix: string): undefined => {
    check.refuse({ at, code, message: `Cannot use the skill ${shown}: ${what}`, fix });
    return undefined;
  };
  const skill = check.facts.skills.get(at);
  if (skill === undefined) {
    const isMissing = fact.kind === "missing" || fact.kind === "directory";
    const what = fact.kind === "missing"
      ? "it does not exist"
      : isMissing
      ? `there is no regular ${SKILL_FILE} in it`
      : "it is no regular file that can be read";
    return refuse("policy_skill_missing", what, `Name a file, or a folder with a regular ${SKILL_FILE} in it`);
  }
  if (skill.problem !== null) {
    const fix = `Begin it with ---, "name: ${name}", "description: …", ---; ${MAX_SKILL_BYTES} bytes at most`;
    return refuse("policy_bad_skill", skill.problem, fix);
  }
  if (skill.name !== name) {
    const what = `its front matter names it ${quote(skill.name)}, not ${quote(name)}`;
    return refuse("policy_bad_skill", what, "Use one name in both places");
  }
  return {
    plan: {
      source,
      path: check.portable(skill.path),
      sha256: skill.sha256,
      description: skill.description,
      rule: at,
    },
    kept: [...new Set([skill.path, ...(isInside(fact.path, skill.path) ? [fact.path] : [])])],
  };
}
