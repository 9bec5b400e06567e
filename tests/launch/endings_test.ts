import assert from "node:assert/strict";
import { verifyAudit } from "../../src/audit/reader.ts";
import type { Isolation } from "../../src/plan/plan.ts";
import {
  cleanEnv,
  eventually,
  MAIN,
  type Project,
  type ProjectOptions,
  type RunResult,
  withProject,
} from "../e2e/run_project.ts";
import { familyOf, isGone } from "./family.ts";
import { runRawAgent } from "./raw_agent.ts";

const ISOLATIONS: readonly Isolation[] = ["process", "worker", "compartment"];
/** Starts a call that never ends by itself, and waits until its record is on its way. */
const BUSY = `callTool("slow", { delay_ms: 60000 }); await new Promise((resolve) => setTimeout(resolve, 30));`;

/** How one agent ends its run. */
interface Ending {
  readonly agent: string;
  readonly budgets?: Readonly<Record<string, number>>;
  readonly reason: string;
  readonly exit: number;
  /** Longest time from start to end, in milliseconds: three times what it needs on a slow machine, or more. */
  readonly withinMs?: number;
  /** Checks what else the log says. */
  check?(run: RunResult, isolation: Isolation): void;
}

const CPU = { cpuMs: 300 };

/** Each agent and the one reason that its run must give. */
const ENDINGS: Readonly<Record<string, Ending>> = {
  "a synchronous loop": {
    agent: `await callTool("echo", {}); while (true);`,
    budgets: CPU,
    reason: "cpu_exceeded",
    exit: 70,
  },
  "a loop of microtasks": {
    agent: `const next = (): Promise<void> => Promise.resolve().then(next); next(); await new Promise(() => {});`,
    budgets: CPU,
    reason: "cpu_exceeded",
    exit: 70,
  },
  "a loop after an await": {
    agent: `await Promise.resolve(); for (;;) await null;`,
    budgets: CPU,
    reason: "cpu_exceeded",
    exit: 70,
  },
  "a loop while the module loads, with a call in flight": {
    agent: `${BUSY} while (true);`,
    budgets: CPU,
    reason: "cpu_exceeded",
    exit: 70,
    check: ({ records }) => assert.deepEqual(records.at(-1)?.in_flight, [{ call_id: "c1", tool: "slow" }]),
  },
  "a loop that catches whatever would end it": {
    agent: `for (;;) { try { for (;;) JSON.parse("[]"); } catch {} finally { continue; } }`,
    budgets: CPU,
    reason: "cpu_exceeded",
    exit: 70,
  },
  "a heap that grows": {
    agent: `const all: unknown[] = []; while (true) all.push(new Array(1000).fill(1.5));`,
    budgets: { heapMb: 64 },
    reason: "memory_exceeded",
    exit: 70,
  },
  "buffers that grow": {
    agent:
      `const all: unknown[] = []; while (true) { all.push(new Uint8Array(8388608).fill(1)); await callTool("echo", {}); }`,
    budgets: { rssMb: 320 },
    reason: "memory_rss_exceeded",
    exit: 70,
  },
  "a flood on standard error": {
    agent: `const text = "x".repeat(10000); while (true) console.log(text);`,
    budgets: { stderrBytes: 100_000 },
    reason: "stderr_exceeded",
    exit: 70,
    check: ({ stderr }) => assert.ok(stderr.length < 300_000, String(stderr.length)),
  },
  "time that passes": {
    agent: `await new Promise((resolve) => setTimeout(resolve, 60000));`,
    budgets: { wallMs: 500 },
    reason: "wall_exceeded",
    exit: 70,
  },
  "an exception": {
    agent: `await callTool("echo", {}); throw new TypeError("boom");`,
    reason: "agent_error",
    exit: 1,
    check({ records }, isolation) {
      const { name, message, stack } = records.at(-1)?.error as Record<string, string>;
      assert.deepEqual([name, message], ["TypeError", "boom"]);
      if (isolation === "process") assert.match(stack ?? "", /^TypeError: boom\n {4}at agent:\/\/\/agent\.ts:1:\d+$/);
      else assert.equal(stack, "");
    },
  },
  "an exception that speaks of a timeout, a denial and a budget": {
    agent: `const error = new Error("agent tool timeout: slow, tool_denial, budget_exceeded, wall_exceeded");
      error.name = "ToolCallError"; Object.assign(error, { outcome: "timeout", code: "tool_timeout" }); throw error;`,
    reason: "agent_error",
    exit: 1,
    check: ({ records }) => assert.ok(!records.some(({ type }) => /timeout|denial|budget/.test(type))),
  },
  "an exception in a timer": {
    agent:
      `setTimeout(() => { throw new Error("late"); }, 5); await new Promise((resolve) => setTimeout(resolve, 5000));`,
    reason: "agent_error",
    exit: 1,
    check: ({ records }) => assert.equal((records.at(-1)?.error as { message: string }).message, "late"),
  },
  "a rejection that nobody handles": {
    agent: `Promise.reject(new Error("alone")); await new Promise((resolve) => setTimeout(resolve, 5000));`,
    reason: "agent_error",
    exit: 1,
    check: ({ records }) => assert.equal((records.at(-1)?.error as { message: string }).message, "alone"),
  },
  "a timer that comes after everything else": {
    agent:
      `callTool("slow", { delay_ms: 5 }); await new Promise((resolve) => setTimeout(resolve, 60)); setTimeout(() => {}, 60);`,
    reason: "done",
    exit: 0,
  },
  "an exception after the last timer": {
    agent: `await new Promise((resolve) => setTimeout(resolve, 5)); throw new Error("after");`,
    reason: "agent_error",
    exit: 1,
  },
  "a promise that nothing settles": { agent: `await new Promise(() => {});`, reason: "agent_stalled", exit: 1 },
  "a promise that nothing settles, after calls and timers": {
    agent: `await callTool("echo", {}); setTimeout(() => {}, 5); await new Promise(() => {});`,
    reason: "agent_stalled",
    exit: 1,
  },
  "too many calls": {
    agent: `for (let i = 0; i < 10; i++) await callTool("echo", {});`,
    budgets: { toolCalls: 3 },
    reason: "budget_exceeded",
    exit: 70,
    check: ({ records }) => {
      assert.equal(records.filter(({ type }) => type === "tool_result").length, 3);
      assert.equal(records.find(({ type }) => type === "budget_exceeded")?.budget, "tool_calls");
    },
  },
  "too many calls and events, each of them caught": {
    agent: `for (;;) {
      try { await callTool("echo", {}); } catch {}
      try { emit({}); } catch {}
    }`,
    budgets: { toolCalls: 3, events: 100 },
    reason: "budget_exceeded",
    exit: 70,
    check: ({ records }) => assert.equal(records.filter(({ type }) => type === "tool_result").length, 3),
  },
  "too many events in one turn": {
    agent: `for (let i = 0; i < 10; i++) emit({ i }); await callTool("echo", {});`,
    budgets: { events: 3 },
    reason: "budget_exceeded",
    exit: 70,
    check: ({ records }) => assert.equal(records.filter(({ type }) => type === "event").length, 3),
  },
  "events of too many bytes": {
    agent: `for (let i = 0; i < 10; i++) { emit("é".repeat(50)); await callTool("echo", {}); }`,
    budgets: { eventBytes: 306 },
    reason: "budget_exceeded",
    exit: 70,
    check: ({ records }) => assert.equal(records.filter(({ type }) => type === "event").length, 3),
  },
  "notes of too many bytes": {
    agent: `for (let i = 0; i < 10; i++) { auditNote("é".repeat(50)); await callTool("echo", {}); }`,
    budgets: { noteBytes: 306 },
    reason: "budget_exceeded",
    exit: 70,
    check: ({ records }) => assert.equal(records.filter(({ type }) => type === "audit_note").length, 3),
  },
  "a state that is full": {
    agent:
      `await state.set("a", "x"); let code; try { await state.set("b", "x".repeat(100)); } catch (error) { code = (error as { code: string }).code; }
      emit([code, await state.get("b"), await state.list()]);`,
    budgets: { stateBytes: 50 },
    reason: "done",
    exit: 0,
    check: ({ records }) =>
      assert.deepEqual(records.find(({ type }) => type === "event")?.event, ["state_bytes", null, ["a"]]),
  },
};

