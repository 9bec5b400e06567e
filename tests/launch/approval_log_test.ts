import assert from "node:assert/strict";
import { ApprovalLog, defaultApprovalLog, makeFolderOf, type NewEntry } from "../../src/launch/approval_log.ts";

const ID = "b".repeat(64);

async function withLog(
  body: (world: {
    readonly state: string;
    readonly path: string;
    open(): Promise<ApprovalLog>;
  }) => Promise<void>,
): Promise<void> {
  const root = await Deno.realPath(await Deno.makeTempDir());
  try {
    const state = `${root}/state`;
    const path = defaultApprovalLog(state);
    await body({ state, path, open: () => ApprovalLog.open({ path, state }, { now: () => 1000 }) });
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

const allow = (grant: string): NewEntry => ({ kind: "allowed", id: ID, grant, reason: null });
const add = (log: ApprovalLog, ...entries: NewEntry[]) => log.change(() => ({ add: entries, result: undefined }));
const grants = async (log: ApprovalLog) => (await log.read()).items.get(ID)?.grants.map(({ grant }) => grant) ?? [];
const isBroken = (error: unknown) => (error as { code?: string }).code === "approval_log_broken";

Deno.test("ApprovalLog keeps what is added, in files that only their owner can read", () =>
  withLog(async ({ state, path, open }) => {
    const log = await open();
    assert.deepEqual([...(await log.read()).items], []);
    await add(log, allow("g"), allow("h"));
    await add(log, { kind: "taken", id: ID, grant: "g", run_id: "r", call_id: "c1" });
    assert.deepEqual(await grants(await open()), ["h"]);
    for await (const { name } of Deno.readDir(state)) {
      assert.equal(((await Deno.stat(`${state}/${name}`)).mode ?? 0) & 0o777, 0o600, name);
    }
    assert.equal(((await Deno.stat(state)).mode ?? 0) & 0o777, 0o700);
    assert.equal((await Deno.readTextFile(path)).split("\n").length, 4);
  }));

Deno.test("ApprovalLog takes no line that was written or changed by somebody without the key", () =>
  withLog(async ({ path, state, open }) => {
    await add(await open(), { kind: "denied", id: ID, reason: null });
    const [line = ""] = (await Deno.readTextFile(path)).split("\n");
    const forged = [
      line.replace('"kind":"denied"', '"kind":"allowed","grant":"g"').replace('"n":1', '"n":2'),
      JSON.stringify({ n: 2, kind: "allowed", id: ID, at_ms: 1000, grant: "g", reason: null }),
      '{"n":2,"kind":"allowed","mac":"' + "0".repeat(64) + '"}',
      "no json",
    ];
    await Deno.writeTextFile(path, `${forged.join("\n")}\n`, { append: true });
    const book = await (await open()).read();
    assert.deepEqual([book.foreign, book.items.get(ID)?.decision?.status, book.items.get(ID)?.grants], [
      4,
      "denied",
      [],
    ]);
    // what is added later still counts, and another user's key opens nothing
    await add(await open(), allow("real"));
    assert.deepEqual(await grants(await open()), ["real"]);
    await Deno.remove(`${state}/approvals.key`);
    await assert.rejects(async () => (await open()).read(), isBroken);
  }));

Deno.test("ApprovalLog notices that a line was edited or taken out, and that its end was cut off", () =>
  withLog(async ({ path, open }) => {
    await add(await open(), allow("g"));
    await add(await open(), { kind: "taken", id: ID, grant: "g", run_id: "r", call_id: "c1" });
    await add(await open(), allow("h"));
    const whole = await Deno.readTextFile(path);
    const lines = whole.trimEnd().split("\n");
    const changed = [
      lines.toSpliced(1, 1),
      lines.toSpliced(1, 1, lines[1]?.replace("taken", "spent") ?? ""),
      lines.slice(0, 2),
      lines.slice(0, 1),
      [],
      [lines[1], lines[0], lines[2]],
      [...lines, lines[0]],
    ];
    for (const other of changed) {
      await Deno.writeTextFile(path, other.map((line) => `${line}\n`).join(""));
      await assert.rejects(async () => (await open()).read(), isBroken, JSON.stringify(other.length));
    }
    await Deno.remove(path);
    await assert.rejects(async () => (await open()).read(), isBroken);
    await Deno.writeTextFile(path, whole, { mode: 0o600 });
    assert.deepEqual(await grants(await open()), ["h"]);
  }));

Deno.test("ApprovalLog goes on behind a line that was torn, which says nothing", () =>
  withLog(async ({ path, open }) => {
    await add(await open(), allow("g"));
    const line = await Deno.readTextFile(path);
    await Deno.writeTextFile(path, line.slice(0, 40), { append: true });
    assert.deepEqual(await grants(await open()), ["g"]);
    await add(await open(), allow("h"));
    const book = await (await open()).read();
    assert.deepEqual([book.foreign, book.items.get(ID)?.grants.length], [1, 2]);
  }));

Deno.test("ApprovalLog does not take a copy for a log of its own, nor a link or an open file", () =>
  withLog(async ({ path, state, open }) => {
    await add(await open(), allow("g"));
    const copy = `${state}/copy.jsonl`;
    await Deno.copyFile(path, copy);
    await Deno.chmod(copy, 0o600);
    await assert.rejects(async () => (await ApprovalLog.open({ path: copy, state })).read(), isBroken);
    await Deno.chmod(path, 0o644);
    const isUnusable = (error: unknown) => (error as { code?: string }).code === "approval_log_unusable";
    await assert.rejects(async () => (await open()).read(), isUnusable);
    await Deno.remove(path);
    await Deno.symlink(copy, path);
    await assert.rejects(async () => (await open()).read(), isUnusable);
  }));

Deno.test("ApprovalLog lets one of many take a grant, however they race", () =>
  withLog(async ({ open }) => {
    await add(await open(), allow("g"), allow("h"));
    const takes = Array.from({ length: 12 }, async (_, i) => {
      const log = await open();
      return await log.change((book) => {
        const [first] = book.items.get(ID)?.grants ?? [];
        const entry = { kind: "taken", id: ID, grant: first?.grant ?? "", run_id: `r${i}`, call_id: "c1" } as const;
        return { add: first === undefined ? [] : [entry], result: first?.grant };
      });
    });
    const got = (await Promise.all(takes)).filter((grant) => grant !== undefined);
    assert.deepEqual(got.toSorted(), ["g", "h"]);
  }));

Deno.test("makeFolderOf() makes what is missing, for the user alone", async () => {
  const root = await Deno.makeTempDir();
  try {
    await makeFolderOf(`${root}/a/b/log.jsonl`);
    assert.equal(((await Deno.stat(`${root}/a/b`)).mode ?? 0) & 0o777, 0o700);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

const LARGE = "x".repeat(100_000);
const pending = (id: string): NewEntry => ({
  kind: "pending",
  id,
  request: {
    id,
    tool: "echo",
    args: { text: LARGE },
    arg_bytes: 1,
    requirements: [],
    rule: "/approvals",
    policy: { name: "p", path: null, sha256: "1" },
    agent: { entry: null, sha256: "2" },
    plan: "3",
  },
  run_id: "r",
  max_age_ms: 86_400_000,
});
const idOf = (n: number) => n.toString(16).padStart(64, "0");

Deno.test("ApprovalLog is written anew without what cannot matter any more, and nothing of the older one fits it", () =>
  withLog(async ({ path, state, open }) => {
    const log = await open();
    const older = async () => ({
      log: await Deno.readTextFile(path),
      head: await Deno.readTextFile(`${state}/${await headName(state)}`),
    });
    await add(log, pending(idOf(1)), { kind: "allowed", id: idOf(1), grant: "g1", reason: null });
    const granted = await older();
    await add(log, { kind: "taken", id: idOf(1), grant: "g1", run_id: "r", call_id: "c" });
    await add(log, pending(idOf(2)), { kind: "denied", id: idOf(2), reason: "no" });
    await add(log, pending(idOf(3)), { kind: "allowed", id: idOf(3), grant: "g3", reason: null });
    for (let n = 10; n < 110; n++) {
      await add(
        log,
        pending(idOf(n)),
        { kind: "allowed", id: idOf(n), grant: `g${n}`, reason: null },
        { kind: "taken", id: idOf(n), grant: `g${n}`, run_id: "r", call_id: "c" },
      );
    }
    await add(log, pending(idOf(4)));
    const { size } = await Deno.stat(path);
    assert.ok(size < 8_500_000, String(size));
    const { items, foreign } = await (await open()).read();
    assert.equal(foreign, 0);
    assert.deepEqual(items.get(idOf(2))?.decision?.status, "denied");
    assert.deepEqual(items.get(idOf(3))?.grants.map(({ grant }) => grant), ["g3"]);
    assert.deepEqual([items.get(idOf(4))?.open, items.get(idOf(4))?.request?.args.text], [true, LARGE]);
    assert.deepEqual(items.get(idOf(1))?.grants ?? [], []);
    await Deno.writeTextFile(path, granted.log);
    await assert.rejects(open().then((log) => log.read()), isBroken, "an approval that was used comes back");
  }));

async function headName(state: string): Promise<string> {
  for await (const { name } of Deno.readDir(state)) if (name.endsWith(".head")) return name;
  throw new Error("no head");
}

Deno.test("ApprovalLog holds when a launcher dies while it is written anew, before the rename and behind it", () =>
  withLog(async ({ path, state, open }) => {
    const log = await open();
    await add(log, allow("g"));
    const old = JSON.parse(await Deno.readTextFile(`${state}/${await headName(state)}`));
    const head = `${state}/${await headName(state)}`;
    await Deno.writeTextFile(head, JSON.stringify({ ...old, next: { entries: 5, mac: "0".repeat(64) } }));
    assert.deepEqual(await grants(await open()), ["g"], "the one before");
    await Deno.writeTextFile(head, JSON.stringify({ entries: 5, mac: "0".repeat(64), next: old }));
    assert.deepEqual(await grants(await open()), ["g"], "the one behind");
    await Deno.writeTextFile(head, JSON.stringify({ entries: 1, mac: "0".repeat(64) }));
    await assert.rejects(open().then((log) => log.read()), isBroken);
    assert.ok((await Deno.stat(path)).isFile);
  }));

Deno.test("ApprovalLog refuses the request that would fill it, and still takes a decision", () =>
  withLog(async ({ open }) => {
    const log = await open();
    let n = 0;
    const fill = (count: number) => add(log, ...Array.from({ length: count }, () => pending(idOf(++n))));
    for (let i = 0; i < 6; i++) await fill(100);
    await assert.rejects(fill(100), (error) => (error as { code?: string }).code === "approval_log_full");
    await add(log, { kind: "denied", id: idOf(1), reason: null });
    assert.equal((await log.read()).items.get(idOf(1))?.decision?.status, "denied");
  }));
