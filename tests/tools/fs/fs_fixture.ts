import assert from "node:assert/strict";
import type { Tool } from "../../../src/tool/define.ts";
import { type FsPlan, makeRun, plant, withTree } from "../../host/run_context.ts";
import { type FsOutcome, openFs } from "../../host/run_fs_tool.ts";

/** The recorded cases of one file system tool. */
export interface FsFixture {
  readonly tool: string;
  /** Files below the project before the run: path to text; a path that ends with `/` is a folder. */
  readonly files: Readonly<Record<string, string>>;
  /** Links below the project: path to what they lead to. */
  readonly links: Readonly<Record<string, string>>;
  readonly fs: FsPlan;
  /** Calls of one run, in order. */
  readonly cases: readonly ({ readonly name: string; readonly args: unknown } & FsOutcome)[];
}

/** Registers one test for each recorded case of a tool; each runs with the cases before it already done. */
export function testFixture(tool: Tool): void {
  const fileName = tool.name.replace(/[A-Z]/g, (letter) => "_" + letter.toLowerCase());
  const url = new URL(`../../../fixtures/tools/fs/${fileName}.json`, import.meta.url);
  const fixture = JSON.parse(Deno.readTextFileSync(url)) as FsFixture;
  Deno.test(`${tool.name} gives the recorded outcomes`, async (test) => {
    assert.equal(fixture.tool, tool.name);
    await withTree(async (dir) => {
      await plant(dir, fixture.files);
      for (const [path, target] of Object.entries(fixture.links)) await Deno.symlink(target, `${dir}/${path}`);
      const call = openFs(makeRun(dir, fixture.fs));
      for (const { name, args, ...expected } of fixture.cases) {
        await test.step(name, async () => assert.deepEqual(await call(tool, args), expected));
      }
    });
  });
}
