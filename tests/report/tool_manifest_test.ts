import assert from "node:assert/strict";
import { describeTool, type ToolDescription } from "../../src/report/tool_manifest.ts";
import type { ToolManifest, ToolManifests } from "../../src/tool/manifest.ts";
import manifestsJson from "../../src/tools/manifests.json" with { type: "json" };

const MANIFESTS = manifestsJson as unknown as ToolManifests;

function described(name: string): ToolDescription {
  const manifest = MANIFESTS[name];
  assert.ok(manifest !== undefined, name);
  return describeTool(manifest);
}

Deno.test("describeTool() names every step of granting", () => {
  assert.deepEqual(described("echo").grant_requirements.map(({ kind }) => kind), ["name"]);
  assert.deepEqual(described("readFile").grant_requirements.map(({ kind }) => kind), ["name", "fs-read"]);
  assert.deepEqual(described("writeArtifact").grant_requirements.map(({ flag }) => flag), [
    "--tool=writeArtifact",
    "--fs-write=<folder>",
  ]);
});

Deno.test("describeTool() classifies authority", () => {
  const classes = {
    "echo": "none",
    "fail": "test-host-failure",
    "osv.query": "named-network",
    "readFile": "fs-read",
    "slow": "test-async",
    "writeArtifact": "fs-write",
  };
  for (const [name, expected] of Object.entries(classes)) assert.equal(described(name).authority_class, expected, name);
});

Deno.test("describeTool() derives counters from the records that a call can cause", () => {
  const osv = described("osv.query");
  for (const counter of ["tool_calls", "osv_queries", "named_network_cache_hits", "named_network_retries"]) {
    assert.ok(osv.replay_counters.includes(counter), counter);
  }
  assert.ok(!osv.replay_counters.includes("npm_metadata_queries"));
  assert.ok(!described("fail").audit_rows.includes("tool_result"));
  assert.ok(described("readFile").audit_rows.includes("fs_read_source_manifest"));
});

Deno.test("describeTool() takes the deadline from the definition, else from the budgets", () => {
  const base = MANIFESTS["echo"] as ToolManifest;
  assert.equal(describeTool({ ...base, limits: { timeoutMs: 5 } }).timeout.default_ms, 5);
  assert.equal(describeTool({ ...base, limits: {} }).timeout.default_ms, 30_000);
});
