import assert from "node:assert/strict";
import { MAX_ENTRY_BYTES, RecordingChain } from "../../src/audit/recording.ts";
import { sha256Now } from "../../src/audit/sha256.ts";
import { AuditError } from "../../src/errors.ts";
import { RecordingWriter } from "../../src/launch/recording_writer.ts";

async function withFolder(body: (dir: string) => Promise<void> | void): Promise<void> {
  const dir = await Deno.makeTempDir();
  try {
    await body(dir);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

Deno.test("RecordingWriter appends whole lines for its owner alone, and knows their chain", async () => {
  await withFolder(async (dir) => {
    const path = `${dir}/recording.jsonl`;
    const writer = RecordingWriter.create(path, sha256Now);
    writer.append('{"op":"header"}');
    writer.append('{"é":1}');
    writer.sync();
    const chain = new RecordingChain(sha256Now);
    for (const line of ['{"op":"header"}', '{"é":1}']) chain.add(new TextEncoder().encode(line));
    assert.deepEqual(writer.summary, { entries: 2, bytes: chain.bytes, sha256: chain.head });
    writer.close();
    assert.equal(await Deno.readTextFile(path), '{"op":"header"}\n{"é":1}\n');
    assert.equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
  });
});

Deno.test("RecordingWriter never takes a file that is there", async () => {
  await withFolder(async (dir) => {
    await Deno.symlink(`${dir}/elsewhere`, `${dir}/recording.jsonl`);
    assert.throws(() => RecordingWriter.create(`${dir}/recording.jsonl`, sha256Now), AuditError);
    await assert.rejects(Deno.stat(`${dir}/elsewhere`));
  });
});

Deno.test("RecordingWriter takes nothing more after a line that it refused", async () => {
  await withFolder((dir) => {
    const writer = RecordingWriter.create(`${dir}/recording.jsonl`, sha256Now);
    assert.throws(() => writer.append("x".repeat(MAX_ENTRY_BYTES + 1)), AuditError);
    assert.throws(() => writer.append("x"), AuditError);
    writer.close();
  });
});

Deno.test("RecordingWriter refuses a record of another recording", async () => {
  await withFolder((dir) => {
    const writer = RecordingWriter.create(`${dir}/recording.jsonl`, sha256Now);
    writer.append("{}");
    const { sha256 } = writer.summary as { sha256: string };
    writer.check({ type: "tool_result" });
    writer.check({ type: "tool_result", received_sha256: sha256 });
    assert.throws(() => writer.check({ type: "tool_result", received_sha256: "0".repeat(64) }), AuditError);
    writer.close();
  });
});
