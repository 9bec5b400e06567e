import assert from "node:assert/strict";
import { diffAudits } from "../../src/replay/diff.ts";
import type { JsonObject } from "../../src/json.ts";
import { inTempDir, RUN, writeLog } from "../audit/log_maker.ts";

async function diffOf(left: readonly JsonObject[], right: readonly JsonObject[]) {
  let diff: Awaited<ReturnType<typeof diffAudits>> | undefined;
  await inTempDir(async (dir) => {
    writeLog(`${dir}/a.jsonl`, left, "run-a");
    writeLog(`${dir}/b.jsonl`, right, "run-b");
    diff = await diffAudits(`${dir}/a.jsonl`, `${dir}/b.jsonl`);
  });
  assert.ok(diff);
  return diff;
}

function call(id: string, tool: string, args: JsonObject, result: JsonObject): JsonObject[] {
  return [
    { type: "tool_call", call_id: id, tool, args, arg_bytes: 2 },
    { type: "tool_result", call_id: id, tool, result, result_bytes: 2, duration_ms: Number(id.slice(1)) },
  ];
}

function run(...bodies: JsonObject[]): JsonObject[] {
  return [{ type: "run_start" }, ...bodies, { type: "run_end", status: "ok" }];
}

Deno.test("diffAudits() finds two runs of the same work equal", async () => {
  const diff = await diffOf(RUN, RUN.map((body) => "duration_ms" in body ? { ...body, duration_ms: 999 } : body));
  assert.deepEqual(diff.fields, []);
  assert.deepEqual(diff.calls, []);
  assert.deepEqual(diff.events, []);
  assert.equal(diff.calls_unchanged, 7);
  assert.equal(diff.events_unchanged, 1);
  assert.deepEqual(diff.left_run_ids, ["run-a"]);
  assert.deepEqual(diff.right_run_ids, ["run-b"]);
  assert.equal(diff.truncated, false);
});

Deno.test("diffAudits() aligns calls: one more at the start changes nothing of the rest", async () => {
  const rest = [...call("c2", "echo", { n: 2 }, { n: 2 }), ...call("c3", "echo", { n: 3 }, { n: 3 })];
  const diff = await diffOf(run(...rest), run(...call("c9", "readFile", { path: "a" }, {}), ...rest));
  assert.equal(diff.calls_unchanged, 2);
  assert.deepEqual(diff.calls.map(({ disposition, after }) => [disposition, after?.tool]), [["added", "readFile"]]);
  assert.deepEqual(diff.fields.find(({ field }) => field === "tool_calls"), {
    field: "tool_calls",
    before: 2,
    after: 3,
    delta: 1,
  });
  const back = await diffOf(run(...call("c9", "readFile", { path: "a" }, {}), ...rest), run(...rest));
  assert.deepEqual(back.calls.map(({ disposition, before }) => [disposition, before?.tool]), [["removed", "readFile"]]);
});

Deno.test("diffAudits() calls a call with another argument, result or outcome changed", async () => {
  const argument = await diffOf(run(...call("c1", "echo", { n: 1 }, {})), run(...call("c1", "echo", { n: 2 }, {})));
  assert.deepEqual(argument.calls.map(({ disposition }) => disposition), ["changed"]);
  const result = await diffOf(run(...call("c1", "echo", { n: 1 }, {})), run(...call("c1", "echo", { n: 1 }, { x: 1 })));
  assert.deepEqual(result.calls.map(({ before, after }) => [before?.detail, after?.detail]), [[{}, { x: 1 }]]);
  const denied = run({ type: "tool_denial", call_id: "c1", tool: "echo", reason: "tool_not_granted", rule: null });
  const outcome = await diffOf(run(...call("c1", "echo", {}, {})), denied);
  assert.deepEqual(outcome.calls.map(({ disposition, after }) => [disposition, after?.outcome, after?.detail]), [
    ["changed", "tool_denial", { reason: "tool_not_granted", rule: null }],
  ]);
  assert.equal(outcome.fields.find(({ field }) => field === "denial_reasons.tool_not_granted")?.after, 1);
});

Deno.test("diffAudits() does not pair a call with one of another tool", async () => {
  const diff = await diffOf(run(...call("c1", "echo", {}, {})), run(...call("c1", "readFile", {}, {})));
  assert.deepEqual(diff.calls.map(({ disposition }) => disposition), ["removed", "added"]);
});

Deno.test("diffAudits() compares events and shows large values by their hash", async () => {
  const event = (text: string): JsonObject => ({ type: "event", event: { text } });
  const diff = await diffOf(run(event("a"), event("b")), run(event("b"), event("x".repeat(5000))));
  assert.deepEqual(diff.events.map(({ disposition }) => disposition), ["removed", "added"]);
  assert.equal(diff.events_unchanged, 1);
  const shown = diff.events[1]?.after?.event as JsonObject;
  assert.equal(shown.bytes, 5011);
  assert.match(String(shown.sha256), /^[0-9a-f]{64}$/);
});

Deno.test("diffAudits() names a call without an outcome as in flight", async () => {
  const whole = run(...call("c1", "echo", {}, {}));
  const diff = await diffOf(whole, whole.slice(0, 2));
  assert.deepEqual(diff.calls.map(({ after }) => after?.outcome), ["in_flight"]);
  assert.equal(diff.right_verdict, "unfinished");
  assert.ok(diff.fields.some(({ field, after }) => field === "run.status" && after === "unfinished"));
});
