import assert from "node:assert/strict";
import { comparePlans, covers } from "../../src/plan/compare.ts";
import { hostFlags } from "../../src/plan/flags.ts";
import { sha256 } from "../../src/json.ts";
import { policyFromFlags } from "../../src/policy/from_flags.ts";
import { driftOf, lockOf, lockText, parseLock } from "../../src/policy/lock.ts";
import { mutantsOf } from "../../src/policy/mutants.ts";
import { removeTool } from "../../src/policy/policy_edits.ts";
import { authorityManifest } from "../../src/report/authority_manifest.ts";
import { explain } from "../../src/report/explain.ts";
import { grantLines } from "../../src/report/grants.ts";
import { compileIn, MANIFESTS, refusalsIn, withProject } from "./project.ts";

const text = (name: string, body = "Do it"): string => `---\nname: ${name}\ndescription: About ${name}\n---\n${body}\n`;

const FILES = {
  "skills/review/SKILL.md": text("review"),
  "skills/review/more/notes.md": "",
  "skills/one.md": text("one"),
  ".skills/deploy/SKILL.md": text("deploy"),
  "skills/empty/x": "",
};

const SKILLS = { embedded: { review: "skills/review", one: "skills/one.md" }, workspace: ["deploy"] };

const policy = (more: Record<string, unknown>): Record<string, unknown> => ({ version: 1, tools: ["Skill"], ...more });

async function refused(dir: string, skills: unknown, more: Record<string, unknown> = {}): Promise<string> {
  const issues = await refusalsIn(dir, policy({ ...(skills === undefined ? {} : { skills }), ...more }));
  return issues.map(({ code, message, fix }) => `${code}: ${message} -> ${fix}`).join("\n");
}

Deno.test("compile() pins every skill by name, digest and what it is for", () =>
  withProject({ files: FILES }, async (dir) => {
    const { plan } = await compileIn(dir, policy({ skills: SKILLS }));
    assert.deepEqual(plan.skills, {
      deploy: {
        source: "workspace",
        path: "${project}/.skills/deploy/SKILL.md",
        sha256: await sha256(text("deploy")),
        description: "About deploy",
        rule: "/skills/workspace/0",
      },
      one: {
        source: "embedded",
        path: "${project}/skills/one.md",
        sha256: await sha256(text("one")),
        description: "About one",
        rule: "/skills/embedded/one",
      },
      review: {
        source: "embedded",
        path: "${project}/skills/review/SKILL.md",
        sha256: await sha256(text("review")),
        description: "About review",
        rule: "/skills/embedded/review",
      },
    });
    assert.equal(plan.tools.Skill?.skills, true);
    // The texts are the launcher's to read: the host gets no path for them
    const places = { project: dir, twokey: "/twokey", state: `${dir}-state` };
    assert.ok(!hostFlags(plan, places).some((flag) => flag.startsWith("--allow-read") && flag.includes("skills")));
  }));

Deno.test("compile() lets nobody write a skill, the folder that it stands in, or the next one of the workspace", () =>
  withProject({ files: FILES }, async (dir) => {
    const tools = ["Skill", "writeArtifact"];
    const { plan } = await compileIn(dir, policy({ tools, skills: SKILLS, fs: { write: [{ root: "." }] } }));
    for (const place of [".skills", "skills/review", "skills/one.md"]) {
      assert.ok(plan.fs.protected.includes(`\${project}/${place}`), place);
    }
    for (const root of ["skills/review/more", ".skills/new", ".skills/deploy"]) {
      const write = { fs: { write: [{ root }] }, tools };
      assert.match(await refused(dir, SKILLS, write), /policy_protected/, root);
    }
  }));

Deno.test("compile() refuses what is no skill, and says what would be one", () =>
  withProject({
    files: { ...FILES, "skills/bad.md": "no front matter", "skills/large.md": text("large", "x".repeat(65_536)) },
    links: { "skills/link.md": "one.md", "skills/dir": "review", ".skills/away": "../skills/review" },
  }, async (dir) => {
    const one = (path: string, name = "one") => ({ embedded: { [name]: path } });
    const table: readonly (readonly [unknown, RegExp])[] = [
      [one("skills/none.md"), /^policy_skill_missing: Cannot use the skill "skills\/none.md": it does not exist -> /],
      [one("skills/empty"), /^policy_skill_missing: .* no regular SKILL.md in it/],
      [one("skills/bad.md"), /^policy_bad_skill: .* its first line is not ---.* -> Begin it with ---, "name: one"/],
      [one("skills/large.md"), /^policy_bad_skill: .* 65536 is the most/],
      [one("skills/one.md", "two"), /^policy_bad_skill: .* names it "one", not "two" -> Use one name/],
      [one("skills/link.md"), /^policy_link: /],
      [one("skills/dir"), /^policy_link: /],
      [one("/etc/hostname"), /^policy_outside_project: /],
      [one("../x"), /^policy_outside_project: /],
      [{ workspace: ["away"] }, /^policy_link: /],
      [{ workspace: ["none"] }, /^policy_skill_missing: Cannot use the skill ".skills\/none\/SKILL.md": it does not/],
      [{ workspace: ["deploy", "deploy"] }, /^policy_duplicate_skill: /],
      [{ ...SKILLS, embedded: { deploy: "skills/one.md" } }, /policy_bad_skill: /],
      [{ workspace: ["../review"] }, /a name of small letters/],
      [{ workspace: ["Deploy"] }, /a name of small letters/],
      [{ workspace: [] }, /skills/],
      [{ embedded: {} }, /^policy_tool_without_authority: Cannot grant "Skill": the policy names no skill/],
      [undefined, /^policy_tool_without_authority: Cannot grant "Skill": the policy names no skill/],
    ];
    for (const [skills, problem] of table) {
      const found = await refused(dir, skills);
      assert.match(found, problem, JSON.stringify(skills));
      assert.ok(!found.includes(`${dir}/`) || found.startsWith("policy_link"), found);
    }
    assert.match(await refused(dir, SKILLS, { tools: ["echo"] }), /^policy_unused_authority: .*Skill/);
    const deny = (match: string, tools = ["Skill"]) => ({ tools, gate: { deny: [{ kind: "context.load", match }] } });
    assert.equal(await refused(dir, SKILLS, deny("skill:one")), "");
    assert.match(await refused(dir, undefined, deny("skill:one", ["echo"])), /policy_dead_rule/);
  }));

