/**
 * The skills of a run: texts that the launcher read and proved before the run started. No file is opened here.
 *
 * @module
 */
import { BugError } from "../errors.ts";
import { SKILL_PREFIX } from "../gate/skills.ts";
import { splitSkill } from "../plan/skill_plan.ts";
import { utf8Length } from "../json.ts";
import type { ResolveSkill, Skill, SkillEntry, SkillPower, SkillTarget } from "../tool/context_powers.ts";
import { assertGranted, type CallContext, type RunContext } from "./context.ts";

/** The skills of one run. */
export interface Skills {
  /** Makes names canonical; the same for every call. */
  readonly resolve: ResolveSkill;
  /** The power to load for one call. */
  power(call: CallContext): SkillPower;
}

/** Takes the skills of a plan, with the texts that were handed over for them. */
export function makeSkills({ plan: { skills = {} }, fixtures }: RunContext): Skills {
  const texts = new Map(
    Object.entries(skills).map(([name, { path }]): [string, Skill] => {
      const file = Object.hasOwn(fixtures, path) ? fixtures[path] : undefined;
      const parts = file === undefined ? "it is missing" : splitSkill(file);
      if (file === undefined || typeof parts === "string") {
        throw new BugError("bug_no_skill", `Cannot serve the skill "${name}": its text was not handed over`);
      }
      return [name, { ...entryOf(name, skills), bytes: utf8Length(file), body: parts.body }];
    }),
  );
  return Object.freeze({
    resolve: Object.freeze({
      skill: (name: string): SkillTarget => ({
        requirement: Object.freeze({
          kind: "context.load",
          target: `${SKILL_PREFIX}${name}`,
          description: `the skill ${name}`,
        }),
        name,
      }),
    }),
    power: (call: CallContext): SkillPower => ({
      loadSkill(target) {
        assertGranted(call, target);
        const skill = texts.get(target.requirement.target.slice(SKILL_PREFIX.length));
        if (skill === undefined) throw new BugError("bug_no_skill", "Cannot load a skill: the plan does not name it");
        return skill;
      },
      listSkills: () => Object.keys(skills).map((name) => entryOf(name, skills)),
    }),
  });
}

function entryOf(name: string, skills: NonNullable<RunContext["plan"]["skills"]>): SkillEntry {
  const skill = skills[name];
  if (skill === undefined) throw new BugError("bug_no_skill", "Cannot load a skill: the plan does not name it");
  const { source, description, sha256 } = skill;
  return { name, description, source, trust: source === "embedded" ? "trusted" : "untrusted", sha256 };
}
