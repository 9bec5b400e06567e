import assert from "node:assert/strict";
import { writeFiles } from "../../src/cli/write_files.ts";
import { CreateError } from "../../src/errors.ts";

async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function namesBelow(folder: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name).toSorted();
}

Deno.test("writeFiles() creates and replaces files, with their folders and modes", async () => {
  await withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/old`, "before", { mode: 0o640 });
    await Deno.chmod(`${folder}/old`, 0o640);
    await writeFiles([
      { path: `${folder}/a/b/new`, text: "n", before: null },
      { path: `${folder}/old`, text: "after", before: "before" },
    ]);
    assert.equal(await Deno.readTextFile(`${folder}/a/b/new`), "n");
    assert.equal(await Deno.readTextFile(`${folder}/old`), "after");
    assert.equal(((await Deno.stat(`${folder}/old`)).mode ?? 0) & 0o777, 0o640);
    assert.deepEqual(await namesBelow(folder), ["a", "old"]);
  });
});

Deno.test("writeFiles() puts everything back where one file cannot be written", async () => {
  await withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/old`, "before");
    await Deno.writeTextFile(`${folder}/taken`, "theirs");
    await assert.rejects(
      writeFiles([
        { path: `${folder}/sub/new`, text: "n", before: null },
        { path: `${folder}/old`, text: "after", before: "before" },
        { path: `${folder}/taken`, text: "ours", before: null },
      ]),
      (error) => error instanceof CreateError && error.exit === 73 && /nothing was changed/.test(error.message),
    );
    assert.deepEqual(await namesBelow(folder), ["old", "taken"]);
    assert.equal(await Deno.readTextFile(`${folder}/old`), "before");
    assert.equal(await Deno.readTextFile(`${folder}/taken`), "theirs");
  });
});
