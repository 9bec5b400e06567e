import assert from "node:assert/strict";
import fc from "fast-check";
import { ChainCheck } from "../../src/audit/chain_check.ts";
import { makeRedactor, REDACTED } from "../../src/audit/redact.ts";
import { inTempDir, RUN, sha256, writeLog } from "../audit/log_maker.ts";
import { verifyAudit } from "../../src/audit/reader.ts";
import type { JsonObject } from "../../src/json.ts";

async function logBytes(): Promise<Uint8Array<ArrayBuffer>> {
  let bytes = new Uint8Array(0);
  await inTempDir(async (dir) => {
    writeLog(`${dir}/a.jsonl`, RUN);
    bytes = await Deno.readFile(`${dir}/a.jsonl`);
  });
  return bytes;
}

/** Checks bytes as a file that is cut into blocks where its last newline is. */
function damaged(bytes: Uint8Array<ArrayBuffer>): boolean {
  const check = new ChainCheck(sha256);
  const end = bytes.lastIndexOf(0x0a) + 1;
  const more = end === 0 || check.take({ bytes: bytes.subarray(0, end), offset: 0, kind: "lines" });
  if (more && end < bytes.length) check.take({ bytes: bytes.subarray(end), offset: end, kind: "tail" });
  return check.end() !== null || !check.finished;
}

Deno.test("chain: any change of a single byte is found", async () => {
  const bytes = await logBytes();
  assert.ok(!damaged(bytes));
  fc.assert(
    fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
      const changed = bytes.slice();
      changed[at] = (changed[at] ?? 0) ^ flip;
      return damaged(changed);
    }),
    { numRuns: 3000 },
  );
  // The line ends and the digits of the chain, each of them.
  for (const [at, byte] of bytes.entries()) {
    const changed = bytes.slice();
    changed[at] = byte ^ 0x20;
    assert.ok(damaged(changed), `byte ${at}`);
  }
});

Deno.test("chain: any bytes taken out or put in are found", async () => {
  const bytes = await logBytes();
  fc.assert(
    fc.property(fc.nat(bytes.length - 1), fc.nat(400), fc.uint8Array({ maxLength: 40 }), (at, cut, more) => {
      const rest = bytes.subarray(at + cut);
      const changed = new Uint8Array(at + more.length + rest.length);
      changed.set(bytes.subarray(0, at));
      changed.set(more, at);
      changed.set(rest, at + more.length);
      const same = changed.length === bytes.length && changed.every((byte, i) => byte === bytes[i]);
      return same || damaged(changed);
    }),
    { numRuns: 2000 },
  );
});

Deno.test("chain: a log cut anywhere yields the records that were whole", async () => {
  const bytes = await logBytes();
  await inTempDir(async (dir) => {
    const path = `${dir}/a.jsonl`;
    const sizes = fc.nat(bytes.length - 1);
    await fc.assert(
      fc.asyncProperty(sizes, async (size) => {
        const cut = bytes.subarray(0, size);
        await Deno.writeFile(path, cut);
        const verdict = await verifyAudit(path);
        const whole = cut.filter((byte) => byte === 0x0a).length;
        assert.equal(verdict.records, whole);
        const torn = size > 0 && cut.at(-1) !== 0x0a;
        assert.equal(verdict.damage?.kind, torn ? "torn_tail" : undefined);
        assert.equal(verdict.verdict, torn ? "broken" : "unfinished");
      }),
      { numRuns: 200 },
    );
  });
});

Deno.test("chain: whatever is written verifies", () =>
  inTempDir(async (dir) => {
    let run = 0;
    const body = fc.record({ a: fc.jsonValue(), b: fc.string({ unit: "binary" }) });
    await fc.assert(
      fc.asyncProperty(fc.array(body, { maxLength: 8 }), async (values) => {
        const path = `${dir}/${run++}.jsonl`;
        const bodies = values.map((value) => ({ type: "event", event: value }) as unknown as JsonObject);
        const head = writeLog(path, [{ type: "run_start" }, ...bodies, { type: "run_end", status: "ok" }]);
        assert.equal((await verifyAudit(path, { head })).verdict, "authentic");
      }),
      { numRuns: 100 },
    );
  }));

Deno.test("redaction: no form of a secret is left anywhere in a value", () => {
  const secret = fc.string({ minLength: 8, maxLength: 40, unit: "grapheme-ascii" });
  const place = fc.string({ maxLength: 10 });
  fc.assert(
    fc.property(secret, place, place, (value, before, after) => {
      const { redact } = makeRedactor({ fields: [], secrets: new Map([["S", value]]) });
      const encoded = new TextEncoder().encode(before + value + after).toBase64();
      const text = JSON.stringify(redact({ [before + value]: [value + after, encodeURIComponent(value)], encoded }));
      assert.ok(!text.includes(JSON.stringify(value).slice(1, -1)) || REDACTED.includes(value));
      assert.ok(!text.includes(encoded));
    }),
    { numRuns: 1000 },
  );
});
