import assert from "node:assert/strict";
import { readRecords, type Verdict, verifyAudit } from "../../src/audit/reader.ts";
import type { DamageKind } from "../../src/audit/chain_check.ts";
import { GENESIS } from "../../src/audit/record.ts";
import { DataError, InputError, UsageError } from "../../src/errors.ts";
import { inTempDir, rehash, RUN, writeLog } from "./log_maker.ts";

/** Writes the standard run, lets `damage` change its lines, and verifies what comes out. */
async function verdictAfter(damage: (lines: string[]) => string[] | string, head?: string): Promise<Verdict> {
  let verdict: Verdict | undefined;
  await inTempDir(async (dir) => {
    const path = `${dir}/a.jsonl`;
    writeLog(path, RUN);
    const lines = (await Deno.readTextFile(path)).trimEnd().split("\n");
    const changed = damage(lines);
    await Deno.writeTextFile(path, typeof changed === "string" ? changed : changed.map((line) => `${line}\n`).join(""));
    verdict = await verifyAudit(path, head === undefined ? {} : { head });
  });
  assert.ok(verdict);
  return verdict;
}

function named(verdict: Verdict): { kind: DamageKind | undefined; line: number | undefined; records: number } {
  assert.equal(verdict.verdict, "broken");
  return { kind: verdict.damage?.kind, line: verdict.damage?.line, records: verdict.records };
}

Deno.test("verifyAudit() says consistent without a head, authentic with it", () =>
  inTempDir(async (dir) => {
    const head = writeLog(`${dir}/a.jsonl`, RUN);
    const expected = {
      verdict: "consistent",
      records: RUN.length,
      head,
      run_id: "run-1",
      finished: true,
      damage: null,
      in_flight: [],
    };
    assert.deepEqual(await verifyAudit(`${dir}/a.jsonl`), expected);
    const authentic = { ...expected, verdict: "authentic" };
    assert.deepEqual(await verifyAudit(`${dir}/a.jsonl`, { head }), authentic);
    assert.deepEqual(await verifyAudit(`${dir}/a.jsonl`, { head: head.toUpperCase() }), authentic);
  }));

Deno.test("verifyAudit() names an edit", async () => {
  const edit = (lines: string[]): string[] => lines.with(2, lines[2]?.replace('"bytes":3', '"bytes":4') ?? "");
  assert.deepEqual(named(await verdictAfter(edit)), { kind: "edit", line: 3, records: 2 });
});

Deno.test("verifyAudit() names an edit whose own hash was made anew, at the record that no longer follows", async () => {
  const edit = (lines: string[]): string[] => lines.with(2, rehash(lines[2]?.replace('"bytes":3', '"bytes":4') ?? ""));
  assert.deepEqual(named(await verdictAfter(edit)), { kind: "edit", line: 4, records: 3 });
});

Deno.test("verifyAudit() names a deletion at the start and in the middle", async () => {
  assert.deepEqual(named(await verdictAfter((lines) => lines.slice(1))), { kind: "deletion", line: 1, records: 0 });
  const middle = await verdictAfter((lines) => lines.toSpliced(4, 2));
  assert.deepEqual(named(middle), { kind: "deletion", line: 5, records: 4 });
  assert.equal(middle.damage?.detail, "records 5 to 6 are missing");
});

Deno.test("verifyAudit() names an insertion: a copy, a forged record, garbage, a blank line", async () => {
  const copy = await verdictAfter((lines) => lines.toSpliced(4, 0, lines[1] ?? ""));
  assert.deepEqual(named(copy), { kind: "insertion", line: 5, records: 4 });
  const forged = await verdictAfter((lines) => lines.toSpliced(4, 0, '{"seq":5,"type":"event"}'));
  assert.deepEqual(named(forged), { kind: "insertion", line: 5, records: 4 });
  const garbage = await verdictAfter((lines) => lines.toSpliced(4, 0, "garbage"));
  assert.deepEqual(named(garbage), { kind: "insertion", line: 5, records: 4 });
  const blank = await verdictAfter((lines) => lines.toSpliced(4, 0, ""));
  assert.deepEqual(named(blank), { kind: "insertion", line: 5, records: 4 });
});

Deno.test("verifyAudit() names an insertion that continues the chain, at the record it pushed aside", async () => {
  const insert = (lines: string[]): string[] => lines.toSpliced(4, 0, rehash(lines[4]?.replace("note", "mote") ?? ""));
  assert.deepEqual(named(await verdictAfter(insert)), { kind: "insertion", line: 6, records: 5 });
});

