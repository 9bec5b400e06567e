/**
 * What people, models and other programs are told of a tool: derived from its manifest, so that it cannot say anything
 * that the tool's definition does not.
 *
 * @module
 */
import { readsFiles, writesFiles } from "../authority/file_access.ts";
import type { RecordType } from "../audit/record.ts";
import type { JsonObject } from "../json.ts";
import { BUDGETS } from "../plan/budgets.ts";
import { type Isolation, ISOLATIONS } from "../plan/plan.ts";
import { countersOf } from "../replay/counters.ts";
import type { ToolManifest } from "../tool/manifest.ts";

/** Version of the form below. */
export const TOOL_MANIFEST_VERSION = "agent-tool-manifest.v1";

/** One step of granting a tool; all of them are needed. */
export interface GrantRequirement {
  readonly kind:
    | "name"
    | "fs-read"
    | "fs-write"
    | "github-repo"
    | "credential"
    | "model"
    | "skill"
    | "process-command"
    | "process-cwd";
  /** The flag of `run` and `call`. */
  readonly flag: string;
  /** The line of a policy. */
  readonly policy: string;
}

/** What kind of authority a tool has. */
export type AuthorityClass =
  | "none"
  | "test-host-failure"
  | "test-async"
  | "fs-read"
  | "fs-write"
  | "named-network"
  | "model"
  | "person"
  | "skills"
  | "tasks"
  | "process";

/** A tool as `tool list --json` and `tool describe --json` print it. */
export interface ToolDescription {
  readonly schema_version: typeof TOOL_MANIFEST_VERSION;
  readonly name: string;
  readonly family: string;
  readonly summary: string;
  readonly available: true;
  readonly isolations: readonly Isolation[];
  /** What becomes of the tool under `--worker`. */
  readonly worker: "supported";
  /** Deadline of one call in milliseconds where the policy names none, and what sets it. */
  readonly timeout: { readonly default_ms: number; readonly flag: string; readonly policy: string };
  readonly effect: ToolManifest["effect"];
  readonly authority_class: AuthorityClass;
  readonly grant_requirements: readonly GrantRequirement[];
  /** Pinned endpoints, with the placeholder of the registry's host. */
  readonly endpoints: readonly string[];
  /** How the tool authenticates itself, with what only the host reads; `null`: with nothing. */
  readonly credential: {
    /** `by_provider`: each provider has its own. */
    readonly header: "bearer" | "x-api-key" | "by_provider";
    readonly optional: boolean;
    readonly flags: readonly string[];
  } | null;
  readonly input_schema: JsonObject;
  readonly output_schema: JsonObject;
  /** Types of records that a call can cause. */
  readonly audit_rows: readonly RecordType[];
  /** Counters of a replay that a call can move. */
  readonly replay_counters: readonly string[];
  readonly secret_scopes: readonly string[];
  /** How a call that is over its deadline ends. */
  readonly cancellation: string;
  readonly nonclaims: readonly string[];
  /** Who answers for what neither key can hold. */
  readonly residual_owner: string;
  /** SHA-256 of the manifest, as plans and locks hold it. */
  readonly digest: string;
}

/** Describes a tool. */
export function describeTool(manifest: ToolManifest): ToolDescription {
  const { name, family, summary, effect, authority, limits, nonClaims, argsSchema, resultSchema, digest } = manifest;
  const rows = auditRows(manifest);
  return {
    schema_version: TOOL_MANIFEST_VERSION,
    name,
    family,
    summary,
    available: true,
    // A tool runs in the host and is the same for all of them.
    isolations: ISOLATIONS,
    worker: "supported",
    timeout: {
      default_ms: limits.timeoutMs ?? BUDGETS.toolTimeoutMs.value,
      flag: "--tool-timeout-ms",
      policy: "budgets.toolTimeoutMs",
    },
    effect,
    authority_class: authorityClass(manifest),
    grant_requirements: grantRequirements(manifest),
    endpoints: Object.values(authority.endpoints ?? authority.model ?? {}).map(({ method, url }) => `${method} ${url}`),
    credential: authority.credential !== undefined
      ? { ...authority.credential, flags: credentialFlags(manifest) }
      : authority.model !== undefined
      ? { header: "by_provider", optional: false, flags: credentialFlags(manifest) }
      : null,
    input_schema: argsSchema,
    output_schema: resultSchema,
    audit_rows: rows,
    replay_counters: [...new Set(rows.flatMap((type) => countersOf({ type, tool: name })))],
    secret_scopes: authority.credential === undefined && authority.model === undefined ? [] : [name],
    cancellation: effect === "spawn"
      ? "SIGTERM at the deadline, SIGKILL to all that can be reached of the group after a moment; at once where confined"
      : effect === "pure" || effect === "read"
      ? "abort at the deadline, the result is dropped"
      : "abort at the deadline, an effect that has begun is not undone",
    nonclaims: nonClaims,
    residual_owner: residualOwner(manifest),
    digest,
  };
}

