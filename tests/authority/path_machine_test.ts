import assert from "node:assert/strict";
import { makeMachine, type PlacedGlob } from "../../src/authority/path_machine.ts";

function matches(placed: PlacedGlob, path: string): boolean {
  const machine = makeMachine(placed);
  let states = machine.start;
  for (const symbol of path.split("")) states = machine.step(states, symbol);
  return machine.accepts(states);
}

Deno.test("makeMachine() places a pattern below its folder, and brings all below along", () => {
  const docs = { root: ["p", "docs"], glob: "*.md" };
  for (const path of ["p/docs/a.md", "p/docs/x/a.md", "p/docs/a.md/below"]) {
    assert.equal(matches(docs, path), true, path);
  }
  for (const path of ["p/docs", "p/a.md", "docs/a.md", "p/docs/a.mdx"]) assert.equal(matches(docs, path), false, path);
  const whole = { root: ["p", "📁 x"], glob: null };
  assert.deepEqual(["p/📁 x", "p/📁 x/a", "p/📁 xy"].map((path) => matches(whole, path)), [true, true, false]);
  assert.equal(matches({ root: ["p"], glob: "{broken}" }, "p/{broken}"), false, "a pattern that is none");
});

Deno.test("makeMachine() takes upper and lower case for the same where it is told to", () => {
  const name = { root: ["P"], glob: ".env*", folded: true };
  for (const path of ["p/.env", "P/x/.ENV.local", "p/.Env/below"]) assert.equal(matches(name, path), true, path);
  assert.equal(matches({ ...name, folded: false }, "P/.ENV"), false);
  assert.equal(matches({ root: [], glob: "straße", folded: true }, "STRASSE"), false, "one character for one");
});

Deno.test("makeMachine() makes exceptions for the very path, not for what lies below it", () => {
  const secret = { root: [], glob: ".env*", but: ["/.env", "deep/.env"] };
  const expected: Readonly<Record<string, boolean>> = {
    ".env": false,
    ".env/readme": false,
    ".env/.env.local": true,
    ".env.local": true,
    "deep/.env": false,
    "other/.env": true,
    "deep/.env/.env": true,
    "a/b": false,
  };
  for (const [path, is] of Object.entries(expected)) assert.equal(matches(secret, path), is, path);
});
