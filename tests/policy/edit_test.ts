import assert from "node:assert/strict";
import fc from "fast-check";
import type { Json } from "../../src/json.ts";
import { editPolicy, type PolicyEdit } from "../../src/policy/edit.ts";
import { readJsonc } from "../../src/policy/jsonc.ts";
import { PolicyError } from "../../src/policy/policy_error.ts";

const append = (path: PolicyEdit["path"], value: Json): PolicyEdit => ({ act: "append", path, value });
const set = (path: PolicyEdit["path"], value: Json): PolicyEdit => ({ act: "set", path, value });
const remove = (path: PolicyEdit["path"]): PolicyEdit => ({ act: "remove", path });

Deno.test("editPolicy() adds, sets and removes, and keeps every other character", () => {
  const cases: [before: string, edit: PolicyEdit, after: string][] = [
    ['{ "a": ["x"] }', append(["a"], "y"), '{ "a": ["x", "y"] }'],
    ['{ "a": ["x",] }', append(["a"], "y"), '{ "a": ["x", "y",] }'],
    ['{ "a": [] }', append(["a"], "y"), '{ "a": ["y"] }'],
    ['{ "a": [ /* none */ ] }', append(["a"], "y"), '{ "a": [ /* none */  "y" ] }'],
    ['{\n  "a": [\n    // none yet\n  ]\n}', append(["a"], 1), '{\n  "a": [\n    // none yet\n    1\n  ]\n}'],
    ['{\n  "a": [\n    1 // one\n  ]\n}', append(["a"], 2), '{\n  "a": [\n    1, // one\n    2\n  ]\n}'],
    ['{\n  "a": [\n    1, // one\n  ]\n}', append(["a"], 2), '{\n  "a": [\n    1, // one\n    2,\n  ]\n}'],
    ['{\n\t"v": 1 // last\n}\n', append(["a"], 2), '{\n\t"v": 1, // last\n\t"a": [2]\n}\n'],
    ['{\r\n  "v": 1\r\n}', append(["a"], 2), '{\r\n  "v": 1,\r\n  "a": [2]\r\n}'],
    ['{ "v": 1 }', set(["b", "n"], 2), '{ "v": 1, "b": { "n": 2 } }'],
    ["{}", set(["b", "n"], 2), '{ "b": { "n": 2 } }'],
    ['{ "v": /* one */ 1 /* end */ }', set(["v"], { x: [1] }), '{ "v": /* one */ { "x": [1] } /* end */ }'],
    ['\ufeff{ "v": 1 }', set(["v"], 2), '\ufeff{ "v": 2 }'],
    ['{ "a": [1, 2, 3] }', remove(["a", 0]), '{ "a": [2, 3] }'],
    ['{ "a": [1, 2, 3] }', remove(["a", 2]), '{ "a": [1, 2] }'],
    ['{ "a": [1] }', remove(["a", 0]), '{ "a": [] }'],
    ['{ "a": [1 /* c */, 2] }', remove(["a", 1]), '{ "a": [1 /* c */] }'],
    [
      '{\n  // of a\n  "a": 1, // one\n  // of b\n  "b": 2 // two\n}',
      remove(["b"]),
      '{\n  // of a\n  "a": 1 // one\n  // of b\n}',
    ],
    ['{\n  "a": 1, // one\n  "b": 2 // two\n}', remove(["a"]), '{\n  "b": 2 // two\n}'],
    ['{\n  "a": 1,\n  "b": 2,\n}', remove(["b"]), '{\n  "a": 1,\n}'],
    ['{\n  "a": 1\n  , "b": 2\n}', remove(["a"]), '{\n  \n  "b": 2\n}'],
  ];
  for (const [before, edit, after] of cases) assert.equal(editPolicy(before, [edit]), after, before);
});

Deno.test("editPolicy() applies several changes in their order", () => {
  const edits = [append(["a"], 1), append(["a"], 2), remove(["a", 0]), set(["n"], 3), remove(["n"])];
  assert.equal(editPolicy("{}", edits), '{ "a": [2] }');
});

Deno.test("editPolicy() refuses a text that does not parse, and a key of JavaScript's own", () => {
  assert.throws(() => editPolicy("{", [set(["a"], 1)]), PolicyError);
  assert.throws(() => editPolicy("{}", [set(["a"], JSON.parse('{ "__proto__": 1 }'))]), PolicyError);
});

/** A document in one of the ways that people write one, with numbered comments. */
const documentArb = fc.record({
  items: fc.array(fc.constantFrom<Json>("x, y", 1, { "k": "// no comment" }, ["/*"], "]"), { maxLength: 4 }),
  isMultiline: fc.boolean(),
  hasTrailingComma: fc.boolean(),
  comments: fc.array(fc.constantFrom("line", "block", "none"), { minLength: 5, maxLength: 5 }),
  eol: fc.constantFrom("\n", "\r\n"),
});

function write({ items, isMultiline, hasTrailingComma, comments, eol }: {
  items: readonly Json[];
  isMultiline: boolean;
  hasTrailingComma: boolean;
  comments: readonly string[];
  eol: string;
}): { text: string; comments: string[] } {
  const made: string[] = [];
  const comment = (i: number): string => {
    const kind = comments[i] ?? "none";
    if (kind === "none" || (kind === "line" && !isMultiline)) return "";
    const text = kind === "line" ? `// c${i}, ]` : `/* c${i}, ] */`;
    made.push(text);
    return ` ${text}`;
  };
  const gap = isMultiline ? `${eol}    ` : " ";
  const body = items.map((item, i) => {
    const comma = i < items.length - 1 || hasTrailingComma ? "," : "";
    return `${gap}${JSON.stringify(item)}${comma}${comment(i)}`;
  });
  const head = comment(4);
  const end = isMultiline ? `${eol}  ` : " ";
  return { text: `{${eol}  "list": [${head}${body.join("")}${end}], "other": 1${eol}}`, comments: made };
}

Deno.test("editPolicy() says exactly what was asked for, however the list is written", () => {
  fc.assert(
    fc.property(documentArb, fc.nat(4), (shape, index) => {
      const { text, comments } = write(shape);
      const appended = editPolicy(text, [append(["list"], { "new": true })]);
      assert.deepEqual(readJsonc(appended, "x").value, { list: [...shape.items, { new: true }], other: 1 });
      for (const comment of comments) assert.ok(appended.includes(comment), appended);
      assert.equal(appended.includes("\n") && shape.eol === "\r\n" && /[^\r]\n/.test(appended), false);
      if (index >= shape.items.length) return;
      const removed = editPolicy(text, [remove(["list", index])]);
      assert.deepEqual(readJsonc(removed, "x").value, { list: shape.items.toSpliced(index, 1), other: 1 });
      for (const comment of comments) {
        if (!comment.includes(`c${index}`)) assert.ok(removed.includes(comment), removed);
      }
    }),
    { numRuns: 500 },
  );
});
