import assert from "node:assert/strict";
import { MANIFESTS } from "../../../src/launch/compile_policy.ts";
import { compileLoaded } from "../../../src/policy/compile_loaded.ts";
import { loadPolicy } from "../../../src/policy/load.ts";
import type { Tool } from "../../../src/tool/define.ts";
import { policyOf, readFixture } from "../../fixture.ts";
import { makeRun, plant, withTree } from "../../host/run_context.ts";
import { openFs } from "../../host/run_fs_tool.ts";

/** Registers one test for the recorded cases of a tool; each runs with the cases before it already done. */
export function testFixture(tool: Tool): void {
  const fixture = readFixture(tool.family, tool.name);
  Deno.test(`${tool.name} gives the recorded outcomes`, async (test) => {
    assert.equal(fixture.tool, tool.name);
    await withTree(async (dir) => {
      await plant(dir, { "deno.json": "{}", ...fixture.files });
      for (const [path, target] of Object.entries(fixture.links ?? {})) await Deno.symlink(target, `${dir}/${path}`);
      const file = `${dir}/agent.policy.jsonc`;
      await Deno.writeTextFile(file, JSON.stringify(policyOf(fixture)));
      for (const { root } of (fixture.policy.fs as { write?: { root: string }[] }).write ?? []) {
        await Deno.mkdir(`${dir}/${root}`, { recursive: true });
      }
      const { plan } = await compileLoaded(await loadPolicy(file), {
        manifests: MANIFESTS,
        nowMs: Date.now(),
        env: (name) => name === "XDG_STATE_HOME" ? `${dir}/state` : undefined,
      });
      const call = await openFs({ ...makeRun(dir), plan });
      for (const { name, args, granted, ...expected } of fixture.cases) {
        // Whether a tool is granted is the host's question, before a tool is asked.
        if (granted !== false) await test.step(name, async () => assert.deepEqual(await call(tool, args), expected));
      }
    });
  });
}
