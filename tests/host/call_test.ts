import assert from "node:assert/strict";
import * as v from "valibot";
import type { RecordBody } from "../../src/audit/record.ts";
import { AuditError, BudgetError, BugError, ControlError, DenialError, ToolError } from "../../src/errors.ts";
import type { ApprovalVerdict } from "../../src/host/approval.ts";
import { call, type CallHost, type CallInput } from "../../src/host/call.ts";
import type { Outcome } from "../../src/host/ended.ts";
import { Deadlines } from "../../src/host/deadlines.ts";
import { utf8Length } from "../../src/json.ts";
import { defaultBudgets } from "../../src/plan/budgets.ts";
import type { Budgets } from "../../src/plan/plan.ts";
import { defineTool, type Effect, type FullPowers, type FullResolve, type Tool } from "../../src/tool/define.ts";
import type { Target } from "../../src/tool/powers.ts";

const TARGET: Target = { requirement: { kind: "filesystem.write", target: "/a", description: "a" } };

/** What a test may change about the tool and its host. */
interface Fakes {
  readonly effect?: Effect;
  readonly prepare?: () => void;
  readonly invoke?: (powers: FullPowers) => unknown;
  readonly host?: Partial<CallHost>;
  readonly budgets?: Partial<Budgets>;
  readonly timeoutMs?: number;
}

interface Bench {
  /** Every step in the order it happened. */
  readonly steps: string[];
  readonly records: RecordBody[];
  readonly host: CallHost;
  run(args?: unknown, name?: string): Promise<Outcome>;
}

function makeBench({ effect = "pure", prepare, invoke, host = {}, budgets = {}, timeoutMs = 1000 }: Fakes = {}): Bench {
  const steps: string[] = [];
  const records: RecordBody[] = [];
  const tool: Tool = defineTool({
    name: "fake",
    family: "harness",
    summary: "A tool of this test",
    args: v.strictObject({ path: v.string(), secret: v.optional(v.string()) }),
    result: v.strictObject({ ok: v.literal(true) }),
    authority: { fs: "write" },
    effect,
    audit: { args: { path: "keep", secret: "drop" }, result: "keep" },
    prepare({ path }) {
      steps.push("prepare");
      prepare?.();
      return { targets: [TARGET], artifact: path, note: { noted: path } };
    },
    invoke(path, powers) {
      steps.push(`invoke ${path}`);
      return (invoke?.(powers as unknown as FullPowers) ?? { ok: true }) as { ok: true };
    },
  });
  const whole: CallHost = {
    budgets: { ...defaultBudgets(), ...budgets },
    dryRun: false,
    timeoutMs: (name) => {
      steps.push("registry");
      return name === "fake" ? timeoutMs : undefined;
    },
    tool: () => {
      steps.push("load");
      return Promise.resolve(tool);
    },
    resolver: () => ({}) as FullResolve,
    powers: (_tool, context) => {
      steps.push("powers");
      return { context } as unknown as FullPowers;
    },
    decide: ({ requirements }) => {
      steps.push("gate");
      assert.deepEqual(requirements, [TARGET.requirement]);
      return { kind: "allow", rules: ["/tools/0", "/fs/write/0"] };
    },
    audit: (value, mode) => mode === "keep" ? value : { mode },
    record: (body) => {
      steps.push(body.type);
      records.push(body);
    },
    recordAndWait: (body) => {
      steps.push(`${body.type} on disk`);
      records.push(body);
    },
    now: () => 1000,
    deadlines: new Deadlines(() => 1000),
    totals: { calls: 0, argBytes: 0, resultBytes: 0 },
    ...host,
  };
  const run = (args: unknown = { path: "p" }, name = "fake") => {
    const text = JSON.stringify(args);
    const input: CallInput = { name, args: text, bytes: utf8Length(text) };
    return call(whole, "c1", input);
  };
  return { steps, records, host: whole, run };
}

const BODY = "invoke p";

