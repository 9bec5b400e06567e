import assert from "node:assert/strict";
import { readRecords, verifyAudit } from "../../src/audit/reader.ts";
import type { JsonObject } from "../../src/json.ts";
import type { Isolation } from "../../src/plan/plan.ts";
import { type Ran, runIn, type RunOptions } from "./composition.ts";
import { makeWorld, type World } from "./world.ts";

const HERE = new URL(".", import.meta.url).pathname;
const ISOLATIONS: readonly Isolation[] = ["process", "worker", "compartment"];

async function inWorld(body: (world: World) => Promise<void>): Promise<void> {
  const world = await makeWorld();
  try {
    await body(world);
  } finally {
    await world.close();
  }
}

async function agent(name: string): Promise<string> {
  return await Deno.readTextFile(`${HERE}${name}`);
}

/** Runs an agent that comes to its end, and checks the log. */
async function finish(world: World, options: RunOptions): Promise<Ran> {
  const ran = await runIn(world, options);
  assert.equal(ran.end.reason, "done", `${JSON.stringify(ran.end)}\n${ran.stderr}`);
  await assertWhole(ran);
  return ran;
}

async function assertWhole({ auditPath, end }: Ran): Promise<void> {
  const verdict = await verifyAudit(auditPath, { head: end.head });
  assert.equal(verdict.verdict, "authentic", JSON.stringify(verdict));
  assert.equal(verdict.finished, true);
}

async function typesIn({ auditPath }: Ran): Promise<string[]> {
  const types: string[] = [];
  for await (const { type } of readRecords(auditPath)) types.push(type);
  return types;
}

for (const isolation of ISOLATIONS) {
  Deno.test(`agent code reaches nothing past callTool: ${isolation}`, async () => {
    await inWorld(async (world) => {
      const { outcome } = await finish(world, { keys: "shipped", isolation, code: await agent("hostile_agent.js") });
      assert.deepEqual(outcome, {});
    });
  });

  Deno.test(`agent code cannot catch an object of the runtime by changing its realm: ${isolation}`, async () => {
    await inWorld(async (world) => {
      const ran = await finish(world, { keys: "shipped", isolation, code: await agent("polluting_agent.js") });
      const { changed, frozen, ...rest } = ran.outcome as { changed: number; frozen: number };
      assert.deepEqual(rest, { caught: [], answers: [1, "exclude_pattern", "tool_not_granted"] });
      // A realm of its own may be changed, a shared one may not.
      if (isolation === "process") assert.ok(changed > 100);
      else assert.equal(changed, 0);
      assert.ok(isolation === "process" || frozen > 100);
      assert.equal((await typesIn(ran)).filter((type) => type === "event").length, 1);
    });
  });

  Deno.test(`values with behaviour do not cross: ${isolation}`, async () => {
    const code = `
const tries = {
  thenable: { then(resolve) { resolve({ a: 1 }); } },
  getter: { get a() { return 1; } },
  toJSON: { toJSON() { return { a: 1 }; } },
  proxy: new Proxy({}, {}),
  cycle: (() => { const a = {}; a.a = a; return a; })(),
  symbol: { [Symbol.iterator]: 1 },
  bigint: { a: 1n },
  function: { a() {} },
  array: Object.assign([1], { extra: 1 }),
  species: new (class extends Array {})(1),
  proto: JSON.parse('{"__proto__":{"a":1}}'),
  date: { a: new Date(0) },
  nan: { a: NaN },
  surrogate: { a: "\\ud800" },
  deep: JSON.parse("[".repeat(100) + "]".repeat(100)),
};
const outcome = {};
for (const [name, value] of Object.entries(tries)) {
  outcome[name] = await callTool("echo", { value }).then(() => "crossed", (error) => error.outcome);
}
outcome.name = await callTool({ toString: () => "echo", then: 1 }, {}).then(() => "called", (error) => error.outcome);
export { outcome };`;
    await inWorld(async (world) => {
      const { outcome } = await finish(world, { keys: "shipped", isolation, code });
      const { name, ...values } = outcome as Record<string, string>;
      assert.deepEqual([...new Set(Object.values(values))], ["invalid"], JSON.stringify(values));
      assert.equal(name, "called");
    });
  });

  Deno.test(`an agent that has used up its stack breaks only itself: ${isolation}`, async () => {
    const code = `
let calls = 0;
function dive() {
  try { callTool("echo", { calls }).then(() => { calls++; }, () => {}); emit({ kind: "deep" }); } catch {}
  dive();
}
try { dive(); } catch {}
const after = await callTool("echo", { after: true });
const outcome = { after };
export { outcome };`;
    await inWorld(async (world) => {
      const ran = await runIn(world, { keys: "shipped", isolation, code, budgets: { wallMs: 8000 } });
      await assertWhole(ran);
      // So many calls and events may be over their budgets; nothing else may end the run.
      assert.ok(["done", "budget_exceeded"].includes(ran.end.reason), ran.end.reason);
    });
  });

  Deno.test(`agent code meets only key 2 and stays inside: ${isolation}`, async () => {
    await inWorld(async (world) => {
      const { outcome } = await finish(world, { keys: "key 2", isolation, code: await agent("hostile_agent.js") });
      assert.deepEqual(outcome, {});
    });
  });
}

