import assert from "node:assert/strict";
import { DataError, InputError } from "../../src/errors.ts";
import { sha256 } from "../../src/json.ts";
import { openRevision, type Revision } from "../../src/policy/git_revision.ts";
import { GIT, type GitRepository, gitTest, repositoryIn, withRepository } from "./git_repository.ts";
import { withoutGit } from "./without_git.ts";

const FILE = "agent.policy.jsonc";

async function at<T>(folder: string, name: string, body: (revision: Revision) => Promise<T>): Promise<T> {
  const revision = await openRevision(folder, name);
  try {
    return await body(revision);
  } finally {
    revision.close();
  }
}

function readAt({ dir }: GitRepository, name: string, path = FILE): Promise<string | undefined> {
  return at(dir, name, (revision) => revision.readText(`${dir}/${path}`));
}

/** Two commits on main: the policy says `one`, then `two`. */
async function twoCommits(repository: GitRepository): Promise<readonly [string, string]> {
  await repository.write(FILE, "one");
  const first = await repository.commit("one");
  await repository.write(FILE, "two");
  await repository.write("deep/er/file.txt", "deep");
  return [first, await repository.commit("two")];
}

gitTest(
  "openRevision() reads files as they stood in a branch, a tag, a commit, or what two have in common",
  async (r) => {
    const [first, second] = await twoCommits(r);
    await r.git(["tag", "v1", first]);
    await r.git(["tag", "-a", "v2", "-m", "annotated", second]);
    await r.git(["switch", "--quiet", "-c", "topic", first]);
    await r.write(FILE, "topic");
    const topic = await r.commit("topic");
    await r.write(FILE, "not committed");
    for (
      const [name, text] of [
        ["main", "two"],
        ["refs/heads/main", "two"],
        ["main^", "one"],
        ["main~1", "one"],
        ["v1", "one"],
        ["v2", "two"],
        [second, "two"],
        [second.slice(0, 10), "two"],
        ["HEAD", "topic"],
        [topic, "topic"],
        ["main...topic", "one"],
        ["main...", "one"],
        ["...main", "one"],
        ["HEAD^{/one}", "one"],
      ] as const
    ) {
      assert.equal(await readAt(r, name), text, name);
    }
    await at(r.dir, "main...topic", (revision) => {
      assert.deepEqual([revision.commit, revision.top, revision.name], [first, r.dir, "main...topic"]);
      return Promise.resolve();
    });
    await at(`${r.dir}/deep`, "main", async ({ view, readText }) => {
      assert.equal(await readText(`${r.dir}/deep/er/file.txt`), "deep", "also from a folder inside");
      assert.equal(await readText(`${r.dir}/deep/none.txt`), undefined);
      assert.equal(await readText(`${r.dir}/${FILE}/below`), undefined);
      assert.deepEqual(await view.lookAt(`${r.dir}/deep`), {
        path: `${r.dir}/deep`,
        real: `${r.dir}/deep`,
        kind: "directory",
      });
      assert.equal((await view.lookAt(`${r.dir}/deep/er/file.txt`)).kind, "file");
      assert.equal((await view.lookAt(`${r.dir}/nothing`)).kind, "missing");
      assert.equal((await view.lookAt("/")).kind, "directory", "what lies outside is looked at on the disk");
      assert.equal(await view.hashFile(`${r.dir}/deep/er/file.txt`), await sha256("deep"));
      assert.equal(await view.hashFile(`${r.dir}/deep`), null);
      assert.equal(await view.hashFile("/etc/hostname"), null);
    });
  },
);

gitTest("openRevision() refuses what is no revision here, and says how to get one", async (r) => {
  await twoCommits(r);
  await r.git(["branch", "x;touch marker", "main"]).catch(() => {});
  const blob = await r.git(["rev-parse", `main:${FILE}`]);
  const names = [
    "nowhere",
    "",
    "-h",
    "--upload-pack=touch marker",
    "--help",
    "main...nowhere",
    "main...topic...main",
    "--all...main",
    "main\nHEAD",
    "main\0",
    "f".repeat(40),
    "f".repeat(2000),
    blob,
    "main:agent.policy.jsonc",
    "$(touch marker)",
    "@{-1}",
  ];
  for (const name of names) {
    await assert.rejects(openRevision(r.dir, name), (error) => {
      assert.ok(error instanceof DataError, `${name}: ${error}`);
      assert.equal(error.code, "git_no_revision");
      assert.match(error.fix ?? "", /fetch-depth: 0/);
      return true;
    });
  }
  await assert.rejects(Deno.stat(`${r.dir}/marker`));
});

