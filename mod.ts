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
export { PolicyError, type PolicyIssue } from "./src/policy/policy_error.ts";
export { type CompiledPolicy, compilePolicy, MANIFESTS } from "./src/launch/compile_policy.ts";
export { type PreparedRun, type PrepareOptions, prepareRun } from "./src/launch/prepare.ts";
export type {
  Budgets,
  ExpectedDenial,
  ExpectedEvents,
  GateRule,
  Isolation,
  NetworkPlan,
  Places,
  Plan,
  PlannedPackage,
  PlannedTool,
  PortablePath,
  ReadRoot,
  RepositoryGrant,
  SessionPlan,
  UnsafeGrant,
  WriteRoot,
} from "./src/plan/plan.ts";
export { ISOLATIONS } from "./src/plan/plan.ts";
export { hostFlags } from "./src/plan/flags.ts";
export { permissionSet } from "./src/plan/permission_set.ts";
export { type Explained, explainJson, explainPlan, type Explanation, type PositionOf } from "./src/report/explain.ts";
export { type FinishedRun, type NamedRun, runPolicy, type RunPolicyOptions } from "./src/launch/run_policy.ts";
export type { RunInputs } from "./src/launch/execute.ts";
export type { SeenDenial, Verdict as RunVerdict } from "./src/launch/verdict.ts";
export { type CallOptions, type CallReport, type CallResult, callTool } from "./src/launch/call_tool.ts";
export { assertLocked, type Lock, type Lockable, writeLock } from "./src/policy/lock.ts";
export { type Decision, type Gate, makeGate } from "./src/gate/decide.ts";
export { KEY_TABLE, type KeyRow } from "./src/authority/keys.ts";
export type { Request, Requirement, RequirementKind } from "./src/authority/requirement.ts";
export { REQUIREMENT_KINDS } from "./src/authority/requirement.ts";
export { readRecords, type Verdict, verifyAudit } from "./src/audit/reader.ts";
export type { Damage, DamageKind, InFlight } from "./src/audit/chain_check.ts";
export {
  HOST_RECORD_TYPES,
  LAUNCHER_RECORD_TYPES,
  type Record,
  type RecordBody,
  type RecordType,
} from "./src/audit/record.ts";
export {
  type ArtifactRow,
  type BudgetRow,
  type DenialRow,
  replayAudit,
  type ReplaySummary,
  type RunRow,
} from "./src/replay/replay.ts";
export type { ToolRow } from "./src/replay/tool_row.ts";
export { type Counter, COUNTERS } from "./src/replay/counters.ts";
export {
  type AnySchema,
  type ArgsSchema,
  type AuditMode,
  type CredentialSpec,
  defineTool,
  type Draft,
  type Effect,
  type Endpoint,
  type Endpoints,
  type Exact,
  type FullPowers,
  type FullResolve,
  type InputOf,
  type KnownKeys,
  type OutputOf,
  type Powers,
  type Prepared,
  type Resolve,
  type Tool,
  type ToolAuthority,
  type ToolSpec,
} from "./src/tool/define.ts";
export type {
  AskPower,
  ResolveSkill,
  Skill,
  SkillEntry,
  SkillPower,
  SkillTarget,
  Task,
  TaskChange,
  TaskDraft,
  TaskPower,
  TaskRefusal,
  TaskStatus,
  UserAnswer,
  UserQuestion,
} from "./src/tool/context_powers.ts";
export type {
  ArtifactTarget,
  BasePower,
  ByteReply,
  EndpointTarget,
  ModelPower,
  ModelTarget,
  ModelWish,
  ReadPower,
  Reply,
  ResolveModel,
  ResolveRead,
  ResolveSend,
  ResolveSpawn,
  ResolveWrite,
  SendOptions,
  SendPower,
  SourceEntry,
  SourceTarget,
  SourceText,
  SpawnPower,
  Target,
  WritePower,
} from "./src/tool/powers.ts";
export { manifestOf, type ToolManifest, type ToolManifests } from "./src/tool/manifest.ts";
export type { Json, JsonObject } from "./src/json.ts";
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
export type { DenialCode } from "./src/authority/denial_codes.ts";
export type { FileAccess } from "./src/authority/file_access.ts";
export type { ApprovalRow } from "./src/replay/approval_row.ts";
export type { ApprovalFlags } from "./src/policy/approval_flags.ts";
export type { AgentQuestion, Answerer, AnswerReply, PersonsAnswer, QuestionOptions } from "./src/launch/answerer.ts";
export type { ApprovalAnswer, ApprovalOptions, Approver } from "./src/launch/approver.ts";
export type { ApprovalRequest, ApprovedNeed } from "./src/audit/approval_request.ts";
export type { ApprovalTerms } from "./src/plan/approval_terms.ts";
export type { Executed } from "./src/launch/execute.ts";
export type { RunEnd } from "./src/launch/launch_options.ts";
export type { Key1Options } from "./src/plan/key1.ts";
export type {
  ArgumentRules,
  CommandGrammar,
  PlannedCommand,
  ProcessPlan,
  SandboxMode,
  ValueKind,
  WorkFolder,
} from "./src/plan/process_plan.ts";
export type { ModelLimit, ModelPlan } from "./src/plan/model_plan.ts";
export type { ModelFlags } from "./src/policy/model_flags.ts";
export type { ModelEndpoint, ModelProviderName } from "./src/authority/model_providers.ts";
export type { FileIdentity } from "./src/plan/program_setup.ts";
export type { ProgramFact } from "./src/policy/program_fact.ts";
export type { Policy } from "./src/policy/schema.ts";
export type { SkillPlan } from "./src/plan/skill_plan.ts";
export type { CommandTarget, CommandWish, OutputText, SpawnOptions, SpawnResult } from "./src/tool/powers.ts";
export type {
  BrowsePower,
  Changed,
  ChangeOptions,
  EditPower,
  EditTarget,
  FileSet,
  FilesFound,
  FoundFile,
  FoundLine,
  LineRange,
  LinesRead,
  Made,
  ResolveBrowse,
  ResolveEdit,
  SearchFound,
  SearchQuery,
  SkipCounts,
  Span,
  TextMatcher,
  WorkspaceTarget,
} from "./src/tool/powers.ts";
