import assert from "node:assert/strict";
import { makeRedactor } from "../../src/audit/redact.ts";
import { sha256Now } from "../../src/audit/sha256.ts";
import { MAX_OUTCOME_BYTES, parseHead } from "../../src/host/frame.ts";
import { answerOf, askedEntry, endEntry, endWith } from "../../src/host/transcript.ts";

const SECRET = "hunter2hunter2";

function options(secret?: string) {
  const secrets = new Map(secret === undefined ? [] : [["S", secret]]);
  return { redactor: makeRedactor({ fields: [], secrets }), sha256: sha256Now };
}

function entry(line: string, secret?: string) {
  const [head = "", body] = line.split("\t");
  return askedEntry(parseHead(head) ?? { op: "" }, body, options(secret));
}

Deno.test("askedEntry() names the step and digests all of it in canonical form", () => {
  const call = entry('{"op":"call","id":3,"name":"echo"}\t{"a":1,"b":[2]}');
  assert.deepEqual([call?.what, call?.id, call?.name], ["call", 3, "echo"]);
  assert.equal(entry('{"op":"call","id":9,"name":"echo"}\t{"b":[2],"a":1}')?.sha256, call?.sha256);
  const others = [
    '{"op":"call","id":3,"name":"echp"}\t{"a":1,"b":[2]}',
    '{"op":"call","id":3,"name":"echo"}\t{"a":1,"b":[3]}',
    '{"op":"call","id":3,"name":"echo"}',
    '{"op":"call","id":3,"name":"echo","bad":{"path":"","reason":"x"}}',
    '{"op":"emit"}\t{"a":1,"b":[2]}',
    '{"op":"state","id":3,"do":"get","key":"a"}',
    '{"op":"state","id":3,"do":"delete","key":"a"}',
    '{"op":"timer","id":3,"ms":1}',
    '{"op":"timer","id":3,"ms":2}',
    '{"op":"call","id":3,"name":"echo"}\tnot json',
    '{"op":"call","id":3,"name":"echo"}\t{"text":"not json"}',
    '{"op":"call","id":3,"name":"echo"}\t{"value":{"a":1,"b":[2]}}',
  ].map((line) => entry(line)?.sha256);
  assert.equal(new Set([call?.sha256, ...others]).size, others.length + 1);
  assert.equal(entry('{"op":"ack","bytes":3}'), undefined);
  assert.equal(entry('{"op":"end","status":"ok"}'), undefined);
});

Deno.test("askedEntry() holds no known secret, and is the same where the agent got a marker in its place", () => {
  const line = (secret: string) => `{"op":"state","id":1,"do":"set","key":"${secret}"}\t{"k ${secret}":["${secret}"]}`;
  const first = entry(line(SECRET), SECRET);
  assert.ok(!JSON.stringify(first).includes(SECRET));
  assert.deepEqual(first, entry(line("[redacted]")));
  const long = entry(`{"op":"call","id":1,"name":"${"x".repeat(250)}${SECRET}"}\t{}`, SECRET);
  assert.ok(!JSON.stringify(long).includes(SECRET.slice(0, 4)));
});

Deno.test("endEntry() digests status, reason, error and value", () => {
  const end = endEntry({ status: "ok", reason: "done", value: '{"a":1}' }, options());
  assert.deepEqual([end.op, end.status, end.reason], ["end", "ok", "done"]);
  const other = endEntry({ status: "ok", reason: "done", value: '{"a":2}' }, options());
  const failed = endEntry({ status: "error", reason: "agent_error", error: { message: "m" } }, options());
  assert.equal(new Set([end.sha256, other.sha256, failed.sha256]).size, 3);
});

Deno.test("answerOf() gives the text of a result, and outcome, code and message of anything else", () => {
  assert.deepEqual(answerOf(1, { kind: "result", text: "[1]" }), { id: 1, failed: false, text: "[1]" });
  assert.deepEqual(answerOf(2, { kind: "denied", code: "c", message: "m" }), {
    id: 2,
    failed: true,
    text: '{"outcome":"denied","code":"c","message":"m"}',
  });
});

Deno.test("endWith() keeps an outcome that fits, drops what is no plain data, and says when it is too large", () => {
  assert.deepEqual(endWith(undefined), { status: "ok", reason: "done" });
  assert.deepEqual(endWith("{"), { status: "ok", reason: "done" });
  assert.deepEqual(endWith('{"a":1}'), { status: "ok", reason: "done", value: '{"a":1}' });
  const text = JSON.stringify("é".repeat((MAX_OUTCOME_BYTES - 2) / 2));
  assert.deepEqual(endWith(text), { status: "ok", reason: "done", value: text });
  assert.deepEqual(endWith(`${text} `), { status: "error", reason: "outcome_too_large" });
});
