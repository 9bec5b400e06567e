import assert from "node:assert/strict";
import { MODULE_LIMITS, ModuleError, readModule } from "../../src/launch/module_file.ts";
import { sha256 } from "../../src/json.ts";

async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "twokey-module-" }));
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("readModule() gives bytes and their digest, up to the limit", async () => {
  await withFolder(async (folder) => {
    for (const text of ["", "é", "x".repeat(MODULE_LIMITS.moduleBytes)]) {
      await Deno.writeTextFile(`${folder}/m.ts`, text);
      const file = await readModule(folder, "m.ts");
      assert.equal(new TextDecoder().decode(file.bytes), text);
      assert.equal(file.sha256, await sha256(text));
    }
  });
});

Deno.test("readModule() tells a missing file from others, without the folder's path", async () => {
  await withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/m.ts`, "");
    await Deno.symlink("nowhere", `${folder}/dangling.ts`);
    const cases: readonly [string, boolean][] = [["a.ts", true], ["m.ts/a.ts", true], ["dangling.ts", true], [
      ".",
      false,
    ]];
    for (const [path, isMissing] of cases) {
      await assert.rejects(readModule(folder, path), (error: unknown) => {
        assert.ok(error instanceof ModuleError);
        assert.equal(error.isMissing, isMissing, path);
        assert.ok(!error.message.includes(folder));
        return true;
      });
    }
    await assert.rejects(readModule(folder, "../" + folder.split("/").at(-1) + "/m.ts"), ModuleError);
  });
});

Deno.test("readModule() never reads through a symlink that is swapped in", async () => {
  await withFolder(async (folder) => {
    const project = `${folder}/p`;
    await Deno.mkdir(project);
    await Deno.writeTextFile(`${folder}/outside.ts`, "outside");
    await Deno.writeTextFile(`${folder}/inside.ts`, "inside");
    await Deno.writeTextFile(`${folder}/go`, "");
    const swap =
      'while [ -e "$1/../go" ]; do ln -sf ../outside.ts "$1/t"; mv -f "$1/t" "$1/m.ts"; cp "$1/../inside.ts" "$1/u"; mv -f "$1/u" "$1/m.ts"; done';
    const racer = new Deno.Command("/bin/sh", {
      args: ["-c", swap, "sh", project],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    })
      .spawn();
    const seen = new Map<string, number>();
    try {
      for (let i = 0; i < 2_000; i++) {
        const outcome = await readModule(project, "m.ts").then(
          ({ bytes }) => new TextDecoder().decode(bytes),
          (error: unknown) => error instanceof ModuleError ? "refused" : String(error),
        );
        seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
      }
    } finally {
      // ends by itself, with everything that it started: what is killed leaves a child that still makes files
      await Deno.remove(`${folder}/go`);
      await racer.status;
    }
    assert.deepEqual([...seen.keys()].filter((key) => key !== "inside" && key !== "refused" && key !== ""), []);
    assert.ok((seen.get("refused") ?? 0) > 0);
  });
});
