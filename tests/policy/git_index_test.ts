import assert from "node:assert/strict";
import { isTracked } from "../../src/policy/git_index.ts";
import { refusalsIn, withProject } from "./project.ts";

async function git(dir: string, ...args: readonly string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command("git", {
    args: ["-C", dir, "-c", "init.defaultBranch=main", ...args],
    env: { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" },
    stdin: "null",
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
}

const FILES = { "cache/a.json": "1", "cache/deep/bb.json": "2", "docs/\u00e4.md": "3", "free/x": "4", "z": "5" };

for (const version of [2, 3, 4]) {
  Deno.test(`isTracked() reads an index of version ${version}`, async () => {
    await withProject({ files: FILES }, async (dir) => {
      await git(dir, "init", "-q");
      await git(dir, "add", "cache", "docs", "z");
      await git(dir, "update-index", "--index-version", String(version));
      // a skipped file needs the extended flags that version 3 brought
      if (version >= 3) await git(dir, "update-index", "--skip-worktree", "cache/a.json");
      for (const path of ["cache", "cache/a.json", "cache/deep", "cache/deep/bb.json", "docs/\u00e4.md", "z"]) {
        assert.ok(isTracked(`${dir}/${path}`), path);
      }
      for (const path of ["free", "free/x", "cach", "cache/b", "new"]) assert.ok(!isTracked(`${dir}/${path}`), path);
    });
  });
}

Deno.test("isTracked() finds the index of a worktree", async () => {
  await withProject({ files: FILES }, async (dir) => {
    await git(dir, "init", "-q");
    await git(dir, "add", ".");
    await git(dir, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "x");
    await git(dir, "worktree", "add", "-q", `${dir}/tree`, "-b", "other");
    assert.ok(isTracked(`${dir}/tree/cache`));
    assert.ok(!isTracked(`${dir}/tree/none`));
  });
});

Deno.test("isTracked() says no where there is no repository or no index, and survives a torn one", async () => {
  await withProject({ files: FILES }, async (dir) => {
    assert.ok(!isTracked(`${dir}/cache`));
    await git(dir, "init", "-q");
    assert.ok(!isTracked(`${dir}/cache`));
    await git(dir, "add", ".");
    const index = await Deno.readFile(`${dir}/.git/index`);
    for (const length of [0, 5, 12, 40, 75, 90, index.length - 1]) {
      await Deno.writeFile(`${dir}/.git/index`, index.subarray(0, length));
      isTracked(`${dir}/nothing`);
    }
  });
});

Deno.test("compile() refuses a cache folder with files that git tracks", async () => {
  await withProject({ files: FILES }, async (dir) => {
    await git(dir, "init", "-q");
    await git(dir, "add", "cache");
    const policy = (folder: string) => ({ version: 1, tools: ["osv.query"], network: { cache: { dir: folder } } });
    assert.deepEqual((await refusalsIn(dir, policy("cache"))).map(({ code }) => code), ["policy_tracked"]);
    assert.deepEqual(await refusalsIn(dir, policy("free")), []);
  });
});

Deno.test("isTracked() opens neither a FIFO nor a device in the place of .git or of its index", async () => {
  const dir = await Deno.realPath(await Deno.makeTempDir());
  try {
    await new Deno.Command("/usr/bin/mkfifo", { args: [`${dir}/fifo`] }).output();
    for (const [folder, target] of [["a", `${dir}/fifo`], ["b", "/dev/zero"]]) {
      await Deno.mkdir(`${dir}/${folder}/sub`, { recursive: true });
      await Deno.symlink(target ?? "", `${dir}/${folder}/.git`);
      assert.equal(isTracked(`${dir}/${folder}/sub/x`), false);
      await Deno.remove(`${dir}/${folder}/.git`);
      await Deno.mkdir(`${dir}/${folder}/.git`);
      await Deno.symlink(target ?? "", `${dir}/${folder}/.git/index`);
      assert.equal(isTracked(`${dir}/${folder}/sub/x`), false);
    }
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});
