import assert from "node:assert/strict";
import { joinPath, lookAt, openProven, readUpTo } from "../../src/host/path_proof.ts";
import { plant, withTree } from "./run_context.ts";

Deno.test("openProven() opens plain files inside the root only", () =>
  withTree(async (dir) => {
    await plant(dir, { "root/a": "text", "root/sub/b": "text", "root-evil/a": "text" });
    await Deno.symlink("a", `${dir}/root/link`);
    await Deno.symlink("sub", `${dir}/root/linked`);
    const { success } = await new Deno.Command("mkfifo", { args: [`${dir}/root/pipe`] }).output();
    assert.ok(success);
    const root = `${dir}/root`;
    for (const path of [`${root}/a`, `${root}/sub/b`]) {
      const proven = openProven(path, root);
      assert.ok(proven, path);
      proven.file.close();
    }
    const refused = [
      `${root}/link`,
      `${root}/linked/b`,
      `${root}/pipe`,
      `${root}/sub`,
      `${root}/none`,
      `${root}/a/below`,
      `${root}/sub/../a`,
      `${dir}/root-evil/a`,
      "/dev/zero",
    ];
    for (const path of refused) assert.equal(openProven(path, root), undefined, path);
  }));

Deno.test("readUpTo() reads up to its limit, whatever size was expected", () =>
  withTree(async (dir) => {
    await plant(dir, { "a": "x".repeat(1000) });
    for (
      const [limit, expected, length] of [[1000, 1000, 1000], [1000, 0, 1000], [999, 1000, undefined], [
        0,
        0,
        undefined,
      ]]
    ) {
      using file = await Deno.open(`${dir}/a`);
      assert.equal(readUpTo(file, limit ?? 0, expected ?? 0)?.length, length, `${limit}`);
    }
  }));

Deno.test("lookAt() tells what is there from what is not", () =>
  withTree(async (dir) => {
    await plant(dir, { "a": "" });
    assert.equal(lookAt(`${dir}/a`)?.isFile, true);
    assert.equal(lookAt(`${dir}/b`), undefined);
    assert.equal(lookAt(`${dir}/a/b`), undefined);
  }));

Deno.test("joinPath() joins below the top of the file system too", () => {
  assert.equal(joinPath("/", "a"), "/a");
  assert.equal(joinPath("/a", "b/c"), "/a/b/c");
  assert.equal(joinPath("/a", ""), "/a");
});
