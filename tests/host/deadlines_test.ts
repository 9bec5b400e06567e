import { deepEqual, equal } from "node:assert/strict";
import { Deadlines } from "../../src/host/deadlines.ts";

const rest = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

Deno.test("add() expires what is not taken back, once, in the order of its time", async () => {
  const deadlines = new Deadlines(Date.now);
  const now = Date.now();
  const expired: string[] = [];
  deadlines.add(now + 60, () => expired.push("later"));
  deadlines.add(now + 20, () => expired.push("sooner"));
  const settled = deadlines.add(now + 20, () => expired.push("settled"));
  settled();
  await rest(250);
  deepEqual(expired, ["sooner", "later"]);
});

Deno.test("add() expires the first call of a run, and one after many that ended at once", async () => {
  for (const before of [0, 1, 15, 16, 17, 100]) {
    const deadlines = new Deadlines(Date.now);
    for (let i = 0; i < before; i++) {
      const settled = deadlines.add(Date.now() + 10_000, () => {});
      await undefined;
      settled();
    }
    let expired = 0;
    deadlines.add(Date.now() + 10, () => expired++);
    await rest(200);
    equal(expired, 1, `after ${before} calls`);
  }
});

Deno.test("add() expires each of many calls that started together", async () => {
  const deadlines = new Deadlines(Date.now);
  const expired = new Set<number>();
  for (let i = 0; i < 40; i++) deadlines.add(Date.now() + 10 + i, () => expired.add(i));
  await rest(300);
  equal(expired.size, 40);
});

Deno.test("add() expires at once what is already late", async () => {
  const deadlines = new Deadlines(() => 1000);
  let expired = false;
  deadlines.add(500, () => expired = true);
  await rest(50);
  equal(expired, true);
});
