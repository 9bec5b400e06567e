import assert from "node:assert/strict";
import fc from "fast-check";
import { addToConfig, type ConfigEntry } from "../../src/cli/deno_config.ts";
import { readJsonc } from "../../src/policy/jsonc.ts";

const AGENT: ConfigEntry = { block: "tasks", key: "agent", value: "run it" };
const IMPORT: ConfigEntry = { block: "imports", key: "twokey", value: "../twokey/mod.ts" };

Deno.test("addToConfig() adds blocks and members, and keeps every other character", () => {
  const cases: [before: string, after: string][] = [
    ["{}", '{\n  "tasks": { "agent": "run it" }\n}'],
    ["{\n}\n", '{\n  "tasks": { "agent": "run it" }\n}\n'],
    ["{ // nothing\n}\n", '{\n  "tasks": { "agent": "run it" } // nothing\n}\n'],
    ['{ "name": "x" }', '{ "tasks": { "agent": "run it" }, "name": "x" }'],
    ['{\n  "name": "x", // the name\n}', '{\n  "tasks": { "agent": "run it" },\n  "name": "x", // the name\n}'],
    ['{\n\t"tasks": {}\n}', '{\n\t"tasks": {\n\t\t"agent": "run it"\n\t}\n}'],
    [
      '{\n  "tasks": {\n    // mine\n    "dev": "x"\n  }\n}',
      '{\n  "tasks": {\n    "agent": "run it",\n    // mine\n    "dev": "x"\n  }\n}',
    ],
    ['{\r\n  "a": 1\r\n}', '{\r\n  "tasks": { "agent": "run it" },\r\n  "a": 1\r\n}'],
    ["\ufeff{}", '\ufeff{\n  "tasks": { "agent": "run it" }\n}'],
  ];
  for (const [before, after] of cases) assert.equal(addToConfig(before, [AGENT]).text, after);
});

Deno.test("addToConfig() adds two new blocks in their order", () => {
  const { text, added } = addToConfig("{}", [AGENT, IMPORT]);
  assert.deepEqual(readJsonc(text, "x").value, { tasks: { agent: "run it" }, imports: { twokey: "../twokey/mod.ts" } });
  assert.deepEqual(added, [AGENT, IMPORT]);
});

Deno.test("addToConfig() keeps what a key holds, and refuses what it cannot insert", () => {
  const kept = addToConfig('{ "tasks": { "agent": "mine" } }', [AGENT]);
  assert.deepEqual([kept.text, kept.kept, kept.added], ['{ "tasks": { "agent": "mine" } }', [AGENT], []]);
  for (const text of ["", "[]", "{", '{ "tasks": [] }', '{ "tasks": null }']) {
    const edit = addToConfig(text, [AGENT]);
    assert.deepEqual([edit.text, edit.refused], [text, [AGENT]], text);
  }
  const mapped = '{ "importMap": "map.json" }';
  assert.deepEqual(addToConfig(mapped, [IMPORT]).refused, [IMPORT]);
});

Deno.test("addToConfig() never changes a value that is there", () => {
  const key = fc.constantFrom("tasks", "imports", "name", "x", "agent", "twokey");
  const config = fc.dictionary(key, fc.oneof(fc.dictionary(key, fc.string()), fc.string(), fc.integer()));
  const space = fc.constantFrom(undefined, 2, 4, "\t");
  fc.assert(fc.property(config, space, fc.boolean(), (value, indent, comment) => {
    const json = JSON.stringify(value, null, indent);
    const text = comment ? json.replaceAll(/^(\s*)"/gm, '$1/* " { */ "') : json;
    const edit = addToConfig(text, [AGENT, IMPORT]);
    const after = readJsonc(edit.text, "x").value as Record<string, Record<string, unknown>>;
    const expected: Record<string, unknown> = structuredClone(value);
    for (const { block, key, value } of edit.added) {
      expected[block] = { ...expected[block] as Record<string, unknown>, [key]: value };
    }
    assert.deepEqual(after, expected);
    assert.equal(edit.added.length + edit.kept.length + edit.refused.length, 2);
  }));
});
