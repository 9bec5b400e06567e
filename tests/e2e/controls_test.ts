/** Whole runs under the controls of a run: expected events, kept state, notes, revocation, redaction, names of runs. */
import assert from "node:assert/strict";
import type { Json, JsonObject } from "../../src/json.ts";
import type { Isolation } from "../../src/plan/plan.ts";
import { type Project, type RunResult, withProject } from "./run_project.ts";

const ISOLATIONS: readonly Isolation[] = ["process", "worker", "compartment"];

const FINDING = JSON.stringify({
  type: "object",
  required: ["severity"],
  properties: { kind: true, severity: { enum: ["low", "high"] }, id: { type: "string", pattern: "^[A-Z]+-\\d+$" } },
  additionalProperties: false,
});

/** Records of some types without what differs from run to run. */
function told(run: RunResult, ...types: string[]): JsonObject[] {
  return run.records.filter(({ type }) => types.includes(type)).map(
    ({ seq: _, at_ms: _at, run_id: _id, prev: _prev, hash: _hash, ...fields }): JsonObject => fields,
  );
}

/** The one session file below a state home, and its name. */
async function sessionFile({ stateHome }: Project): Promise<string> {
  const [id] = await Array.fromAsync(Deno.readDir(`${stateHome}/twokey`));
  return `${stateHome}/twokey/${id?.name}/sessions/agent.policy.jsonc.session.json`;
}

async function stateIn(project: Project): Promise<Json> {
  return JSON.parse(await Deno.readTextFile(await sessionFile(project))).state;
}

Deno.test("every event of a kind is checked, the first that does not fit ends the run, the same in every isolation", async () => {
  const agent = `
    emit({ kind: "finding", severity: "low", id: "AB-1" });
    emit({ kind: "other", severity: 1 });
    emit({ kind: "finding", severity: "high", id: "ab" });
    await new Promise((resolve) => setTimeout(resolve, 50));
    emit({ kind: "finding", severity: "low" });
  `;
  await withProject({ agent, files: { "s/finding.json": FINDING } }, async (project) => {
    const logs: JsonObject[][] = [];
    for (const isolation of ISOLATIONS) {
      await project.policy({ isolation, expectEvents: { finding: { schema: "s/finding.json" } } });
      const run = await project.run();
      assert.equal(run.code, 1, run.stderr);
      assert.deepEqual(JSON.parse(run.stdout).unmet_events, [
        "event 2 of kind finding does not fit its schema: /id is string, expected ^[A-Z]+-\\\\d+$ (pattern)",
      ]);
      assert.equal(run.records.at(-1)?.reason, "schema_validation_failed");
      logs.push(told(run, "event", "schema_validation"));
    }
    assert.deepEqual(logs[0]?.slice(-2), [
      {
        type: "event",
        event: { kind: "finding", severity: "high", id: "ab" },
        event_index: 2,
        event_bytes: 46,
        event_bytes_used: 122,
      },
      {
        type: "schema_validation",
        kind: "finding",
        event_index: 2,
        status: "fail",
        reason: "pattern",
        field: "/id",
        expected: "^[A-Z]+-\\d+$",
        actual: "string",
      },
    ]);
    assert.deepEqual(logs[1], logs[0]);
    assert.deepEqual(logs[2], logs[0]);
  });
});

Deno.test("expected events must come, at least and at most so often", async () => {
  const agent = `for (let i = 0; i < (context as { n: number }).n; i++) emit({ kind: "k", i });`;
  await withProject({ agent }, async (project) => {
    const schema = { properties: { i: { type: "integer" } }, required: ["i"] };
    await project.policy({ expectEvents: { k: { min: 2, max: 3, schema } } });
    const ends: [number, unknown][] = [];
    for (const n of [1, 2, 3, 4]) {
      const run = await project.run({ args: ["run", "--json", `--context-json={"n":${n}}`] });
      ends.push([run.code, run.records.at(-1)?.reason]);
    }
    assert.deepEqual(ends, [[1, "expected_event_missing"], [0, "done"], [0, "done"], [1, "expected_event_exceeded"]]);
    const replayed = await project.run({ args: ["run", "--json", '--context-json={"n":2}'] });
    const { summary } = JSON.parse(replayed.stdout);
    assert.deepEqual([summary.schema_validation_pass, summary.schema_validation_fail], [3, 0]);
  });
});

