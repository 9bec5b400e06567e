import assert from "node:assert/strict";
import { generated } from "./generate.ts";

Deno.test("generated() gives what is committed", async () => {
  for (const [path, text] of await generated()) {
    assert.equal(
      await Deno.readTextFile(new URL(`../${path}`, import.meta.url)),
      text,
      `${path}: run \`deno task gen\``,
    );
  }
});
