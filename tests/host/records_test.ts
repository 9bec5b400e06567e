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
      read: () => Promise.resolve(null),
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
    { records: { writeSync: broken }, answers: { readSync: () => null, read: () => Promise.resolve(null) } },
    (value) => value,
  );
  assert.throws(
    () => channel.send({ type: "event" }),
    (error) => error instanceof AuditError && error.code === "audit_write_failed",
  );
});

/** A channel that reads in the background whatever a test says, whenever it says it. */
function makeLiveChannel() {
  const sent: string[] = [];
  const waiting: string[] = [];
  let wake = Promise.withResolvers<void>();
  const channel = new RecordChannel({
    records: {
      writeSync(data) {
        sent.push(new TextDecoder().decode(data));
        return data.length;
      },
    },
    answers: {
      readSync: () => assert.fail("blocked although a person thinks"),
      async read(buffer) {
        while (waiting.length === 0) await wake.promise;
        const text = waiting.shift() ?? "";
        return text === "" ? null : new TextEncoder().encodeInto(text, buffer).written;
      },
    },
  }, (value) => JSON.parse(JSON.stringify(value).replaceAll("secret", "[gone]")));
  const say = (text: string) => {
    waiting.push(text);
    wake.resolve();
    wake = Promise.withResolvers();
  };
  return { channel, sent, say };
}

const QUESTION = { tool: "x", args: { a: "secret" }, arg_bytes: 1 };

Deno.test("RecordChannel lets records pass while a question is open, and hands each answer to who waits for it", async () => {
  const { channel, sent, say } = makeLiveChannel();
  const first = channel.ask("c1", QUESTION);
  const second = channel.ask("c2", QUESTION);
  const written = channel.sendAndWait({ type: "tool_call", tool: "y" });
  assert.ok(written instanceof Promise);
  assert.equal(sent[0], '@ask {"call_id":"c1","tool":"x","args":{"a":"secret"},"arg_bytes":1}\n', "not redacted");
  say("a\nd {");
  await written;
  say('"call_id":"c2","status":"denied","approval_id":"i","approval_mode":"terminal"}\n');
  assert.deepEqual(await second, { status: "denied", approval_id: "i", approval_mode: "terminal" });
  say('d {"call_id":"c1","status":"granted","approval_id":"j","approval_mode":"terminal"}\n');
  assert.equal((await first).status, "granted");
});

Deno.test("RecordChannel ends everything that waits when the launcher is gone or says what nobody asked", async () => {
  for (const text of ["", "b\n", 'd {"call_id":"c9","status":"granted"}\n', "a\na\n", "d nonsense\n"]) {
    const { channel, say } = makeLiveChannel();
    const asked = channel.ask("c1", QUESTION);
    const written = Promise.resolve(channel.sendAndWait({ type: "tool_call" }));
    const ends = Promise.allSettled([asked, written]);
    say(text);
    const [answer, ack] = await ends;
    assert.equal(answer.status, "rejected", text);
    assert.equal(ack.status, text.startsWith("a") ? "fulfilled" : "rejected", text);
  }
});