Deno.test("--expect-event checks without a policy file, and a schema is refused with the place of its fault", async () => {
  await withProject({ agent: 'emit({ kind: "finding", severity: "mid" });' }, async (project) => {
    await project.write("finding.json", FINDING);
    const args = ["run", "--json", "agent.ts", "--tool=echo", "--expect-event=finding=finding.json"];
    const run = await project.run({ args });
    assert.equal(run.code, 1, run.stderr);
    assert.equal(run.records.at(-1)?.reason, "schema_validation_failed");
    await project.write("finding.json", '{\n  "properties": {\n    "a": { "patern": "^x" }\n  }\n}');
    const wrong = await project.run({ args: args.filter((word) => word !== "--json") });
    assert.equal(wrong.code, 65);
    assert.match(wrong.stderr, /finding\.json:3:22/);
    assert.match(wrong.stderr, /Write "pattern"/);
    assert.equal(wrong.auditPath, "");
  });
});

Deno.test("a locked run refuses a schema file that changed, and no tool may write it", async () => {
  const agent = `
    await callTool("writeArtifact", { path: "schema.json", content: "true" }).catch(() => {});
    emit({ kind: "k" });
  `;
  const policy = {
    tools: ["writeArtifact"],
    fs: { write: [{ root: "out" }] },
    expectEvents: { k: { schema: "out/schema.json" } },
  };
  await withProject({ agent, policy, files: { "out/schema.json": "{}" } }, async (project) => {
    const run = await project.run();
    assert.deepEqual(run.records.find(({ type }) => type === "tool_denial")?.reason, "protected_path");
    assert.equal(await Deno.readTextFile(`${project.dir}/out/schema.json`), "{}");
    assert.equal((await project.run({ args: ["policy", "lock", "agent.policy.jsonc"] })).code, 0);
    // data is no authority, a place that the policy does not name is
    const locked = (...words: string[]) => project.run({ args: ["run", "--json", "--locked", ...words] });
    const data = await locked('--context-json={"a":1}', '--state-json={"b":2}', "--run-id=ci-1");
    assert.equal(data.code, 77, data.stderr);
    assert.equal(data.records.at(-1)?.reason, "done");
    assert.equal((await locked("--session-file=.twokey/s.json")).code, 65);
    await project.write("out/schema.json", "true");
    const changed = await locked();
    assert.equal(changed.code, 65, changed.stderr);
  });
});

Deno.test("state of a session survives from run to run, changed after an await, in a promise and in a timer", async () => {
  const agent = `
    const before = await state.get("n");
    await state.set("n", ((before as number | null) ?? 0) + 1);
    emit({ before, keys: await state.list() });
    callTool("echo", {}).then(() => state.set("then", true));
    setTimeout(() => { state.set("timer", true); }, 20);
  `;
  await withProject({ agent }, async (project) => {
    const events: Json[] = [];
    for (const [index, isolation] of ISOLATIONS.entries()) {
      await project.policy({ tools: ["echo"], isolation, session: true });
      const run = await project.run();
      assert.equal(run.code, 0, run.stderr);
      assert.deepEqual(JSON.parse(run.stdout).session.turn_id, index + 1);
      const [load] = told(run, "session_load");
      assert.deepEqual([load?.existed, load?.turn_id], [index > 0, index]);
      assert.deepEqual(told(run, "session_save").map(({ status, turn_id }) => [status, turn_id]), [
        ["staged", index + 1],
        ["saved", index + 1],
      ]);
      assert.deepEqual(run.records.slice(-4).map(({ type }) => type), [
        "session_save",
        "session_save",
        "run_artifact_manifest",
        "run_end",
      ]);
      events.push(...told(run, "event").map(({ event }) => event as Json));
      assert.deepEqual(told(run, "state_snapshot").at(-1)?.state, { n: index + 1, then: true, timer: true });
    }
    assert.deepEqual(events, [
      { before: null, keys: ["n"] },
      { before: 1, keys: ["n", "then", "timer"] },
      { before: 2, keys: ["n", "then", "timer"] },
    ]);
    assert.deepEqual(await stateIn(project), { n: 3, then: true, timer: true });
    assert.equal(((await Deno.lstat(await sessionFile(project))).mode ?? 0) & 0o777, 0o600);
  });
});