function grantRequirements({ name, authority }: ToolManifest): GrantRequirement[] {
  const steps: GrantRequirement[] = [{
    kind: "name",
    flag: `--tool=${name}`,
    policy: `"tools": [${JSON.stringify(name)}]`,
  }];
  if (readsFiles(authority.fs)) {
    steps.push({ kind: "fs-read", flag: "--fs-read=<path>", policy: '"fs": { "read": [{ "root": "." }] }' });
  }
  if (writesFiles(authority.fs)) {
    steps.push({ kind: "fs-write", flag: "--fs-write=<folder>", policy: '"fs": { "write": [{ "root": "out" }] }' });
  }
  if (authority.service === "github") {
    steps.push({
      kind: "github-repo",
      flag: "--github-repo=<owner/name>",
      policy: '"github": { "repos": ["owner/name"] }',
    });
  }
  if (authority.model !== undefined) {
    steps.push({
      kind: "model",
      flag:
        "--model-provider=<provider> --model-api-key-env=<VARIABLE> [--model-name=<name>], or --model-fixture=<file>",
      policy: '"model": { "provider": "openai.responses", "apiKeyEnv": "VARIABLE", "models": ["name"] }, or ' +
        '"model": { "fixture": "answers.json" }',
    });
  }
  if (authority.skills === true) {
    steps.push({
      kind: "skill",
      flag: "--skill=<name>=<file>",
      policy: '"skills": { "embedded": { "name": "skills/name" } }, or "skills": { "workspace": ["name"] }',
    });
  }
  if (authority.process === true) {
    steps.push(
      {
        kind: "process-command",
        flag: "--process-command=<name>=<path>",
        policy: '"process": { "commands": { "git": { "path": "/usr/bin/git", "args": "git" } }, … }',
      },
      { kind: "process-cwd", flag: "--process-cwd=<folder>", policy: '"process": { …, "cwd": ["."] }' },
    );
  }
  if (authority.credential?.optional === false) {
    steps.push({
      kind: "credential",
      flag: `--secret=${name}=<VARIABLE>`,
      policy: `"secrets": { ${JSON.stringify(name)}: "VARIABLE" }`,
    });
  }
  return steps;
}

function credentialFlags({ name, authority }: ToolManifest): string[] {
  const shared = authority.service === "github"
    ? ["--github-token-env=<VARIABLE>"]
    : authority.model === undefined
    ? []
    : ["--model-api-key-env=<VARIABLE>"];
  return [...shared, `--secret=${name}=<VARIABLE>`];
}

function authorityClass({ name, authority }: ToolManifest): AuthorityClass {
  if (authority.process === true) return "process";
  if (authority.model !== undefined) return "model";
  if (authority.asks === true) return "person";
  if (authority.skills === true) return "skills";
  if (authority.tasks === true) return "tasks";
  if (authority.endpoints !== undefined) return "named-network";
  if (authority.fs !== undefined) return writesFiles(authority.fs) ? "fs-write" : "fs-read";
  return name === "fail" ? "test-host-failure" : name === "slow" ? "test-async" : "none";
}

function auditRows({ authority, resultSchema }: ToolManifest): RecordType[] {
  const rows: RecordType[] = ["tool_call", "tool_result", "tool_denial", "tool_invalid_args", "tool_error"];
  rows.push("tool_timeout", "budget_exceeded", "worker_host_call");
  if (authority.fs === "read") rows.push("fs_read_source_manifest");
  if (authority.process === true) rows.push("process_output_stream", "process_output_budget", "process_egress");
  if (authority.endpoints !== undefined) {
    rows.push(
      "named_network_cache_hit",
      "named_network_cache_miss",
      "named_network_cache_stale",
      "named_network_cache_write",
      "named_network_cache_eviction",
      "named_network_cache_error",
      "named_network_retry",
    );
  }
  // A tool whose result fits no value never has one.
  return "not" in resultSchema ? rows.filter((type) => type !== "tool_result") : rows;
}

function residualOwner({ authority }: ToolManifest): string {
  if (authority.process === true) return "author of the policy, for what the programs do";
  if (authority.model !== undefined) return "provider of the model, for what it answers and keeps";
  if (authority.endpoints !== undefined) return "operator of the endpoint";
  if (authority.asks === true) return "whoever answers";
  if (authority.skills === true) return "author of the skill, for what it talks an agent into";
  return authority.fs === undefined ? "none" : "author of the policy";
}
