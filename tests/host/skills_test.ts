import assert from "node:assert/strict";
import { BugError, DenialError } from "../../src/errors.ts";
import { makeSkills } from "../../src/host/skills.ts";
import { makeCall, makeRun } from "./run_context.ts";

const PATH = "${project}/skills/a.md";
const SKILL = {
  source: "embedded",
  path: PATH,
  sha256: "0".repeat(64),
  description: "x",
  rule: "/skills/embedded/a",
} as const;

function runWith(fixtures: Record<string, string>) {
  const run = makeRun("/nowhere");
  return { ...run, plan: { ...run.plan, skills: { a: SKILL } }, fixtures };
}

Deno.test("makeSkills() serves the text that was handed over, to a call whose gate allowed it", () => {
  const skills = makeSkills(runWith({ [PATH]: "---\nname: a\n---\nü" }));
  const target = skills.resolve.skill("a");
  const loaded = skills.power(makeCall("Skill", [target])).loadSkill(target);
  assert.deepEqual(loaded, {
    name: "a",
    description: "x",
    source: "embedded",
    trust: "trusted",
    sha256: "0".repeat(64),
    bytes: 18,
    body: "ü",
  });
  assert.throws(() => skills.power(makeCall("Skill", [])).loadSkill(target), DenialError);
  const forged = { ...target, requirement: { ...target.requirement } };
  assert.throws(() => skills.power(makeCall("Skill", [target])).loadSkill(forged), DenialError);
});

Deno.test("makeSkills() does not start without a text for every skill of the plan", () => {
  assert.throws(() => makeSkills(runWith({})), BugError);
  assert.throws(() => makeSkills(runWith({ [PATH]: "no front matter" })), BugError);
});
