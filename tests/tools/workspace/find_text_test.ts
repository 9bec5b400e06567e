import assert from "node:assert/strict";
import fc from "fast-check";
import { findQuickly, findSteadily, findText } from "../../../src/tools/workspace/find_text.ts";

const ENCODER = new TextEncoder();
const bytesOf = (text: string): Uint8Array => ENCODER.encode(text);

/** Texts of few letters: what matches itself at a distance is where a search goes wrong. */
const dense = (least: number, most: number) =>
  fc.array(fc.constantFrom("a", "b", "\n", "\r\n", "\r", "é"), { minLength: least, maxLength: most }).map((parts) =>
    parts.join("")
  );

/** The plainest search there is, over a file whose line breaks were all made alike. */
function naive(text: string, wanted: string, overlapping: boolean): number[] {
  const found: number[] = [];
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + (overlapping ? 1 : wanted.length))) {
    found.push(at);
  }
  return found;
}

Deno.test("findText() finds what a plain search finds, byte for byte", () => {
  fc.assert(
    fc.property(dense(0, 60), dense(1, 6), fc.boolean(), (text, wanted, overlapping) => {
      const file = bytesOf(text);
      const options = { anyLineBreak: false, overlapping, limit: 1000 };
      const { count, found } = findText(file, bytesOf(wanted), options);
      assert.deepEqual(findSteadily(file, bytesOf(wanted), options), { count, found });
      const expected = naive(text, wanted, overlapping).map((at) => bytesOf(text.slice(0, at)).length);
      assert.equal(count, expected.length);
      assert.deepEqual(found.map(({ start }) => start), expected);
      for (const { start, end } of found) assert.equal(new TextDecoder().decode(file.subarray(start, end)), wanted);
    }),
    { numRuns: 3000 },
  );
});

Deno.test("findText() with anyLineBreak finds what a plain search finds once all line breaks are alike", () => {
  fc.assert(
    fc.property(dense(0, 60), dense(1, 6), fc.boolean(), (text, raw, overlapping) => {
      const wanted = raw.replaceAll("\r", "");
      fc.pre(wanted !== "");
      const file = bytesOf(text);
      const options = { anyLineBreak: true, overlapping, limit: 1000 };
      const { count, found } = findText(file, bytesOf(wanted), options);
      assert.deepEqual(findSteadily(file, bytesOf(wanted), options), { count, found });
      const alike = text.replaceAll("\r\n", "\n");
      const expected = naive(alike, wanted, overlapping);
      assert.equal(count, expected.length);
      for (const [index, { start, end }] of found.entries()) {
        const before = new TextDecoder().decode(file.subarray(0, start)).replaceAll("\r\n", "\n");
        assert.equal(before.length, expected[index]);
        assert.equal(new TextDecoder().decode(file.subarray(start, end)).replaceAll("\r\n", "\n"), wanted);
        // A line break is taken whole.
        assert.ok(!(file[start] === 10 && file[start - 1] === 13), JSON.stringify({ text, wanted, start }));
      }
    }),
    { numRuns: 3000 },
  );
});

Deno.test("findText() counts beyond its limit", () => {
  const { count, found } = findText(bytesOf("aaaa"), bytesOf("a"), { anyLineBreak: true, overlapping: true, limit: 2 });
  assert.deepEqual([count, found], [4, [{ start: 0, end: 1 }, { start: 1, end: 2 }]]);
});

Deno.test("findText() takes linear time for a text that almost matches everywhere", () => {
  const file = new Uint8Array(4 * 1024 * 1024).fill(97);
  const almost = bytesOf("a".repeat(128 * 1024) + "b");
  const started = performance.now();
  const options = { anyLineBreak: true, overlapping: true, limit: 1 };
  for (const text of [almost, almost.toReversed(), bytesOf("\n".repeat(1000))]) {
    assert.equal(findText(file, text, options).count, 0);
  }
  // A period that matches for long and then does not, and no byte that is rare.
  const period = bytesOf("a".repeat(99) + "b");
  const periodic = file.map((_, at) => at < file.length / 2 ? period[at % 100] ?? 0 : 99);
  const wanted = bytesOf("c" + new TextDecoder().decode(period).repeat(1000));
  assert.equal(findQuickly(periodic, wanted, options), undefined);
  assert.equal(findText(periodic, wanted, options).count, 0);
  const text = bytesOf("aaaa\n".repeat(20_000));
  assert.equal(findText(file.map((_, at) => at % 5 === 4 ? 10 : 97), text, options).count > 0, true);
  assert.ok(performance.now() - started < 5000);
});