Deno.test("a run that does not end well leaves the session as it was", async () => {
  const agent = `
    await state.set("n", (context as { n: number }).n);
    const { how } = context as { how: string };
    if (how === "throw") throw new Error("no");
    if (how === "late") setTimeout(() => { throw new Error("late"); }, 5);
    if (how === "hang") await new Promise(() => {});
    if (how === "spin") for (;;);
    emit({ kind: "k" });
  `;
  const policy = { session: true, expectEvents: { k: 1 }, budgets: { wallMs: 2500 } };
  await withProject({ agent, policy }, async (project) => {
    const run = (how: string, n: number) =>
      project.run({ args: ["run", "--json", `--context-json=${JSON.stringify({ how, n })}`] });
    assert.equal((await run("well", 1)).code, 0);
    const before = await Deno.readTextFile(await sessionFile(project));
    for (const how of ["throw", "late", "hang", "spin"]) {
      const ended = await run(how, 2);
      assert.notEqual(ended.code, 0, how);
      assert.deepEqual(told(ended, "session_save").map(({ status, turn_id }) => [status, turn_id]), [["kept", 1]], how);
      assert.equal(ended.records.at(-1)?.type, "run_end");
    }
    assert.equal(await Deno.readTextFile(await sessionFile(project)), before);
  });
});

Deno.test("a launcher that is killed loses no session and leaves no lock", async () => {
  const agent = 'await state.set("n", 2); emit({}); await new Promise((resolve) => setTimeout(resolve, 30_000));';
  await withProject({ agent: 'await state.set("n", 1); emit({});', policy: { session: true } }, async (project) => {
    assert.equal((await project.run()).code, 0);
    const before = await Deno.readTextFile(await sessionFile(project));
    await project.write("agent.ts", agent);
    const killed = await project.run({
      onStart: async (child) => {
        await new Promise((resolve) => setTimeout(resolve, 1500));
        const busy = await project.run({ args: ["run"] });
        assert.equal(busy.code, 74);
        assert.match(busy.stderr, /another run holds it/);
        assert.equal((await project.run({ args: ["reset"] })).code, 74);
        child.kill("SIGKILL");
      },
    });
    assert.notEqual(killed.code, 0);
    assert.equal(await Deno.readTextFile(await sessionFile(project)), before);
    await project.write("agent.ts", 'emit({ n: await state.get("n") });');
    const next = await project.run();
    assert.equal(next.code, 0, next.stderr);
    assert.deepEqual(told(next, "event")[0]?.event, { n: 1 });
  });
});

Deno.test("an edited session is refused with the way out, and --state-json counts only where none is", async () => {
  await withProject({ agent: 'emit(await state.get("n"));', policy: { session: true } }, async (project) => {
    const first = await project.run({ args: ["run", "--json", '--state-json={"n":7}'] });
    assert.deepEqual(told(first, "event")[0]?.event, 7);
    const second = await project.run({ args: ["run", "--json", '--state-json={"n":8}'] });
    assert.equal(first.stderr.includes("--state-json"), false);
    assert.match(second.stderr, /^note: --state-json counts for nothing: the session holds a state, of turn 1; /m);
    assert.deepEqual([first.records[0]?.state_by, second.records[0]?.state_by], ["flag", "session"]);
    assert.deepEqual(told(second, "event")[0]?.event, 7);
    const path = await sessionFile(project);
    await Deno.writeTextFile(path, (await Deno.readTextFile(path)).replace('"n":7', '"n":9'));
    const edited = await project.run({ args: ["run"] });
    assert.equal(edited.code, 65);
    assert.match(edited.stderr, /twokey reset/);
    assert.equal(edited.auditPath, "");
    assert.equal((await project.run({ args: ["reset"] })).code, 0);
    const anew = await project.run();
    assert.deepEqual(told(anew, "event")[0]?.event, null);
    assert.equal((await project.run({ args: ["run", "--state-json=[]"] })).code, 64);
    const large = JSON.stringify({ n: "x".repeat(100) });
    const over = await project.run({ args: ["run", `--state-json=${large}`, "--max-state-bytes=50"] });
    assert.equal(over.code, 65, over.stderr);
  });
});