for (const isolation of ISOLATIONS) {
  Deno.test(`launch() ends every run with its own reason, within its bound (${isolation})`, async () => {
    await twoAtATime(Object.entries(ENDINGS), async ([name, ending]) => {
      const { agent, budgets = {}, reason, exit } = ending;
      await withProject({ agent, policy: { tools: ["echo", "slow"], isolation, budgets } }, async (project) => {
        const started = performance.now();
        const { run, launcher } = await runWatched(project);
        const tookMs = performance.now() - started;
        const said = `${name}: ${run.stdout.slice(0, 300)} ${run.stderr.slice(0, 600)}`;
        assert.equal(run.records.at(-1)?.reason, reason, said);
        assert.equal(run.code, exit, said);
        assert.ok(tookMs < (ending.withinMs ?? 10_000), `${name} took ${tookMs} ms`);
        await assertWhole(run, launcher);
        ending.check?.(run, isolation);
      });
    });
  });
}

Deno.test("launch() takes a module's outcome as large as a result may be, and ends a larger one as the agent's doing", async () => {
  for (const isolation of ISOLATIONS) {
    const policy = { isolation, budgets: { heapMb: 1024, rssMb: 2048 } };
    await withProject({ agent: 'export const outcome = "\\\\".repeat(8_000_000);', policy }, async (project) => {
      const { records, code, stderr } = await project.run();
      assert.deepEqual([records.at(-1)?.reason, code], ["done", 0], `${isolation}: ${stderr}`);
      await project.write("agent.ts", 'export const outcome = "\\\\".repeat(30_000_000);');
      const large = await project.run();
      assert.equal(large.code, 70, large.stderr);
      assert.match(String(large.records.at(-1)?.reason), /^(?:outcome_too_large|frame_too_long)$/);
    });
  }
});

