import assert from "node:assert/strict";
import type { RecordBody } from "../../src/audit/record.ts";
import type { JsonObject } from "../../src/json.ts";
import { assertStateFits, RunSession } from "../../src/launch/run_session.ts";
import type { Plan } from "../../src/plan/plan.ts";
import { makeRun } from "../host/run_context.ts";

async function withSessions(
  body: (
    open: (initial?: JsonObject, budgets?: Partial<Plan["budgets"]>) => Promise<RunSession>,
    path: string,
  ) => Promise<void>,
): Promise<void> {
  const dir = await Deno.realPath(await Deno.makeTempDir({ prefix: "twokey-session-" }));
  const { plan } = makeRun(dir);
  const places = { project: dir, twokey: "/nonexistent/twokey", state: `${dir}/state` };
  const open = async (initial?: JsonObject, budgets: Partial<Plan["budgets"]> = {}): Promise<RunSession> => {
    const session = await RunSession.open({
      plan: {
        ...plan,
        budgets: { ...plan.budgets, ...budgets },
        session: { file: "${state}/s.json", rule: "/session" },
      },
      places,
      initial,
    });
    assert.ok(session !== undefined);
    return session;
  };
  try {
    assert.equal(await RunSession.open({ plan, places }), undefined);
    await body(open, `${places.state}/s.json`);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

/** Ends a run and tells what it recorded and the reason it ends with instead. */
async function end(session: RunSession, state: string | undefined, reason = "done") {
  const records: RecordBody[] = [];
  try {
    const instead = await session.save(state, { runId: "r", reason, record: (body) => records.push(body) });
    return { instead, statuses: records.map(({ status }) => status), records };
  } finally {
    session.close();
  }
}

Deno.test("RunSession counts turns, and starts with the given state only where nothing was saved", async () => {
  await withSessions(async (open) => {
    const first = await open({ a: 1 });
    assert.deepEqual([first.turnId, first.state, first.loaded.existed], [0, { a: 1 }, false]);
    assert.deepEqual((await end(first, '{"a":2}')).statuses, ["staged", "saved"]);
    const second = await open({ a: 9 });
    assert.deepEqual([second.turnId, second.state, second.loaded.existed, second.loaded.state_bytes], [
      1,
      { a: 2 },
      true,
      2,
    ]);
    const { records } = await end(second, '{"a":3}');
    assert.deepEqual(records.map(({ turn_id, state_bytes }) => [turn_id, state_bytes]), [[2, 2], [2, 2]]);
  });
});

Deno.test("RunSession keeps the session of a run that did not end well", async () => {
  await withSessions(async (open, path) => {
    await end(await open(), '{"a":1}');
    const before = await Deno.readTextFile(path);
    for (const reason of ["agent_error", "expected_event_missing", "wall_exceeded", "host_crash"]) {
      const { instead, records } = await end(await open(), '{"a":2}', reason);
      assert.equal(instead, undefined);
      assert.deepEqual(records.map(({ status, turn_id, reason }) => [status, turn_id, reason]), [["kept", 1, reason]]);
    }
    assert.equal(await Deno.readTextFile(path), before);
  });
});

Deno.test("RunSession takes no host at its word", async () => {
  await withSessions(async (open, path) => {
    await end(await open(), '{"a":1}');
    const before = await Deno.readTextFile(path);
    const wrong = [
      undefined,
      "",
      "[]",
      "null",
      '{"a":1',
      `{"a":${"[".repeat(100)}${"]".repeat(100)}}`,
      '{"a":"xxxxxxxxxxxx"}',
    ];
    for (const text of wrong) {
      const { instead, statuses } = await end(await open({}, { stateBytes: 10 }), text);
      assert.equal(instead, "session_state", String(text));
      assert.deepEqual(statuses, ["failed"]);
    }
    assert.equal(await Deno.readTextFile(path), before);
  });
});

Deno.test("RunSession refuses a session that is larger than the budget now is", async () => {
  await withSessions(async (open) => {
    await end(await open(), '{"a":"12345678"}');
    await assert.rejects(open({}, { stateBytes: 5 }), { code: "state_too_large" });
    // its lock is free again
    (await open()).close();
  });
});

Deno.test("RunSession ends a run with its reason where the disk takes nothing, and says so after the old file is safe", async () => {
  await withSessions(async (open, path) => {
    await end(await open(), '{"a":1}');
    const session = await open();
    await Deno.mkdir(`${path}.tmp/x`, { recursive: true });
    const { instead, statuses } = await end(session, '{"a":2}');
    assert.equal(instead, "session_unwritable");
    assert.deepEqual(statuses, ["failed"]);
    await Deno.remove(`${path}.tmp`, { recursive: true });
    assert.deepEqual((await open()).state, { a: 1 });
  });
});

Deno.test("assertStateFits() counts bytes, not characters", () => {
  const { plan } = makeRun("/nonexistent");
  const small = { ...plan, budgets: { ...plan.budgets, stateBytes: 5 } };
  assertStateFits({ a: "ü" }, small, "it");
  assert.throws(() => assertStateFits({ a: "üü" }, small, "it"), { code: "state_too_large" });
});
