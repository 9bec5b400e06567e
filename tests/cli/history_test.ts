import assert from "node:assert/strict";
import { withProject } from "../e2e/run_project.ts";

Deno.test("history lists runs with a policy and runs of flags alone, the newest first", async () => {
  await withProject({ policy: { tools: ["echo"] }, agent: 'await callTool("echo");' }, async (project) => {
    const first = await project.run();
    assert.equal(first.code, 0, first.stderr);
    const second = await project.run({ args: ["call", "echo", "{}", "--tool=echo"] });
    assert.equal(second.code, 0, second.stderr);
    const ids = [JSON.parse(second.stdout).run_id, JSON.parse(first.stdout).run_id];
    const listed = await project.run({ args: ["history", "--json"] });
    assert.equal(listed.code, 0, listed.stderr);
    const { runs } = JSON.parse(listed.stdout);
    assert.deepEqual(runs.map(({ run_id }: { run_id: string }) => run_id), ids);
    assert.deepEqual(runs.map(({ tool_calls }: { tool_calls: number }) => tool_calls), [1, 1]);
    const newest = await project.run({ args: ["history", "--limit=1", "agent.policy.jsonc"] });
    assert.ok(newest.stdout.includes(ids[0]) && !newest.stdout.includes(ids[1]), newest.stdout);
  });
});

Deno.test("history of a project without runs says so, of a folder that is not there is exit 66", async () => {
  await withProject({}, async (project) => {
    const none = await project.run({ args: ["history"] });
    assert.equal(none.code, 0);
    assert.equal(none.stdout, "No run is recorded here\n");
    assert.equal((await project.run({ args: ["history", "nowhere"] })).code, 66);
    assert.equal((await project.run({ args: ["history", "--limit=0"] })).code, 64);
  });
});
