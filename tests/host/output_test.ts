import assert from "node:assert/strict";
import { makeRedactor } from "../../src/audit/redact.ts";
import { BudgetError } from "../../src/errors.ts";
import { Output, type OutputOptions } from "../../src/host/output.ts";
import { type JsonObject, utf8Length } from "../../src/json.ts";

const ENCODER = new TextEncoder();

function make(own: Partial<OutputOptions> = {}): { readonly output: Output; readonly records: JsonObject[] } {
  const records: JsonObject[] = [];
  const scrub = makeRedactor({ fields: [], secrets: new Map([["S", "hunter2hunter2"]]) }).stream();
  const output = new Output({
    stream: "stdout",
    mode: "full",
    limit: 1_000_000,
    chunkBytes: 1024,
    scrub,
    record: (fields) => records.push(fields),
    now: () => 0,
    ...own,
  });
  return { output, records };
}

Deno.test("Output keeps characters whole over every border of pieces and records", () => {
  // 600 times two bytes and one more: 1024 lies in the middle of a character
  const text = "é".repeat(600) + "Z" + "😀".repeat(100);
  const bytes = ENCODER.encode(text);
  for (const mode of ["full", "stream"] as const) {
    for (const size of [1, 7, 1024]) {
      const { output, records } = make({ mode, chunkBytes: 7 });
      for (let at = 0; at < bytes.length; at += size) output.push(bytes.subarray(at, at + size));
      assert.equal(output.end().text, text);
      assert.equal(records.map((record) => record.text).join(""), text);
      for (const { text, chunk_bytes } of records) {
        assert.ok(String(text).isWellFormed() && Number(chunk_bytes) <= 7 && chunk_bytes === utf8Length(String(text)));
      }
      assert.deepEqual(records.map((record) => record.chunk_index), records.map((_, index) => index));
    }
  }
});

Deno.test("Output scrubs a secret that arrives in pieces, before it is cut into records", () => {
  for (const mode of ["full", "stream", "summary"] as const) {
    const { output, records } = make({ mode, chunkBytes: 4 });
    for (const byte of ENCODER.encode("a hunter2hunter2 b")) output.push(new Uint8Array([byte]));
    const { text, bytes } = output.end();
    assert.equal(text, "a [redacted] b");
    assert.equal(bytes, 18);
    assert.ok(!records.map((record) => record.text).join("").includes("hunter2"));
  }
});

Deno.test("Output ends a stream that is over the limit, unless it is summed up in constant memory", () => {
  for (const mode of ["full", "stream"] as const) {
    const { output } = make({ mode, limit: 10 });
    output.push(new Uint8Array(10));
    assert.throws(
      () => output.push(new Uint8Array(1)),
      (error) => error instanceof BudgetError && error.code === "process_output_bytes" && error.attempted === 11,
    );
  }
  const { output, records } = make({ mode: "summary", limit: 10 });
  const piece = new Uint8Array(65_536).fill(120);
  output.push(ENCODER.encode("head"));
  for (let i = 0; i < 1_000; i++) output.push(piece);
  output.push(ENCODER.encode("tail"));
  const { text, tail, bytes, captured } = output.end();
  assert.equal(bytes, 65_536_008);
  assert.ok(text.startsWith("headx") && tail.endsWith("xtail"));
  assert.equal(captured, 1024);
  assert.ok(records.length <= 8 && records.every(({ truncated }) => truncated === true));
});

Deno.test("Output replaces bytes that are no text, and gives nothing for nothing", () => {
  const { output, records } = make();
  assert.deepEqual(output.end(), { text: "", tail: "", bytes: 0, captured: 0 });
  assert.deepEqual(records, []);
  const other = make().output;
  other.push(new Uint8Array([0x61, 0xff, 0xc3]));
  assert.equal(other.end().text, "a\ufffd\ufffd");
});
