import assert from "node:assert/strict";
import { CallClock } from "../../src/host/call_clock.ts";
import type { Deadlines } from "../../src/host/deadlines.ts";

/** Deadlines that are looked at by hand. */
function makeClock(deadlineMs: number) {
  const armed = new Map<() => void, number>();
  const time = { now: 0 };
  const deadlines = {
    add(atMs: number, expire: () => void): () => void {
      armed.set(expire, atMs);
      return () => void armed.delete(expire);
    },
  } as unknown as Deadlines;
  const clock = new CallClock({ deadlines, now: () => time.now, deadlineMs });
  const passes = (ms: number) => {
    time.now += ms;
    for (const [expire, atMs] of [...armed]) {
      if (atMs > time.now) continue;
      armed.delete(expire);
      expire();
    }
  };
  return { clock, armed, passes };
}

Deno.test("CallClock ends a call at its deadline, once, and not after its end", () => {
  const { clock, passes } = makeClock(100);
  let ends = 0;
  clock.start(() => ends++);
  passes(99);
  assert.equal(ends, 0);
  passes(1);
  passes(1000);
  assert.equal(ends, 1);

  const stopped = makeClock(100);
  stopped.clock.start(() => ends++);
  stopped.clock.stop();
  stopped.passes(1000);
  assert.deepEqual([ends, stopped.armed.size], [1, 0]);
});

Deno.test("CallClock stands still while a person thinks, and goes on with what was left", async () => {
  const { clock, passes } = makeClock(100);
  let ends = 0;
  clock.start(() => ends++);
  passes(60);
  const [one, two] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  const first = clock.outside(() => one.promise);
  passes(500);
  const second = clock.outside(() => two.promise);
  passes(500);
  one.resolve("1");
  assert.equal(await first, "1");
  passes(500);
  assert.equal(ends, 0, "another question is open");
  two.reject(new Error("no"));
  await assert.rejects(second, /no/);
  assert.equal(clock.deadlineMs, 1600);
  passes(39);
  assert.equal(ends, 0);
  passes(1);
  assert.equal(ends, 1);
});

Deno.test("CallClock arms nothing for a call that ended while a person thought", async () => {
  const { clock, armed } = makeClock(100);
  clock.start(() => assert.fail("it has ended"));
  const gate = Promise.withResolvers<void>();
  const waiting = clock.outside(() => gate.promise);
  clock.stop();
  gate.resolve();
  await waiting;
  assert.equal(armed.size, 0);
});
