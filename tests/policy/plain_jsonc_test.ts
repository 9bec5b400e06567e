import assert from "node:assert/strict";
import { parse } from "@humanwhocodes/momoa";
import fc from "fast-check";
import type { Json } from "../../src/json.ts";
import { readPlainJsonc } from "../../src/policy/plain_jsonc.ts";

const LIMITS = { depth: 64, forbiddenKeys: new Set(["__proto__"]) };

/** What the library reads, with where it starts: the same as the quick way, or an error. */
function readByLibrary(text: string): { readonly value: Json; readonly at: number } | undefined {
  try {
    const { body } = parse(text, { mode: "jsonc", ranges: true, allowTrailingCommas: true });
    const toValue = (node: typeof body): Json =>
      node.type === "Object"
        ? Object.fromEntries(node.members.map(({ name, value }) => [
          name.type === "String" ? name.value : name.name,
          toValue(value),
        ]))
        : node.type === "Array"
        ? node.elements.map(({ value }) => toValue(value))
        : "value" in node
        ? node.value as Json
        : null;
    return { value: toValue(body), at: body.range?.[0] ?? -1 };
  } catch {
    return undefined;
  }
}

Deno.test("readPlainJsonc() reads nothing that the library refuses or reads in another way", () => {
  const piece = fc.constantFrom(
    ..."{ } [ ] , : 1 2 0 -1 -0 1.5 01 1e3 9007199254740992 true false null tru e".split(" "),
    ...['"a"', '"b"', '"a\\n"', '"\\u0061"', '"\\/"', '"', "'", "\\", '"__proto__"', '"x//y"', '"/*"'],
    ...[
      " ",
      "\n",
      "\r",
      "\t",
      "//c\n",
      "//c\r",
      "//c",
      "/**/",
      "/*\n*/",
      "/*",
      "*/",
      "/",
      "\u2028",
      "\ufeff",
      "\u00a0",
    ],
  );
  const soup = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));
  const space = fc.constantFrom("", " ", "\n", "//c,\n", "/*]*/", '// "\r');
  const nearlyRight = fc.tuple(
    fc.json({ maxDepth: 3 }),
    fc.array(space, { minLength: 8, maxLength: 8 }),
    piece,
    fc.nat(),
  )
    .map(([json, spaces, extra, at]) => {
      const spaced = json.replace(
        /[{}[\],:]/g,
        (mark) => `${spaces[json.length % 8]}${mark}${spaces[mark.charCodeAt(0) % 8]}`,
      );
      const trailing = spaced.replace(/(?<=[\w"])\s*[}\]]/, (end) => `,${end}`);
      const place = at % (trailing.length + 1);
      return at % 3 === 0 ? trailing.slice(0, place) + extra + trailing.slice(place) : trailing;
    });
  let taken = 0;
  fc.assert(
    fc.property(fc.oneof(soup, nearlyRight), (text) => {
      const plain = readPlainJsonc(text, LIMITS);
      if (plain === undefined) return;
      taken++;
      const known = readByLibrary(text);
      assert.deepEqual({ value: plain.value, at: plain.locate().values.get("") }, known, JSON.stringify(text));
    }),
    { numRuns: 20_000 },
  );
  assert.ok(taken > 1000, String(taken));
});

Deno.test("readPlainJsonc() takes the usual policy and leaves what needs a closer look", () => {
  const usual =
    '// one\n{\n  "version": 1, /* two */ "tools": ["readFile",],\n  "fs": { "read": [{ "root": "a" },] },\n}\n';
  const plain = readPlainJsonc(usual, LIMITS);
  assert.deepEqual(plain?.value, { version: 1, tools: ["readFile"], fs: { read: [{ root: "a" }] } });
  const { values, keys } = plain?.locate() ?? { values: new Map(), keys: new Map() };
  assert.deepEqual([values.get(""), values.get("/tools/0"), values.get("/fs/read/0/root")], [
    usual.indexOf("{"),
    usual.indexOf('"readFile"'),
    usual.indexOf('"a"'),
  ]);
  assert.equal(keys.get("/fs/read"), usual.indexOf('"read"'));
  const deep = "[".repeat(65) + "]".repeat(65);
  const others = [
    "",
    "[,]",
    "{,}",
    "[1,,]",
    '{"a":1,"a":1}',
    '{"2":1,"1":1}',
    '{"__proto__":1}',
    '["\\ud800"]',
    "1 2",
    "1e9",
  ];
  for (const text of [...others, '["\ud800"]', "9007199254740993", "1/**/2", "tru/**/e", "[1] 2", "[1", "/*", deep]) {
    assert.equal(readPlainJsonc(text, LIMITS), undefined, text);
  }
  assert.notEqual(readPlainJsonc(deep.slice(1, -1), LIMITS), undefined);
});
