import assert from "node:assert/strict";
import { type Ground, makeGround, resolvePlace, showPath } from "../../../src/host/workspace/place.ts";
import { type FsPlan, makeRun, plant, withTree } from "../run_context.ts";

function groundOf(project: string, fs: FsPlan, access: "browse" | "edit" = "browse"): Ground {
  return makeGround(makeRun(project, fs), access);
}

/** A project below the tree, a root beside it, and what no root holds. */
async function withPlaces(body: (ground: Ground, dir: string) => Promise<void> | void): Promise<void> {
  await withTree(async (dir) => {
    await plant(dir, {
      "project/docs/a.md": "a",
      "project/docs/sub/b.md": "b",
      "project/shared/c.md": "c",
      "project/other/d.md": "d",
      "beside/e.md": "e",
      "outside/f.md": "f",
    });
    await Deno.symlink("sub", `${dir}/project/docs/in`);
    await Deno.symlink("../../beside", `${dir}/project/docs/across`);
    await Deno.symlink("../../outside", `${dir}/project/docs/out`);
    await Deno.symlink("../../nowhere", `${dir}/project/docs/gone`);
    await Deno.symlink("../other", `${dir}/project/docs/ungranted`);
    await Deno.symlink("loop", `${dir}/project/docs/loop`);
    const read = [{ root: "docs" }, { root: "shared" }, { root: `${dir}/beside`, label: "shared" }];
    await body(groundOf(`${dir}/project`, { read }), dir);
  });
}

Deno.test("resolvePlace() finds what a path leads to and shows it without the root", () =>
  withPlaces((ground, dir) => {
    const table: readonly (readonly [string, string, string])[] = [
      ["docs/a.md", "project/docs/a.md", "docs/a.md"],
      ["./docs//sub/../a.md", "project/docs/a.md", "docs/a.md"],
      [`${dir}/project/docs/a.md`, "project/docs/a.md", "docs/a.md"],
      [`${dir}/project/x/../docs/a.md`, "project/docs/a.md", "docs/a.md"],
      ["docs/in/b.md", "project/docs/sub/b.md", "docs/sub/b.md"],
      ["docs/new/x/y.md", "project/docs/new/x/y.md", "docs/new/x/y.md"],
      ["docs/in/new.md", "project/docs/sub/new.md", "docs/sub/new.md"],
      ["shared/e.md", "beside/e.md", "shared/e.md"],
      ["./shared/c.md", "project/shared/c.md", "./shared/c.md"],
      [`${dir}/beside/e.md`, "beside/e.md", "shared/e.md"],
      ["docs/across/e.md", "beside/e.md", "shared/e.md"],
    ];
    for (const [path, canonical, shown] of table) {
      const place = resolvePlace(ground, path);
      assert.deepEqual([place.canonical, place.shown, place.refusal], [`${dir}/${canonical}`, shown, undefined], path);
      // What is shown leads back to the same place.
      assert.equal(resolvePlace(ground, shown).canonical, place.canonical, shown);
      assert.equal(showPath(ground, place.canonical), shown);
    }
  }));

Deno.test("resolvePlace() tells nothing of what lies outside of the granted roots", () =>
  withPlaces((ground, dir) => {
    const pairs: readonly (readonly [string, string])[] = [
      ["other/d.md", "other/none.md"],
      ["../outside/f.md", "../outside/none.md"],
      [`${dir}/outside/f.md`, `${dir}/outside/none.md`],
      ["docs/out/f.md", "docs/out/none.md"],
      ["docs/out", "docs/gone"],
      ["docs/ungranted/d.md", "docs/ungranted/none.md"],
      ["docs/gone/x", "docs/out/x"],
      ["docs/loop", "docs/gone"],
    ];
    for (const [there, missing] of pairs) {
      const [a, b] = [resolvePlace(ground, there), resolvePlace(ground, missing)];
      assert.notEqual(a.refusal, undefined, there);
      assert.deepEqual([a.refusal, a.info, a.root], [b.refusal, b.info, b.root], there);
      assert.ok(!a.shown.includes(dir) && !b.shown.includes(dir), a.shown);
    }
  }));

Deno.test("resolvePlace() refuses what is no path, and hands out text that fits a record", () =>
  withPlaces((ground) => {
    for (const path of ["", "docs/a\0.md", "docs/a\n.md", "docs/\ud800", "x".repeat(5000), " \t "]) {
      const place = resolvePlace(ground, path);
      assert.equal(place.refusal, "outside", JSON.stringify(path));
      assert.doesNotMatch(place.shown, /\p{Cc}/u);
      assert.ok(place.shown.isWellFormed() && place.shown !== "" && place.canonical.startsWith("/"));
    }
  }));

Deno.test("makeGround() takes the write roots in only for tools that edit", () =>
  withTree((dir) => {
    const fs = { read: [{ root: "docs" }], write: ["out", "docs"] };
    const pathsOf = (access: "browse" | "edit") => groundOf(dir, fs, access).roots.map(({ path }) => path);
    assert.deepEqual(pathsOf("browse"), [`${dir}/docs`]);
    assert.deepEqual(pathsOf("edit"), [`${dir}/docs`, `${dir}/out`]);
  }));

Deno.test("resolvePlace() looks at a root that is one file", () =>
  withTree(async (dir) => {
    await plant(dir, { "project/a.md": "a", "key/x.txt": "x" });
    const ground = groundOf(`${dir}/project`, {
      read: [{ root: "a.md" }, { root: `${dir}/key/x.txt`, label: "x.txt" }],
    });
    assert.equal(resolvePlace(ground, "x.txt").canonical, `${dir}/key/x.txt`);
    assert.equal(resolvePlace(ground, `${dir}/key/x.txt`).shown, "x.txt");
    assert.equal(resolvePlace(ground, "b.md").refusal, "outside");
    assert.equal(resolvePlace(ground, ".").refusal, "outside");
  }));