/** Kills or signals a part of a run that is at work. */
const STOPPED: readonly {
  readonly name: string;
  readonly isolations: readonly Isolation[];
  readonly reason: string;
  stop(launcher: number): Promise<void>;
}[] = [
  {
    name: "SIGINT to the launcher",
    isolations: ISOLATIONS,
    reason: "interrupted",
    stop: async (launcher) => await signal(launcher, "SIGINT"),
  },
  {
    name: "SIGTERM to the launcher",
    isolations: ISOLATIONS,
    reason: "terminated",
    stop: async (launcher) => await signal(launcher, "SIGTERM"),
  },
  {
    name: "SIGHUP to the launcher",
    isolations: ISOLATIONS,
    reason: "terminated",
    stop: async (launcher) => await signal(launcher, "SIGHUP"),
  },
  {
    name: "a host that is killed",
    isolations: ISOLATIONS,
    reason: "host_crash",
    stop: async (launcher) => await signal((await familyOf(launcher)).host, "SIGKILL"),
  },
  {
    name: "an agent that is killed",
    isolations: ["process"],
    reason: "agent_killed",
    stop: async (launcher) => await signal((await familyOf(launcher)).agent, "SIGKILL"),
  },
  {
    name: "an agent that is told to end by somebody else",
    isolations: ["process"],
    reason: "agent_crash",
    stop: async (launcher) => await signal((await familyOf(launcher)).agent, "SIGTERM"),
  },
];

Deno.test("launch() ends a run whose parts are signalled or killed", async () => {
  const all = STOPPED.flatMap((one) => one.isolations.map((isolation) => ({ ...one, isolation })));
  await twoAtATime(all, async ({ name, isolation, reason, stop }) => {
    const options: ProjectOptions = {
      agent: `${BUSY} await new Promise((resolve) => setTimeout(resolve, 60000));`,
      policy: { tools: ["slow"], isolation, budgets: { toolTimeoutMs: 120_000 } },
    };
    await withProject(options, async (project) => {
      const { run, launcher } = await runWatched(project, stop);
      const end = run.records.at(-1);
      assert.equal(end?.reason, reason, `${name} (${isolation}): ${run.stderr.slice(0, 500)}`);
      assert.deepEqual(end?.in_flight, [{ call_id: "c1", tool: "slow" }], `${name} (${isolation})`);
      assert.equal(run.code, reason === "agent_crash" ? 1 : 70);
      await assertWhole(run, launcher);
    });
  });
});