Deno.test("call() goes registry, copy, prepare, gate, record, invoke, copy out, record", async () => {
  const { steps, records, run } = makeBench();
  assert.deepEqual(await run({ path: "p", secret: "s" }), { kind: "result", text: '{"ok":true}' });
  assert.deepEqual(steps, ["registry", "load", "prepare", "gate", "tool_call", "powers", BODY, "tool_result"]);
  assert.deepEqual(records, [
    {
      type: "tool_call",
      call_id: "c1",
      tool: "fake",
      args: { path: "p", secret: { mode: "drop" } },
      arg_bytes: 25,
      requirements: [{ kind: "filesystem.write", target: "/a" }],
      rules: ["/tools/0", "/fs/write/0"],
      noted: "p",
    },
    { type: "tool_result", call_id: "c1", tool: "fake", result: { ok: true }, result_bytes: 11, duration_ms: 0 },
  ]);
});

Deno.test("call() waits for the disk before an effect that cannot be taken back, and for no other", async () => {
  for (const effect of ["write", "send", "spawn", "ask"] as const) {
    const { steps, run } = makeBench({ effect });
    await run();
    assert.deepEqual(steps.slice(4), ["tool_call on disk", "powers", BODY, "tool_result"], effect);
  }
  for (const effect of ["pure", "read"] as const) {
    const { steps, run } = makeBench({ effect });
    await run();
    assert.equal(steps[4], "tool_call", effect);
  }
});

Deno.test("call() stops at the first step that refuses", async () => {
  const denied = makeBench();
  assert.deepEqual(await denied.run({ path: "p" }, "other"), {
    kind: "denied",
    code: "tool_not_granted",
    message: "agent tool denied: other",
  });
  assert.deepEqual(denied.steps, ["registry", "tool_denial"]);

  for (const args of [{}, { path: 1 }, { path: "p", more: 1 }]) {
    const { steps, run } = makeBench();
    assert.equal((await run(args)).kind, "invalid");
    assert.deepEqual(steps, ["registry", "load", "tool_invalid_args"]);
  }
  for (const args of [[], "text", 1, null]) {
    const { steps, run } = makeBench();
    assert.equal((await run(args)).kind, "invalid");
    assert.deepEqual(steps, ["registry", "tool_invalid_args"]);
  }
  const asks = makeBench({
    host: { decide: () => ({ kind: "ask", requirements: [TARGET.requirement], rule: "/gate/ask/0", rules: [] }) },
  });
  assert.deepEqual(await asks.run(), { kind: "denied", code: "approval_required", message: "agent tool denied: fake" });
  assert.ok(!asks.steps.includes(BODY) && !asks.steps.includes("powers"));

  const no = makeBench({
    host: {
      decide: () => ({ kind: "deny", code: "protected_path", rule: "/fs/write/0", requirement: TARGET.requirement }),
    },
  });
  assert.deepEqual(await no.run(), { kind: "denied", code: "protected_path", message: "agent tool denied: fake" });
  assert.deepEqual(no.records, [{
    type: "tool_denial",
    call_id: "c1",
    tool: "fake",
    policy: "denied",
    reason: "protected_path",
    rule: "/fs/write/0",
    requirement: { kind: "filesystem.write", target: "/a" },
    noted: "p",
  }]);
});

Deno.test("call() asks after everything else is decided, and starts the deadline with the answer", async () => {
  let now = 1000;
  const questions: unknown[] = [];
  const asking = (status: ApprovalVerdict["status"], more: Partial<CallHost> = {}): Fakes => ({
    host: {
      decide: () => ({ kind: "ask", requirements: [], rule: "/approvals/require/0", rules: ["/tools/0"] }),
      approve: (callId, question) => {
        questions.push([callId, question]);
        now += 60_000;
        return Promise.resolve({ status, approval_id: "id", approval_mode: "terminal" });
      },
      now: () => now,
      deadlines: new Deadlines(() => now),
      ...more,
    },
  });
  const granted = makeBench(asking("granted"));
  assert.equal((await granted.run({ path: "p", secret: "s" })).kind, "result");
  assert.deepEqual(granted.steps.slice(3), ["tool_call on disk", "powers", BODY, "tool_result"], "also of a pure tool");
  const [body, result] = granted.records;
  assert.deepEqual([body?.approval_id, body?.approval_mode, body?.rules], ["id", "terminal", ["/tools/0"]]);
  assert.equal(result?.duration_ms, 0);
  assert.deepEqual(questions, [["c1", {
    tool: "fake",
    args: { path: "p", secret: "s" },
    arg_bytes: 25,
    audit_args: { path: "p", secret: { mode: "drop" } },
    requirements: [{ kind: "filesystem.write", target: "/a" }],
    rule: "/approvals/require/0",
  }]]);

  for (const status of ["denied", "pending"] as const) {
    const { run, steps, records } = makeBench(asking(status));
    assert.deepEqual(await run(), { kind: "denied", code: `approval_${status}`, message: "agent tool denied: fake" });
    assert.ok(!steps.includes(BODY) && !steps.includes("powers"));
    assert.deepEqual([records[0]?.type, records[0]?.approval_id], ["tool_denial", "id"]);
  }
  questions.length = 0;
  const early: [Fakes, unknown, string][] = [
    [asking("granted"), { path: 1 }, "invalid"],
    [{ ...asking("granted"), budgets: { toolArgBytes: 3 } }, { path: "p" }, "budget"],
    [{ ...asking("granted"), budgets: { toolCalls: 0 } }, { path: "p" }, "budget"],
    [asking("granted", { dryRun: true }), { path: "p" }, "denied"],
  ];
  for (const [fakes, args, kind] of early) assert.equal((await makeBench(fakes).run(args)).kind, kind);
  assert.deepEqual(questions, [], "nobody is asked about what does not run");
});

