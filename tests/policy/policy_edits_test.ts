import assert from "node:assert/strict";
import { removeTool } from "../../src/policy/policy_edits.ts";
import type { Policy } from "../../src/policy/schema.ts";
import type { ToolManifests } from "../../src/tool/manifest.ts";
import manifestsJson from "../../src/tools/manifests.json" with { type: "json" };

const MANIFESTS = manifestsJson as unknown as ToolManifests;

Deno.test("removeTool() takes a root away only with the last tool that uses it, whatever that does with files", () => {
  const fs = { read: [{ root: "." }], write: [{ root: "out" }] };
  const rootsLost = (tools: string[], name: string) => {
    const policy: Policy = { version: 1, tools: [...tools, name], fs };
    return removeTool(policy, name, { manifests: MANIFESTS }).map(({ path }) => path.join("/")).filter((path) =>
      path.startsWith("fs")
    );
  };
  assert.deepEqual(rootsLost(["ReadFile", "WriteFile"], "readFile"), []);
  assert.deepEqual(rootsLost(["EditFile"], "writeArtifact"), []);
  assert.deepEqual(rootsLost(["Grep"], "EditFile"), ["fs/write"]);
  assert.deepEqual(rootsLost(["writeArtifact"], "Glob"), ["fs/read"]);
  assert.deepEqual(rootsLost(["echo"], "EditFile"), ["fs"]);
});
