import assert from "node:assert/strict";
import { InputError } from "../../src/errors.ts";
import { GitObjects, gitText } from "../../src/policy/git_objects.ts";
import { GIT, type GitRepository, gitTest } from "./git_repository.ts";

async function withObjects(
  { dir }: GitRepository,
  body: (objects: GitObjects) => Promise<void>,
): Promise<void> {
  const objects = new GitObjects({ git: GIT, top: dir, gitDir: `${dir}/.git` });
  try {
    await body(objects);
  } finally {
    objects.close();
  }
}

gitTest("GitObjects answers in order, also many requests at once, and each object once", async (r) => {
  const ids: string[] = [];
  for (let i = 0; i < 40; i++) {
    ids.push(await r.git(["hash-object", "-w", "--stdin"], { input: `${i}\n`.repeat(i * 500) }));
  }
  await withObjects(r, async (objects) => {
    const texts = await Promise.all(ids.map(async (id) => new TextDecoder().decode(await objects.read(id))));
    assert.deepEqual(texts, ids.map((_, i) => `${i}\n`.repeat(i * 500)));
    assert.equal(await objects.read(ids[3] ?? ""), await objects.read(ids[3] ?? ""), "the same bytes, kept");
    assert.equal(await objects.read("0".repeat(40)), undefined);
  });
});

gitTest("GitObjects resolves names, and takes no answer of git's for what a name says", async (r) => {
  const commit = await r.commit("one");
  await withObjects(r, async (objects) => {
    assert.equal(await objects.resolve("main^{commit}"), commit);
    assert.equal(objects.idBytes, 20);
    for (const name of [`${commit} commit 5`, "main missing", "nowhere", "--version", "main^{blob}", "main:none"]) {
      assert.equal(await objects.resolve(name), undefined, name);
    }
    assert.equal(await objects.resolve("main"), commit, "and goes on after each");
  });
});

gitTest("GitObjects fails for whoever waits when it is closed, and where git cannot start", async (r) => {
  await r.commit("one");
  const objects = new GitObjects({ git: GIT, top: r.dir, gitDir: `${r.dir}/.git` });
  objects.close();
  await assert.rejects(objects.read("main"), InputError);
  const nowhere = new GitObjects({ git: GIT, top: r.dir, gitDir: `${r.dir}/nowhere` });
  await assert.rejects(nowhere.resolve("main"), InputError);
  nowhere.close();
});

gitTest("gitText() gives what git printed, or nothing where it failed", async (r) => {
  const commit = await r.commit("one");
  const repository = { git: GIT, top: r.dir, gitDir: `${r.dir}/.git` };
  assert.equal(await gitText(repository, ["merge-base", "main", "main"]), `${commit}\n`);
  assert.equal(await gitText(repository, ["merge-base", "main", "nowhere"]), undefined);
});
