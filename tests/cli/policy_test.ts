import assert from "node:assert/strict";
import { type Project, type RunResult, withProject } from "../e2e/run_project.ts";

const POLICY = {
  name: "notes",
  tools: ["readFile", "writeArtifact"],
  fs: { read: [{ root: ".", include: ["*.md"] }], write: [{ root: "out" }] },
};
const PROJECT = { policy: POLICY, agent: 'emit({ kind: "hello" });\n', files: { "a.md": "a" } };

function policy({ run }: Project, ...words: string[]): Promise<RunResult> {
  return run({ args: ["policy", ...words] });
}

Deno.test("policy validate says that a policy is valid, or everything that is wrong with it", () =>
  withProject(PROJECT, async (project) => {
    const valid = await policy(project, "validate");
    assert.equal(valid.code, 0, valid.stderr);
    assert.match(valid.stdout, /^valid {2}notes {2}sha256 [0-9a-f]{64}\n$/);
    const json = JSON.parse((await policy(project, "validate", "--json")).stdout);
    assert.deepEqual([json.valid, json.tools], [true, ["readFile", "writeArtifact"]]);
    await project.policy({ ...POLICY, tools: ["readFiel"], unknown: 1 });
    const wrong = await policy(project, "validate");
    assert.equal(wrong.code, 65);
    assert.match(wrong.stderr, /unknown/);
    await Deno.remove(`${project.dir}/agent.policy.jsonc`);
    assert.equal((await policy(project, "validate")).code, 64);
    assert.equal((await policy(project, "validate", "none.policy.jsonc")).code, 66);
  }));

Deno.test("policy explain says what is granted; two policies at a time are one too many", () =>
  withProject(PROJECT, async (project) => {
    const { code, stdout } = await policy(project, "explain");
    assert.equal(code, 0);
    assert.match(stdout, /readFile[^]*\*\.md[^]*out/);
    JSON.parse((await policy(project, "explain", "--json")).stdout);
    assert.equal((await policy(project, "explain", "agent.policy.jsonc", "b.policy.jsonc")).code, 64);
  }));

Deno.test("policy compile prints key 1 as flags and as a permission set, and the plan", () =>
  withProject(PROJECT, async (project) => {
    const flags = await policy(project, "compile", "--portable");
    assert.match(flags.stdout, /^--allow-write=\$\{project\}\/out$/m);
    assert.match((await policy(project, "compile")).stdout, new RegExp(`^--allow-write=${project.dir}/out$`, "m"));
    const set = JSON.parse((await policy(project, "compile", "--format=deno-json", "--portable")).stdout);
    assert.deepEqual(Object.keys(set.permissions), ["notes"]);
    const plan = JSON.parse((await policy(project, "compile", "--format=plan")).stdout);
    assert.deepEqual(plan.agent.modules.map(({ path }: { path: string }) => path), ["${project}/agent.ts"]);
    assert.equal((await policy(project, "compile", "--format=xml")).code, 64);
  }));

Deno.test("policy manifest lists the same facts as text and as JSON, the agent's modules among them", () =>
  withProject(PROJECT, async (project) => {
    const { stdout } = await policy(project, "manifest");
    assert.match(stdout, /^agent modules \$\{project\}\/agent\.ts [0-9a-f]{64}$/m);
    const json = JSON.parse((await policy(project, "manifest", "--json")).stdout);
    assert.deepEqual(json.paths.write, ["${project}/out"]);
    assert.equal((await policy(project, "manifest")).stdout, stdout, "the same bytes again");
  }));

Deno.test("policy lock writes a lock that holds until something changes", () =>
  withProject(PROJECT, async (project) => {
    assert.equal((await policy(project, "lock", "--check")).code, 65);
    assert.match((await policy(project, "lock")).stdout, /^wrote {2}.*agent\.lock\.json\n$/);
    assert.match((await policy(project, "lock", "--check")).stdout, /^holds {2}/);
    await project.write("agent.ts", 'emit({ kind: "bye" });\n');
    const drifted = await policy(project, "lock", "--check");
    assert.equal(drifted.code, 65);
    assert.match(drifted.stderr, /changed: agent module/);
  }));

Deno.test("policy validate reads the recorded answers that a policy names", () =>
  withProject({
    agent: "emit({});",
    policy: { tools: ["model.call", "osv.query"], model: { fixture: "a.json" }, network: { fixtures: ["o.json"] } },
    files: { "a.json": '{\n  "responces": []\n}', "o.json": '{"queries":[]}' },
  }, async (project) => {
    for (const words of [["policy", "validate"], ["run"]]) {
      const { code, stderr } = await project.run({ args: words });
      assert.equal(code, 65);
      assert.match(stderr, /Cannot load fixture "a\.json": \/responces is not a known key\n {2}at a\.json:2:\d+\n/);
      assert.match(stderr, /fix: Write "responses"/);
    }
    await project.write("a.json", '{"responses":[]}');
    assert.equal((await policy(project, "validate")).code, 0);
    await project.write("o.json", '{"querys":[]}');
    const other = await policy(project, "validate");
    assert.match(other.stderr, / at o\.json:1:\d+\n {2}fix: Write "queries"/);
  }));
