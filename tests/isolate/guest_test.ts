import assert from "node:assert/strict";
import fc from "fast-check";
import { makeGuest } from "../../src/isolate/guest.js";
import { proxyTest } from "../../src/isolate/hardened.js";
import { copyIn } from "../../src/membrane/copy.ts";
import { utf8Length } from "../../src/json.ts";

interface Bench {
  readonly guest: ReturnType<typeof makeGuest>;
  /** Every line that was posted. */
  readonly lines: string[];
  readonly printed: string[];
  /** Timers that are due, in the order they were started. */
  readonly due: (() => void)[];
  callTool(name: unknown, args?: unknown): Promise<unknown>;
}

function makeBench({ ordered = false } = {}): Bench {
  const lines: string[] = [];
  const printed: string[] = [];
  const due: (() => void)[] = [];
  const guest = makeGuest({
    post: (line) => void lines.push(line),
    log: (text) => void printed.push(text),
    isProxy: proxyTest(),
    setTimer: (run) => due.push(run),
    clearTimer: (timer) => void (due[timer - 1] = () => {}),
    RealDate: Date,
  }, { context: '{"a":[1]}', controls: '{"b":2}', now: 1000, seed: "00112233445566778899aabbccddeeff", ordered });
  const callTool = guest.globals.callTool as Bench["callTool"];
  return { guest, lines, printed, due, callTool };
}

/** What the guest made of arguments: the text that crosses, or where and why they may not. */
function send(args: unknown): { text: string } | { path: string; reason: string } {
  const { lines, callTool } = makeBench();
  callTool("echo", args).catch(() => {});
  const [line = ""] = lines;
  const tab = line.indexOf("\t");
  const head = JSON.parse(tab < 0 ? line : line.slice(0, tab));
  assert.deepEqual([head.op, head.name, head.id], ["call", "echo", 1]);
  return tab < 0 ? head.bad : { text: line.slice(tab + 1) };
}

Deno.test("callTool() sends what JSON.stringify() would, or refuses with a path", () => {
  fc.assert(
    fc.property(fc.anything({ withBigInt: true, withDate: true, withMap: true, withSparseArray: true }), (value) => {
      const args = { value };
      const sent = send(args);
      if ("path" in sent) {
        assert.match(sent.path, /^\/value(?:\/|$)/);
        return;
      }
      const expected = JSON.stringify(args);
      assert.deepEqual(JSON.parse(sent.text), JSON.parse(expected));
      assert.ok(!sent.text.includes("\n") && !sent.text.includes("\t"));
      assert.equal(utf8Length(sent.text), new TextEncoder().encode(sent.text).length);
      assert.equal(copyIn(sent.text).ok, true);
    }),
    { numRuns: 1000 },
  );
});

Deno.test("callTool() refuses what is not plain data, with the path of the value", () => {
  let reads = 0;
  const getter = {
    get a() {
      reads++;
      return "/ok";
    },
  };
  const cycle: Record<string, unknown> = {};
  cycle.inner = [cycle];
  const hidden = Object.defineProperty({}, "a", { value: 1, enumerable: false });
  const named = Object.assign([1], { extra: 1 });
  class Point {
    x = 1;
  }
  const deep = JSON.parse("[".repeat(200) + "]".repeat(200));
  const cases: readonly [unknown, string, string][] = [
    [getter, "/a", "a getter"],
    [cycle, "/inner/0", "a cycle"],
    [{ a: new Proxy({}, {}) }, "/a", "a proxy"],
    [{ a: new Proxy([], {}) }, "/a", "a proxy"],
    [new Proxy({}, {}), "", "a proxy"],
    [{ a: 1n }, "/a", "a bigint"],
    [{ a: Symbol("s") }, "/a", "a symbol"],
    [{ [Symbol("s")]: 1 }, "", "a symbol key"],
    [{ a: () => 1 }, "/a", "a function"],
    [{ a: { toJSON: () => 1 } }, "/a/toJSON", "a function"],
    [{ a: new Date(0) }, "/a", "an object with another prototype"],
    [{ a: new Map() }, "/a", "an object with another prototype"],
    [{ a: new Point() }, "/a", "an object with another prototype"],
    [{ a: Object(1) }, "/a", "an object with another prototype"],
    [{ a: new (class extends Array {})() }, "/a", "an array with another prototype"],
    [{ a: new Uint8Array(2) }, "/a", "an object with another prototype"],
    [{ a: NaN }, "/a", "NaN"],
    [{ a: [0, -Infinity] }, "/a/1", "-Infinity"],
    [{ a: [undefined] }, "/a/0", "undefined"],
    [{ a: new Array(3) }, "/a/0", "a hole in an array"],
    [{ a: new Array(4294967295) }, "/a/0", "a hole in an array"],
    [{ a: named }, "/a", "an array with named properties"],
    [{ a: hidden }, "/a/a", "a hidden property"],
    [JSON.parse('{"a":{"__proto__":1}}'), "/a/__proto__", "a key named __proto__"],
    [{ a: "x\ud800" }, "/a", "a lone surrogate"],
    [{ "\udc00": 1 }, "", "a key with a lone surrogate"],
    [{ "a/b": { "c~": NaN } }, "/a~1b/c~0", "NaN"],
    [deep, "/0".repeat(64), "nested deeper than 64"],
  ];
  for (const [args, path, reason] of cases) assert.deepEqual(send(args), { path, reason }, `${path} ${reason}`);
  assert.equal(reads, 0);
});

