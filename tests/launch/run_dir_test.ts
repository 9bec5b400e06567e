import assert from "node:assert/strict";
import { assertRunId, makeRunDir, makeRunId } from "../../src/launch/run_dir.ts";
import { loadPolicy } from "../../src/policy/load.ts";
import { makeRun } from "../host/run_context.ts";

Deno.test("assertRunId() takes what is a safe name of a folder", () => {
  for (const id of ["a", "7", "a.b:c_d-e", "x".repeat(128), makeRunId(0)]) assertRunId(id);
  for (
    const id of [
      "",
      ".",
      "..",
      ".a",
      "-a",
      "_a",
      "a/b",
      "../a",
      "a\\b",
      "a b",
      "a\n",
      "ä",
      "x".repeat(129),
      'a"',
      "a\0",
    ]
  ) {
    assert.throws(() => assertRunId(id), { code: "usage_run_id" }, JSON.stringify(id));
  }
});

Deno.test("makeRunDir() refuses an id that is taken, wherever logs are kept", async () => {
  const dir = await Deno.realPath(await Deno.makeTempDir({ prefix: "twokey-run-dir-" }));
  try {
    await Deno.writeTextFile(`${dir}/deno.json`, "{}");
    await Deno.writeTextFile(`${dir}/agent.policy.jsonc`, '{ "version": 1 }');
    const loaded = await loadPolicy(`${dir}/agent.policy.jsonc`);
    const { plan } = makeRun(dir);
    const places = { project: dir, twokey: "/nonexistent/twokey", state: `${dir}-state` };
    const kinds = [
      { prepared: { loaded, plan, places }, options: {} },
      { prepared: { loaded, plan, places }, options: { runsDir: `${dir}/logs` } },
      { prepared: { loaded: { ...loaded, file: null }, plan, places }, options: {} },
    ];
    for (const { prepared, options } of kinds) {
      const path = await makeRunDir(prepared, "one", { ...options, named: true });
      assert.ok(path.endsWith("/one"), path);
      await assert.rejects(makeRunDir(prepared, "one", { ...options, named: true }), {
        code: "run_id_taken",
        exit: 73,
      });
    }
    // a link is something that is there
    await Deno.symlink("/nonexistent", `${dir}/logs/two`);
    await assert.rejects(makeRunDir({ loaded, plan, places }, "two", { runsDir: `${dir}/logs`, named: true }), {
      code: "run_id_taken",
    });
  } finally {
    await Deno.remove(dir, { recursive: true });
    await Deno.remove(`${dir}-state`, { recursive: true });
  }
});