Deno.test("--session-file keeps the session of a run of flags, and a call leaves sessions alone", async () => {
  await withProject({ agent: 'await state.set("n", 1); emit({});' }, async (project) => {
    const args = ["run", "--json", "agent.ts", "--tool=echo", "--session-file=.twokey/mine.json"];
    assert.equal((await project.run({ args })).code, 0);
    const path = `${project.dir}/.twokey/mine.json`;
    const before = await Deno.readTextFile(path);
    const call = await project.run({ args: ["call", "echo", "{}", "--tool=echo", "--session-file=.twokey/mine.json"] });
    assert.equal(call.code, 0, call.stderr);
    assert.equal(await Deno.readTextFile(path), before);
    assert.equal(JSON.parse((await project.run({ args })).stdout).session.turn_id, 2);
    assert.equal((await project.run({ args: ["reset", "--session-file=.twokey/mine.json"] })).code, 0);
    await assert.rejects(Deno.lstat(path), Deno.errors.NotFound);
  });
});

Deno.test("after close() every surface is refused and recorded, calls that ran still end, in every isolation", async () => {
  const agent = `
    const running = callTool("slow", { delay_ms: 30 });
    close();
    const refused: string[] = [];
    const note = (error: unknown) => { refused.push((error as Error).message); };
    for (const act of [() => emit({}), () => auditNote({}), () => auditControls()]) try { act(); } catch (error) { note(error); }
    for (const act of [
      () => callTool("echo"), () => state.get("a"), () => state.set("a", 1), () => state.delete("a"),
      () => state.list(), () => state.reset(),
    ]) await act().catch(note);
    await running;
    export const outcome = refused;
  `;
  await withProject({ agent }, async (project) => {
    const logs: Json[] = [];
    for (const isolation of ISOLATIONS) {
      await project.policy({ tools: ["echo", "slow"], isolation });
      const run = await project.run();
      assert.equal(run.code, 0, run.stderr);
      const at = run.records.findIndex(({ type }) => type === "revocation");
      logs.push(
        run.records.slice(at).filter(({ type }) => /^rev|tool_result/.test(type)).map(({ type, surface }) =>
          `${type} ${surface ?? ""}`
        ),
      );
    }
    const surfaces = ["emit", "auditNote", "auditControls", "callTool", "state", "state", "state", "state", "state"];
    assert.deepEqual(logs[0], [
      "revocation agent",
      ...surfaces.map((surface) => `revocation_denial ${surface}`),
      "tool_result ",
    ]);
    assert.deepEqual(logs[1], logs[0]);
    assert.deepEqual(logs[2], logs[0]);
  });
});

Deno.test("events, notes and state have budgets that end the run or refuse the act, in every isolation", async () => {
  const agents = {
    "--max-events=2": "for (let i = 0; i < 9; i++) emit({ a: 1 });",
    "--max-event-bytes=20": 'for (let i = 0; i < 9; i++) emit({ a: "ü" });',
  };
  for (const isolation of ISOLATIONS) {
    await withProject({ agent: "", policy: { isolation } }, async (project) => {
      for (const [flag, agent] of Object.entries(agents)) {
        await project.write("agent.ts", agent);
        const run = await project.run({ args: ["run", "--json", flag] });
        assert.equal(run.code, 70, run.stderr);
        const [over] = told(run, "budget_exceeded");
        assert.equal(over?.limit, Number(flag.split("=")[1]));
        // the first that is too much leaves no event: each of the second kind is 10 bytes
        assert.equal(told(run, "event").length, 2);
        assert.equal(run.records.at(-1)?.reason, "budget_exceeded");
      }
      await project.write(
        "agent.ts",
        'await state.set("a", "12345").catch((error) => emit({ code: error.code })); emit({ a: await state.get("a") });',
      );
      const run = await project.run({ args: ["run", "--json", "--max-state-bytes=5"] });
      assert.equal(run.code, 0, run.stderr);
      assert.deepEqual(told(run, "event").map(({ event }) => event), [{ code: "state_bytes" }, { a: null }]);
    });
  }
});

const CANARY = "s3cr3t/token+of=mine?yes";

