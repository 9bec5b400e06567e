/** Makes logs for tests: real ones through the writer, and damaged copies of them. */
import { hash } from "node:crypto";
import { AuditWriter } from "../../src/audit/writer.ts";
import type { JsonObject } from "../../src/json.ts";

/** SHA-256 of bytes or a text. */
export function sha256(data: Uint8Array | string): string {
  return hash("sha256", data, "hex");
}

/** Writes the bodies as one log; the clock starts at 1,700,000,000,000 and ticks 10 ms a record. */
export function writeLog(path: string, bodies: readonly JsonObject[], runId = "run-1"): string {
  let now = 1_700_000_000_000 - 10;
  using writer = AuditWriter.create(path, { runId, now: () => now += 10, sha256 });
  for (const body of bodies) writer.append([JSON.stringify(body)]);
  return writer.head;
}

/** A run of four calls: a result, a denial, an error, an invalid one, and an event between them. */
export const RUN: readonly JsonObject[] = [
  {
    type: "run_start",
    policy: { path: "${project}/agent.policy.jsonc", sha256: "1".repeat(64) },
    plan: "2".repeat(64),
    isolation: "process",
    budgets: { toolCalls: 100, stateBytes: 1000, totalArgBytes: 1000, totalResultBytes: 5000, events: 10 },
    expect_denials: [{ tool: "fetch", code: null }, { tool: "readFile", code: "tool_not_granted" }],
  },
  { type: "tool_call", call_id: "c1", tool: "readFile", args: { path: "docs/ä.md" }, arg_bytes: 20 },
  {
    type: "tool_result",
    call_id: "c1",
    tool: "readFile",
    result: { path: "docs/ä.md", bytes: 3 },
    result_bytes: 33,
    duration_ms: 2,
  },
  {
    type: "tool_denial",
    call_id: "c2",
    tool: "readFile",
    policy: "denied",
    reason: "fs_read_path_not_admitted",
    rule: null,
    requirement: { kind: "filesystem.read", target: "/etc/passwd" },
  },
  {
    type: "tool_denial",
    call_id: "c7",
    tool: "fetch",
    policy: "denied",
    reason: "tool_not_granted",
    rule: null,
  },
  { type: "event", event: { kind: "note", type: "tool_call", tool: "readFile" }, event_bytes: 51 },
  { type: "tool_call", call_id: "c3", tool: "osv.query", args: { name: "left-pad" }, arg_bytes: 19 },
  { type: "named_network_cache_miss", call_id: "c3", tool: "osv.query" },
  {
    type: "tool_result",
    call_id: "c3",
    tool: "osv.query",
    result: { vulns: [] },
    result_bytes: 12,
    duration_ms: 5,
    transport: "fixture",
    freshness: "fixture",
  },
  { type: "tool_call", call_id: "c4", tool: "npm.metadata", args: { name: "left-pad" }, arg_bytes: 19 },
  {
    type: "tool_error",
    call_id: "c4",
    tool: "npm.metadata",
    message: "no answer is recorded",
    code: "fixture_miss",
    error_kind: "fixture_miss",
    duration_ms: 1,
  },
  { type: "tool_invalid_args", call_id: "c5", tool: "readFile", message: "wrong" },
  { type: "tool_call", call_id: "c6", tool: "writeArtifact", args: { path: "report.md" }, arg_bytes: 24 },
  {
    type: "tool_result",
    call_id: "c6",
    tool: "writeArtifact",
    result: { path: "report.md", bytes: 7, sha256: "a".repeat(64) },
    result_bytes: 80,
    duration_ms: 3,
  },
  { type: "run_end", status: "ok" },
];

/** Runs a test in a folder of its own. */
export async function inTempDir(run: (dir: string) => Promise<void> | void): Promise<void> {
  const dir = await Deno.makeTempDir({ prefix: "twokey-audit-" });
  try {
    await run(dir);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

/** Gives a line the hash that its bytes have, as somebody would who covers up an edit. */
export function rehash(line: string): string {
  const cut = line.lastIndexOf(',"hash":"');
  return `${line.slice(0, cut)},"hash":"${sha256(line.slice(0, cut))}"}`;
}
