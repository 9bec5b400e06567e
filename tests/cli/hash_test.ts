import assert from "node:assert/strict";
import { loadPolicy } from "../../src/policy/load.ts";
import { sha256 } from "../../src/json.ts";
import { withProject } from "../e2e/run_project.ts";

Deno.test("hash prints digests of files, and a policy's own digest", async () => {
  await withProject({ files: { "a.txt": "abc", "agent.policy.jsonc": '{ "version": 1 } // x' } }, async (project) => {
    const { code, stdout } = await project.run({ args: ["hash", "a.txt", "agent.policy.jsonc"] });
    assert.equal(code, 0);
    const { sha256: policy } = await loadPolicy(`${project.dir}/agent.policy.jsonc`);
    assert.deepEqual(stdout.trimEnd().split("\n"), [
      `${await sha256("abc")}  a.txt`,
      `${await sha256('{ "version": 1 } // x')}  agent.policy.jsonc`,
      `${policy}  agent.policy.jsonc (policy)`,
    ]);
    const json = JSON.parse((await project.run({ args: ["hash", "a.txt", "--json"] })).stdout);
    assert.deepEqual(json.files, [{ path: "a.txt", bytes: 3, sha256: await sha256("abc") }]);
  });
});

Deno.test("hash refuses no file, a missing file and a folder", async () => {
  await withProject({}, async (project) => {
    assert.equal((await project.run({ args: ["hash"] })).code, 64);
    assert.equal((await project.run({ args: ["hash", "nothing"] })).code, 66);
    const folder = await project.run({ args: ["hash", ".", "--json"] });
    assert.equal(folder.code, 65);
    assert.equal(JSON.parse(folder.stdout).error.code, "hash_not_a_file");
  });
});
