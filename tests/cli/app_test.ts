import assert from "node:assert/strict";
import manifest from "../../deno.json" with { type: "json" };
import { withProject } from "../e2e/run_project.ts";

Deno.test("main() says which words are wrong as it says every error, with the nearest one", async () => {
  await withProject({}, async ({ run }) => {
    const cases: readonly [readonly string[], RegExp][] = [
      [["rnu"], /^error: No command registered for `rnu`, did you mean `run`\?\n {2}fix: .*--help/],
      [["policy", "valdate"], /^error: .*did you mean `validate`\?/],
      [["run", "--polcy=x"], /^error: .*did you mean --policy\?/],
      [["policy", "diff"], /^error: .*\bbase\b/],
    ];
    for (const [args, text] of cases) {
      const { code, stderr } = await run({ args });
      assert.equal(code, 64, stderr);
      assert.match(stderr, text);
    }
  });
});

Deno.test("main() answers --version, and help as if it were --help", async () => {
  await withProject({}, async ({ run }) => {
    assert.equal((await run({ args: ["--version"] })).stdout, `${manifest.version}\n`);
    const [word, flag] = [await run({ args: ["help", "hash"] }), await run({ args: ["hash", "--help"] })];
    assert.equal(word.code, 0, word.stderr);
    assert.match(word.stdout, /twokey hash/);
    assert.equal(word.stdout, flag.stdout);
  });
});