Deno.test("no record holds a known secret or a field of a secret's name: events, notes, state, arguments, errors", async () => {
  const agent = `
    const secret = ${JSON.stringify(CANARY)};
    const forms = { plain: "x" + secret + "y", base64: btoa("ab" + secret), url: encodeURIComponent(secret), inKey: { [secret]: 1 } };
    const fields = { apiKey: "field-value-1", deep: [{ "my-own": "field-value-2" }], pin: 73735 };
    emit({ kind: "k", forms, fields });
    auditNote({ forms, fields });
    await state.set("s", { forms, fields });
    await state.set("token", "field-value-3");
    await callTool("echo", { forms, fields });
    await callTool("no-" + secret).catch(() => {});
    console.log(secret);
    throw new Error("it was " + secret);
  `;
  for (const isolation of ISOLATIONS) {
    const policy = {
      isolation,
      session: true,
      tools: ["echo", "github.issue.read"],
      github: { repos: ["o/r"], tokenEnv: "TOKEN" },
      redact: ["my_own", "pin"],
      expectEvents: { k: { schema: { properties: { fields: { properties: { pin: { maximum: 99999 } } } } } } },
    };
    await withProject({ agent, policy }, async (project) => {
      const run = await project.run({ env: { TOKEN: CANARY } });
      assert.equal(run.code, 1, run.stderr);
      assert.equal(run.records.at(-1)?.reason, "agent_error");
      const text = await Deno.readTextFile(run.auditPath) + run.stdout + run.stderr;
      const core = btoa(`ab${CANARY}`).slice(4, 30);
      for (const form of [CANARY, encodeURIComponent(CANARY), core, "field-value-", "73735"]) {
        assert.ok(!text.includes(form), `${isolation}: ${form}`);
      }
      const [snapshot] = told(run, "state_snapshot");
      assert.equal((snapshot?.state as JsonObject).token, "[redacted]");
      assert.equal(told(run, "audit_note").length + told(run, "event").length + told(run, "tool_result").length, 3);
    });
  }
});

Deno.test("what is redacted in the log comes back to the agent as it was", async () => {
  const agent = `emit({ same: await state.get("token") === "field-value" }); await state.set("token", "field-value");`;
  await withProject({ agent, policy: { session: true } }, async (project) => {
    await project.run();
    const run = await project.run();
    assert.deepEqual(told(run, "event")[0]?.event, { same: true });
    assert.ok(!(await Deno.readTextFile(run.auditPath)).includes("field-value"));
  });
});

Deno.test("run_start and auditControls() list what is active", async () => {
  const agent = "export const outcome = auditControls(); emit({ kind: 'k' });";
  const policy = { session: true, redact: ["pin"], expectEvents: { k: { max: 2 } }, budgets: { events: 9 } };
  await withProject({ agent, policy }, async (project) => {
    const run = await project.run();
    assert.equal(run.code, 0, run.stderr);
    const [start] = told(run, "run_start");
    assert.deepEqual(start?.expect_events, { k: { min: 1, max: 2 } });
    assert.deepEqual(start?.event_budget, { max_events: 9, max_event_bytes: 8_388_608 });
    assert.deepEqual(start?.state_controls, {
      mode: "session",
      file: "${state}/sessions/agent.policy.jsonc.session.json",
      max_state_bytes: 1_048_576,
      close_revocation: "enforced",
    });
    assert.deepEqual((start?.audit_redaction as JsonObject).policy_fields, ["pin"]);
    const [{ controls } = {}] = told(run, "audit_controls");
    assert.deepEqual((controls as JsonObject).state, { mode: "session", turn_id: 0, max_state_bytes: 1_048_576 });
    assert.deepEqual((controls as JsonObject).events, {
      expected: { k: { min: 1, max: 2, schema: false } },
      max_events: 9,
      max_event_bytes: 8_388_608,
    });
  });
});

Deno.test("--run-id names a run and its folder once", async () => {
  await withProject({ agent: "emit({});", policy: {} }, async (project) => {
    const run = await project.run({ args: ["run", "--json", "--run-id=ci:4.2_x"] });
    assert.equal(run.code, 0, run.stderr);
    assert.ok(run.auditPath.endsWith("/.twokey/runs/ci:4.2_x/audit.jsonl"));
    assert.ok(run.records.every(({ run_id }) => run_id === "ci:4.2_x"));
    const before = await Deno.readTextFile(run.auditPath);
    const again = await project.run({ args: ["run", "--json", "--run-id=ci:4.2_x"] });
    assert.equal(again.code, 73, again.stderr);
    assert.equal(await Deno.readTextFile(run.auditPath), before);
    for (const id of ["..", "../x", "a/b", "-x"]) {
      assert.equal((await project.run({ args: ["run", "--json", `--run-id=${id}`] })).code, 64, id);
    }
    assert.equal((await project.run({ args: ["replay", "ci:4.2_x"] })).code, 0);
    assert.equal((await project.run({ args: ["audit", "verify", run.auditPath] })).code, 0);
  });
});
