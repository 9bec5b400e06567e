import assert from "node:assert/strict";
import fc from "fast-check";
import { SseError, type SseEvent, SseParser } from "../../src/host/sse.ts";

const ENCODER = new TextEncoder();

function parse(pieces: readonly (string | Uint8Array)[], limit = 1000): SseEvent[] {
  const parser = new SseParser(limit);
  return pieces.flatMap((piece) => [...parser.push(typeof piece === "string" ? ENCODER.encode(piece) : piece)]);
}

Deno.test("SseParser reads fields as the standard says", () => {
  const text = ": a comment\r\nevent: one\r\ndata: first\r\ndata:second\r\ndata:  third\r\nid: 1\r\nretry: 5\r\n\r\n" +
    "data\n\n" + "event: only a name\n\n" + ":\n\n" + "unknown: x\ndata: last\revent: two\r\r" + "data: unfinished\n";
  assert.deepEqual(parse([text]), [
    { name: "one", data: "first\nsecond\n third" },
    { name: "", data: "" },
    { name: "two", data: "last" },
  ]);
  assert.deepEqual(parse(["\ufeffdata: behind a byte order mark\n\n"]), [
    { name: "", data: "behind a byte order mark" },
  ]);
  assert.deepEqual(parse(["data: \ufeff\u2028\u0085 no line ends\n\n"]), [
    { name: "", data: "\ufeff\u2028\u0085 no line ends" },
  ]);
});

Deno.test("SseParser gives the same events however the bytes are cut", () => {
  const text = "event: ä\r\ndata: 🔎“x”\r\n\r\n\rdata: a\n\r\ndata: b\r\rdata: c\n\n: 🔎\r\n\r\n";
  const whole = parse([text]);
  assert.equal(whole.length, 4);
  const bytes = ENCODER.encode(text);
  fc.assert(fc.property(fc.array(fc.nat(bytes.length), { maxLength: 12 }), (cuts) => {
    const sorted = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
    const pieces = sorted.slice(1).map((end, at) => bytes.subarray(sorted[at], end));
    assert.deepEqual(parse(pieces), whole);
  }));
  assert.deepEqual(parse([...bytes].map((byte) => new Uint8Array([byte]))), whole);
});

Deno.test("SseParser holds one event at most", () => {
  const tooLong = (pieces: readonly string[]): void =>
    assert.throws(() => parse(pieces, 64), (error) => error instanceof SseError && error.reason === "too_long");
  tooLong(["data: " + "x".repeat(65)]);
  tooLong(["data: " + "x".repeat(65) + "\n\n"]);
  tooLong(Array.from({ length: 10 }, () => "data: 12345678\n"));
  tooLong(["data:\n".repeat(65)]);
  tooLong(["event: " + "x".repeat(65)]);
  tooLong([": " + "x".repeat(65)]);
  assert.equal(parse(Array.from({ length: 1000 }, () => ": ping\ndata: 12345678\n\n"), 64).length, 1000);
});

Deno.test("SseParser refuses bytes that are not UTF-8", () => {
  for (const bytes of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xf8, 0x88, 0x80, 0x80, 0x80]]) {
    assert.throws(
      () => parse(["data: ", new Uint8Array([...bytes, 0x0a, 0x0a])]),
      (error) => error instanceof SseError && error.reason === "not_text",
    );
  }
});

Deno.test("SseParser takes a long line in many pieces in time that grows with its length alone", () => {
  const parser = new SseParser(64 * 1024 * 1024);
  const piece = ENCODER.encode("x".repeat(16_384));
  parser.push(ENCODER.encode("data: "));
  const start = performance.now();
  for (let i = 0; i < 2000; i++) parser.push(piece);
  const events = parser.push(ENCODER.encode("\n\n"));
  assert.equal(events[0]?.data.length, 2000 * 16_384);
  assert.ok(performance.now() - start < 5000);
});

Deno.test("SseParser takes lines that all end with a carriage return in time that grows with their length alone", () => {
  const parser = new SseParser(1_000_000);
  const bytes = new TextEncoder().encode(":\r".repeat(2_000_000));
  const start = performance.now();
  assert.deepEqual(parser.push(bytes), []);
  assert.ok(performance.now() - start < 5000);
});