Deno.test("agent code sees the same globals in every isolation", async () => {
  const code = `
const names = new Set();
for (let at = globalThis; at !== null; at = Object.getPrototypeOf(at)) for (const key of Object.getOwnPropertyNames(at)) names.add(key);
const outcome = [...names].sort();
export { outcome };`;
  await inWorld(async (world) => {
    const [process = [], worker = [], compartment = []] = await Promise.all(
      ISOLATIONS.map(async (isolation) =>
        (await finish(world, { keys: "shipped", isolation, code })).outcome as string[]
      ),
    );
    assert.deepEqual(worker, compartment);
    // The realm of a process inherits two names that the runtime itself needs; without an event they do nothing.
    assert.deepEqual(process.filter((name) => !worker.includes(name)), ["dispatchEvent", "getParent"]);
    assert.deepEqual(worker.filter((name) => !process.includes(name)), []);
  });
});

Deno.test("everything that agent code shares with the host's realm is frozen", async () => {
  const code = `
const open = [];
const seen = new Set();
function walk(object, path) {
  if (object === null || (typeof object !== "object" && typeof object !== "function") || seen.has(object)) return;
  seen.add(object);
  if (path !== "globalThis" && !Object.isFrozen(object)) open.push(path);
  walk(Object.getPrototypeOf(object), path + ".__proto__");
  for (const key of Reflect.ownKeys(object)) {
    const { value, get, set } = Object.getOwnPropertyDescriptor(object, key);
    for (const inner of [value, get, set]) walk(inner, path + "." + String(key));
  }
}
walk(globalThis, "globalThis");
const made = [
  () => structuredClone(() => 1), () => atob("%"), () => new URL("x"), () => new TextDecoder("x"),
  () => new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array([255])), () => btoa("\\u{100}"), () => null.x,
  () => new URLSearchParams("a=1").entries(), () => new URLSearchParams("a=1").keys(), () => new URL("http://x").searchParams,
  () => new Map().entries(), () => [].values(), () => "".matchAll(/x/g), () => structuredClone(new Map()), () => new Date(),
  () => structuredClone(new Error("x")), () => new TextEncoder().encode("x"), () => auditControls(), () => emit(() => 1),
];
for (const make of made) {
  try { walk(Object.getPrototypeOf(make() ?? {}), String(make)); } catch (error) { walk(Object.getPrototypeOf(error), "error of " + make); }
}
const outcome = open;
export { outcome };`;
  await inWorld(async (world) => {
    for (const isolation of ["worker", "compartment"] as const) {
      assert.deepEqual((await finish(world, { keys: "shipped", isolation, code })).outcome, [], isolation);
    }
  });
});