Deno.test("callTool() takes shared values, properties that are undefined, and any harmless key", () => {
  const shared = { x: 1 };
  assert.deepEqual(send({ a: shared, b: [shared, shared] }), { text: '{"a":{"x":1},"b":[{"x":1},{"x":1}]}' });
  assert.deepEqual(send({ a: undefined, b: -0 }), { text: '{"b":0}' });
  assert.deepEqual(send(undefined), { text: "{}" });
  assert.deepEqual(send(null), { text: "null" });
  const inherited = { constructor: 1, toString: 2, toJSON: 3 };
  assert.deepEqual(send(inherited), { text: '{"constructor":1,"toString":2,"toJSON":3}' });
  assert.deepEqual(send(Object.assign(Object.create(null), { a: 1 })), { text: '{"a":1}' });
});

Deno.test("callTool() sends the same text whatever the agent added to a prototype", () => {
  const prototypes = [Object.prototype, Array.prototype, String.prototype] as { toJSON?: unknown }[];
  try {
    for (const prototype of prototypes) prototype.toJSON = () => "replaced";
    assert.deepEqual(send({ a: [1, { b: "x" }] }), { text: '{"a":[1,{"b":"x"}]}' });
  } finally {
    for (const prototype of prototypes) delete prototype.toJSON;
  }
});

Deno.test("callTool() resolves to the result, and rejects with a frozen error", async () => {
  const { guest, callTool } = makeBench();
  const good = callTool("echo", {});
  const bad = callTool("echo", {});
  guest.deliver('{"id":2,"t":5000,"e":true}\t{"outcome":"denied","code":"c","message":"m"}');
  guest.deliver('{"id":1,"t":6000}\t{"a":[1]}');
  guest.deliver('{"id":1,"t":6000}\t{"a":[2]}');
  guest.deliver('{"id":99,"t":7000}\t1');
  assert.deepEqual(await good, { a: [1] });
  await assert.rejects(bad, (error) => {
    assert.ok(error instanceof Error && Object.isFrozen(error));
    const { name, message, outcome, code, tool } = error as Error & Record<string, unknown>;
    assert.deepEqual([name, message, outcome, code, tool], ["ToolCallError", "m", "denied", "c", "echo"]);
    return true;
  });
  assert.equal((guest.globals.Date as unknown as DateConstructor).now(), 7000);
});

