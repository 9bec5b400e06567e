import assert from "node:assert/strict";
import type { Json, JsonObject } from "../../src/json.ts";
import type { Isolation } from "../../src/plan/plan.ts";
import { type RunResult, withProject } from "../e2e/run_project.ts";

const ISOLATIONS: readonly Isolation[] = ["process", "worker", "compartment"];

/** What agent code sees beside the language. */
const ENDOWED: Readonly<Record<string, string>> = {
  auditControls: "function",
  auditNote: "function",
  callTool: "function",
  clearInterval: "function",
  clearTimeout: "function",
  close: "function",
  console: "object",
  context: "object",
  emit: "function",
  setInterval: "function",
  setTimeout: "function",
  state: "object",
  Date: "function",
  Math: "object",
  URL: "function",
  URLSearchParams: "function",
  TextDecoder: "function",
  TextEncoder: "function",
  atob: "function",
  btoa: "function",
  structuredClone: "function",
};

/** What no isolation may have. */
const ABSENT = [
  "Atomics",
  "Blob",
  "BroadcastChannel",
  "Compartment",
  "Deno",
  "Event",
  "Intl",
  "MessageChannel",
  "Request",
  "SharedArrayBuffer",
  "WeakRef",
  "WebAssembly",
  "WebSocket",
  "Worker",
  "addEventListener",
  "alert",
  "caches",
  "crypto",
  "eval",
  "fetch",
  "harden",
  "importScripts",
  "localStorage",
  "lockdown",
  "navigator",
  "performance",
  "postMessage",
  "process",
  "queueMicrotask",
  "require",
  "self",
  "setImmediate",
  "window",
];

const AGENT = `
const all = globalThis as unknown as Record<string, unknown>;
const names = Object.getOwnPropertyNames(globalThis).sort();
emit({ globals: names.map((name) => [name, typeof all[name]]) });

/** What an attempt gave, or that it threw. */
function attempt(run: () => unknown): unknown {
  try {
    const value = run();
    return value === undefined ? null : value;
  } catch (error) {
    return error instanceof Error ? "threw" : "threw something else";
  }
}
async function attemptLater(run: () => unknown): Promise<unknown> {
  try {
    return await run();
  } catch {
    return "rejected";
  }
}

const make = (fn: unknown) => (fn as { constructor: new (text: string) => () => unknown }).constructor;
emit({
  codeFromText: [
    attempt(() => (all.Function as (text: string) => () => unknown)("return 1")()),
    attempt(() => new (make(function () {}))("return 1")()),
    attempt(() => new (make(async function () {}))("return 1")()),
    attempt(() => new (make(function* () {}))("return 1")()),
    attempt(() => (setTimeout as unknown as (text: string, ms: number) => void)("emit(1)", 0)),
  ],
  instances: [(() => {}) instanceof Function, new Date(0) instanceof Date, [] instanceof Array, new Error("x") instanceof Error],
  date: [Date.now() === new Date().getTime(), typeof Date(), new Date(5).getTime(), Date.UTC(1970, 0, 2), Date.parse("1970-01-01T00:00:01Z"), new Date(0).getTimezoneOffset()],
  start: Date.now(),
  random: [Math.random(), Math.random(), Math.random()],
  temporal: typeof (all.Temporal as { Now?: unknown } | undefined)?.Now,
  locale: [["b", "a", "C"].sort((x, y) => x.localeCompare(y)), (1234.5).toLocaleString("de"), new Date(0).toString(), new Date(0).toLocaleDateString()],
  own: attempt(() => { const o: Record<string, unknown> = {}; o.toString = 1; o.constructor = 2; return o; }),
  receiver: attempt(() => (function (this: unknown) { return this; })()),
  context: [context, Object.isFrozen(context), attempt(() => { (context as { list: number[] }).list.push(4); })],
  web: [new URL("https://a/b?c").search, new URLSearchParams("a=1").get("a"), new TextDecoder().decode(new TextEncoder().encode("ü")), atob(btoa("x")), structuredClone(new Map([[1, 2]])).get(1)],
  controls: Object.keys(auditControls() as object),
});

console.log("to", { standard: "error" }, 1, null, [true]);
console.error("line one\\nline two \\u001b[31m\\u202e");
auditNote({ note: 1 });
emit({ state: [await state.get("a"), await state.set("a", { b: 1 }), await state.get("a"), await state.list(), await state.delete("a"), await state.delete("a"), await state.reset(), await state.list()] });
emit({ state: [await attemptLater(() => state.set("a", 1n)), await attemptLater(() => state.set("a", undefined))] });

const order: unknown[] = [];
const before = Date.now();
const id = setTimeout(() => order.push("cleared"), 1);
clearTimeout(id);
let ticks = 0;
await new Promise<void>((resolve) => {
  const interval = setInterval((word: string) => { order.push(word); if (++ticks === 2) { clearInterval(interval); resolve(); } }, 5, "tick");
  setTimeout((a: number, b: number) => order.push(a + b), 1, 1, 2);
});
emit({ order, moved: Date.now() - before });
emit({ timers: attempt(() => { const ids = []; for (let i = 0; i < 20000; i++) ids.push(setTimeout(() => {}, 1e9)); return ids.length; }) });
for (let i = 0; i < 20100; i++) clearTimeout(i);

const error = await callTool("nope", {}).catch((caught: unknown) => caught) as Record<string, unknown>;
emit({ error: [error.name, error.outcome, error.code, error.message, error.tool, Object.isFrozen(error), error instanceof Error] });
emit({ stack: (function named() { return new Error("here"); })().stack });

close();
close();
const late = [
  await attemptLater(() => callTool("echo", {})),
  attempt(() => emit(1)),
  attempt(() => auditNote(1)),
  attempt(() => auditControls()),
  await attemptLater(() => state.get("a")),
];
export const outcome = late;
`;

