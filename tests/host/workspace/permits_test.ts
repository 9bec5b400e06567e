import assert from "node:assert/strict";
import fc from "fast-check";
import type { Requirement } from "../../../src/authority/requirement.ts";
import { Permits, type Turn } from "../../../src/host/workspace/permits.ts";

const never = (): AbortSignal => new AbortController().signal;
const reads = (target: string): Requirement => ({ kind: "filesystem.read", target, description: target });
const writes = (target: string): Requirement => ({ kind: "filesystem.write", target, description: target });

/** A call that stays under way until it is told to end. */
interface Running {
  readonly turn: Turn;
  started: boolean;
  finish(): Promise<void>;
}

function start(permits: Permits, ...needs: Requirement[]): Running {
  const turn = permits.open();
  turn.claim(needs);
  const work = Promise.withResolvers<void>();
  const running = {
    turn,
    started: false,
    finish: async () => {
      work.resolve();
      await value;
      turn.end();
      await settle();
    },
  };
  const value = turn.run(() => {
    running.started = true;
    return work.promise;
  }, never);
  return running;
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

Deno.test("Turn.run() lets reads of a path run together and a write alone", async () => {
  const permits = new Permits();
  const [a, b] = [start(permits, reads("/p/x")), start(permits, reads("/p/x"))];
  const write = start(permits, reads("/p/x"), writes("/p/x"));
  const late = start(permits, reads("/p/x"));
  const other = start(permits, writes("/p/xy"));
  await settle();
  assert.deepEqual([a, b, write, late, other].map(({ started }) => started), [true, true, false, false, true]);
  await a.finish();
  assert.equal(write.started, false);
  await b.finish();
  assert.deepEqual([write.started, late.started], [true, false]);
  await write.finish();
  assert.equal(late.started, true);
  await late.finish();
  await other.finish();
  assert.equal(permits.size, 0);
});

Deno.test("Turn.run() takes a folder for everything below it, and two spellings of a folding file system for one", async () => {
  const permits = new Permits();
  const write = start(permits, writes("/p/src/a"));
  const tree = start(permits, reads("/p/"));
  const spelled = start(permits, writes("/p/SRC/A"));
  const beside = start(permits, reads("/p/src2/"));
  await settle();
  assert.deepEqual([tree.started, spelled.started, beside.started], [false, false, true]);
  await write.finish();
  assert.deepEqual([tree.started, spelled.started], [true, false]);
  await tree.finish();
  assert.equal(spelled.started, true);
  await spelled.finish();
});

Deno.test("Turn.run() waits for a call before it that has not said what it touches", async () => {
  const permits = new Permits();
  const first = permits.open();
  const second = start(permits, writes("/p/x"));
  await settle();
  assert.equal(second.started, false);
  first.claim([{ kind: "network", target: "GET https://x", description: "x" }]);
  await settle();
  assert.equal(second.started, true);
  await second.finish();
  first.end();
  assert.equal(permits.size, 0);
});

Deno.test("Turn.run() that is cancelled never acts, and lets those behind it go on", async () => {
  const permits = new Permits();
  const holder = start(permits, writes("/p/x"));
  const controller = new AbortController();
  const waiting = permits.open();
  waiting.claim([writes("/p/x")]);
  let acted = false;
  const value = waiting.run(() => {
    acted = true;
    return Promise.resolve();
  }, () => controller.signal);
  const behind = start(permits, writes("/p/x"));
  controller.abort(new Error("deadline"));
  await assert.rejects(async () => await value, /deadline/);
  waiting.end();
  await holder.finish();
  assert.deepEqual([acted, behind.started], [false, true]);
  await behind.finish();
  assert.equal(permits.size, 0);
});

Deno.test("Turn.stepAside() lets those behind go on, and Turn.rejoin() takes the place at the end", async () => {
  const permits = new Permits();
  const asking = permits.open();
  asking.claim([writes("/p/x")]);
  asking.stepAside();
  const next = start(permits, writes("/p/x"));
  await settle();
  assert.equal(next.started, true);
  asking.rejoin();
  let acted = false;
  const value = asking.run(() => {
    acted = true;
    return Promise.resolve();
  }, never);
  await settle();
  assert.equal(acted, false);
  await next.finish();
  await value;
  asking.end();
  // A call that was denied while it stood aside never comes back.
  const denied = permits.open();
  denied.claim([writes("/p/x")]);
  denied.stepAside();
  denied.end();
  denied.rejoin();
  assert.deepEqual([acted, permits.size], [true, 0]);
});

Deno.test("Turn.end() keeps the place of a call that has its outcome while its effect is still under way", async () => {
  const permits = new Permits();
  const late = start(permits, writes("/p/x"));
  const next = start(permits, reads("/p/x"));
  late.turn.end();
  await settle();
  assert.equal(next.started, false);
  await late.finish();
  assert.equal(next.started, true);
  await next.finish();
  assert.equal(permits.size, 0);
});

Deno.test("Turn.run() gives the place free where the act throws at once", () => {
  const permits = new Permits();
  const turn = permits.open();
  turn.claim([writes("/p/x")]);
  assert.throws(() =>
    turn.run(() => {
      throw new Error("no");
    }, never), /no/);
  turn.end();
  turn.end();
  assert.equal(permits.size, 0);
});

Deno.test("Permits let nobody overtake, strand nobody, and let no two that collide run at the same time", async () => {
  const paths = ["/p/a", "/p/a/b", "/p/c", "/p/"];
  const call = fc.record({
    needs: fc.array(fc.record({ path: fc.constantFrom(...paths), write: fc.boolean() }), { maxLength: 2 }),
    prepareTurns: fc.nat(4),
    actTurns: fc.nat(4),
    cancelled: fc.boolean(),
  });
  const collide = (a: Requirement[], b: Requirement[]): boolean =>
    a.some((x) =>
      b.some((y) => {
        const [p, q] = [x, y].map(({ target }) => target === "/p/" ? "/p" : target);
        assert.ok(p !== undefined && q !== undefined);
        const touch = p === q || `${p}/`.startsWith(`${q}/`) || `${q}/`.startsWith(`${p}/`);
        return touch && [x, y].some(({ kind }) => kind === "filesystem.write");
      })
    );
  await fc.assert(
    fc.asyncProperty(fc.array(call, { maxLength: 12 }), async (calls) => {
      const permits = new Permits();
      const running = new Set<number>();
      const begun: number[] = [];
      const needsOf = calls.map(({ needs }) => needs.map(({ path, write }) => write ? writes(path) : reads(path)));
      await Promise.all(calls.map(async ({ prepareTurns, actTurns, cancelled }, index) => {
        const mine = needsOf[index] ?? [];
        const turn = permits.open();
        try {
          for (let at = 0; at < prepareTurns; at++) await Promise.resolve();
          turn.claim(mine);
          const controller = new AbortController();
          if (cancelled) queueMicrotask(() => controller.abort(new Error("cancelled")));
          await turn.run(async () => {
            for (const other of running) assert.ok(!collide(mine, needsOf[other] ?? []));
            for (const other of begun) assert.ok(other < index || !collide(mine, needsOf[other] ?? []), "overtaken");
            running.add(index);
            begun.push(index);
            for (let at = 0; at < actTurns; at++) await Promise.resolve();
            running.delete(index);
          }, () => controller.signal);
        } catch (error) {
          assert.equal((error as Error).message, "cancelled");
        } finally {
          turn.end();
        }
      }));
      assert.equal(permits.size, 0);
    }),
    { numRuns: 1500 },
  );
});
