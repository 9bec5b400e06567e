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
