import assert from "node:assert/strict";
import { examineProject } from "../../src/doctor/project.ts";

Deno.test("examineProject() compiles a project's policy and reports what is wrong in it", async () => {
  const dir = await Deno.makeTempDir();
  const state = Deno.env.get("XDG_STATE_HOME");
  Deno.env.set("XDG_STATE_HOME", `${dir}/state`);
  try {
    const project = `${dir}/project`;
    await Deno.mkdir(`${project}/deeper`, { recursive: true });
    await Deno.writeTextFile(`${project}/deno.json`, "{}");
    const about = () => examineProject(project);
    assert.deepEqual((await about()).problems.map(({ problem }) => problem), ["there is no agent.policy.jsonc"]);
    await Deno.writeTextFile(`${project}/agent.ts`, "await callTool('echo', {});\n");
    const write = (policy: unknown) => Deno.writeTextFile(`${project}/agent.policy.jsonc`, JSON.stringify(policy));
    await write({ version: 1, agent: "agent.ts", tools: ["echo", "eco"] });
    const wrong = await about();
    assert.equal(wrong.lock, "unknown");
    assert.match(wrong.problems[0]?.problem ?? "", /eco/);
    await write({ version: 1, agent: "agent.ts", tools: ["echo"] });
    const right = await examineProject(`${project}/deeper`);
    assert.deepEqual([right.problems, right.lock, right.counts?.tools], [[], "none", 1]);
    await Deno.writeTextFile(`${project}/agent.lock.json`, "{}");
    assert.equal((await about()).lock, "drifted");
  } finally {
    if (state === undefined) Deno.env.delete("XDG_STATE_HOME");
    else Deno.env.set("XDG_STATE_HOME", state);
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("examineProject() says so where the folder is not there", async () => {
  const { problems, policy } = await examineProject("/nowhere/at/all");
  assert.equal(policy, null);
  assert.deepEqual(problems.map(({ problem }) => problem), ["the folder cannot be reached"]);
});
