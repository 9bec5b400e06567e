/** Tasks in whole runs: one list for all calls of a run, kept between the runs of a session and nowhere else. */
import assert from "node:assert/strict";
import { ISOLATIONS } from "../../src/plan/plan.ts";
import { type RunResult, withProject } from "./run_project.ts";

const TOOLS = ["TaskCreate", "TaskUpdate", "TaskGet", "TaskList"];

const AGENT = `
const { tasks } = await callTool("TaskList", {});
emit({ kind: "before", tasks: tasks.map(({ id, status }) => id + " " + status) });
if (tasks.length === 0) {
  // Calls that overlap change the list one after the other
  await Promise.all(["a", "b", "c"].map((subject) => callTool("TaskCreate", { subject, description: subject })));
  await callTool("TaskUpdate", { taskId: "t2", addBlockedBy: ["t1"] });
  await callTool("TaskUpdate", { taskId: "t3", status: "deleted" });
} else {
  await callTool("TaskUpdate", { taskId: "t1", status: "completed" });
  await callTool("TaskUpdate", { taskId: "t2", status: "in_progress" });
  emit({ kind: "made", id: (await callTool("TaskCreate", { subject: "d", description: "d" })).task.id });
}
if (context.fails) throw new Error("no");
`;

const eventsOf = ({ records }: RunResult) => records.filter(({ type }) => type === "event").map(({ event }) => event);

for (const isolation of ISOLATIONS) {
  Deno.test(`tasks are kept between the runs of a session: ${isolation}`, async () => {
    const policy = { isolation, tools: TOOLS, session: true };
    await withProject({ policy, agent: AGENT }, async (project) => {
      const first = await project.run();
      assert.equal(first.code, 0, first.stderr);
      assert.deepEqual(eventsOf(first), [{ kind: "before", tasks: [] }]);

      await project.policy({ ...policy, context: { fails: true } });
      const failed = await project.run();
      assert.deepEqual(eventsOf(failed).at(-1), { kind: "made", id: "t4" });

      await project.policy(policy);
      const next = await project.run();
      assert.equal(next.code, 0, next.stderr);
      const again = [{ kind: "before", tasks: ["t1 pending", "t2 pending"] }, { kind: "made", id: "t4" }];
      assert.deepEqual(eventsOf(next), again, "a run that failed changed nothing");
      const last = await project.run();
      assert.deepEqual(eventsOf(last)[0], {
        kind: "before",
        tasks: ["t1 completed", "t2 in_progress", "t4 pending"],
      });
    });
  });
}

Deno.test("tasks end with the run where the policy keeps no session, and stay where a run does not use them", async () => {
  await withProject({ policy: { tools: TOOLS }, agent: AGENT }, async (project) => {
    for (let run = 0; run < 2; run++) {
      assert.deepEqual(eventsOf(await project.run()), [{ kind: "before", tasks: [] }]);
    }
    await project.policy({ tools: TOOLS, session: true });
    await project.run();
    await project.policy({ tools: ["echo"], session: true });
    await project.write("agent.ts", 'await callTool("echo", {});');
    assert.equal((await project.run()).code, 0);
    await project.policy({ tools: TOOLS, session: true });
    await project.write("agent.ts", AGENT);
    assert.deepEqual(eventsOf(await project.run())[0], { kind: "before", tasks: ["t1 pending", "t2 pending"] });
    const call = await project.run({ args: ["call", "--policy", "agent.policy.jsonc", "TaskList", "{}"] });
    assert.deepEqual(JSON.parse(call.stdout).result.tasks, [], "a call is a run of its own");
  });
});
