import assert from "node:assert/strict";
import { ChainCheck } from "../../src/audit/chain_check.ts";
import { inTempDir, RUN, sha256, writeLog } from "./log_maker.ts";

Deno.test("ChainCheck finds the same whatever the blocks are", () =>
  inTempDir(async (dir) => {
    const head = writeLog(`${dir}/a.jsonl`, RUN);
    const bytes = await Deno.readFile(`${dir}/a.jsonl`);
    const ends = [...bytes.keys()].filter((i) => bytes[i] === 0x0a).map((i) => i + 1);
    for (const step of [1, 2, 5, ends.length]) {
      const check = new ChainCheck(sha256);
      let from = 0;
      for (let i = step - 1; i < ends.length + step - 1; i += step) {
        const to = ends[Math.min(i, ends.length - 1)] ?? 0;
        assert.ok(check.take({ bytes: bytes.subarray(from, to), offset: from, kind: "lines" }));
        from = to;
      }
      assert.equal(check.end(), null);
      assert.equal(check.head, head);
      assert.equal(check.records, RUN.length);
      assert.equal(check.offset, bytes.length);
    }
  }));

Deno.test("ChainCheck stops taking once the damage is certain", () => {
  const check = new ChainCheck(sha256);
  assert.ok(!check.take({ bytes: new TextEncoder().encode("\n{}\n"), offset: 0, kind: "lines" }));
  assert.equal(check.end()?.kind, "insertion");
});

Deno.test("ChainCheck keeps at most 1,000 calls in mind", () =>
  inTempDir(async (dir) => {
    const calls = Array.from({ length: 1500 }, (_, i) => ({ type: "tool_call", call_id: `c${i}`, tool: "slow" }));
    writeLog(`${dir}/a.jsonl`, [{ type: "run_start" }, ...calls]);
    const check = new ChainCheck(sha256);
    check.take({ bytes: await Deno.readFile(`${dir}/a.jsonl`), offset: 0, kind: "lines" });
    assert.equal(check.records, 1501);
    assert.equal(check.inFlight.length, 1000);
  }));
