import assert from "node:assert/strict";
import { withProject } from "../e2e/run_project.ts";

const AGENT = 'emit({ kind: "ran" });';

Deno.test("run says of a policy in the place of an agent how policies are named", async () => {
  await withProject({ policy: {}, agent: AGENT }, async ({ run }) => {
    const { code, stderr } = await run({ args: ["run", "agent.policy.jsonc"] });
    assert.equal(code, 64, stderr);
    assert.match(stderr, /Cannot run "agent\.policy\.jsonc" as an agent: a policy is named with --policy/);
  });
});

Deno.test("run says that a policy of flags has no lock, beside a lock or not", async () => {
  await withProject({ policy: {}, agent: AGENT }, async ({ run }) => {
    assert.equal((await run({ args: ["policy", "lock"] })).code, 0);
    for (
      const options of [{ args: ["run", "--locked", "--tool=echo"] }, {
        args: ["run", "agent.ts"],
        env: { CI: "true" },
      }]
    ) {
      const { code, stderr } = await run(options);
      assert.equal(code, 65, stderr);
      assert.match(stderr, /a policy that is made of flags has no lock/);
    }
  });
});

Deno.test("run names the lock to write by a path from here that a shell takes", async () => {
  await withProject(
    { policy: {}, agent: AGENT, files: { "my own.policy.jsonc": '{"version":1,"agent":"agent.ts"}' } },
    async ({ run }) => {
      const { code, stderr } = await run({ args: ["run", "--locked", "--policy=my own.policy.jsonc"] });
      assert.equal(code, 65, stderr);
      assert.match(stderr, /`twokey policy lock 'my own\.policy\.jsonc'`/);
    },
  );
});

Deno.test("run with a --runs-dir that cannot be made is exit 74, not a fault", async () => {
  await withProject({ policy: {}, agent: AGENT, files: { taken: "" } }, async ({ run }) => {
    for (const dir of ["taken", "taken/below"]) {
      const { code, stderr } = await run({ args: ["run", `--runs-dir=${dir}`] });
      assert.equal(code, 74, stderr);
      assert.match(stderr, /^error: Cannot keep the log below "taken/m);
    }
  });
});

Deno.test("run refuses a tool that runs any program, by flag and by policy, with the reason why there is none", async () => {
  await withProject({ agent: AGENT }, async ({ run, policy }) => {
    for (const tool of ["shell", "exec", "spawn"]) {
      await policy({ tools: [tool] });
      for (const args of [["run", "--json"], ["run", "--json", "agent.ts", `--tool=${tool}`]]) {
        const { code, stdout, records } = await run({ args });
        assert.deepEqual([code, records], [65, []], stdout);
        assert.match(stdout, new RegExp(`"${tool}\\\\": .*process_tool_supervisor_required_not_available`));
      }
      const called = await run({ args: ["call", tool, "{}", "--tool=echo"] });
      assert.notEqual(called.code, 0, called.stdout);
    }
  });
});

Deno.test("run says that an agent waits for nothing", async () => {
  await withProject({ agent: "await new Promise(() => {});", policy: {} }, async (project) => {
    const run = await project.run({ args: ["run"] });
    assert.equal(run.code, 1);
    assert.match(run.stdout, /^agent {5}the agent waits for something that never comes/m);
    assert.equal(run.stdout.includes("undefined"), false, run.stdout);
    assert.equal(run.records.at(-1)?.error, undefined);
  });
});

Deno.test("run names the budget that ended it, its limit, its place in the policy and the line that raises it", async () => {
  const endless = "for (;;) await new Promise((resolve) => setTimeout(resolve, 10));";
  await withProject({ agent: endless, policy: { budgets: { wallMs: 400 } } }, async (project) => {
    const run = await project.run({ args: ["run"] });
    assert.equal(run.code, 70);
    assert.match(
      run.stdout,
      /^budget {4}wallMs of 400 milliseconds is used up \(agent\.policy\.jsonc:\d+:\d+\): Duration/m,
    );
    assert.match(run.stdout, /^ {10}to raise it: "budgets": \{ "wallMs": 800 \}$/m);
    const { reason, budget } = JSON.parse((await project.run()).stdout);
    assert.deepEqual([reason, budget.budget, budget.limit, budget.raise], [
      "wall_exceeded",
      "wallMs",
      400,
      '"budgets": { "wallMs": 800 }',
    ]);
    await project.write("agent.ts", "for (let i = 0; i < 10_001; i++) emit({});");
    await project.policy({});
    const events = await project.run({ args: ["run"] });
    assert.match(events.stdout, /^budget {4}events of 10000 events is used up \(the default\): Events that/m);
  });
});