Deno.test("key 1 alone stops everything that an agent's process could do with its whole realm", async () => {
  await inWorld(async (world) => {
    const before = [...world.local.hits];
    const context = { world: placesOf(world), fds: 64 };
    const ran = await runIn(world, {
      keys: "shipped",
      code: "",
      context: context as unknown as JsonObject,
      agentBoot: `${HERE}bare_boot.js`,
    });
    await assertWhole(ran);
    assert.doesNotMatch(ran.log, /FORGED/);
    // Frames that are no operation end the agent; its last word, which says what it did, may be behind them.
    const results = await bareResults(world, "key 1");
    const done = Object.entries(results).filter(([, result]) => result === "done");
    assert.deepEqual(done, []);
    assert.deepEqual(world.local.hits, before);
  });
});

Deno.test("without a key an agent's process can do all of it", async () => {
  await inWorld(async (world) => {
    const results = await bareResults(world, "none");
    assert.deepEqual(Object.entries(results).filter(([, result]) => result !== "done"), []);
  });
});

Deno.test("a worker without its compartment could write into the channels of its host: key 2 is not optional there", async () => {
  // Key 1 does not know open files; this is why a worker never runs agent code outside of a compartment.
  const dir = await Deno.makeTempDir();
  try {
    const fifo = `${dir}/records`;
    await new Deno.Command("/usr/bin/mkfifo", { args: [fifo] }).output();
    const code = `
const { Socket } = await import("node:net");
for (let fd = 3; fd < 40; fd++) {
  try { const socket = new Socket({ fd, writable: true }); socket.on("error", () => {}); socket.write("FORGED\\n"); } catch {}
}
setTimeout(() => postMessage("done"), 100);`;
    const host = `
const file = Deno.openSync(Deno.args[0], { write: true });
const worker = new Worker("data:text/javascript," + encodeURIComponent(${
      JSON.stringify(code)
    }), { type: "module", deno: { permissions: "none" } });
worker.onmessage = () => { file.close(); Deno.exit(0); };`;
    await Deno.writeTextFile(`${dir}/host.js`, host);
    using keeper = await Deno.open(fifo, { read: true, write: true });
    const { success } = await new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--quiet",
        "--no-config",
        "--unstable-worker-options",
        `--allow-write=${fifo}`,
        `${dir}/host.js`,
        fifo,
      ],
    }).output();
    assert.equal(success, true);
    const buffer = new Uint8Array(64);
    const count = await keeper.read(buffer) ?? 0;
    assert.match(new TextDecoder().decode(buffer.subarray(0, count)), /FORGED/);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("key 2 alone keeps agent code inside a process that may do anything", async () => {
  await inWorld(async (world) => {
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "-A",
        "--quiet",
        "--no-config",
        "--v8-flags=--disallow-code-generation-from-strings",
        `${HERE}../../src/isolate/process_boot.js`,
        String(Deno.pid),
        "kernel",
      ],
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
      env: { DENO_DIR: `${world.dir}/deno` },
    }).spawn();
    const start = { context: "{}", controls: "{}", now: 1, seed: "00".repeat(16) };
    const source = `data:text/javascript;charset=utf-8,${encodeURIComponent(await agent("hostile_agent.js"))}`;
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(`${JSON.stringify([start, source])}\n`));
    const { stdout, stderr } = await child.output();
    await writer.close().catch(() => {});
    const last = new TextDecoder().decode(stdout).split("\n").find((line) => line.startsWith('{"op":"end"'));
    assert.equal(last, '{"op":"end","status":"ok"}\t{}', new TextDecoder().decode(stderr));
  });
});

interface Forged {
  readonly frames?: readonly string[];
  readonly hex?: readonly string[];
  readonly repeat?: number;
  readonly read?: boolean;
  readonly reason: string | readonly string[];
  /** Types of record between the first and the last; default: none. */
  readonly types?: readonly string[];
}

