import assert from "node:assert/strict";
import { KEY_TABLE, maybeKeyRow } from "../../src/authority/keys.ts";
import type { Isolation } from "../../src/plan/plan.ts";
import { type Attempt, attemptsIn, type Try } from "./attempts.ts";
import { type Keys, runIn } from "./composition.ts";
import { makeWorld, type World } from "./world.ts";

/** Makes the calls it is told to, one after the other, and reports the outcome of each. */
const CALLER = `
const outcome = [];
for (const { tool, args } of context.calls) {
  try {
    outcome.push({ result: await callTool(tool, args) });
  } catch (error) {
    outcome.push({ outcome: error.outcome ?? "thrown", code: error.code ?? "" , message: String(error.message) });
  }
}
export { outcome };
`;

/** Acts of agent code itself; `agent_test.ts` tries them. */
const OF_AGENT_CODE = ["agent_deno_api", "forge_record"];

interface Made {
  readonly result?: unknown;
  readonly outcome?: string;
  readonly code?: string;
}

/** Makes calls in one run. */
async function make(
  world: World,
  options: { keys: Keys; calls: readonly Try[]; local?: boolean; isolation?: Isolation },
): Promise<Made[]> {
  const { keys, calls, local = false, isolation = "process" } = options;
  const { end, outcome, stderr } = await runIn(world, {
    keys,
    local,
    isolation,
    code: CALLER,
    context: JSON.parse(JSON.stringify({ calls })),
  });
  assert.equal(end.reason, "done", `${JSON.stringify(end)}\n${stderr}`);
  return outcome as Made[];
}

/** Makes every attempt in one world; `callsOf` says how. Gives those that happened, as "act: what". */
async function happenings(
  keys: Keys,
  callsOf: (attempt: Attempt) => readonly Try[],
  isolation: Isolation = "process",
): Promise<string[]> {
  const world = await makeWorld();
  try {
    const attempts = attemptsIn(world);
    const made = await make(world, { keys, isolation, calls: attempts.flatMap(callsOf) });
    const happened: string[] = [];
    let at = 0;
    for (const attempt of attempts) {
      const mine = made.slice(at, at += callsOf(attempt).length);
      const results = mine.flatMap(({ result }) => result === undefined || isStopped(result) ? [] : [result]);
      if (await attempt.happened(results)) happened.push(nameOf(attempt));
    }
    return happened;
  } finally {
    await world.close();
  }
}

function isStopped(result: unknown): boolean {
  return typeof result === "object" && result !== null && "stopped" in result;
}

function nameOf({ act, what }: Attempt): string {
  return `${act}: ${what}`;
}

/** The attempts that must happen where only `key` holds: those that the table says it does not stop. */
async function notStoppedBy(key: "key1" | "key2"): Promise<string[]> {
  const world = await makeWorld();
  try {
    return attemptsIn(world).filter(({ act }) => maybeKeyRow(act)?.[key] === false).map(nameOf);
  } finally {
    await world.close();
  }
}

/** Whether a server of this machine was reached through a declared name. */
async function reachesPrivate(keys: Keys): Promise<boolean> {
  const world = await makeWorld();
  try {
    const url = `https://localhost:${world.local.port}/page`;
    const bare = keys === "key 1" || keys === "none";
    const calls = [bare ? { tool: "act.fetch", args: { url } } : { tool: "local.get", args: {} }];
    const [made] = await make(world, { keys, calls, local: true });
    const reached = world.local.hits.length > 0;
    assert.equal(made?.result !== undefined && !isStopped(made.result), reached, JSON.stringify(made));
    return reached;
  } finally {
    await world.close();
  }
}

Deno.test("KEY_TABLE has an attempt for every row", async () => {
  const world = await makeWorld();
  try {
    const tried = new Set([...attemptsIn(world).map(({ act }) => act), "connect_private", ...OF_AGENT_CODE]);
    assert.deepEqual([...tried].toSorted(), KEY_TABLE.map(({ act }) => act).toSorted());
  } finally {
    await world.close();
  }
});

Deno.test("without a key every attempt succeeds: each of them can", async () => {
  const world = await makeWorld();
  const all = attemptsIn(world).map(nameOf);
  await world.close();
  assert.deepEqual(await happenings("none", ({ bare }) => [bare]), all);
  assert.equal(await reachesPrivate("none"), true);
});

Deno.test("key 1 alone stops what the table says, and nothing else", async () => {
  assert.deepEqual(await happenings("key 1", ({ bare }) => [bare]), await notStoppedBy("key1"));
  assert.equal(await reachesPrivate("key 1"), !maybeKeyRow("connect_private")?.key1);
});

Deno.test("key 2 alone stops what the table says, and nothing else", async () => {
  const both = ({ shipped, forged }: Attempt) => [...shipped, ...forged];
  assert.deepEqual(await happenings("key 2", both), await notStoppedBy("key2"));
  assert.equal(await reachesPrivate("key 2"), !maybeKeyRow("connect_private")?.key2);
});

Deno.test("what a policy grants works under either key, so that a refusal means something", async () => {
  for (const keys of ["shipped", "both", "key 2"] as const) {
    const world = await makeWorld();
    try {
      const made = await make(world, {
        keys,
        calls: [
          { tool: "readFile", args: { path: "docs/a.md" } },
          { tool: "writeArtifact", args: { path: "docs/new.txt", content: "new" } },
          { tool: "osv.query", args: { package: { ecosystem: "npm", name: "lodash" } } },
          { tool: "model.call", args: { id: "x", model: "named" } },
          { tool: "echo", args: { a: 1 } },
        ],
      });
      assert.deepEqual(made.map(({ outcome, code }) => [outcome, code]), made.map(() => [undefined, undefined]), keys);
      assert.equal(await Deno.readTextFile(`${world.project}/docs/new.txt`), "new");
    } finally {
      await world.close();
    }
  }
});

Deno.test("both keys together stop every attempt", async () => {
  assert.deepEqual(await happenings("both", ({ shipped, forged }) => [...shipped, ...forged]), []);
  assert.equal(await reachesPrivate("both"), false);
});

Deno.test("the shipped host stops every attempt in every isolation", async () => {
  for (const isolation of ["process", "worker", "compartment"] as const) {
    assert.deepEqual(await happenings("shipped", ({ shipped }) => shipped, isolation), [], isolation);
  }
});
