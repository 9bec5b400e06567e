/**
 * twokey runs agents under a policy file that is committed to the repository they work on. Its grants are held by two
 * keys: Deno's own permissions on a process, and a registry and gate that fail closed inside it.
 *
 * This module is for programs that embed twokey: load a policy, explain it, run its agent, call one of its tools, read
 * the log of a run, define a tool. Requires `-A`: starting `deno`, signalling processes and reading `/proc` each need it.
 *
 * @example A whole program: a policy and an agent in a folder of their own, explained, run, and read back.
 * ```ts
 * import assert from "node:assert/strict";
 * import { compilePolicy, explainPlan, loadPolicy, readRecords, runPolicy, verifyAudit } from "./mod.ts";
 *
 * const dir = await Deno.makeTempDir();
 * await Deno.writeTextFile(`${dir}/deno.json`, "{}");
 * await Deno.writeTextFile(`${dir}/notes.md`, "# Notes\n");
 * await Deno.writeTextFile(
 *   `${dir}/agent.policy.jsonc`,
 *   `{
 *     "version": 1,
 *     "agent": "agent.ts",
 *     "tools": ["listFiles", "readFile"],
 *     "fs": { "read": [{ "root": ".", "include": ["*.md"] }] }
 *   }`,
 * );
 * await Deno.writeTextFile(
 *   `${dir}/agent.ts`,
 *   `const { content } = await callTool("readFile", { path: "notes.md" });
 *   emit({ kind: "read", characters: content.length });`,
 * );
 *
 * const loaded = await loadPolicy(`${dir}/agent.policy.jsonc`);
 * const { plan } = await compilePolicy(loaded);
 * assert.match(explainPlan(plan, loaded.positionOf), /May be read/);
 *
 * const { verdict, auditPath, end } = await runPolicy(() => Promise.resolve({ loaded, locked: false }));
 * assert.equal(verdict.exit, 0);
 * assert.equal((await verifyAudit(auditPath, { head: end.head })).verdict, "authentic");
 * const events = [];
 * for await (const record of readRecords(auditPath)) if (record.type === "event") events.push(record.event);
 * assert.deepEqual(events, [{ kind: "read", characters: 8 }]);
 * await Deno.remove(dir, { recursive: true });
 * ```
 *
 * @module
 */
export { type LoadedPolicy, loadPolicy, type ParsedPolicy, parsePolicy } from "./src/policy/load.ts";
export { type PolicyFlags, policyFromFlags } from "./src/policy/from_flags.ts";
export type { Policy } from "./src/policy/schema.ts";
export { PolicyError, type PolicyIssue } from "./src/policy/policy_error.ts";
export { type CompiledPolicy, compilePolicy, MANIFESTS, type PreparedRun, prepareRun } from "./src/launch/prepare.ts";
export type { Places, Plan } from "./src/plan/plan.ts";
export { hostFlags } from "./src/plan/flags.ts";
export { permissionSet } from "./src/plan/permission_set.ts";
export { explainJson, explainPlan, type Explanation } from "./src/report/explain.ts";
export { type FinishedRun, type NamedRun, runPolicy, type RunPolicyOptions } from "./src/launch/run_policy.ts";
export { type CallOptions, type CallReport, type CallResult, callTool } from "./src/launch/call_tool.ts";
export { assertLocked, type Lock, writeLock } from "./src/policy/lock.ts";
export { type Decision, makeGate } from "./src/gate/decide.ts";
export { KEY_TABLE, type KeyRow } from "./src/authority/keys.ts";
export { readRecords, type Verdict, verifyAudit } from "./src/audit/reader.ts";
export type { Record, RecordType } from "./src/audit/record.ts";
export { replayAudit, type ReplaySummary } from "./src/replay/replay.ts";
export { defineTool, type Draft, type Tool, type ToolSpec } from "./src/tool/define.ts";
export { manifestOf, type ToolManifest } from "./src/tool/manifest.ts";
export {
  AuditError,
  BudgetError,
  BugError,
  ControlError,
  CreateError,
  DataError,
  DenialError,
  EXIT,
  type ExitCode,
  InputError,
  type Position,
  ToolError,
  ToolInputError,
  TwokeyError,
  UsageError,
} from "./src/errors.ts";
