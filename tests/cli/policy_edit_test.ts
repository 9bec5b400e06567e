import assert from "node:assert/strict";
import { type Project, type RunResult, withProject } from "../e2e/run_project.ts";

const POLICY = `// of the team
{
  "version": 1,
  "agent": "agent.ts",
  "tools": ["listFiles", "readFile"], // reviewed
  "fs": {
    "read": [
      { "root": ".", "include": ["/*.md"] } // notes
    ]
  }
}
`;

function withPolicy(body: (project: Project, edit: (...words: string[]) => Promise<RunResult>) => Promise<void>) {
  return withProject(
    { files: { "agent.policy.jsonc": POLICY, "agent.ts": "" } },
    (project) => body(project, (...words) => project.run({ args: ["policy", ...words] })),
  );
}

function policyOf(project: Project): Promise<string> {
  return Deno.readTextFile(`${project.dir}/agent.policy.jsonc`);
}

Deno.test("policy add-tool writes one line, says where and what was gained, and keeps the comments", async () => {
  await withPolicy(async (project, edit) => {
    await Deno.chmod(`${project.dir}/agent.policy.jsonc`, 0o640);
    const { code, stdout, stderr } = await edit("add-tool", "echo");
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^agent\.policy\.jsonc:5 {2}"tools": \["listFiles", "readFile", "echo"\], \/\/ reviewed$/m);
    assert.match(stdout, /^gained {2}the tool echo$/m);
    assert.doesNotMatch(stdout, /policy lock/);
    assert.equal(await policyOf(project), POLICY.replace('"readFile"]', '"readFile", "echo"]'));
    assert.equal(((await Deno.stat(`${project.dir}/agent.policy.jsonc`)).mode ?? 0) & 0o777, 0o640);
    assert.deepEqual((await Array.fromAsync(Deno.readDir(project.dir))).map(({ name }) => name).toSorted(), [
      "agent.policy.jsonc",
      "agent.ts",
      "deno.json",
    ]);
    const again = await edit("add-tool", "echo");
    assert.deepEqual([again.code, again.stdout], [0, "nothing to change: the policy says so already\n"]);
  });
});

Deno.test("policy add-tool without the authority is refused with the command that grants both", async () => {
  await withPolicy(async (project, edit) => {
    const refused = await edit("add-tool", "writeArtifact");
    assert.equal(refused.code, 65);
    assert.match(refused.stderr, /no "fs\.write" for it; nothing was written/);
    assert.match(refused.stderr, /twokey policy add-tool writeArtifact --write=out/);
    assert.equal(await policyOf(project), POLICY);
    const { code, stderr } = await edit("add-tool", "writeArtifact", "--write=out");
    assert.equal(code, 0, stderr);
    assert.match(await policyOf(project), /\n {4}\],\n {4}"write": \[\{ "root": "out" \}\]\n {2}\}\n/);
    assert.equal((await edit("validate")).code, 0);
    const unused = await edit("remove-tool", "writeArtifact");
    assert.equal(unused.code, 65);
    assert.match(unused.stderr, /remove-tool writeArtifact --with-authority/);
    assert.equal((await edit("remove-tool", "writeArtifact", "--with-authority")).code, 0);
    assert.equal(await policyOf(project), POLICY);
  });
});

Deno.test("policy edits refuse what would not compile and write nothing", async () => {
  await withPolicy(async (project, edit) => {
    const cases: [words: string[], code: number, message: RegExp][] = [
      [["add-tool", "slo"], 65, /no such tool[\s\S]*Write "slow"/],
      [["add-tool", "shell"], 65, /deliberately absent/],
      [["add-read", ".."], 65, /lies outside the project/],
      [["add-read", "missing"], 65, /missing/],
      [["add-write", "out"], 65, /add-tool writeArtifact --write=out/],
      [["add-write", ".git"], 65, /./],
      [["remove-read", "."], 65, /listFiles/],
      // Without `include` everything would be readable: the list is never taken away, only emptied, which is refused.
      [["remove-read", ".", "--include=/*.md"], 65, /include/],
      [["set-budget", "toolCalls=99999999999"], 65, /toolCalls/],
      [["set-budget", "toolcalls=1"], 64, /did you mean toolCalls\?/],
      [["set-budget", "toolCalls=many"], 64, /whole number/],
      [["set-context", "[1]"], 64, /JSON object/],
      [["set-context", '{"__proto__":{}}'], 65, /reserved by JavaScript/],
      [["set-isolation", "none"], 64, /process, worker, compartment/],
    ];
    for (const [words, code, message] of cases) {
      const run = await edit(...words);
      assert.equal(run.code, code, `${words.join(" ")}: ${run.stderr}`);
      assert.match(run.stderr, message);
      assert.equal(await policyOf(project), POLICY, words.join(" "));
    }
  });
});

Deno.test("policy add-read extends a root that is granted, remove-read takes the pattern away again", async () => {
  await withPolicy(async (project, edit) => {
    assert.equal((await edit("add-read", "./", "--include=/deno.json", "--exclude=/SECRET.md")).code, 0);
    assert.match(await policyOf(project), /"include": \["\/\*\.md", "\/deno\.json"\], "exclude": \["\/SECRET\.md"\]/);
    const same = await edit("add-read", ".", "--include=/deno.json");
    assert.match(same.stdout, /nothing to change/);
    const back = await edit("remove-read", ".", "--include=/deno.json");
    assert.match(back.stdout, /^narrowed {2}\S/m);
  });
});

Deno.test("policy set-budget, set-context and set-isolation can be taken back", async () => {
  await withPolicy(async (project, edit) => {
    assert.equal((await edit("set-budget", "toolCalls=5", "wallMs=60000")).code, 0);
    assert.match(await policyOf(project), /"budgets": \{ "toolCalls": 5, "wallMs": 60000 \}/);
    assert.match((await edit("unset-budget", "toolCalls")).stdout, /^gained {2}toolCalls: 10000 instead of 5$/m);
    assert.equal((await edit("unset-budget", "wallMs")).code, 0);
    assert.equal((await edit("set-context", '{"depth":2}')).code, 0);
    assert.equal((await edit("unset-context")).code, 0);
    assert.equal(await policyOf(project), POLICY);
    const { stdout } = await edit("set-isolation", "compartment", "--json");
    const { changed, changes, lock } = JSON.parse(stdout);
    assert.deepEqual([changed, changes[0].kind, lock], [true, "gained", null]);
  });
});

Deno.test("policy edits name the lock that no longer fits, and follow no link", async () => {
  await withPolicy(async (project, edit) => {
    assert.equal((await edit("lock")).code, 0);
    assert.match((await edit("add-tool", "echo")).stdout, /agent\.lock\.json no longer fits.*twokey policy lock/);
    await Deno.symlink("agent.policy.jsonc", `${project.dir}/link.policy.jsonc`);
    const before = await policyOf(project);
    const linked = await edit("add-tool", "slow", "link.policy.jsonc");
    assert.equal(linked.code, 65);
    assert.match(linked.stderr, /it is a link/);
    assert.equal(await policyOf(project), before);
  });
});
