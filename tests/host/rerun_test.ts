import assert from "node:assert/strict";
import type { RecordBody } from "../../src/audit/record.ts";
import { RecordingChain } from "../../src/audit/recording.ts";
import { makeRedactor } from "../../src/audit/redact.ts";
import { sha256Now } from "../../src/audit/sha256.ts";
import { AuditError } from "../../src/errors.ts";
import type { Outcome } from "../../src/host/ended.ts";
import { parseHead } from "../../src/host/frame.ts";
import { Recorder } from "../../src/host/recorder.ts";
import { DIVERGED, Rerun } from "../../src/host/rerun.ts";
import type { SessionEnd, Transcript } from "../../src/host/transcript.ts";

const DONE: SessionEnd = { status: "ok", reason: "done" };
const SECRET = "hunter2hunter2";

/** A transcript in the hands of a test, with everything that came out of it. */
interface Hands {
  readonly sent: string[];
  readonly ends: SessionEnd[];
  ask(line: string): boolean;
  call(callId: string, id: number, name: string, args: string): boolean;
}

function hold(transcript: Transcript): Hands {
  const sent: string[] = [];
  const ends: SessionEnd[] = [];
  transcript.attach({ send: (line) => void sent.push(line), end: (end) => void ends.push(end) });
  const ask = (line: string) => {
    const [head = "", body] = line.split("\t");
    const may = transcript.asked(parseHead(head) ?? { op: "" }, body);
    if (may) transcript.handled();
    return may;
  };
  return {
    sent,
    ends,
    ask,
    call(callId, id, name, args) {
      if (!ask(`{"op":"call","id":${id},"name":${JSON.stringify(name)}}\t${args}`)) return false;
      transcript.began(callId, id);
      return true;
    },
  };
}

interface Recorded {
  readonly lines: string[];
  readonly recorder: Recorder;
  readonly hands: Hands;
}

function record(secret?: string): Recorded {
  const lines: string[] = [];
  let now = 1000;
  const recorder = new Recorder({
    redactor: makeRedactor({ fields: [], secrets: new Map(secret === undefined ? [] : [["S", secret]]) }),
    sha256: sha256Now,
    start: { context: { topic: secret ?? "t" }, controls: {}, redact: ["mine"], expect: {} },
    write: (line) => void lines.push(line),
    now: () => now++,
  });
  return { lines, recorder, hands: hold(recorder) };
}

/** The outcome of a call, as a session hands it on: its record first, then the answer. */
function settle(transcript: Transcript, callId: string, id: number, outcome: Outcome): void {
  transcript.settled(callId, outcome);
  transcript.answer(
    outcome.kind === "result" ? { id, failed: false, text: outcome.text } : {
      id,
      failed: true,
      text: JSON.stringify({ outcome: outcome.kind, code: outcome.code, message: outcome.message }),
    },
  );
}

function again(lines: readonly string[]): { rerun: Rerun; hands: Hands; records: RecordBody[] } {
  const records: RecordBody[] = [];
  const rerun = new Rerun(new TextEncoder().encode(lines.map((line) => `${line}\n`).join("")), {
    redactor: makeRedactor({ fields: [], secrets: new Map() }),
    sha256: sha256Now,
    record: (body) => void records.push(body),
    show: (_head, body) => body ?? null,
  });
  return { rerun, hands: hold(rerun), records };
}

/** Two calls that were answered in the other order, a timer, an event, the end. */
function recordTwo(): Recorded {
  const recorded = record();
  const { recorder, hands } = recorded;
  hands.call("c1", 1, "echo", '{"n":1}');
  hands.call("c2", 2, "echo", '{"n":2}');
  hands.ask('{"op":"timer","id":3,"ms":5}');
  settle(recorder, "c2", 2, { kind: "result", text: '"two"' });
  recorder.answer({ id: 3, failed: false, text: "null" });
  settle(recorder, "c1", 1, { kind: "error", code: "x", message: "m" });
  hands.ask('{"op":"emit"}\t{"kind":"k"}');
  recorder.ended(DONE);
  return recorded;
}

Deno.test("Recorder writes header, steps, answers in their order, and the end; each outcome names the head", () => {
  const { lines, recorder, hands } = record();
  const chain = new RecordingChain(sha256Now);
  const headNow = () => {
    for (const line of lines.slice(chain.entries)) chain.add(new TextEncoder().encode(line));
    return chain.head;
  };
  assert.equal(recorder.received.received_sha256, headNow());
  hands.call("c1", 1, "echo", "{}");
  const fields = recorder.settled("c1", { kind: "result", text: '{"a":1}' });
  assert.equal(fields.received_sha256, headNow());
  assert.deepEqual(hands.sent, []);
  recorder.answer({ id: 1, failed: false, text: '{"a":1}' });
  assert.deepEqual(hands.sent, ['{"id":1,"t":1000}\t{"a":1}']);
  recorder.ended(DONE);
  assert.deepEqual(lines.map((line) => JSON.parse(line).op), ["header", "asked", "answer", "end"]);
  assert.equal(lines[2], '{"op":"answer","id":1,"t":1000,"call_id":"c1","value":{"a":1}}');
});

