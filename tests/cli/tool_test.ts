import assert from "node:assert/strict";
import { TOOLS } from "../../src/tools/registry.ts";
import { withRegistry } from "../../src/tools/supply_chain/npm_registry.ts";
import { withProject } from "../e2e/run_project.ts";

const MANIFEST_FIELDS = [
  "schema_version",
  "name",
  "available",
  "worker",
  "timeout",
  "authority_class",
  "grant_requirements",
  "input_schema",
  "output_schema",
  "audit_rows",
  "replay_counters",
  "secret_scopes",
  "cancellation",
  "nonclaims",
  "residual_owner",
];

/** The tools that the first manual promises. */
const FIRST_TOOLS = [
  "echo",
  "fail",
  "slow",
  "readFile",
  "listFiles",
  "writeArtifact",
  "osv.query",
  "npm.metadata",
  "github.issue.read",
  "github.pr.read",
  "github.pr.files.list",
  "github.release.latest.read",
  "github.file.read",
  "github.compare.read",
  "github.commit.read",
  "github.repo.read",
  "github.workflow.run.read",
  "github.workflow.jobs.list",
  "github.check.runs.list",
  "model.call",
  "process",
];

Deno.test("tool list has the 21 tools that were promised first, each available in every isolation", async () => {
  await withProject({}, async ({ run }) => {
    const { stdout } = await run({ args: ["tool", "list", "--json"] });
    const { tools } = JSON.parse(stdout) as { tools: Record<string, unknown>[] };
    const found = new Map(tools.map((tool) => [tool.name, [tool.available, tool.worker, tool.isolations]]));
    assert.equal(new Set(FIRST_TOOLS).size, 21);
    for (const name of FIRST_TOOLS) {
      assert.deepEqual(found.get(name), [true, "supported", ["process", "worker", "compartment"]], name);
    }
  });
});

Deno.test("tool list names every tool on one line and ends with the absent ones", async () => {
  await withProject({}, async ({ run }) => {
    const { code, stdout, stderr } = await run({ args: ["tool", "list"] });
    assert.equal(code, 0, stderr);
    for (const name of Object.keys(TOOLS)) {
      const line = stdout.split("\n").filter((text) => text.startsWith(`${name} `));
      assert.equal(line.length, 1, name);
      assert.match(line[0] ?? "", /process,worker,compartment/);
      assert.ok(line[0]?.includes(`--tool=${name}`), name);
    }
    assert.ok(stdout.includes("POST https://api.osv.dev/v1/query"));
    assert.ok(stdout.includes(withRegistry("GET https://<npm-registry>/{package}")));
    const block = "unavailable process-like tools:\n" +
      "  shell exec spawn  reason=process_tool_supervisor_required_not_available\n";
    assert.ok(stdout.endsWith(block), stdout);
  });
});

Deno.test("tool list --json has the manifest of every tool and the absent ones", async () => {
  await withProject({}, async ({ run }) => {
    const { stdout } = await run({ args: ["tool", "list", "--json"] });
    const { tools, unavailable_process_like_tools } = JSON.parse(stdout);
    assert.deepEqual(tools.map(({ name }: { name: string }) => name), Object.keys(TOOLS).toSorted());
    for (const tool of tools) {
      for (const field of MANIFEST_FIELDS) assert.ok(Object.hasOwn(tool, field), `${tool.name} has no ${field}`);
    }
    assert.deepEqual(
      unavailable_process_like_tools.map(({ name, reason }: { name: string; reason: string }) => [name, reason]),
      ["shell", "exec", "spawn"].map((name) => [name, "process_tool_supervisor_required_not_available"]),
    );
  });
});

Deno.test("tool describe says what grants a tool", async () => {
  await withProject({}, async ({ run }) => {
    const { code, stdout } = await run({ args: ["tool", "describe", "writeArtifact"] });
    assert.equal(code, 0);
    assert.ok(stdout.includes('"tools": ["writeArtifact"]'));
    assert.ok(stdout.includes('"fs": { "write": [{ "root": "out" }] }'));
    assert.ok(stdout.includes("--fs-write=<folder>"));
    assert.ok(stdout.includes("overwrites nothing"));
  });
});

Deno.test("tool describe refuses an unknown name with the nearest one, an absent one with its reason", async () => {
  await withProject({}, async ({ run }) => {
    const unknown = await run({ args: ["tool", "describe", "osv.qurey"] });
    assert.equal(unknown.code, 65);
    assert.match(unknown.stderr, /no such tool[^]*Did you mean osv\.query\?/);
    const absent = await run({ args: ["tool", "describe", "shell", "--json"] });
    assert.equal(absent.code, 65);
    assert.equal(JSON.parse(absent.stdout).error.code, "tool_absent");
    const inherited = await run({ args: ["tool", "describe", "constructor"] });
    assert.equal(inherited.code, 65);
  });
});
