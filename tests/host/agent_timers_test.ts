import assert from "node:assert/strict";
import { AgentTimers } from "../../src/host/agent_timers.ts";

Deno.test("AgentTimers comes due, stops and refuses what no timer may be", async () => {
  const due: number[] = [];
  const faults: unknown[] = [];
  const timers = new AgentTimers((error) => void faults.push(error));
  const done = Promise.withResolvers<void>();
  assert.equal(timers.start(1, 1, () => void due.push(1)), true);
  assert.equal(timers.start(2, 0.5, () => void due.push(2)), true);
  assert.equal(timers.start(3, 20, () => done.resolve()), true);
  assert.equal(
    timers.start(4, 0, () => {
      throw new Error("late");
    }),
    true,
  );
  timers.stop(2);
  timers.stop(99);
  for (const ms of [-1, NaN, Infinity, 2 ** 31, "1", undefined]) assert.equal(timers.start(5, ms, () => {}), false);
  await done.promise;
  assert.deepEqual([due, timers.size, faults.map(String)], [[1], 0, ["Error: late"]]);
});

Deno.test("AgentTimers holds so many and no more, and lets go of all", () => {
  const timers = new AgentTimers(() => {});
  for (let id = 1; id <= 10_000; id++) assert.equal(timers.start(id, 60_000, () => {}), true);
  assert.equal(timers.start(10_001, 60_000, () => {}), false);
  timers.clear();
  assert.equal(timers.size, 0);
});
