import assert from "node:assert/strict";
import { ascii, holds, holdsText, lineForm, plainString } from "../../src/audit/line_form.ts";

const ENCODER = new TextEncoder();
const LINE = `{"seq":12,"at_ms":34,"run_id":"r-1","type":"event","event":"ä","prev":"${"a".repeat(64)}","hash":"${
  "b".repeat(64)
}"}`;

Deno.test("lineForm() finds the parts of a line inside a larger buffer", () => {
  const bytes = ENCODER.encode(`xx${LINE}\nyy`);
  const to = bytes.length - 3;
  const form = lineForm(bytes, 2, to);
  assert.ok(form);
  assert.equal(form.seq, 12);
  assert.equal(ascii(bytes, ...form.runId), "r-1");
  assert.equal(ascii(bytes, ...form.type), "event");
  assert.equal(ascii(bytes, form.prev, form.prev + 64), "a".repeat(64));
  assert.equal(ascii(bytes, form.hash, form.hash + 64), "b".repeat(64));
  assert.equal(new TextDecoder().decode(bytes.subarray(2, form.hashed)), LINE.slice(0, LINE.indexOf(',"hash"')));
});

Deno.test("lineForm() refuses every line without the form", () => {
  const bad = [
    "",
    "{}",
    LINE.slice(1),
    LINE.slice(0, -1),
    ` ${LINE}`,
    LINE.replace("12", "012"),
    LINE.replace("12", "-1"),
    LINE.replace("12", "1.5"),
    LINE.replace("12", ""),
    LINE.replace("12", "1234567890123456"),
    LINE.replace("34", ""),
    LINE.replace('"type"', '"tipe"'),
    LINE.replace('"run_id"', '"run"'),
    LINE.replace('"prev"', '"prew"'),
    LINE.slice(LINE.indexOf(',"prev"')),
  ];
  for (const line of bad) {
    const bytes = ENCODER.encode(line);
    assert.equal(lineForm(bytes, 0, bytes.length), undefined, line);
  }
});

Deno.test("plainString() reads only a short string without escapes", () => {
  const label = ENCODER.encode('"id":"');
  const read = (text: string): string | undefined => {
    const bytes = ENCODER.encode(text);
    const found = plainString(bytes, 0, label);
    return found === undefined ? undefined : ascii(bytes, found[0], found[1]);
  };
  assert.equal(read('"id":"c1","x":1'), "c1");
  assert.equal(read('"id":""'), "");
  for (const text of ['"id":"c\\"1"', '"id":"ä"', '"id":"open', '"ip":"c1"', `"id":"${"x".repeat(300)}"`]) {
    assert.equal(read(text), undefined, text);
  }
});

Deno.test("holds() and holdsText() compare in place, also past the end", () => {
  const bytes = ENCODER.encode("abc");
  assert.ok(holds(bytes, 1, ENCODER.encode("bc")));
  assert.ok(!holds(bytes, 2, ENCODER.encode("cd")));
  assert.ok(holdsText(bytes, 0, "abc"));
  assert.ok(!holdsText(bytes, 0, "abcd"));
});
