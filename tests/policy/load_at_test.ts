import assert from "node:assert/strict";
import { openRevision } from "../../src/policy/git_revision.ts";
import type { LoadedPolicy } from "../../src/policy/load.ts";
import { loadAt } from "../../src/policy/load_at.ts";
import { PolicyError } from "../../src/policy/policy_error.ts";
import { type GitRepository, gitTest } from "./git_repository.ts";

const FILE = "policies/a/agent.policy.jsonc";

async function load({ dir }: GitRepository, name: string): Promise<LoadedPolicy> {
  const revision = await openRevision(dir, name);
  try {
    return await loadAt(revision, `${dir}/${FILE}`);
  } finally {
    revision.close();
  }
}

gitTest("loadAt() loads a policy as it stood, with positions that name the revision", async (r) => {
  await r.write("deno.json", "{}");
  await r.write(FILE, '{\n  "version": 1,\n  "tools": ["echo"]\n}\n');
  await r.commit("one");
  await r.write(FILE, '{ "version": 1, "tools": ["slow"] }');
  const loaded = await load(r, "main");
  assert.deepEqual(loaded.policy.tools, ["echo"]);
  assert.deepEqual([loaded.file, loaded.base, loaded.project], [`${r.dir}/${FILE}`, `${r.dir}/policies/a`, r.dir]);
  assert.deepEqual(loaded.positionOf("/tools/0"), { file: `main:${FILE}`, line: 3, column: 13 });
});

gitTest(
  "loadAt() takes a policy that is not there for one that grants nothing, and a wrong one for wrong",
  async (r) => {
    await r.commit("nothing");
    await Deno.mkdir(`${r.dir}/policies/a`, { recursive: true });
    assert.deepEqual((await load(r, "main")).policy, { version: 1 });
    for (const text of ["", "{", '{ "version": 2 }', '{ "version": 1, "tool": [] }', "[]"]) {
      await r.write(FILE, text);
      await r.commit("wrong");
      await assert.rejects(load(r, "main"), (error) => {
        assert.ok(error instanceof PolicyError, text);
        assert.equal(error.position?.file, `main:${FILE}`);
        return true;
      });
    }
    await Deno.remove(`${r.dir}/${FILE}`);
    await Deno.symlink("/etc/hostname", `${r.dir}/${FILE}`);
    await r.commit("a link");
    await assert.rejects(load(r, "main"), { code: "git_not_a_file" });
  },
);
