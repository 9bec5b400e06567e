import assert from "node:assert/strict";
import { AuditError } from "../../src/errors.ts";
import { RecordChannel } from "../../src/host/records.ts";

/** A channel whose launcher answers with `answers`, and takes at most `most` bytes at a time. */
function makeChannel(answers: string, most = Infinity): { channel: RecordChannel; sent(): string } {
  const bytes: number[] = [];
  const waiting = [...new TextEncoder().encode(answers)];
  const channel = new RecordChannel({
    records: {
      writeSync(data) {
        const count = Math.min(most, data.length);
        bytes.push(...data.subarray(0, count));
        return count;
      },
    },
    answers: {
      readSync(buffer) {
        const next = waiting.shift();
        if (next === undefined) return null;
        buffer[0] = next;
        return 1;
      },
    },
  }, (value) => JSON.parse(JSON.stringify(value).replaceAll("secret", "[gone]")));
  return { channel, sent: () => new TextDecoder().decode(new Uint8Array(bytes)) };
}

Deno.test("RecordChannel sends a line for each record, redacted, however little the pipe takes", () => {
  const { channel, sent } = makeChannel("a\n", 3);
  channel.send({ type: "event", event: "the secret ü" });
  channel.sendAndWait({ type: "tool_call", tool: "x" });
  channel.control("end", { error: "secret" });
  assert.equal(
    sent(),
    '{"type":"event","event":"the [gone] ü"}\n!{"type":"tool_call","tool":"x"}\n@end {"error":"[gone]"}\n',
  );
});

Deno.test("RecordChannel goes on only when a record that waits was confirmed", () => {
  for (const answers of ["", "a", "no\n", "aa\n", "\n"]) {
    const { channel } = makeChannel(answers);
    assert.throws(() => channel.sendAndWait({ type: "tool_call" }), AuditError, JSON.stringify(answers));
  }
});

Deno.test("RecordChannel stops the run when the launcher is gone", () => {
  const broken = () => {
    throw new Deno.errors.BrokenPipe();
  };
  const channel = new RecordChannel(
    { records: { writeSync: broken }, answers: { readSync: () => null } },
    (value) => value,
  );
  assert.throws(
    () => channel.send({ type: "event" }),
    (error) => error instanceof AuditError && error.code === "audit_write_failed",
  );
});
