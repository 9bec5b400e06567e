import assert from "node:assert/strict";
import { type EndFacts, endingOf } from "../../src/launch/last_words.ts";

const EXITED: Deno.CommandStatus = { success: true, code: 0, signal: null };
const OUT_OF_MEMORY: Deno.CommandStatus = { success: false, code: 133, signal: "SIGTRAP" };
const DONE = { status: "ok", reason: "done", value: "1" } as const;

const reasonOf = (facts: Partial<EndFacts>): string =>
  endingOf({
    words: {},
    ended: undefined,
    isolation: "process",
    host: EXITED,
    agent: undefined,
    isPending: false,
    ...facts,
  }).reason;

Deno.test("endingOf() takes what the launcher did first, then what the host said, then how it died", () => {
  const fault = { code: "gate_fault", message: "" };
  assert.equal(reasonOf({ ended: "wall_exceeded", words: { fault, end: DONE } }), "wall_exceeded");
  assert.equal(reasonOf({ words: { fault, end: DONE } }), "gate_fault");
  assert.equal(reasonOf({ words: { end: DONE }, host: OUT_OF_MEMORY }), "done");
  assert.equal(reasonOf({}), "host_crash");
  assert.equal(reasonOf({ host: OUT_OF_MEMORY }), "host_memory_exceeded");
  assert.equal(reasonOf({ host: OUT_OF_MEMORY, isolation: "worker" }), "memory_exceeded");
  const gone = { end: { status: "error", reason: "agent_gone" } } as const;
  assert.equal(reasonOf({ words: gone, agent: OUT_OF_MEMORY }), "memory_exceeded");
  assert.equal(reasonOf({ words: gone }), "agent_gone");
});

Deno.test("endingOf() says that a call waits whatever the agent made of it, and nothing of it where the run was ended", () => {
  const isPending = true;
  assert.equal(reasonOf({ isPending, words: { end: DONE } }), "approval_pending");
  assert.equal(reasonOf({ isPending, words: { end: { status: "error", reason: "agent_error" } } }), "approval_pending");
  assert.equal(
    reasonOf({ isPending, words: { end: { status: "error", reason: "budget_exceeded" } } }),
    "budget_exceeded",
  );
  assert.equal(reasonOf({ isPending, ended: "cpu_exceeded" }), "cpu_exceeded");
});

Deno.test("endingOf() has no error where the agent threw none", () => {
  const facts = { ended: undefined, isolation: "process", host: EXITED, agent: undefined, isPending: false } as const;
  const stalled = { status: "error", reason: "agent_stalled", error: {} } as const;
  assert.deepEqual(endingOf({ ...facts, words: { end: stalled } }), { status: "error", reason: "agent_stalled" });
  const thrown = { status: "error", reason: "agent_error", error: { name: "Error", message: "no" } } as const;
  assert.deepEqual(endingOf({ ...facts, words: { end: thrown } }), thrown);
});
