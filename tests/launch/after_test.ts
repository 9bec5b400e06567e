import assert from "node:assert/strict";
import { after } from "../../src/launch/after.ts";

Deno.test("after() calls once when the time is up, and not at all once it was taken back", async () => {
  let calls = 0;
  const done = Promise.withResolvers<void>();
  const takeBack = after(1, () => calls += 100);
  after(1, () => calls++);
  takeBack();
  after(60, done.resolve);
  await done.promise;
  assert.equal(calls, 1);
});

Deno.test("after() holds up nothing once it was taken back", async () => {
  const module = new URL("../../src/launch/after.ts", import.meta.url).href;
  const code = `import { after } from ${JSON.stringify(module)}; after(60_000, () => {})();`;
  const started = performance.now();
  const { success } = await new Deno.Command(Deno.execPath(), { args: ["eval", "--no-config", code], stdin: "null" })
    .output();
  assert.ok(success);
  assert.ok(performance.now() - started < 30_000);
});
