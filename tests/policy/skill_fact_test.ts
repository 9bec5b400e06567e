import assert from "node:assert/strict";
import fc from "fast-check";
import { sha256 } from "../../src/json.ts";
import { readSkill } from "../../src/policy/skill_fact.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);

async function problemOf(text: string): Promise<string | null> {
  return (await readSkill("/p", bytesOf(text))).problem;
}

const front = (lines: string): string => `---\n${lines}\n---\nbody`;

Deno.test("readSkill() reads name and description of YAML, and the digest of the file", async () => {
  const text = '---\nname: "a"\ndescription: >-\n  one\n  two\nversion: 3\nallowed-tools:\n  - Bash\n---\nbody';
  const fact = { path: "/p", name: "a", description: "one two", problem: null };
  assert.deepEqual(await readSkill("/p", bytesOf(text)), { ...fact, sha256: await sha256(text) });
});

Deno.test("readSkill() says in words why a file is no skill", async () => {
  const table: readonly (readonly [string, RegExp])[] = [
    ["body", /^its first line is not ---/],
    ["---\nname: a\ndescription: b\n", /^no line --- ends/],
    ["---\nname: a\ndescription: b\n---\n \n", /^there is no text below/],
    [front("description: b"), /^its front matter has no "name"/],
    [front("name: 1\ndescription: b"), /^its front matter has no "name"/],
    [front("name: a"), /^its front matter has no "description"/],
    [front("name: a\ndescription: ''"), /^its front matter has no "description"/],
    [front("name: a\ndescription: [b]"), /^its front matter has no "description"/],
    [front("- name: a"), /^its front matter is no list of keys/],
    [front("name: a\nname: b\ndescription: c"), /^its front matter is no YAML: duplicated mapping key \(line 3\)$/],
    [front("name: !!js/function 'x'"), /^its front matter is no YAML: unknown scalar tag/],
    [front("name: a: b"), /^its front matter is no YAML/],
    [front("__proto__: { name: a, description: b }"), /^its front matter has no "name"/],
    [front(`name: a\ndescription: ${"x".repeat(1025)}`), /^its description is over 1024/],
    [front('name: a\ndescription: "a\\u001b[2J"'), /^its description holds control characters/],
    [front('name: a\ndescription: "a\\u202e"'), /^its description holds control characters/],
    [`${front("name: a\ndescription: b")}\0`, /NUL/],
    [front("name: a\ndescription: b") + "x".repeat(65_536), /^it has \d+ bytes, and 65536 is the most/],
  ];
  for (const [text, problem] of table) assert.match(String(await problemOf(text)), problem, text.slice(0, 80));
  assert.match(String((await readSkill("/p", new Uint8Array([0x2d, 0xff]))).problem), /^it is not UTF-8/);
  const exact = front("name: a\ndescription: b");
  assert.equal(await problemOf(exact + "x".repeat(65_536 - exact.length)), null);
});

Deno.test("readSkill() never throws, whatever stands in the file", async () => {
  const piece = fc.constantFrom(
    "---\n",
    "name: ",
    "description: ",
    "a",
    "\n",
    "&x ",
    "*x",
    "<<: ",
    "{",
    "[",
    "!!",
    "'",
    "? ",
    "%",
    "|",
    "\t",
  );
  await fc.assert(fc.asyncProperty(fc.array(piece, { maxLength: 30 }), async (pieces) => {
    const fact = await readSkill("/p", bytesOf(`---\n${pieces.join("")}\n---\nbody`));
    assert.ok(fact.problem === null ? fact.name !== "" && fact.description !== "" : fact.name === "");
  }));
});