Deno.test("Recorder sends answers in the order of their records, not in that of their delivery", () => {
  const { recorder, hands } = record();
  hands.call("c1", 1, "echo", "{}");
  hands.call("c2", 2, "echo", "{}");
  recorder.settled("c1", { kind: "result", text: "1" });
  recorder.settled("c2", { kind: "result", text: "2" });
  recorder.answer({ id: 2, failed: false, text: "2" });
  assert.deepEqual(hands.sent, []);
  recorder.answer({ id: 1, failed: false, text: "1" });
  assert.deepEqual(hands.sent, ['{"id":1,"t":1000}\t1', '{"id":2,"t":1001}\t2']);
});

Deno.test("Recorder writes no known secret in any form, and says where it took one out", () => {
  const secret = '12345678"x';
  for (const known of [SECRET, secret, "4815162342"]) {
    const { lines, recorder, hands } = record(known);
    hands.call("c1", 1, known, JSON.stringify({ [known]: known }));
    const value = {
      plain: `a ${known} b`,
      base64: btoa(`xx${known}`),
      url: encodeURIComponent(known),
      [`key ${known}`]: [known],
      number: Number(known) || 1,
      // Over the border of two values a text is a secret that neither of them is.
      list: [known.slice(0, -1), known.slice(-1)],
    };
    settle(recorder, "c1", 1, { kind: "result", text: JSON.stringify(value) });
    const text = lines.join("\n");
    assert.equal(makeRedactor({ fields: [], secrets: new Map([["S", known]]) }).scrub(text), text);
    assert.equal(JSON.parse(lines[2] ?? "").scrubbed, true);
    assert.equal(JSON.parse(lines[0] ?? "").scrubbed, true);
    // What the agent receives is what the tool returned.
    assert.deepEqual(JSON.parse(hands.sent[0]?.split("\t")[1] ?? ""), value);
  }
  const across = record('a","b12345');
  across.hands.call("c1", 1, "echo", "{}");
  settle(across.recorder, "c1", 1, { kind: "result", text: '["a","b12345"]' });
  assert.match(across.lines[2] ?? "", /"scrubbed":true,"value":"\[redacted\]"/);
});

Deno.test("Recorder writes nothing that comes after the end: no agent receives it", () => {
  const { lines, recorder, hands } = record();
  hands.call("c1", 1, "echo", "{}");
  recorder.ended(DONE);
  assert.deepEqual(recorder.settled("c1", { kind: "result", text: "1" }), {});
  recorder.answer({ id: 1, failed: false, text: "1" });
  recorder.answer({ id: 2, failed: false, text: "null" });
  assert.deepEqual([lines.length, hands.sent], [3, []]);
});

Deno.test("Recorder stops the run over an answer that is larger than any line may be", () => {
  const { recorder, hands } = record();
  hands.call("c1", 1, "echo", "{}");
  const text = JSON.stringify("x".repeat(29 * 1024 * 1024));
  assert.throws(() => recorder.settled("c1", { kind: "result", text }), AuditError);
});

Deno.test("Rerun answers what was answered, in that order and at those times", () => {
  const { lines, hands: first } = recordTwo();
  const { rerun, hands, records } = again(lines);
  assert.equal(hands.call("c1", 1, "echo", '{"n":1}'), true);
  const outcome = rerun.outcome("c1");
  assert.deepEqual(outcome, { kind: "error", code: "x", message: "m" });
  settle(rerun, "c1", 1, { kind: "error", code: "x", message: "m" });
  // Its turn has not come.
  assert.deepEqual(hands.sent, []);
  assert.equal(hands.call("c2", 2, "echo", '{"n":2}'), true);
  assert.equal(hands.ask('{"op":"timer","id":3,"ms":5}'), true);
  rerun.answer({ id: 3, failed: false, text: "null" });
  settle(rerun, "c2", 2, rerun.outcome("c2") ?? { kind: "result", text: "" });
  assert.deepEqual(hands.sent, first.sent);
  assert.equal(hands.ask('{"op":"emit"}\t{"kind":"k"}'), true);
  assert.deepEqual(rerun.ended(DONE), DONE);
  assert.deepEqual([records, hands.ends], [[], []]);
});

