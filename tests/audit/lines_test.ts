import assert from "node:assert/strict";
import { readBlocks } from "../../src/audit/lines.ts";
import { InputError } from "../../src/errors.ts";
import { readRecords, verifyAudit } from "../../src/audit/reader.ts";
import { inTempDir, writeLog } from "./log_maker.ts";

async function piecesOf(path: string, max?: number): Promise<{ text: string; offset: number; kind: string }[]> {
  const pieces = [];
  for await (const { bytes, offset, kind } of readBlocks(path, max)) {
    pieces.push({ text: new TextDecoder().decode(bytes), offset, kind });
  }
  return pieces;
}

Deno.test("readBlocks() yields whole lines, and what stands behind the last newline apart", () =>
  inTempDir(async (dir) => {
    const path = `${dir}/a`;
    await Deno.writeTextFile(path, "one\ntwo\nthr");
    assert.deepEqual(await piecesOf(path), [
      { text: "one\ntwo\n", offset: 0, kind: "lines" },
      { text: "thr", offset: 8, kind: "tail" },
    ]);
    await Deno.writeTextFile(path, "");
    assert.deepEqual(await piecesOf(path), []);
    await Deno.writeTextFile(path, "\n");
    assert.deepEqual(await piecesOf(path), [{ text: "\n", offset: 0, kind: "lines" }]);
  }));

Deno.test("readBlocks() stops at a line that is longer than any may be", () =>
  inTempDir(async (dir) => {
    const path = `${dir}/a`;
    await Deno.writeTextFile(path, `one\n${"x".repeat(5_000_000)}\ntwo\n`);
    const pieces = await piecesOf(path, 1_000_000);
    assert.deepEqual(pieces.map(({ offset, kind }) => ({ offset, kind })).slice(-1), [{ offset: 4, kind: "overlong" }]);
    assert.ok((pieces.at(-1)?.text.length ?? 0) < 1_600_000);
    assert.equal((await piecesOf(path)).map(({ text }) => text).join("").length, 5_000_009);
  }));

Deno.test(
  "readBlocks() refuses a FIFO instead of waiting for it",
  { ignore: Deno.build.os === "windows" },
  () =>
    inTempDir(async (dir) => {
      const { success } = await new Deno.Command("mkfifo", { args: [`${dir}/fifo`] }).output();
      assert.ok(success);
      await assert.rejects(readBlocks(`${dir}/fifo`).next(), InputError);
    }),
);

Deno.test("readBlocks() keeps characters whole wherever the border of a chunk falls", () =>
  inTempDir(async (dir) => {
    // Lines of 4-byte characters with a lead of every length move each border over each byte of a character.
    const path = `${dir}/a.jsonl`;
    const bodies = [{ type: "run_start" }];
    const texts: string[] = [];
    for (let i = 0; i < 24; i++) {
      const text = "x".repeat(i % 5) + "😀ä€".repeat(9_000 + i);
      texts.push(text);
      bodies.push({ type: "audit_note", note: text } as { type: string });
    }
    const head = writeLog(path, bodies);
    assert.equal((await verifyAudit(path, { head })).verdict, "authentic");
    const notes: unknown[] = [];
    for await (const record of readRecords(path)) notes.push(record.note);
    assert.deepEqual(notes.slice(1), texts);
  }));