Deno.test("launch() goes on after its terminal was closed where that was asked for", async () => {
  const agent =
    `${BUSY} await new Promise((resolve) => setTimeout(resolve, 1500)); emit({ kind: "went on" }); close();`;
  await withProject({ agent, policy: { tools: ["slow"], budgets: { toolTimeoutMs: 4000 } } }, async (project) => {
    const root = project.dir.slice(0, -"/project".length);
    const child = new Deno.Command("/bin/sh", {
      args: ["-c", 'trap "" HUP; exec "$0" run -A --no-prompt --quiet "$1" run', Deno.execPath(), MAIN],
      cwd: project.dir,
      clearEnv: true,
      env: cleanEnv(root),
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    const text = () => textOfLog(`${project.dir}/.twokey/runs`);
    assert.ok(await eventually(async () => (await text()).includes('"tool_call"'), 10_000));
    child.kill("SIGHUP");
    assert.ok(await eventually(async () => (await text()).includes("went on"), 10_000), await text());
    await child.status;
  });
});

/** What a process in the place of the agent sends, and how its run must end. */
const HOSTILE: Readonly<Record<string, { body: string; reason: string; budgets?: Readonly<Record<string, number>> }>> =
  {
    "no greeting": { body: `line("hi"); hold();`, reason: "protocol_violation" },
    "a greeting without an end": {
      body: `while (true) bytes(new Uint8Array(65536).fill(65));`,
      reason: "protocol_violation",
    },
    "text that is no frame": { body: `hello(); read(); line("garbage"); hold();`, reason: "protocol_violation" },
    "an empty frame": { body: `hello(); read(); line(""); hold();`, reason: "protocol_violation" },
    "a frame that is a list": { body: `hello(); read(); line("[1]"); hold();`, reason: "protocol_violation" },
    "an unknown operation": { body: `hello(); read(); line('{"op":"format"}'); hold();`, reason: "protocol_violation" },
    "an operation named like a prototype": {
      body: `hello(); read(); line('{"op":"__proto__"}'); hold();`,
      reason: "protocol_violation",
    },
    "a record of its own": {
      body: `hello(); read(); line('{"type":"tool_result","call_id":"c1","tool":"echo"}'); hold();`,
      reason: "protocol_violation",
    },
    "a control line of the host": {
      body: `hello(); read(); line('@end {"status":"ok","reason":"done"}'); hold();`,
      reason: "protocol_violation",
    },
    "a record that waits": {
      body: `hello(); read(); line('!{"type":"run_end"}'); hold();`,
      reason: "protocol_violation",
    },
    "a negative id": {
      body: `hello(); read(); line('{"op":"call","id":-1,"name":"echo"}\\t{}'); hold();`,
      reason: "protocol_violation",
    },
    "an id that is text": {
      body: `hello(); read(); line('{"op":"call","id":"1","name":"echo"}\\t{}'); hold();`,
      reason: "protocol_violation",
    },
    "a call without arguments": {
      body: `hello(); read(); line('{"op":"call","id":1,"name":"echo"}'); hold();`,
      reason: "protocol_violation",
    },
    "a refusal that is none": {
      body: `hello(); read(); line('{"op":"call","id":1,"name":"echo","bad":{"path":1,"reason":2}}'); hold();`,
      reason: "protocol_violation",
    },
    "a head of a million levels": {
      body: `hello(); read(); line("[".repeat(1e5) + "]".repeat(1e5)); hold();`,
      reason: "protocol_violation",
    },
    "an event of a million levels": {
      body: `hello(); read(); line('{"op":"emit"}\\t' + "[".repeat(1e6) + "]".repeat(1e6)); hold();`,
      reason: "protocol_violation",
    },
    "bytes that are not UTF-8": {
      body: `hello(); read(); bytes(new Uint8Array([0x7b, 0xff, 0xfe, 0x0a])); hold();`,
      reason: "frame_not_text",
    },
    "a lone surrogate": {
      body: `hello(); read(); line('{"op":"emit"}\\t"\\\\ud800"'); hold();`,
      reason: "protocol_violation",
    },
    "a frame without an end": {
      body: `hello(); read(); while (true) bytes(new Uint8Array(65536).fill(65));`,
      reason: "frame_too_long",
    },
    "a revocation that did not happen": {
      body: `hello(); read(); line('{"op":"closed","surface":"emit"}'); hold();`,
      reason: "protocol_violation",
    },
    "a revocation of something unknown": {
      body: `hello(); read(); line('{"op":"close"}'); line('{"op":"closed","surface":"x"}'); hold();`,
      reason: "protocol_violation",
    },
    "a negative count of bytes read": {
      body: `hello(); read(); line('{"op":"ack","bytes":-5}'); hold();`,
      reason: "protocol_violation",
    },
    "an end that is unknown": {
      body: `hello(); read(); line('{"op":"end","status":"great"}'); hold();`,
      reason: "protocol_violation",
    },
    "a key that is too long": {
      body:
        `hello(); read(); line(JSON.stringify({ op: "state", do: "set", id: 1, key: "k".repeat(2000) }) + "\\t1"); hold();`,
      reason: "protocol_violation",
    },
    "half a frame": { body: `hello(); read(); bytes(encoder.encode('{"op":"end","sta'));`, reason: "agent_crash" },
    "an exit without a word": { body: `hello(); read(); Deno.exit(3);`, reason: "agent_crash" },
    "its own death": { body: `hello(); read(); Deno.kill(Deno.pid, "SIGKILL");`, reason: "agent_killed" },
    "calls whose answers it never reads": {
      body:
        `hello(); for (let id = 1; id < 500; id++) line('{"op":"call","id":' + id + ',"name":"echo"}\\t{"a":"' + "x".repeat(10000) + '"}'); while (true);`,
      reason: "cpu_exceeded",
      budgets: { cpuMs: 300 },
    },
    "a good end, and then a loop": {
      body: `hello(); read(); line('{"op":"end","status":"ok"}'); while (true);`,
      reason: "done",
    },
    "a good end twice, then a call": {
      body:
        `hello(); read(); line('{"op":"end","status":"ok"}'); line('{"op":"end","status":"error"}'); line('{"op":"call","id":1,"name":"echo"}\\t{}'); hold();`,
      reason: "done",
    },
  };

Deno.test("launch() ends a run whose agent breaks the protocol", async () => {
  await twoAtATime(Object.entries(HOSTILE), async ([name, { body, reason, budgets = {} }]) => {
    const { end, records } = await runRawAgent(body, budgets);
    assert.equal(end.reason, reason, name);
    assert.deepEqual(records.filter(({ type }) => type === "run_end"), [records.at(-1)], name);
    assert.equal(records.at(-1)?.reason, reason, name);
    if (reason !== "cpu_exceeded") assert.ok(!records.some(({ type }) => type === "tool_call"), name);
  });
});

Deno.test("launch() takes repeated ids, early calls and calls after the end of the channel for what they are", async () => {
  const call = `line('{"op":"call","id":7,"name":"echo"}\\t{"n":1}');`;
  const same = await runRawAgent(
    `hello(); ${call} ${call} let text = ""; while (text.split('"id":7').length < 3) text += read(); line('{"op":"end","status":"ok"}'); hold();`,
  );
  assert.equal(same.end.reason, "done");
  assert.deepEqual(same.records.filter(({ type }) => type === "tool_result").map(({ call_id }) => call_id).toSorted(), [
    "c1",
    "c2",
  ]);
  const closed = await runRawAgent(
    `hello(); read(); line('{"op":"close"}'); ${call} line('{"op":"emit"}\\t1'); line('{"op":"note"}\\t1');
     line('{"op":"state","do":"list","id":2}'); line('{"op":"controls"}'); line('{"op":"close"}'); line('{"op":"end","status":"ok"}'); hold();`,
  );
  assert.deepEqual(
    closed.records.slice(2, -2).map(({ type, surface }) => [type, surface]),
    [
      ["revocation", "agent"],
      ...["callTool", "emit", "auditNote", "state", "auditControls"].map((one) => ["revocation_denial", one]),
    ],
  );
});

Deno.test("launch() bounds and escapes the name of a tool that is not there", async () => {
  const { records } = await runRawAgent(
    `hello(); read(); line(JSON.stringify({ op: "call", id: 1, name: "x".repeat(60000) }) + "\\t{}"); read();
     line(JSON.stringify({ op: "call", id: 2, name: "\\ud800\\u0000" }) + "\\t{}"); hold();`,
    { wallMs: 3000 },
  );
  const denial = records.find(({ type }) => type === "tool_denial");
  assert.ok(String(denial?.tool).length <= 257);
  assert.equal(records.at(-1)?.reason, "protocol_violation");
});

/** An agent that is always in the middle of something: a call, a file, an event. */
const WORKING = `const content = "0123456789".repeat(2000);
  for (let i = 0; ; i++) { await Promise.all([callTool("echo", { i }), callTool("writeArtifact", { path: "f" + Date.now() + "-" + Math.random(), content })]); emit({ i }); }`;
const KILLS = 200;

Deno.test("launch() leaves a log that verifies and no process, whoever is killed and when", async () => {
  const options: ProjectOptions = {
    agent: WORKING,
    policy: { tools: ["echo", "writeArtifact"], fs: { write: [{ root: "out" }] }, budgets: { artifactBytes: 1e9 } },
  };
  await withProject(options, async (project) => {
    let unfinished = 0;
    let inFlight = 0;
    await twoAtATime(Array.from({ length: KILLS }, (_, i) => i), async (i) => {
      const victim = (["launcher", "host", "agent"] as const)[i % 3] ?? "launcher";
      const runsDir = `${project.dir}/runs-${i}`;
      let launcher = 0;
      // Every point from the first instruction to a run at full speed.
      const delayMs = 80 + Math.random() * 400;
      const { records } = await project.run({
        args: ["run", "--json", `--runs-dir=${runsDir}`],
        onStart: async (child) => {
          launcher = child.pid;
          await new Promise((resolve) => setTimeout(resolve, delayMs));
          if (victim === "launcher") return await signal(launcher, "SIGKILL");
          let pid: number | undefined;
          await eventually(async () => (pid = (await familyOf(launcher))[victim]) !== undefined, 5000);
          await signal(pid, "SIGKILL");
        },
      });
      assert.deepEqual(records, []);
      const said = `kill ${i} (${victim} after ${delayMs} ms)`;
      assert.ok(await eventually(() => isGone(launcher), 15_000), `${said}: something survived`);
      const path = await onlyLog(runsDir);
      if (victim !== "launcher") assert.ok(path !== undefined, said);
      if (path === undefined) return;
      const { verdict, finished, damage, in_flight, records: count } = await verifyAudit(path);
      if (verdict === "broken") {
        assert.ok(victim === "launcher" && damage?.kind.includes("torn"), `${said}: ${JSON.stringify(damage)}`);
      } else assert.equal(finished, victim !== "launcher", `${said}: ${verdict} after ${count} records`);
      if (verdict === "unfinished") {
        unfinished++;
        inFlight += in_flight.length;
      }
    });
    assert.ok(unfinished > 10, `only ${unfinished} logs were unfinished`);
    assert.ok(inFlight > 0, "no kill hit a call in flight");
    for await (const { name } of Deno.readDir(`${project.dir}/out`)) {
      if (name.endsWith(".tmp")) continue;
      assert.equal((await Deno.stat(`${project.dir}/out/${name}`)).size, 20_000, name);
    }
  });
});

async function onlyLog(runsDir: string): Promise<string | undefined> {
  try {
    for await (const { name } of Deno.readDir(runsDir)) {
      const path = `${runsDir}/${name}/audit.jsonl`;
      await Deno.stat(path);
      return path;
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return undefined;
}

/** Runs a project; with `stop`, calls it once the first call is in the log. */
async function runWatched(
  project: Project,
  stop?: (launcher: number) => Promise<void>,
): Promise<{ run: RunResult; launcher: number }> {
  let launcher = 0;
  const run = await project.run({
    onStart: async (child) => {
      launcher = child.pid;
      if (stop === undefined) return;
      const folder = `${project.dir}/.twokey/runs`;
      let over = false;
      child.status.then(() => over = true);
      await eventually(async () => over || (await textOfLog(folder)).includes('"tool_call"'), 10_000);
      await stop(launcher);
    },
  });
  return { run, launcher };
}

async function textOfLog(folder: string): Promise<string> {
  const path = await onlyLog(folder);
  return path === undefined ? "" : await Deno.readTextFile(path);
}

/** The log is whole with exactly one last record, and no process and no FIFO is left. */
async function assertWhole({ auditPath, records }: RunResult, launcher: number): Promise<void> {
  assert.equal((await verifyAudit(auditPath)).verdict, "consistent");
  assert.deepEqual(records.filter(({ type }) => type === "run_end"), [records.at(-1)]);
  assert.ok(await eventually(() => isGone(launcher), 3000), "a process is left");
}

function signal(pid: number | undefined, name: Deno.Signal): Promise<void> {
  try {
    if (pid !== undefined) Deno.kill(pid, name);
  } catch (error) {
    // it ended by itself just now
    if (!(error instanceof Deno.errors.NotFound) && !(error instanceof TypeError)) throw error;
  }
  return Promise.resolve();
}

/** Runs `body` for each item, two at a time. */
async function twoAtATime<T>(items: readonly T[], body: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  const work = async () => {
    for (const item of queue) await body(item);
  };
  await Promise.all([work(), work()]);
}
