import assert from "node:assert/strict";
import { withProject } from "../e2e/run_project.ts";

Deno.test("report github says what it needs, and reports nothing that is no result", async () => {
  await withProject({ files: { "result.json": "[]", "summary": "", "output": "" } }, async (project) => {
    const env = { GITHUB_STEP_SUMMARY: `${project.dir}/summary`, GITHUB_OUTPUT: `${project.dir}/output` };
    const cases: [args: string[], env: Record<string, string>, code: number, message: RegExp][] = [
      [["result.json"], {}, 64, /GITHUB_STEP_SUMMARY is not set/],
      [["missing.json"], env, 66, /cannot be read/],
      [["result.json"], env, 65, /is not what `twokey run --json` prints/],
      [["result.json", "--exit=many"], env, 64, /exit/],
    ];
    for (const [args, env, code, message] of cases) {
      const run = await project.run({ args: ["report", "github", ...args], env });
      assert.equal(run.code, code, run.stderr);
      assert.match(run.stderr, message);
    }
    assert.equal(await Deno.readTextFile(env.GITHUB_OUTPUT), "");
  });
});

Deno.test("report github trusts no field of a result", async () => {
  const result = {
    reason: 7,
    exit: "0",
    summary: { denials: [null, 1, { tool: ["x"], target: {}, reason: 5 }], budgets: "x", tool_denials: "many" },
    head: { a: 1 },
  };
  await withProject(
    { files: { "result.json": JSON.stringify(result), "summary": "", "output": "" } },
    async (project) => {
      const env = { GITHUB_STEP_SUMMARY: `${project.dir}/summary`, GITHUB_OUTPUT: `${project.dir}/output` };
      const run = await project.run({
        args: ["report", "github", "result.json", "--policy=missing.jsonc", "--json"],
        env,
      });
      assert.equal(run.code, 0, run.stderr);
      assert.deepEqual(JSON.parse(run.stdout).outputs, {
        exit: "70",
        reason: "",
        denied: "1",
        gained: "0",
        head: "",
        audit: "",
      });
      assert.match(await Deno.readTextFile(env.GITHUB_STEP_SUMMARY), /Nothing ran\./);
    },
  );
});