Deno.test("Rerun matches equal calls by their occurrence", () => {
  const { lines, recorder, hands: first } = record();
  for (const id of [1, 2]) {
    first.call(`c${id}`, id, "echo", "{}");
    settle(recorder, `c${id}`, id, { kind: "result", text: `"${id}"` });
  }
  const { rerun, hands } = again(lines);
  hands.call("c1", 1, "echo", "{}");
  assert.deepEqual(rerun.outcome("c1"), { kind: "result", text: '"1"' });
  hands.call("c2", 2, "echo", "{}");
  assert.deepEqual(rerun.outcome("c2"), { kind: "result", text: '"2"' });
});

Deno.test("Rerun ends at the first step that differs, and answers nothing from there on", () => {
  const { lines } = recordTwo();
  const { rerun, hands, records } = again(lines);
  hands.call("c1", 1, "echo", '{"n":1}');
  assert.equal(hands.call("c2", 2, "echo", '{"n":3}'), false);
  assert.deepEqual(hands.ends, [{ status: "error", reason: DIVERGED }]);
  assert.deepEqual(records, [{
    type: "rerun_divergence",
    step: 2,
    steps: 5,
    expected: { what: "call", nth: 2, name: "echo" },
    came: { what: "call", name: "echo", value: '{"n":3}' },
    scrubbed_answers: 0,
  }]);
  rerun.answer({ id: 1, failed: true, text: "{}" });
  assert.deepEqual(hands.sent, []);
});

Deno.test("Rerun tells another end, an end too early and a step too many", () => {
  const steps = (hands: Hands, rerun: Rerun) => {
    hands.call("c1", 1, "echo", '{"n":1}');
    hands.call("c2", 2, "echo", '{"n":2}');
    hands.ask('{"op":"timer","id":3,"ms":5}');
    rerun.answer({ id: 3, failed: false, text: "null" });
  };
  const { lines } = recordTwo();
  const early = again(lines);
  steps(early.hands, early.rerun);
  assert.equal(early.rerun.ended(DONE).reason, DIVERGED);
  assert.deepEqual(early.records[0]?.expected, { what: "emit", nth: 1 });

  const other = again(lines);
  steps(other.hands, other.rerun);
  other.hands.ask('{"op":"emit"}\t{"kind":"k"}');
  assert.equal(other.rerun.ended({ ...DONE, value: "1" }).reason, DIVERGED);
  assert.deepEqual(other.records[0]?.expected, { what: "end", value: { status: "ok", reason: "done" } });

  const more = again(lines);
  steps(more.hands, more.rerun);
  more.hands.ask('{"op":"emit"}\t{"kind":"k"}');
  assert.equal(more.hands.ask('{"op":"emit"}\t{"kind":"k"}'), false);
  assert.deepEqual(more.records[0]?.came, { what: "emit", value: '{"kind":"k"}' });
});

Deno.test("Rerun ends where a recording without an end does, also when a call was never answered", () => {
  const { lines, recorder, hands: first } = record();
  first.call("c1", 1, "echo", "{}");
  first.call("c2", 2, "slow", "{}");
  settle(recorder, "c1", 1, { kind: "result", text: "1" });
  const { rerun, hands, records } = again(lines);
  hands.call("c1", 1, "echo", "{}");
  hands.call("c2", 2, "slow", "{}");
  assert.equal(rerun.outcome("c2"), undefined);
  assert.deepEqual(hands.ends, []);
  settle(rerun, "c1", 1, { kind: "result", text: "1" });
  assert.deepEqual(hands.ends, [{ status: "error", reason: "recording_ended" }]);
  assert.deepEqual(records, []);
});

Deno.test("Rerun tells a refusal that is not the one of then", () => {
  const { lines } = recordTwo();
  const { rerun, hands, records } = again(lines);
  hands.call("c1", 1, "echo", '{"n":1}');
  rerun.settled("c1", { kind: "budget", code: "tool_calls", message: "over" });
  assert.equal(hands.ends[0]?.reason, DIVERGED);
  assert.deepEqual(records[0]?.expected, {
    what: "outcome",
    call_id: "c1",
    value: { outcome: "error", code: "x", message: "m" },
  });
});

Deno.test("Rerun takes the end of a budget wherever it falls between other steps", () => {
  const { lines, recorder, hands: first } = record();
  const end: SessionEnd = { status: "error", reason: "budget_exceeded" };
  first.call("c1", 1, "echo", "{}");
  first.ask('{"op":"emit"}\t1');
  recorder.ended(end);
  const sooner = again(lines);
  sooner.hands.call("c1", 1, "echo", "{}");
  assert.deepEqual([sooner.rerun.ended(end), sooner.records], [end, []]);
  const later = again(lines);
  later.hands.call("c1", 1, "echo", "{}");
  later.hands.ask('{"op":"emit"}\t1');
  assert.equal(later.hands.ask('{"op":"emit"}\t2'), false);
  assert.deepEqual([later.hands.ends, later.records], [[end], []]);
});