Deno.test("makeGuest() ends once: well when nothing is left, stalled when nothing can come, failed with what was thrown", async () => {
  const ends = async (main: Promise<Record<string, unknown>>, stall: boolean) => {
    const { guest, lines } = makeBench();
    guest.begin(main, () => {});
    for (let turn = 0; turn < 8; turn++) await null;
    guest.settle();
    if (stall) guest.stall();
    guest.fail(new Error("too late"));
    return lines;
  };
  assert.deepEqual(await ends(Promise.resolve({ outcome: [1] }), false), ['{"op":"end","status":"ok"}\t[1]']);
  assert.deepEqual(await ends(Promise.resolve({}), false), ['{"op":"end","status":"ok"}']);
  assert.deepEqual(await ends(new Promise(() => {}), true), ['{"op":"end","status":"stalled"}']);
  const thrown = [null, undefined, "text", {
    message: {
      toString: () => {
        throw new Error();
      },
    },
  }, new Error("x".repeat(9000))];
  for (const reason of thrown) {
    const [line = "", ...more] = await ends(Promise.reject(reason), false);
    assert.deepEqual(more, []);
    assert.ok(line.startsWith('{"op":"end","status":"error"') && line.length < 12_000, line.slice(0, 200));
  }
  const [circular = ""] = await ends(Promise.resolve({ outcome: 1n }), false);
  assert.ok(circular.startsWith('{"op":"end","status":"error"'));
});

Deno.test("makeGuest() runs timers on the run's clock, and clears them at the end", () => {
  const { guest, due, lines } = makeBench();
  const { setTimeout: start, clearTimeout: stop } = guest.globals;
  const Clock = guest.globals.Date as unknown as DateConstructor;
  const seen: unknown[] = [];
  start((...args: unknown[]) => seen.push([Clock.now(), ...args]), 50, "a");
  const cleared = start(() => seen.push("never"), 1);
  stop(cleared);
  stop("nothing");
  for (const run of due) run();
  assert.deepEqual(seen, [[1050, "a"]]);
  for (const wrong of [undefined, "emit(1)", {}]) assert.throws(() => start(wrong as () => void, 1), TypeError);
  start(() => {
    throw new Error("late");
  }, NaN);
  due.at(-1)?.();
  assert.match(lines.at(-1) ?? "", /^{"op":"end","status":"error","error":{"name":"Error","message":"late"/);
  assert.equal(guest.timers(), 0);
});

Deno.test("makeGuest() leaves timers to a host that keeps the order, and takes its clock", () => {
  const { guest, lines, due } = makeBench({ ordered: true });
  const { setTimeout: start, setInterval: repeat, clearTimeout: stop } = guest.globals;
  const Clock = guest.globals.Date as unknown as DateConstructor;
  const seen: unknown[] = [];
  start(() => seen.push(["once", Clock.now()]), 50);
  const timer = repeat(() => seen.push(["again", Clock.now()]), 0);
  assert.deepEqual(due, []);
  assert.deepEqual([guest.waiting(), guest.timers()], [2, 0]);
  guest.deliver('{"id":2,"t":2000}\tnull');
  guest.deliver('{"id":1,"t":2007}\tnull');
  guest.deliver('{"id":3,"t":2009}\tnull');
  stop(timer);
  // It came due before the host heard that it was stopped.
  guest.deliver('{"id":4,"t":2010}\tnull');
  assert.deepEqual(seen, [["again", 2000], ["once", 2007], ["again", 2009]]);
  assert.deepEqual(
    lines,
    [
      '{"op":"timer","ms":50,"id":1}',
      '{"op":"timer","ms":1,"id":2}',
      '{"op":"timer","ms":1,"id":3}',
      '{"op":"timer","ms":1,"id":4}',
      '{"op":"untimer","id":4}',
    ].map((line) => line.replace(/"ms":(\d+),"id":(\d+)/, '"id":$2,"ms":$1')),
  );
  assert.equal(guest.waiting(), 0);
});

Deno.test("console prints plain text of anything, and never runs a getter of what it prints", () => {
  const { guest, printed } = makeBench();
  const { log } = guest.globals.console as { log(...inputs: unknown[]): void };
  log("a", 1, { b: [true] }, undefined, 10n, () => {}, new Map());
  assert.deepEqual(printed.length, 1);
  assert.match(printed[0] ?? "", /^a 1 {"b":\[true\]} undefined 10 /);
  const hostile = {
    toString() {
      throw new Error("hostile");
    },
  };
  assert.doesNotThrow(() => log(hostile, Symbol("s"), Object.create(null)));
});
