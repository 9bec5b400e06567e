import assert from "node:assert/strict";
import type { JsonObject } from "../../src/json.ts";
import { withProject } from "../e2e/run_project.ts";

const READ_ALL = `
const { files } = await callTool("listFiles", {}) as { files: { path: string; readable: boolean; reason: string }[] };
emit({ read: files.filter(({ readable }) => readable).map(({ path }) => path) });
emit({ config: await callTool("readFile", { path: "config" }).then(() => "read", (error) => error.code) });
`;

Deno.test("a log is kept out of the agent's reach, also where --runs-dir names a folder", async () => {
  const policy = {
    tools: ["readFile", "writeArtifact"],
    fs: { read: [{ root: "docs" }], write: [{ root: "out" }] },
  };
  await withProject({ agent: "emit(1);", policy, files: { "docs/": "", "out/": "" } }, async (project) => {
    for (const [folder, code] of [["out", 64], ["out/runs", 64], ["docs/runs", 64], ["logs", 0], [".twokey/x", 0]]) {
      const run = await project.run({ args: ["run", `--runs-dir=${project.dir}/${folder}`] });
      assert.equal(run.code, code, `${folder}: ${run.stderr}`);
    }
    const left = await Array.fromAsync(Deno.readDir(`${project.dir}/out/runs`));
    assert.deepEqual(left, []);
  });
});

Deno.test("the credentials in .git/config stay closed where .git itself is a read root, unless they are named", async () => {
  const files = { ".git/config": "[http] extraheader = CANARY", ".git/HEAD": "ref: x" };
  for (const include of [undefined, ["config"]]) {
    const policy = { tools: ["listFiles", "readFile"], fs: { read: [{ root: ".git", ...(include && { include }) }] } };
    await withProject({ agent: READ_ALL, policy, files }, async (project) => {
      const run = await project.run();
      const events = run.records.filter(({ type }) => type === "event").map(({ event }) => event as JsonObject);
      const expected = include === undefined ? ["HEAD"] : ["config"];
      assert.deepEqual(events[0], { read: expected }, run.stderr);
      assert.equal(events[1]?.config, include === undefined ? "secret_name" : "read", JSON.stringify(events));
    });
  }
});

Deno.test("a locked run refuses another certificate authority under the same name", async () => {
  const policy = { tools: ["osv.query"], network: { ca: { file: "ca.pem" }, cache: { mode: "offline" } } };
  await withProject({ agent: "emit(1);", policy, files: { "ca.pem": "ONE" } }, async (project) => {
    assert.equal((await project.run({ args: ["policy", "lock"] })).code, 0);
    assert.equal((await project.run({ args: ["policy", "lock", "--check"] })).code, 0);
    await project.write("ca.pem", "TWO");
    const run = await project.run({ args: ["run", "--locked"] });
    assert.equal(run.code, 65, run.stderr);
    assert.match(run.stderr, /certificate/);
  });
});

Deno.test("a folder for temporary files that is not there is a control that is missing, and no fault of ours", async () => {
  await withProject({ agent: "emit(1);", policy: { tools: ["echo"] } }, async (project) => {
    const run = await project.run({ args: ["run"], env: { TMPDIR: `${project.dir}/none` } });
    assert.equal(run.code, 78, run.stderr);
    assert.match(run.stderr, /folder for temporary files/);
  });
});