Deno.test("verifyAudit() names what follows the end of the run", async () => {
  const line = RUN.length + 1;
  const more = await verdictAfter((lines) => [...lines, lines[0] ?? ""]);
  assert.deepEqual(named(more), { kind: "insertion", line, records: RUN.length });
  const tail = await verdictAfter((lines) => `${lines.join("\n")}\n{`);
  assert.deepEqual(named(tail), { kind: "insertion", line, records: RUN.length });
});

Deno.test("verifyAudit() names a reorder", async () => {
  const swap = (lines: string[]): string[] => lines.with(4, lines[5] ?? "").with(5, lines[4] ?? "");
  assert.deepEqual(named(await verdictAfter(swap)), { kind: "reorder", line: 5, records: 4 });
  const move = (lines: string[]): string[] => [...lines.toSpliced(4, 1), lines[4] ?? ""];
  assert.deepEqual(named(await verdictAfter(move)), { kind: "reorder", line: 5, records: 4 });
});

Deno.test("verifyAudit() names a truncation where a head is given, and says unfinished where none is", async () => {
  await inTempDir(async (dir) => {
    const path = `${dir}/a.jsonl`;
    const head = writeLog(path, RUN);
    const lines = (await Deno.readTextFile(path)).trimEnd().split("\n");
    await Deno.writeTextFile(path, lines.slice(0, 7).map((line) => `${line}\n`).join(""));
    const cut = await verifyAudit(path);
    assert.equal(cut.verdict, "unfinished");
    assert.equal(cut.records, 7);
    assert.deepEqual(cut.in_flight, [{ call_id: "c3", tool: "osv.query", seq: 7 }]);
    assert.deepEqual(named(await verifyAudit(path, { head })), { kind: "truncation", line: 8, records: 7 });
  });
});

Deno.test("verifyAudit() says unfinished of an empty log", async () => {
  const empty = await verdictAfter(() => "");
  assert.equal(empty.verdict, "unfinished");
  assert.equal(empty.head, GENESIS);
  assert.equal(empty.run_id, null);
});

Deno.test("verifyAudit() names a torn tail at every byte of the last line", async () => {
  for (let cut = 1; cut < 20; cut++) {
    const torn = await verdictAfter((lines) => `${lines.slice(0, 6).join("\n")}\n`.slice(0, -cut));
    assert.deepEqual(named(torn), { kind: "torn_tail", line: 6, records: 5 });
  }
});

Deno.test("verifyAudit() names a wrong head, and says which record has it", async () => {
  const other = await verdictAfter((lines) => lines, "ab".repeat(32));
  assert.deepEqual(named(other), { kind: "wrong_head", line: RUN.length + 1, records: RUN.length });
  await inTempDir(async (dir) => {
    const path = `${dir}/a.jsonl`;
    writeLog(path, RUN);
    const third = JSON.parse((await Deno.readTextFile(path)).split("\n")[2] ?? "") as { hash: string };
    const verdict = await verifyAudit(path, { head: third.hash });
    assert.equal(verdict.damage?.kind, "wrong_head");
    assert.equal(verdict.damage?.detail, `the head is that of record 3; ${RUN.length - 3} follow it`);
  });
});

Deno.test("verifyAudit() sees a log that was rewritten as a whole only by its head", () =>
  inTempDir(async (dir) => {
    const head = writeLog(`${dir}/a.jsonl`, RUN);
    writeLog(`${dir}/b.jsonl`, RUN.toSpliced(3, 1));
    assert.equal((await verifyAudit(`${dir}/b.jsonl`)).verdict, "consistent");
    assert.equal((await verifyAudit(`${dir}/b.jsonl`, { head })).damage?.kind, "wrong_head");
  }));

Deno.test("verifyAudit() names a line that is not JSON, and one of another run", async () => {
  const broken = await verdictAfter((lines) => lines.with(4, "garbage"));
  assert.deepEqual(named(broken), { kind: "not_json", line: 5, records: 4 });
  const foreign = (lines: string[]): string[] => lines.with(4, rehash(lines[4]?.replace("run-1", "run-2") ?? ""));
  assert.deepEqual(named(await verdictAfter(foreign)), { kind: "wrong_run", line: 5, records: 4 });
});

