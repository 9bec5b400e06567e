import assert from "node:assert/strict";
import { Turns } from "../../src/launch/turns.ts";

Deno.test("Turns lets one act at a time go on, in the order they came, however those before it ended", async () => {
  const turns = new Turns();
  const log: string[] = [];
  const first = Promise.withResolvers<void>();
  const acts = [
    turns.next(async () => {
      log.push("1 begins");
      await first.promise;
      log.push("1 ends");
      throw new Error("no");
    }),
    turns.next(() => {
      log.push("2");
      return Promise.resolve(2);
    }),
  ] as const;
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual(log, ["1 begins"]);
  first.resolve();
  await assert.rejects(acts[0], /no/);
  assert.equal(await acts[1], 2);
  assert.deepEqual(log, ["1 begins", "1 ends", "2"]);
});
