import assert from "node:assert/strict";
import fc from "fast-check";
import { applyEdits, type Edit, lineBreaksOf } from "../../../src/tools/workspace/apply_edits.ts";

const ENCODER = new TextEncoder();
const LIMIT = { limit: 1_000_000 };

const bytesOf = (text: string): Uint8Array<ArrayBuffer> => ENCODER.encode(text);
const edit = (old: string, text: string, replaceAll = false): Edit => ({ old, new: text, replaceAll });

/** Applies edits to a text; the text, or the kind of the problem. */
function run(text: string, ...edits: Edit[]): string {
  const applied = applyEdits(bytesOf(text), edits, LIMIT);
  return applied.kind === "done" ? new TextDecoder("utf-8", { ignoreBOM: true }).decode(applied.bytes) : applied.kind;
}

/** The same by the plainest means, for bytes as latin letters and edits without line breaks. */
function naive(file: string, edits: readonly Edit[]): string {
  const places: { at: number; end: number; text: string }[] = [];
  for (const { old, new: text, replaceAll } of edits) {
    const at: number[] = [];
    for (let from = file.indexOf(old); from >= 0; from = file.indexOf(old, from + (replaceAll ? old.length : 1))) {
      at.push(from);
    }
    if (at.length === 0) return "no_match";
    if (at.length > 1 && !replaceAll) return "ambiguous_match";
    places.push(...at.map((start) => ({ at: start, end: start + old.length, text: old === text ? old : text })));
  }
  places.sort((a, b) => a.at - b.at);
  if (places.some(({ at }, index) => at < (places[index - 1]?.end ?? 0))) return "overlap";
  let made = "";
  let from = 0;
  for (const { at, end, text } of places) {
    made += file.slice(from, at) + text;
    from = end;
  }
  return made + file.slice(from);
}

const letters = (least: number, most: number) =>
  fc.array(fc.constantFrom("a", "b", "c"), { minLength: least, maxLength: most }).map((parts) => parts.join(""));

Deno.test("applyEdits() does what a plain replacement does", () => {
  const edits = fc.array(fc.record({ old: letters(1, 4), new: letters(0, 5), replaceAll: fc.boolean() }), {
    minLength: 1,
    maxLength: 4,
  });
  fc.assert(
    fc.property(letters(0, 40), edits, (text, list) => {
      assert.equal(run(text, ...list), naive(text, list));
    }),
    { numRuns: 5000 },
  );
});

Deno.test("applyEdits() leaves every byte outside of its edits as it is, whatever the bytes are", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 200 }),
      fc.uint8Array({ maxLength: 200 }),
      fc.string({ minLength: 1, maxLength: 8, unit: "grapheme" }),
      fc.string({ maxLength: 20, unit: "grapheme" }),
      (before, after, salt, text) => {
        const marker = `«${salt.replaceAll("\r", "")}»`;
        const file = new Uint8Array([...before, ...bytesOf(marker), ...after]);
        const applied = applyEdits(file, [edit(marker, text)], LIMIT);
        fc.pre(applied.kind === "done");
        const { bytes, spans: [span] } = applied;
        assert.ok(span !== undefined);
        assert.deepEqual([...bytes.subarray(0, span.newStart)], [...file.subarray(0, span.start)]);
        assert.deepEqual([...bytes.subarray(span.newEnd)], [...file.subarray(span.end)]);
        const literal = text.includes("\r") || !text.includes("\n");
        const written = new TextDecoder("utf-8", { ignoreBOM: true }).decode(
          bytes.subarray(span.newStart, span.newEnd),
        );
        assert.equal(literal ? written : written.replaceAll("\r\n", "\n"), text);
      },
    ),
    { numRuns: 3000 },
  );
});

Deno.test("applyEdits() keeps a mark at the start, a missing line end and bytes that are no text", () => {
  assert.equal(run("\ufeffone\ntwo", edit("one", "1")), "\ufeff1\ntwo");
  const file = new Uint8Array([0xff, 0xfe, 0x61, 0x0d, 0x0a, 0xc3, 0x62]);
  const applied = applyEdits(file, [edit("a", "xyz")], LIMIT);
  assert.ok(applied.kind === "done");
  assert.deepEqual([...applied.bytes], [0xff, 0xfe, 0x78, 0x79, 0x7a, 0x0d, 0x0a, 0xc3, 0x62]);
});

Deno.test("applyEdits() writes line ends as the place has them", () => {
  assert.equal(run("a\r\nb\r\nc\r\n", edit("a\nb", "A\nB\nBB")), "A\r\nB\r\nBB\r\nc\r\n");
  assert.equal(run("a\nb\r\nc\n", edit("b\nc", "b\nB\nc")), "a\nb\r\nB\r\nc\n");
  assert.equal(run("a\nb\r\nc\n", edit("a", "a\nA")), "a\nA\nb\r\nc\n");
  // Nothing behind it: as the line before ends.
  assert.equal(run("a\r\nb", edit("b", "b\nB")), "a\r\nb\r\nB");
  assert.equal(run("ab", edit("b", "b\nB")), "ab\nB");
  // A line break is replaced whole.
  assert.equal(run("a\r\nb\r\n", edit("\nb", " b")), "a b\r\n");
});

Deno.test("applyEdits() takes an edit with a carriage return byte for byte", () => {
  assert.equal(run("a\r\nb\n", edit("a\r\n", "a\n")), "a\nb\n");
  assert.equal(run("a\nb\n", edit("a\n", "a\r\n")), "a\r\nb\n");
  assert.equal(run("a\nb", edit("a\r\nb", "x")), "no_match");
});

Deno.test("applyEdits() counts a place that differs in its line ends alone as a second one", () => {
  const applied = applyEdits(bytesOf("x\na\nb\ny\na\r\nb\n"), [edit("a\nb", "c")], LIMIT);
  assert.deepEqual(applied, { kind: "ambiguous_match", index: 0, count: 2, lines: [2, 5] });
  assert.equal(run("aaa", edit("aa", "b")), "ambiguous_match");
});

Deno.test("applyEdits() looks for each edit in the file as it was given", () => {
  assert.equal(run("one two", edit("one", "two"), edit("two", "one")), "two one");
  assert.equal(run("one", edit("one", "two"), edit("two", "three")), "no_match");
  assert.deepEqual(applyEdits(bytesOf("a\nbcd"), [edit("bc", "x"), edit("cd", "y")], LIMIT), {
    kind: "overlap",
    index: 1,
    other: 0,
    line: 2,
  });
});

Deno.test("applyEdits() refuses an outcome that is too large before it is made", () => {
  const wide = edit("a", "x".repeat(100_000), true);
  const applied = applyEdits(bytesOf("a".repeat(90_000)), [wide], { limit: 1000 });
  assert.deepEqual(applied, { kind: "too_large", bytes: 9_000_000_000 });
  const many = applyEdits(bytesOf("a".repeat(100_001)), [edit("a", "b", true)], LIMIT);
  assert.deepEqual(many, { kind: "too_many_matches", index: 0, count: 100_001 });
});

Deno.test("lineBreaksOf() tells how lines end", () => {
  const cases = { "": "none", "a": "none", "a\n": "lf", "a\r\nb": "crlf", "a\nb\r\n": "mixed", "a\rb": "none" };
  for (const [text, expected] of Object.entries(cases)) assert.equal(lineBreaksOf(bytesOf(text)), expected);
});