interface Seen {
  readonly run: RunResult;
  readonly events: readonly JsonObject[];
  /** Every field of every event, in one object; repeated fields as a list. */
  readonly fields: Readonly<Record<string, Json>>;
}

async function see(isolation: Isolation): Promise<Seen> {
  let seen: Seen | undefined;
  const policy = { tools: ["echo"], isolation, context: { list: [1, 2, 3] } };
  await withProject({ agent: AGENT, policy }, async (project) => {
    const run = await project.run();
    assert.equal(run.records.at(-1)?.reason, "done", `${isolation}: ${run.stdout.slice(0, 400)} ${run.stderr}`);
    const events = run.records.filter(({ type }) => type === "event").map(({ event }) => event as JsonObject);
    seen = { run, events, fields: Object.assign({}, ...events) };
  });
  assert.ok(seen !== undefined);
  return seen;
}

Deno.test("an agent sees the same globals in every isolation, and they do the same", async (test) => {
  const all = await Promise.all(ISOLATIONS.map(see));
  const [inProcess, ...others] = all;
  assert.ok(inProcess !== undefined);
  const globals = inProcess.fields.globals as [string, string][];
  const kinds = Object.fromEntries(globals);

  await test.step("the names are those that the design lists", () => {
    for (const [name, kind] of Object.entries(ENDOWED)) assert.equal(kinds[name], kind, name);
    for (const name of ABSENT) assert.ok(!Object.hasOwn(kinds, name), name);
    assert.ok(!globals.some(([name]) => name.startsWith("$twokey")));
    for (const other of others) assert.deepEqual(other.fields.globals, globals);
  });

  await test.step("text never becomes code", () => {
    for (const { fields } of all) assert.deepEqual(fields.codeFromText, Array(5).fill("threw"));
  });

  await test.step("clock and chance are those of the run", () => {
    for (const { run, fields } of all) {
      const { clock, seed } = run.records[0] as unknown as { clock: number; seed: string };
      assert.equal(fields.start, clock);
      assert.deepEqual(fields.random, sfc32(seed, 3));
      assert.equal(fields.temporal, "undefined");
    }
  });

  await test.step("everything else is equal", () => {
    const rest = ({ fields: { start: _1, random: _2, stack: _3, ...fields } }: Seen) => fields;
    for (const other of others) assert.deepEqual(rest(other), rest(inProcess));
    const { instances, date, receiver, own, context, web, order, moved, timers, error, state, controls } =
      inProcess.fields;
    assert.deepEqual(instances, [true, true, true, true]);
    assert.deepEqual(date, [true, "string", 5, 86_400_000, 1000, 0]);
    assert.equal(receiver, null);
    assert.deepEqual(own, { toString: 1, constructor: 2 });
    assert.deepEqual(context, [{ list: [1, 2, 3] }, true, "threw"]);
    assert.deepEqual(web, ["?c", "1", "ü", "x", 2]);
    assert.deepEqual([order, moved], [[3, "tick", "tick"], 11]);
    assert.equal(timers, "threw");
    assert.deepEqual(error, [
      "ToolCallError",
      "denied",
      "tool_not_granted",
      "agent tool denied: nope",
      "nope",
      true,
      true,
    ]);
    assert.deepEqual(state, ["rejected", "rejected"]);
    assert.deepEqual(inProcess.events.find((event) => "state" in event)?.state, [
      null,
      null,
      { b: 1 },
      ["a"],
      true,
      false,
      null,
      [],
    ]);
    const listed = ["isolation", "tools", "budgets", "registry", "ambient_authority"];
    assert.deepEqual(controls, [...listed, "events", "state", "redaction", "revocation"]);
  });

  await test.step("after close() everything is refused and recorded", () => {
    for (const { run } of all) {
      const at = run.records.findIndex(({ type }) => type === "revocation");
      assert.deepEqual(
        run.records.slice(at + 1, -1)
          .filter(({ type }) => type !== "state_snapshot" && type !== "run_artifact_manifest")
          .map(({ type, surface }) => [type, surface]),
        ["callTool", "emit", "auditNote", "auditControls", "state"].map((surface) => ["revocation_denial", surface]),
      );
    }
  });

  await test.step("console goes to standard error, line by line, with nothing that moves a cursor", () => {
    for (const { run } of all) {
      assert.ok(run.stderr.includes('agent| to {"standard":"error"} 1 null [true]\n'), run.stderr);
      assert.ok(run.stderr.includes("agent| line one\nagent| line two "), run.stderr);
      assert.doesNotMatch(run.stderr.replaceAll("\n", ""), /[\p{Cc}\u202e]/u);
    }
  });

  await test.step("stacks name the agent's own modules, in its own process; elsewhere there are none", () => {
    assert.match(String(inProcess.fields.stack), /^Error: here\n {4}at named \(agent:\/\/\/agent\.ts:\d+:\d+\)\n/);
    for (const { fields } of all) assert.doesNotMatch(String(fields.stack), /file:|data:|\/src\/isolate/);
    for (const { fields } of others) assert.equal(fields.stack, "");
  });
});

/** The generator by its published definition, for comparison. */
function sfc32(seed: string, count: number): number[] {
  const word = (at: number) => Number.parseInt(seed.slice(at, at + 8), 16) >>> 0;
  const state = Uint32Array.of(word(0), word(8), word(16), word(24));
  const next = () => {
    const [a = 0, b = 0, c = 0, d = 0] = state;
    const sum = (a + b + d) >>> 0;
    state[0] = b ^ (b >>> 9);
    state[1] = c + (c << 3);
    state[2] = ((c << 21) | (c >>> 11)) + sum;
    state[3] = d + 1;
    return sum / 2 ** 32;
  };
  for (let i = 0; i < 12; i++) next();
  return Array.from({ length: count }, next);
}