Deno.test("call() waits for the disk where the record is written in the background", async () => {
  const disk = Promise.withResolvers<void>();
  const { run, steps } = makeBench({ effect: "write", host: { recordAndWait: () => disk.promise } });
  const outcome = run();
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.ok(!steps.includes(BODY));
  disk.resolve();
  assert.equal((await outcome).kind, "result");
});

Deno.test("call() runs no tool body when anything before it is broken", async () => {
  const broken = (): never => {
    throw new TypeError("broken: /secret/path");
  };
  const faults: Readonly<Record<string, Fakes>> = {
    "the registry": { host: { timeoutMs: broken } },
    "loading the tool": { host: { tool: broken } },
    "the resolver": { host: { resolver: broken } },
    "preparing": { prepare: broken },
    "the gate": { host: { decide: broken } },
    "the clock": { host: { now: broken } },
    "redaction": { host: { audit: broken } },
    "the record": { host: { record: broken } },
    "the record on disk": { effect: "write", host: { recordAndWait: broken } },
    "the powers": { host: { powers: broken } },
  };
  for (const [what, fakes] of Object.entries(faults)) {
    const { steps, run } = makeBench(fakes);
    const outcome = await run().catch((error) => error);
    assert.ok(!steps.includes(BODY), what);
    assert.ok(!steps.includes("tool_result"), what);
    assert.ok(outcome instanceof Error || (outcome as Outcome).kind === "error", what);
    if (!(outcome instanceof Error)) assert.ok(!JSON.stringify(outcome).includes("/secret/path"), what);
  }
  await assert.rejects(
    makeBench({ host: { decide: broken } }).run(),
    (error) => error instanceof ControlError && error.code === "gate_fault",
  );
  const sink = (): never => {
    throw new AuditError("audit_write_failed", "Cannot write a record: the launcher is gone");
  };
  await assert.rejects(makeBench({ host: { record: sink } }).run(), AuditError);
  await assert.rejects(makeBench({ effect: "send", host: { recordAndWait: sink } }).run(), AuditError);
});

Deno.test("call() gives whatever a tool throws its one outcome, and tells the agent nothing of the unknown", async () => {
  const cases: readonly [unknown, Outcome["kind"], string, string][] = [
    [new DenialError("content_changed", "x"), "denied", "content_changed", "tool_denial"],
    [new ToolError("timeout", "Cannot do it", { retryable: true, fields: { a: 1 } }), "error", "timeout", "tool_error"],
    [new BudgetError("artifact_bytes", "x", { limit: 1, attempted: 2 }), "budget", "artifact_bytes", "budget_exceeded"],
    [new Error("/etc/passwd: secret"), "error", "tool_fault", "tool_error"],
    ["/etc/passwd", "error", "tool_fault", "tool_error"],
    [undefined, "error", "tool_fault", "tool_error"],
  ];
  for (const [thrown, kind, code, type] of cases) {
    const { records, run } = makeBench({
      invoke: () => {
        throw thrown;
      },
    });
    const outcome = await run();
    assert.ok(outcome.kind === kind && outcome.kind !== "result" && outcome.code === code, JSON.stringify(outcome));
    assert.deepEqual(records.map((record) => record.type), ["tool_call", type]);
    assert.doesNotMatch(JSON.stringify([outcome, records]), /passwd/);
  }
  for (
    const fatal of [new BugError("bug_x", "x"), new AuditError("audit_x", "x"), new ControlError("control_x", "x")]
  ) {
    const { run } = makeBench({
      invoke: () => {
        throw fatal;
      },
    });
    await assert.rejects(run(), fatal.constructor as ErrorConstructor);
  }
});

