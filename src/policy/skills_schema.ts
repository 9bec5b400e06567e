/**
 * The shape of a policy's `skills` block.
 *
 * @module
 */
import * as v from "valibot";
import { SKILL_NAME } from "../authority/skill_name.ts";

const MAX_SKILLS = 256;

const skillName = v.pipe(
  v.string(),
  v.regex(SKILL_NAME, "a name of small letters, digits, - and _, as the skill's front matter has it (64 at most)"),
);

/** The `skills` block. */
export const skillsBlock = v.strictObject({
  embedded: v.optional(v.pipe(
    v.record(
      skillName,
      v.pipe(
        v.string(),
        v.minLength(1),
        v.maxLength(4096),
        v.description("Its file, or the folder of its SKILL.md, relative to this policy"),
      ),
    ),
    v.description("Skills of the policy's own: name to file. Their text is as good as the policy"),
  )),
  workspace: v.optional(v.pipe(
    v.array(v.pipe(skillName, v.description("Name of a skill: its file is .skills/<name>/SKILL.md in the project"))),
    v.minLength(1),
    v.maxLength(MAX_SKILLS),
    v.description("Skills of the project's own. Their text counts as untrusted"),
  )),
});
