import * as v from "valibot";
import { SKILL_NAME } from "../../authority/skill_name.ts";
import { defineTool } from "../../tool/define.ts";

const entry = {
  name: v.string(),
  description: v.string(),
  source: v.picklist(["embedded", "workspace"]),
  trust: v.picklist(["trusted", "untrusted"]),
  sha256: v.pipe(v.string(), v.description("Of the skill's file, as the plan has it")),
};

/**
 * Loads a skill: a text that tells a model how something is done here. Without a name, lists those that there are.
 *
 * Arguments: `{ name? }`. Result: `{ ok: true, name, description, source, trust, sha256, bytes, text }`, where `text` is what
 * stands below the front matter, or `{ ok: true, skills, text }`. The text is what it was when the run started; of a skill
 * of the workspace it is untrusted. A skill that the policy does not name is denied.
 */
export const skill = defineTool({
  name: "Skill",
  family: "skill",
  summary: "Loads one of the policy's skills, or lists them with what each is for",
  args: v.strictObject({
    name: v.optional(v.pipe(
      v.string(),
      v.regex(SKILL_NAME, "the name of a skill"),
      v.description("The skill to load; without it, they are listed"),
    )),
  }),
  result: v.union([
    v.strictObject({
      ok: v.literal(true),
      ...entry,
      bytes: v.pipe(v.number(), v.integer(), v.description("Size of the skill's file")),
      text: v.pipe(v.string(), v.description("What stands below the front matter")),
    }),
    v.strictObject({ ok: v.literal(true), skills: v.array(v.strictObject(entry)), text: v.string() }),
  ]),
  authority: { skills: true },
  effect: "read",
  audit: { args: { name: "keep" }, result: "digest" },
  nonClaims: [
    "Runs nothing of a skill: it is text, whatever commands it names",
    "Grants nothing: what a skill asks for needs its own tools and authority",
  ],
  prepare({ name }, resolve) {
    const target = name === undefined ? null : resolve.skill(name);
    return { targets: target === null ? [] : [target], artifact: { target } };
  },
  invoke({ target }, { loadSkill, listSkills }) {
    if (target !== null) {
      const { body, ...loaded } = loadSkill(target);
      return { ok: true as const, ...loaded, text: body };
    }
    const skills = [...listSkills()];
    const lines = skills.map(({ name, description }) => `${name}: ${description.replaceAll(/\s+/g, " ")}`);
    return { ok: true as const, skills, text: lines.join("\n") };
  },
});
