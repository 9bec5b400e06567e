import assert from "node:assert/strict";
import { compilePolicy } from "../src/launch/compile_policy.ts";
import { loadPolicy } from "../src/policy/load.ts";
import { policySchema } from "../src/policy/schema.ts";
import { withProject } from "./e2e/run_project.ts";

const TEXT = await Deno.readTextFile(new URL("../policies/README.md", import.meta.url));

function policies(): string[] {
  return [...TEXT.matchAll(/^```jsonc\n([\s\S]*?)^```$/gm)].map(([, text = ""]) => text);
}

Deno.test("every policy in policies/README.md compiles, and its tests pass", async () => {
  assert.ok(policies().length >= 6);
  for (const text of policies()) {
    const files = { "agent.ts": "", "README.md": "# x", "docs/x.md": "", "agent.policy.jsonc": text };
    await withProject({ files }, async (project) => {
      const { loaded } = await compilePolicy(await loadPolicy(`${project.dir}/agent.policy.jsonc`));
      if (loaded.policy.tests === undefined) return;
      const { code, stdout, stderr } = await project.run({ args: ["policy", "test"] });
      assert.equal(code, 0, stdout + stderr);
    });
  }
});

Deno.test("policies/README.md shows no key that the schema does not know and names every command it tells of", async () => {
  const known = Object.keys(policySchema.entries);
  for (const text of policies()) {
    for (const [, key = ""] of text.matchAll(/^ {2}"(\w+)":/gm)) assert.ok(known.includes(key), key);
  }
  await withProject({}, async (project) => {
    const { stdout } = await project.run({ args: ["policy", "--help"] });
    const named = [...TEXT.matchAll(/`twokey policy ([a-z-]+)/g), ...TEXT.matchAll(/`((?:add|remove|set)-[a-z]+)`/g)];
    assert.ok(named.length > 8);
    for (const [, name = ""] of named) assert.match(stdout, new RegExp(`^ {2}${name} `, "m"));
  });
});

Deno.test("what policies/README.md says of patterns and secrets holds", async () => {
  const files = {
    "README.md": "x",
    "deep/notes.md": "x",
    "docs/a/b.txt": "x",
    ".env": "x",
    "agent.ts": "",
  };
  const tests = [
    { tool: "readFile", args: { path: "README.md" }, expect: "allow" },
    { tool: "readFile", args: { path: "docs/a/b.txt" }, expect: "allow" },
    { tool: "readFile", args: { path: "deep/notes.md" }, expect: "deny" },
    { tool: "readFile", args: { path: ".env" }, expect: "deny" },
  ];
  const read = [{ root: ".", include: ["/*.md", "docs/"] }];
  await withProject({ files, policy: { tools: ["readFile"], fs: { read }, tests } }, async (project) => {
    const { code, stdout, stderr } = await project.run({ args: ["policy", "test"] });
    assert.equal(code, 0, stdout + stderr);
  });
  const open = [
    { tool: "readFile", args: { path: "deep/notes.md" }, expect: "allow" },
    { tool: "readFile", args: { path: ".env" }, expect: "deny", code: "secret_name" },
  ];
  await withProject(
    { files, policy: { tools: ["readFile"], fs: { read: [{ root: "." }] }, tests: open } },
    async (project) => {
      const { code, stdout, stderr } = await project.run({ args: ["policy", "test"] });
      assert.equal(code, 0, stdout + stderr);
    },
  );
});