Deno.test("verifyAudit() says that line ends were changed to CRLF", async () => {
  const verdict = await verdictAfter((lines) => lines.map((line) => `${line}\r`));
  assert.deepEqual(named(verdict), { kind: "edit", line: 1, records: 0 });
  assert.equal(verdict.damage?.detail, "its line end was changed to CRLF");
});

Deno.test("verifyAudit() refuses a log that does not start with the start of a run", () =>
  inTempDir(async (dir) => {
    writeLog(`${dir}/a.jsonl`, RUN.slice(1));
    assert.deepEqual(named(await verifyAudit(`${dir}/a.jsonl`)), { kind: "edit", line: 1, records: 0 });
  }));

Deno.test("verifyAudit() says where the bad line starts, in bytes", async () => {
  const verdict = await verdictAfter((lines) => {
    const before = new TextEncoder().encode(`${lines.slice(0, 4).join("\n")}\n`).length;
    return [...lines.slice(0, 4), `garbage ${before}`];
  });
  const path = verdict.damage?.offset;
  assert.ok(typeof path === "number" && path > 0);
  assert.equal(verdict.damage?.seq, 5);
});

Deno.test("verifyAudit() finds calls in flight also where the id does not stand behind the type", () =>
  inTempDir(async (dir) => {
    writeLog(`${dir}/a.jsonl`, [
      { type: "run_start" },
      { type: "tool_call", call_id: 'c"1', tool: "ä\u202e" },
      { type: "tool_call", tool: "slow", call_id: "c2", args: { call_id: "c9" } },
      { type: "tool_call", call_id: "c3", tool: "slow" },
      { type: "tool_call", call_id: "c4", tool: "slow", args: {} },
      { type: "event", event: { type: "tool_result", call_id: "c2" } },
      { type: "tool_timeout", call_id: "c3", tool: "slow" },
      { type: "budget_exceeded", tool: "slow", call_id: "c4" },
      { type: "tool_result", tool: "slow" },
    ]);
    const verdict = await verifyAudit(`${dir}/a.jsonl`);
    assert.deepEqual(verdict.in_flight, [
      { call_id: 'c"1', tool: "ä\u202e", seq: 2 },
      { call_id: "c2", tool: "slow", seq: 3 },
    ]);
  }));

Deno.test("verifyAudit() refuses what it cannot read, and a head that is none", () =>
  inTempDir(async (dir) => {
    const code = (error: unknown): boolean => error instanceof InputError && error.exit === 66;
    await assert.rejects(verifyAudit(`${dir}/none.jsonl`), code);
    await assert.rejects(verifyAudit(dir), code);
    writeLog(`${dir}/a.jsonl`, RUN);
    await assert.rejects(verifyAudit(`${dir}/a.jsonl`, { head: "abc" }), UsageError);
    await assert.rejects(readRecords(`${dir}/none.jsonl`).next(), code);
  }));

Deno.test("readRecords() yields every record, skips blank lines and leaves out a torn tail", () =>
  inTempDir(async (dir) => {
    const path = `${dir}/a.jsonl`;
    writeLog(path, RUN);
    const text = await Deno.readTextFile(path);
    await Deno.writeTextFile(path, `\r\n${text.replaceAll("\n", "\r\n")}\n{"seq":99,"ts`);
    const types: string[] = [];
    for await (const record of readRecords(path)) types.push(record.type);
    assert.deepEqual(types, RUN.map((body) => body.type));
  }));

Deno.test("readRecords() names the line that is no record", () =>
  inTempDir(async (dir) => {
    const path = `${dir}/a.jsonl`;
    writeLog(path, RUN);
    const lines = (await Deno.readTextFile(path)).trimEnd().split("\n");
    const first = lines[0] ?? "";
    const bad = [
      "garbage",
      "[]",
      "{}",
      '{"type":"x"}',
      first.replace('"run_start"', '"constructor"'),
      `${first.slice(0, -1)},"type":"run_end"}`,
      `${first.slice(0, -1)},"seq":7}`,
      "\ufeff" + first,
    ];
    for (const line of bad) {
      await Deno.writeTextFile(path, `${first}\n\n${line}\n`);
      const read = Array.fromAsync(readRecords(path));
      await assert.rejects(read, (error) => error instanceof DataError && error.position?.line === 3, line);
    }
    await Deno.writeFile(path, new Uint8Array([0x7b, 0xff, 0x7d, 0x0a]));
    await assert.rejects(Array.fromAsync(readRecords(path)), /line 1: it is not UTF-8/);
  }));
