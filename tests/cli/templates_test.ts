import assert from "node:assert/strict";
import { loadPolicy } from "../../src/policy/load.ts";
import { fromTemplate, TEMPLATES } from "../../src/cli/templates.ts";

Deno.test("fromTemplate() moves paths from a shipped policy to a project", () => {
  const cases: [before: string, after: string][] = [
    ['"$schema": "../../policy.schema.json"', '"$schema": "../$&/policy.schema.json"'],
    ['"root": "../.."', '"root": "."'],
    ['"root": "../../out/x"', '"root": "out/x"'],
    ['"root": "../../../x"', '"root": "../../../x"'],
    ['/// <reference types="../agent.d.ts" />', '/// <reference types="./agent.d.ts" />'],
    ['/// <reference types="../../agent.d.ts" />', '/// <reference types="../agent.d.ts" />'],
    ['from "../review.ts"', 'from "../review.ts"'],
  ];
  for (const [before, after] of cases) assert.equal(fromTemplate(before, { twokey: "../$&" }), after);
});

Deno.test("TEMPLATES say whether their policies have tests", async () => {
  for (const { name, tests } of TEMPLATES) {
    const { policy } = await loadPolicy(new URL(`../../policies/${name}/agent.policy.jsonc`, import.meta.url).pathname);
    assert.equal((policy.tests ?? []).length > 0, tests, name);
  }
});

Deno.test("TEMPLATES name every file of their policies", async () => {
  for (const { name, files } of TEMPLATES) {
    const found: string[] = [];
    const walk = async (below: string): Promise<void> => {
      for await (const entry of Deno.readDir(new URL(`../../policies/${name}/${below}`, import.meta.url))) {
        if (entry.isDirectory) await walk(`${below}${entry.name}/`);
        else if (entry.name !== "agent.lock.json") found.push(`${below}${entry.name}`);
      }
    };
    await walk("");
    assert.deepEqual(found.toSorted(), files.toSorted(), name);
  }
});