const AT_START: ReadonlySet<string> = new Set(["fs_read_source_manifest", "authority_check"]);
const CALL = '{"op":"call","id":1,"name":"echo"}\t{"a":1}';

/** What an agent can say on its channel, byte for byte, and what comes of it. */
const FORGERIES: Readonly<Record<string, Forged>> = {
  "a record": { frames: ['{"type":"tool_call","call_id":"c1","tool":"x"}'], reason: "protocol_violation" },
  "a record that waits": { frames: ['!{"type":"tool_call","call_id":"c1","tool":"x"}'], reason: "protocol_violation" },
  "a control line": { frames: ['@end {"status":"ok","reason":"done"}'], reason: "protocol_violation" },
  "an answer of the launcher": { frames: ["a", "go"], reason: "protocol_violation" },
  "an unknown operation": { frames: ['{"op":"record","type":"run_end"}'], reason: "protocol_violation" },
  "an operation of an object's prototype": { frames: ['{"op":"constructor"}'], reason: "protocol_violation" },
  "a head with __proto__": {
    frames: ['{"op":"call","id":1,"name":"echo","__proto__":{}}\t{}'],
    reason: "protocol_violation",
  },
  "nothing": { frames: [""], reason: "protocol_violation" },
  "no JSON": { frames: ["{"], reason: "protocol_violation" },
  "text that is not UTF-8": { hex: ["7b22ff0a"], reason: "frame_not_text" },
  "a zero byte": { hex: ["000a"], reason: "protocol_violation" },
  "a bad id": { frames: ['{"op":"call","id":-1,"name":"echo"}\t{}'], reason: "protocol_violation" },
  "a huge id": { frames: ['{"op":"call","id":1e300,"name":"echo"}\t{}'], reason: "protocol_violation" },
  "a negative count of read bytes": { frames: ['{"op":"ack","bytes":-1}'], reason: "protocol_violation" },
  "a use after a close that never was": { frames: ['{"op":"closed","surface":"emit"}'], reason: "protocol_violation" },
  "a call with two bodies": {
    frames: [`${CALL}\t{"b":2}`, '{"op":"end","status":"ok"}'],
    reason: "done",
    types: ["tool_invalid_args"],
  },
  "the same id twice": { frames: [CALL, CALL, '{"op":"end","status":"ok"}'], reason: "done" },
  "an end, then more": { frames: ['{"op":"end","status":"ok"}', CALL, "FORGED"], reason: "done" },
  "an end with a reason": { frames: ['{"op":"end","status":"ok","reason":"FORGED","type":"run_end"}'], reason: "done" },
  "an event that looks like a record": {
    frames: ['{"op":"emit"}\t{"type":"run_end","seq":0,"hash":"0"}', '{"op":"end","status":"ok"}'],
    reason: "done",
    types: ["event"],
  },
  "a hello, again": { frames: ['{"op":"hello"}'], reason: "protocol_violation" },
  "an endless frame": {
    frames: [],
    hex: ["7b".repeat(400_000)],
    repeat: 0,
    reason: "frame_too_long",
  },
  "operations without end": {
    frames: ['{"op":"controls"}'],
    repeat: 4000,
    reason: "budget_exceeded",
    types: ["audit_controls", "budget_exceeded"],
  },
  "state operations without end": {
    frames: ['{"op":"state","id":1,"do":"list"}'],
    repeat: 4000,
    reason: "budget_exceeded",
    types: ["state_list", "budget_exceeded"],
  },
  "uses after close without end": {
    frames: [
      '{"op":"close"}',
      '{"op":"call","id":1,"name":"echo"}\t{}',
      '{"op":"emit"}\t{}',
      '{"op":"closed","surface":"emit"}',
    ],
    repeat: 1000,
    reason: "budget_exceeded",
    types: ["revocation", "revocation_denial", "budget_exceeded"],
  },
  "nothing more, for ever": { frames: [], repeat: 0, reason: "wall_exceeded", read: false },
};

