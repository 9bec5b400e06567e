import { equal } from "node:assert/strict";
import { Pace } from "../../src/launch/pace.ts";

/** Feeds equal reads and returns what the last one said. */
function feed(pace: Pace, read: { reads: number; bytes: number; everyMs: number; fromMs?: number }): boolean {
  let last = false;
  for (let i = 1; i <= read.reads; i++) {
    const nowMs = (read.fromMs ?? 0) + i * read.everyMs;
    last = pace.shouldGather({ bytes: read.bytes, urgent: false, nowMs });
  }
  return last;
}

Deno.test("shouldGather() lets records of a busy, quiet run gather", () => {
  equal(feed(new Pace(0), { reads: 31, bytes: 350, everyMs: 0.05 }), false);
  equal(feed(new Pace(0), { reads: 32, bytes: 350, everyMs: 0.05 }), true);
});

Deno.test("shouldGather() stays true when the gathered records come as one read", () => {
  const pace = new Pace(0);
  feed(pace, { reads: 40, bytes: 350, everyMs: 0.05 });
  equal(feed(pace, { reads: 1, bytes: 14_000, everyMs: 2, fromMs: 2 }), true);
});

Deno.test("shouldGather() holds nothing up once somebody waits for an answer", () => {
  const pace = new Pace(0);
  feed(pace, { reads: 40, bytes: 350, everyMs: 0.05 });
  equal(pace.shouldGather({ bytes: 350, urgent: true, nowMs: 2.05 }), false);
  equal(feed(pace, { reads: 31, bytes: 350, everyMs: 0.05, fromMs: 2.05 }), false);
});

Deno.test("shouldGather() reads at once where few records come", () => {
  equal(feed(new Pace(0), { reads: 100, bytes: 350, everyMs: 5 }), false);
});

Deno.test("shouldGather() reads at once where a pipe could fill meanwhile", () => {
  equal(feed(new Pace(0), { reads: 100, bytes: 60_000, everyMs: 1 }), false);
});

Deno.test("shouldGather() bears a clock that stands still", () => {
  equal(feed(new Pace(0), { reads: 100, bytes: 350, everyMs: 0 }), false);
});
