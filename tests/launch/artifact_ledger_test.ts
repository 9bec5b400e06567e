import assert from "node:assert/strict";
import type { RecordBody } from "../../src/audit/record.ts";
import { ArtifactLedger } from "../../src/launch/artifact_ledger.ts";
import type { Plan } from "../../src/plan/plan.ts";

const PLAN = {
  policy: { path: "${project}/agent.policy.jsonc", sha256: "1".repeat(64) },
  isolation: "process",
  tools: { writeArtifact: { fs: "write" }, readFile: { fs: "read" } },
  agent: { entry: "${project}/agent.ts", modules: [{ path: "${project}/agent.ts", sha256: "3".repeat(64) }] },
} as unknown as Plan;

const written = (path: string, more: object = {}): RecordBody => ({
  type: "tool_result",
  call_id: "c1",
  tool: "writeArtifact",
  result: { path, bytes: 2, sha256: "a".repeat(64), ...more },
});

Deno.test("ArtifactLedger lists what writing tools say that they wrote, and nothing else", () => {
  const ledger = new ArtifactLedger(PLAN);
  ledger.saw(written("a.txt"));
  ledger.saw({ ...written("b.txt"), type: "tool_call" });
  ledger.saw({ ...written("c.txt"), tool: "readFile" });
  ledger.saw({ ...written("d.txt"), tool: "constructor" });
  ledger.saw(written("e.txt", { sha256: "x" }));
  ledger.saw(written("f.txt", { bytes: "2" }));
  ledger.saw({ ...written("g.txt"), result: "text" });
  const { artifacts, ...rest } = ledger.record({ status: "ok", reason: "done" }, "2".repeat(64));
  assert.deepEqual(artifacts, [
    { call_id: "c1", tool: "writeArtifact", path: "a.txt", bytes: 2, sha256: "a".repeat(64) },
  ]);
  assert.deepEqual(rest, {
    type: "run_artifact_manifest",
    version: 1,
    status: "ok",
    reason: "done",
    policy: PLAN.policy,
    plan: "2".repeat(64),
    isolation: "process",
    agent: { entry: "${project}/agent.ts", modules: 1 },
    tools: ["writeArtifact", "readFile"],
    artifact_bytes: 2,
    omitted: 0,
  });
});

Deno.test("ArtifactLedger counts files beyond a thousand, and cuts a path that is too long", () => {
  const ledger = new ArtifactLedger(PLAN);
  for (let i = 0; i < 1003; i++) ledger.saw(written("x".repeat(5000)));
  const { artifacts, omitted, artifact_bytes } = ledger.record({ status: "error", reason: "wall_exceeded" }, null);
  const list = artifacts as { path: string }[];
  assert.deepEqual([list.length, omitted, artifact_bytes, list[0]?.path.length], [1000, 3, 2006, 4096]);
});