for (const [name, forged] of Object.entries(FORGERIES)) {
  Deno.test(`a forged frame does nothing that the API cannot: ${name}`, async () => {
    await inWorld(async (world) => {
      const { frames = [], repeat = 1, read = true, reason, types } = forged;
      const hex = forged.hex ?? [];
      const ran = await runIn(world, {
        keys: "shipped",
        code: "",
        context: { frames, hex, repeat, read } as unknown as JsonObject,
        agentBoot: `${HERE}forging_boot.js`,
        budgets: {
          operations: 2000,
          eventBytes: 65_536,
          stateBytes: 65_536,
          noteBytes: 65_536,
          toolResultBytes: 65_536,
          ...(read ? {} : { wallMs: 1000 }),
        },
      });
      assert.equal(ran.end.reason, reason, ran.stderr);
      await assertWhole(ran);
      const written = await typesIn(ran);
      assert.deepEqual(written.slice(-2), ["run_artifact_manifest", "run_end"]);
      const between = written.slice(1, -2).filter((type) => !AT_START.has(type));
      if (types !== undefined) assert.deepEqual([...new Set(between)], types);
      else assert.deepEqual(between.filter((type) => type !== "tool_call" && type !== "tool_result"), []);
      assert.doesNotMatch(ran.log, /FORGED/);
    });
  });
}

Deno.test("an agent that asks without ever reading the answers is ended before the host's memory is", async () => {
  await inWorld(async (world) => {
    const set = `{"op":"state","id":1,"do":"set","key":"k"}\t${JSON.stringify("x".repeat(60_000))}`;
    const gets = Array.from({ length: 500 }, (_, i) => `{"op":"state","id":${i + 2},"do":"get","key":"k"}`);
    const ran = await runIn(world, {
      keys: "shipped",
      code: "",
      context: { frames: [set, ...gets], hex: [], repeat: 20, read: false },
      agentBoot: `${HERE}forging_boot.js`,
      budgets: { wallMs: 20_000, stateBytes: 65_536, toolResultBytes: 65_536 },
    });
    assert.equal(ran.end.reason, "agent_not_reading", ran.stderr);
    await assertWhole(ran);
  });
});

function placesOf(world: World): Record<string, string | number> {
  return {
    dir: world.dir,
    secret: `${world.outside}/secret.md`,
    module: `${world.outside}/mod.js`,
    policy: world.policyFile,
    log: `${world.project}/.twokey/runs/earlier/audit.jsonl`,
    written: `${world.outside}/by_agent`,
    port: world.modulesPort,
  };
}

/** Runs the bare process past the host, with the agent's flags or with all permissions, and reads what it says. */
async function bareResults(world: World, keys: "key 1" | "none"): Promise<Record<string, string>> {
  const flags = keys === "none"
    ? ["-A", "--no-config"]
    : ["--no-config", "--no-lock", "--no-remote", "--no-npm", "--cached-only"];
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "--quiet", ...flags, `${HERE}bare_boot.js`],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
    clearEnv: true,
    env: {
      ESCAPE_SECRET: "s3cret",
      NO_COLOR: "1",
      ...(keys === "none" ? { DENO_DIR: `${world.dir}/deno`, HOME: world.dir } : { DENO_DIR: "/dev/null/none" }),
    },
  }).spawn();
  const context = JSON.stringify({ world: placesOf(world), fds: 0 });
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(`${JSON.stringify([{ context }, ""])}\n`));
  await writer.close();
  const { stdout, stderr } = await child.output();
  const text = new TextDecoder().decode(stdout);
  const last = text.split("\n").find((line) => line.startsWith('{"op":"end"'));
  assert.ok(last !== undefined, `${text}\n${new TextDecoder().decode(stderr)}`);
  return JSON.parse(last.slice(last.indexOf("\t") + 1)) as Record<string, string>;
}