gitTest("openRevision() takes a branch by its name, whatever a shell would make of it", async (r) => {
  const [first] = await twoCommits(r);
  for (const name of ["$(touch${IFS}marker)", "a;touch", "`id`", "a&b|c", "é", "-x"]) {
    await r.git(["update-ref", `refs/heads/${name}`, first]);
    assert.equal(await readAt(r, name.startsWith("-") ? `refs/heads/${name}` : name), "one", name);
  }
  await assert.rejects(Deno.stat(`${r.dir}/marker`));
});

Deno.test("openRevision() says so where there is no repository", async () => {
  const dir = await Deno.realPath(await Deno.makeTempDir());
  try {
    await assert.rejects(openRevision(dir, "main"), { code: "git_no_repository", name: "InputError" });
    await Deno.writeTextFile(`${dir}/.git`, "gitdir: /nowhere/at/all\n");
    await assert.rejects(openRevision(dir, "main"), InputError);
    await Deno.writeTextFile(`${dir}/.git`, "not what git writes");
    await assert.rejects(openRevision(dir, "main"), InputError);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

/** A script that leaves a marker, and the settings of a repository that would start it. */
async function trap(r: GitRepository): Promise<{ readonly marker: string; readonly script: string }> {
  const marker = `${r.dir}/../marker`;
  const script = `${r.dir}/../trap.sh`;
  await Deno.writeTextFile(script, `#!/bin/sh\necho "$0 $*" >> '${marker}'\ncat\n`, { mode: 0o755 });
  return { marker, script };
}

gitTest("openRevision() starts nothing that a repository's settings name", async (r) => {
  await twoCommits(r);
  const { marker, script } = await trap(r);
  const settings: Readonly<Record<string, string>> = {
    "core.fsmonitor": script,
    "core.pager": script,
    "core.sshCommand": script,
    "core.editor": script,
    "core.askPass": script,
    "core.gitProxy": script,
    "core.alternateRefsCommand": script,
    "core.hooksPath": `${r.dir}/../hooks`,
    "pager.cat-file": script,
    "pager.merge-base": script,
    "diff.external": script,
    "diff.trap.textconv": script,
    "diff.trap.command": script,
    "filter.trap.clean": script,
    "filter.trap.smudge": script,
    "filter.trap.process": script,
    "gpg.program": script,
    "log.showSignature": "true",
    "credential.helper": `!${script}`,
    "alias.cat-file": `!${script}`,
    "alias.merge-base": `!${script}`,
    "uploadpack.packObjectsHook": script,
    "trailer.trap.command": script,
    "interactive.diffFilter": script,
    "sequence.editor": script,
  };
  for (const [name, value] of Object.entries(settings)) await r.git(["config", name, value]);
  await Deno.writeTextFile(`${r.dir}/.git/info/attributes`, "* diff=trap filter=trap\n");
  await Deno.writeTextFile(
    `${r.dir}/../more.config`,
    `[core]\n\tfsmonitor = ${script}\n[alias]\n\trev-parse = !${script}\n`,
  );
  await r.git(["config", "--add", "include.path", "../../more.config"]);
  for (const folder of [`${r.dir}/.git/hooks`, `${r.dir}/../hooks`]) {
    await Deno.mkdir(folder, { recursive: true });
    for (const hook of ["reference-transaction", "post-checkout", "post-index-change", "fsmonitor-watchman"]) {
      await Deno.copyFile(script, `${folder}/${hook}`);
    }
  }
  assert.equal(await readAt(r, "main"), "two");
  assert.equal(await readAt(r, "main...main^"), "one");
  await assert.rejects(Deno.stat(marker), Deno.errors.NotFound);
});

gitTest("openRevision() fetches nothing into a partial clone, by any protocol the clone allows itself", async (r) => {
  await twoCommits(r);
  const { marker, script } = await trap(r);
  await r.git(["config", "uploadpack.allowFilter", "true"]);
  await r.git(["config", "uploadpack.allowAnySHA1InWant", "true"]);
  const clone = repositoryIn(`${r.dir}/../partial`);
  await r.git(
    ["clone", "--quiet", "--no-checkout", "--filter=blob:none", `file://${r.dir}`, clone.dir],
    { cwd: `${r.dir}/..` },
  );
  await assert.rejects(readAt(clone, "main"), { code: "git_unreadable" }, "its content lies elsewhere");
  const hash = at(clone.dir, "main", ({ view }) => view.hashFile(`${clone.dir}/${FILE}`));
  await assert.rejects(hash, { code: "git_unreadable" });
  const remotes = [`ext::${script} %S`, `file://${r.dir}`, r.dir, "ssh://host.invalid/x", "https://host.invalid/x"];
  for (const protocol of ["ext", "file", "ssh", "https"]) {
    await clone.git(["config", `protocol.${protocol}.allow`, "always"]);
  }
  await clone.git(["config", "core.sshCommand", script]);
  await clone.git(["config", "remote.origin.uploadpack", script]);
  for (const remote of remotes) {
    await clone.git(["config", "remote.origin.url", remote]);
    await assert.rejects(readAt(clone, "main"), { code: "git_unreadable" }, remote);
  }
  await assert.rejects(Deno.stat(marker), Deno.errors.NotFound);
  // with the content at hand it is a repository like any other
  await clone.git(["config", "remote.origin.url", `file://${r.dir}`]);
  await clone.git(["config", "--unset", "remote.origin.uploadpack"]);
  await clone.git(["cat-file", "-p", `main:${FILE}`]);
  assert.equal(await readAt(clone, "main"), "two");
});

gitTest("openRevision() takes no replaced object and no grafted history for the real one", async (r) => {
  const [first, second] = await twoCommits(r);
  await r.git(["switch", "--quiet", "--orphan", "other"]);
  await r.write(FILE, "everything is allowed");
  const other = await r.commit("other");
  const blobs = [`${second}:${FILE}`, `${other}:${FILE}`];
  await r.git(["replace", "--force", ...await Promise.all(blobs.map((name) => r.git(["rev-parse", name])))]);
  await r.git(["replace", "--force", first, other]);
  assert.equal(await readAt(r, second), "two");
  assert.equal(await readAt(r, first), "one");
  await r.git(["replace", "--delete", first]);
  // a graft that says that other is the parent of main
  await Deno.writeTextFile(`${r.dir}/.git/info/grafts`, `${second} ${other}\n`);
  assert.equal(await readAt(r, `${second}...${first}`), "one");
  await assert.rejects(readAt(r, `${second}...${other}`), { code: "git_no_revision" });
});

gitTest("openRevision() does not take a committed folder that looks like a repository for one", async (r) => {
  await r.write(`inner/${FILE}`, "the real base");
  await r.commit("base");
  // what a pull request could bring along: a bare repository beside the policy, with a main of its own
  await withRepository(async (forged) => {
    await forged.write(`inner/${FILE}`, "everything is allowed");
    await forged.write(FILE, "everything is allowed");
    await forged.commit("forged");
    for (const name of ["HEAD", "config"]) {
      await Deno.copyFile(`${forged.dir}/.git/${name}`, `${r.dir}/inner/${name}`);
    }
    for (const name of ["objects", "refs"]) {
      await forged.git(["clone", "--quiet", "--bare", forged.dir, `${forged.dir}/../bare`]).catch(() => {});
      await Deno.rename(`${forged.dir}/../bare/${name}`, `${r.dir}/inner/${name}`);
    }
    await Deno.rename(`${forged.dir}/../bare/packed-refs`, `${r.dir}/inner/packed-refs`);
  });
  for (const config of ["[core]\n\tbare = true\n", "[core]\n\tbare = false\n\tworktree = ..\n"]) {
    await Deno.writeTextFile(`${r.dir}/inner/config`, config);
    await at(`${r.dir}/inner`, "main", async ({ readText, top }) => {
      assert.equal(await readText(`${r.dir}/inner/${FILE}`), "the real base");
      assert.equal(top, r.dir);
    });
  }
});

gitTest("openRevision() believes the folder, not core.worktree or core.bare of the repository", async (r) => {
  await twoCommits(r);
  await r.git(["config", "core.worktree", "/"]);
  assert.equal(await readAt(r, "main"), "two");
  await r.git(["config", "--unset", "core.worktree"]);
  await Deno.writeTextFile(`${r.dir}/.git/config`, "[core]\n\trepositoryformatversion = 0\n\tbare = true\n");
  assert.equal(await readAt(r, "main"), "two");
});

gitTest("openRevision() follows no link and no submodule of a revision", async (r) => {
  await twoCommits(r);
  await Deno.remove(`${r.dir}/${FILE}`);
  await Deno.symlink("deep/er/file.txt", `${r.dir}/${FILE}`);
  await Deno.symlink("deep", `${r.dir}/folder`);
  const inner = repositoryIn(`${r.dir}/sub`);
  await Deno.mkdir(inner.dir);
  await inner.git(["init", "--quiet"]);
  await inner.write(FILE, "in the submodule");
  const commit = await inner.commit("sub");
  await r.git(["update-index", "--add", "--cacheinfo", `160000,${commit},sub`]);
  await r.commit("links");
  const message = { name: "DataError", code: "git_not_a_file" };
  await assert.rejects(readAt(r, "main"), message);
  await assert.rejects(readAt(r, "main", "folder/er/file.txt"), message);
  await assert.rejects(readAt(r, "main", `sub/${FILE}`), message);
  await assert.rejects(readAt(r, "main", "deep"), message);
  await at(r.dir, "main", async ({ view }) => {
    for (const path of [FILE, "folder", "folder/er", "sub", "sub/x"]) {
      const { kind, real } = await view.lookAt(`${r.dir}/${path}`);
      assert.deepEqual([kind, real === `${r.dir}/${path}`], ["other", false], path);
      assert.equal(await view.hashFile(`${r.dir}/${path}`), null);
    }
  });
  // seen from inside, the submodule is a repository of its own
  assert.equal(await readAt(inner, "HEAD"), "in the submodule");
});

gitTest("openRevision() reads further work trees and repositories that lie elsewhere", async (r) => {
  const [first] = await twoCommits(r);
  const tree = repositoryIn(`${r.dir}/../tree`);
  await r.git(["worktree", "add", "--quiet", "-b", "topic", tree.dir, first]);
  const dir = await Deno.realPath(tree.dir);
  assert.equal(await readAt(repositoryIn(dir), "topic"), "one");
  assert.equal(await readAt(repositoryIn(dir), "main"), "two");
  await Deno.rename(`${r.dir}/.git`, `${r.dir}/../elsewhere.git`);
  await Deno.writeTextFile(`${r.dir}/.git`, `gitdir: ${r.dir}/../elsewhere.git\n`);
  assert.equal(await readAt(r, "main"), "two");
});

Deno.test({
  name: "openRevision() reads repositories that use SHA-256",
  ignore: withoutGit(GIT),
  fn: () =>
    withRepository(async (r) => {
      const [, second] = await twoCommits(r);
      assert.equal(second.length, 64);
      assert.equal(await readAt(r, "main"), "two");
      assert.equal(await readAt(r, "main...main^"), "one");
      assert.equal(await readAt(r, "main", "deep/er/file.txt"), "deep");
    }, ["--object-format=sha256"]),
});

gitTest("openRevision() says what a shallow clone lacks", async (r) => {
  const [first] = await twoCommits(r);
  const clone = repositoryIn(`${r.dir}/../shallow`);
  await r.git(["clone", "--quiet", "--depth=1", `file://${r.dir}`, clone.dir], { cwd: `${r.dir}/..` });
  assert.equal(await readAt(clone, "main"), "two");
  for (const name of [first, "main^", "origin/topic", `main...${first}`]) {
    await assert.rejects(readAt(clone, name), { code: "git_no_revision" }, name);
  }
});

gitTest("openRevision() reads a name by its bytes, and text as it stands", async (r) => {
  await r.write(`\u{feff}${FILE}`, "another file");
  await r.write("bom.jsonc", "\u{feff}{}");
  await Deno.writeFile(`${r.dir}/latin.jsonc`, new Uint8Array([0x22, 0xe9, 0x22]));
  await r.write("large.txt", "0123456789abcdef".repeat(65_536 * 2));
  await r.commit("names");
  assert.equal(await readAt(r, "main"), undefined);
  assert.equal(await readAt(r, "main", "bom.jsonc"), "\u{feff}{}");
  await assert.rejects(readAt(r, "main", "latin.jsonc"), { name: "DataError", code: "policy_not_utf8" });
  assert.equal((await readAt(r, "main", "large.txt"))?.length, 2 * 1024 * 1024);
});

gitTest("openRevision() says so where the repository is damaged", async (r) => {
  await twoCommits(r);
  const tree = await r.git(["rev-parse", "main^{tree}"]);
  await Deno.remove(`${r.dir}/.git/objects/${tree.slice(0, 2)}/${tree.slice(2)}`);
  await assert.rejects(readAt(r, "main"), InputError);
  await Deno.writeTextFile(`${r.dir}/.git/config`, "[core\nnonsense");
  await assert.rejects(readAt(r, "main"), InputError);
});
