import assert from "node:assert/strict";
import { joinPath, lookAt, readProven, readUpTo, sameBytes } from "../../src/host/path_proof.ts";
import { plant, withTree } from "./run_context.ts";

Deno.test("readProven() reads plain files inside the root only", () =>
  withTree(async (dir) => {
    await plant(dir, { "root/a": "text", "root/sub/b": "text", "root-evil/a": "text" });
    await Deno.symlink("a", `${dir}/root/link`);
    await Deno.symlink("sub", `${dir}/root/linked`);
    const { success } = await new Deno.Command("mkfifo", { args: [`${dir}/root/pipe`] }).output();
    assert.ok(success);
    const root = `${dir}/root`;
    for (const path of [`${root}/a`, `${root}/sub/b`]) {
      const read = readProven(path, { root, seen: await Deno.stat(path), limit: 4 });
      assert.equal(new TextDecoder().decode(read?.bytes), "text", path);
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
    for (const path of refused) {
      // Seen through every link: it is the way that is refused, even to the right file.
      const seen = await Deno.stat(path).catch(() => Deno.stat(root));
      assert.equal(readProven(path, { root, seen, limit: 4 }), undefined, path);
    }
  }));

Deno.test("readProven() refuses another file in the place of the one that was seen", () =>
  withTree(async (dir) => {
    await plant(dir, { "a": "text", "b": "text" });
    const seen = await Deno.stat(`${dir}/a`);
    await Deno.rename(`${dir}/b`, `${dir}/a`);
    assert.equal(readProven(`${dir}/a`, { root: dir, seen, limit: 4 }), undefined);
  }));

Deno.test("readProven() refuses a file that is over its limit", () =>
  withTree(async (dir) => {
    await plant(dir, { "a": "text" });
    const seen = await Deno.stat(`${dir}/a`);
    assert.equal(readProven(`${dir}/a`, { root: dir, seen, limit: 3 }), undefined);
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

Deno.test("readProven() refuses a file from elsewhere that was under the name when it was seen and opened, and is not any more", () =>
  withTree(async (dir) => {
    await plant(dir, { "open/a": "open", "closed/a": "closed" });
    const [path, elsewhere] = [`${dir}/open/a`, `${dir}/closed/a`];
    const seen = await Deno.stat(elsewhere);
    const { openSync } = Deno;
    // What another process does that swaps the folder for a link to the other one, around a single system call.
    Object.assign(Deno, { openSync: (_: string, options: Deno.OpenOptions) => openSync(elsewhere, options) });
    try {
      assert.equal(readProven(path, { root: `${dir}/open`, seen, limit: 10 }), undefined);
    } finally {
      Object.assign(Deno, { openSync });
    }
  }));

Deno.test("sameBytes() compares every byte, wherever the bytes start", () => {
  for (let length = 0; length < 20; length++) {
    for (let offset = 0; offset < 5; offset++) {
      const a = new Uint8Array(length + offset).fill(7).subarray(offset);
      const b = new Uint8Array(length).fill(7);
      assert.ok(sameBytes(a, b));
      assert.ok(!sameBytes(a, new Uint8Array(length + 1).fill(7)));
      for (let at = 0; at < length; at++) assert.ok(!sameBytes(a, b.with(at, 8)), `${length} ${offset} ${at}`);
    }
  }
});
