import assert from "node:assert/strict";
import { LazyAbort } from "../../src/host/lazy_abort.ts";

Deno.test("LazyAbort hands out one signal, which is aborted whether it was asked for before or after", () => {
  const before = new LazyAbort();
  const { signal } = before;
  assert.deepEqual([signal.aborted, before.signal === signal], [false, true]);
  before.abort("late");
  assert.deepEqual([signal.aborted, signal.reason.message], [true, "late"]);
  const after = new LazyAbort();
  after.abort("early");
  assert.deepEqual([after.signal.aborted, after.signal.reason.message], [true, "early"]);
});
