import assert from "node:assert/strict";
import { backoffMs, parseRetryAfter, settled, sleep } from "../../src/host/retry.ts";

Deno.test("backoffMs() doubles, is half jitter, is capped, and is never below what the server asked for", () => {
  const at = (retry: number, random: number, retryAfterMs?: number) => backoffMs(retry, { random, retryAfterMs });
  assert.deepEqual([1, 2, 3].map((retry) => at(retry, 0)), [200, 400, 800]);
  assert.deepEqual([1, 2, 3].map((retry) => at(retry, 0.5)), [300, 600, 1_200]);
  assert.equal(at(30, 0.999), 9_995);
  assert.equal(at(1, 0, 5_000), 5_000);
  assert.equal(at(1, 0, 0), 200);
});

Deno.test("parseRetryAfter() reads seconds and HTTP dates, and nothing else", () => {
  const now = Date.parse("2026-07-01T00:00:00Z");
  assert.equal(parseRetryAfter("120", now), 120_000);
  assert.equal(parseRetryAfter(" 0 ", now), 0);
  assert.equal(parseRetryAfter("Wed, 01 Jul 2026 00:00:05 GMT", now), 5_000);
  assert.equal(parseRetryAfter("Wed, 01 Jul 2020 00:00:05 GMT", now), 0);
  for (
    const bad of ["-1", "1.5", "1e3", "0x10", "", "soon", "2026-07-01", "9999999999", "Wed, 99 Jul 2026 00:00:05 GMT"]
  ) {
    assert.equal(parseRetryAfter(bad, now), undefined, bad);
  }
  assert.equal(parseRetryAfter(undefined, now), undefined);
});

Deno.test("sleep() rejects with the signal's reason as soon as it is aborted", async () => {
  const abort = new AbortController();
  const startMs = performance.now();
  const sleeping = sleep(60_000, abort.signal);
  abort.abort(new Error("over"));
  await assert.rejects(sleeping, /^Error: over$/);
  await assert.rejects(sleep(60_000, abort.signal), /^Error: over$/);
  assert.ok(performance.now() - startMs < 5_000);
  await sleep(1, new AbortController().signal);
});

Deno.test("settled() waits for either end of a promise, or rejects when the signal is aborted first", async () => {
  const { signal } = new AbortController();
  await settled(Promise.resolve(1), signal);
  await settled(Promise.reject(new Error("not mine")), signal);
  const abort = new AbortController();
  const waiting = settled(new Promise(() => {}), abort.signal);
  abort.abort(new Error("over"));
  await assert.rejects(waiting, /^Error: over$/);
});