Deno.test("call() hands out no result that its schema does not know", async () => {
  for (const value of [{ ok: false }, { ok: true, more: 1 }, 1, null]) {
    const { records, run } = makeBench({ invoke: () => value ?? 0 });
    const outcome = await run();
    assert.ok(outcome.kind === "error" && outcome.code === "bad_result", JSON.stringify(value));
    assert.equal(records.at(-1)?.type, "tool_error");
  }
});

Deno.test("call() ends at the deadline, aborts what runs, and takes nothing that comes later", async () => {
  let signal: AbortSignal | undefined;
  const late = Promise.withResolvers<unknown>();
  const start = performance.now();
  const clock = () => performance.now() - start;
  const { records, run } = makeBench({
    timeoutMs: 20,
    host: { now: clock, deadlines: new Deadlines(clock) },
    invoke: (powers) => {
      signal = (powers as unknown as { context: { signal: AbortSignal } }).context.signal;
      return late.promise;
    },
  });
  assert.deepEqual(await run(), {
    kind: "timeout",
    code: "tool_timeout",
    message: "agent tool timeout: fake after 20ms",
  });
  assert.equal(signal?.aborted, true);
  late.resolve({ ok: true });
  await late.promise;
  assert.deepEqual(records.map(({ type }) => type), ["tool_call", "tool_timeout"]);
});

Deno.test("call() counts attempts, and UTF-8 bytes of arguments and results, inclusively", async () => {
  const text = JSON.stringify({ path: "é" });
  const bytes = new TextEncoder().encode(text).length;
  const cases: readonly [Partial<Budgets>, string | undefined][] = [
    [{ toolArgBytes: bytes }, undefined],
    [{ toolArgBytes: bytes - 1 }, "tool_arg_bytes"],
    [{ totalArgBytes: bytes }, undefined],
    [{ totalArgBytes: bytes - 1 }, "total_arg_bytes"],
    [{ toolResultBytes: 11 }, undefined],
    [{ toolResultBytes: 10 }, "tool_result_bytes"],
    [{ totalResultBytes: 11 }, undefined],
    [{ totalResultBytes: 10 }, "total_result_bytes"],
    [{ toolCalls: 1 }, undefined],
    [{ toolCalls: 0 }, "tool_calls"],
  ];
  for (const [budgets, code] of cases) {
    const { steps, records, run } = makeBench({ budgets });
    const outcome = await run({ path: "é" });
    assert.equal(outcome.kind === "budget" ? outcome.code : undefined, code, JSON.stringify(budgets));
    if (code === undefined) continue;
    assert.equal(records.at(-1)?.type, "budget_exceeded");
    assert.equal(records.at(-1)?.budget, code);
    if (!code.includes("result")) assert.ok(!steps.includes("load"), code);
  }
  const { host, run } = makeBench({ budgets: { toolCalls: 2 } });
  assert.deepEqual([(await run({}, "other")).kind, (await run()).kind, (await run()).kind], [
    "denied",
    "result",
    "budget",
  ]);
  assert.equal(host.totals.calls, 3);
});

Deno.test("call() names a refused value of the agent's side with its path", async () => {
  const { steps, records, host } = makeBench();
  const refusal = { path: "/a/0", reason: "a getter" };
  const outcome = await call(host, "c1", { name: "fake", args: refusal, bytes: 0 });
  assert.ok(outcome.kind === "invalid" && outcome.message.includes('"/a/0"') && outcome.message.includes("a getter"));
  assert.equal(records[0]?.path, "/a/0");
  assert.deepEqual(steps, ["registry", "tool_invalid_args"]);
});

Deno.test("call() lets no tool act in a dry run", async () => {
  const { steps, run } = makeBench({ effect: "write", host: { dryRun: true } });
  await run().catch(() => {});
  assert.ok(steps.includes("gate") && !steps.includes(BODY) && !steps.includes("powers"), steps.join());
});