Deno.test("compile() reads no FIFO in the place of a skill", () =>
  withProject({ files: { "skills/x": "", ".skills/pipe/": "" } }, async (dir) => {
    await Deno.mkdir(`${dir}/.skills/pipe`, { recursive: true });
    const { success } = await new Deno.Command("mkfifo", {
      args: [`${dir}/skills/pipe.md`, `${dir}/.skills/pipe/SKILL.md`],
    }).output();
    assert.ok(success);
    assert.match(
      await refused(dir, { embedded: { pipe: "skills/pipe.md" } }),
      /^policy_skill_missing: .*no regular file/,
    );
    assert.match(await refused(dir, { workspace: ["pipe"] }), /^policy_skill_missing: .*no regular file/);
  }));

Deno.test("a skill with another text is a gain, and drifts from its lock", () =>
  withProject({ files: FILES }, async (dir) => {
    const before = (await compileIn(dir, policy({ skills: SKILLS }))).plan;
    const lock = parseLock(await lockText({ plan: before }));
    assert.deepEqual(await driftOf({ plan: before }, lock, "2.9.6"), []);
    await Deno.writeTextFile(`${dir}/.skills/deploy/SKILL.md`, text("deploy", "Do it twice"));
    const after = (await compileIn(dir, policy({ skills: SKILLS }))).plan;
    assert.deepEqual(await driftOf({ plan: after }, lock, "2.9.6"), [{ what: "skill deploy", change: "changed" }]);
    const changes = comparePlans(before, after).map(({ kind, subject, text }) => `${kind} ${subject} ${text}`);
    assert.equal(changes.length, 2);
    assert.match(
      changes[0] ?? "",
      /^gained skill the workspace skill deploy, \$\{project\}\/.skills\/deploy\/SKILL.md/,
    );
    assert.ok(!covers(before, after));

    const fewer = (await compileIn(dir, policy({ skills: { workspace: ["deploy"] } }))).plan;
    assert.ok(covers(after, fewer));
    assert.deepEqual((await driftOf({ plan: fewer }, await lockOf({ plan: after }), "2.9.6")).slice(1), [
      { what: "skill one", change: "removed" },
      { what: "skill review", change: "removed" },
    ]);
    const none = (await compileIn(dir, { version: 1, tools: ["echo"] })).plan;
    assert.ok(!Object.hasOwn(await lockOf({ plan: none }), "skills"), "a lock of a policy without skills is as before");
  }));

Deno.test("skills are told where grants are told", () =>
  withProject({ files: FILES }, async (dir) => {
    const { plan } = await compileIn(dir, policy({ skills: SKILLS }));
    assert.ok(grantLines(plan).includes("may load  skill deploy, skill one, skill review"));
    const { sections } = explain(plan, () => ({ file: "p", line: 1, column: 1 }));
    const lines = sections.find(({ title }) => title === "Skills that may be loaded")?.lines ?? [];
    assert.match(
      lines[0]?.what ?? "",
      /^deploy \(workspace\): \$\{project\}\/.skills\/deploy\/SKILL.md \(sha256 [0-9a-f]{12}…\)$/,
    );
    assert.deepEqual([lines[0]?.beyond, lines[0]?.tools], ["untrusted text, never run: About deploy", ["Skill"]]);
    assert.deepEqual(Object.keys(authorityManifest(plan).skills ?? {}), ["deploy", "one", "review"]);
  }));

Deno.test("skills are named, dropped and removed like other authority", () =>
  withProject({ files: FILES }, async (dir) => {
    const parsed = { version: 1, tools: ["Skill"], skills: SKILLS } as const;
    const mutable = JSON.parse(JSON.stringify(parsed));
    const dropped = mutantsOf(mutable, { others: [], fsOf: () => undefined }).filter(({ rule }) =>
      rule.startsWith("/skills")
    );
    assert.deepEqual(dropped.map(({ what }) => what), ['the skill "review"', 'the skill "one"', 'the skill "deploy"']);
    for (const mutant of dropped) assert.deepEqual(await refusalsIn(dir, mutant.policy), [], mutant.what);
    assert.deepEqual(removeTool(mutable, "Skill", { manifests: MANIFESTS }).at(-1), {
      act: "remove",
      path: ["skills"],
    });

    const loaded = await policyFromFlags({ tool: ["Skill"], skill: ["one=skills/one.md"] }, dir);
    assert.deepEqual(Object.keys(loaded.policy.skills?.embedded ?? {}), ["one"]);
    for (const wrong of ["one", "=x", "One=skills/one.md", "one="]) {
      await assert.rejects(policyFromFlags({ tool: ["Skill"], skill: [wrong] }, dir), { code: "usage_skill" });
    }
  }));
