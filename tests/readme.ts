/**
 * The tables of the README, made from the code that they describe.
 *
 * @module
 */
import { DENIAL_CODES } from "../src/authority/denial_codes.ts";
import { describeKeys, KEY_TABLE } from "../src/authority/keys.ts";
import { rootsNeeded } from "../src/authority/file_access.ts";
import { OUTCOME_RECORD_TYPES, type RecordType } from "../src/audit/record.ts";
import { EXIT_TABLE } from "../src/errors.ts";
import { BUDGETS } from "../src/plan/budgets.ts";
import { ISOLATIONS } from "../src/plan/plan.ts";
import { describeTool } from "../src/report/tool_manifest.ts";
import type { ToolManifest } from "../src/tool/manifest.ts";

/** What each record says. Complete by its type: a new record type does not compile without its line. */
const RECORDS: Readonly<Record<RecordType, string>> = {
  run_start: "first: digests of policy, plan, modules and tools; flags, isolation, clock, seed",
  session_load: "the state of the run before was read, or there is none yet",
  session_save: "the state is about to be kept, was kept, or is kept as it was because the run did not end well",
  product_reset: "what `reset` did with a session",
  fs_read_source_manifest: "every file below the read roots, and why one is not readable",
  tool_call: "a call that the gate allowed, before its effect starts",
  tool_result: "its result, as the tool's definition says to keep it",
  tool_error: "the tool or the world failed, with the kind of the error",
  tool_timeout: "its deadline came first",
  tool_denial: "the reason slug and the rule of the policy that decided",
  tool_approval_pending: "a call waits for an approval, and the run stops at it",
  tool_approval_granted: "a call was approved: by whom, how long ago, under which id",
  tool_approval_denied: "a person, or the log of their decisions, denied it",
  tool_approval_stale: "the approval that there was is too old",
  tool_invalid_args: "arguments that do not fit the tool's schema",
  budget_exceeded: "which budget, its limit, what was attempted",
  event: "what the agent emitted",
  schema_validation: "whether an event fits its schema, and whether those the policy expects came often enough",
  state_get: "the agent read its state",
  state_set: "the agent changed its state",
  state_delete: "the agent removed a key",
  state_list: "the agent listed its keys",
  state_reset: "the agent cleared its state",
  state_snapshot: "the state that the agent started or ended with, redacted",
  audit_note: "a note of the agent's own",
  audit_controls: "what the agent was told about its controls",
  revocation: "the agent closed its way to the host",
  revocation_denial: "it used that way all the same",
  named_network_retry: "a request is tried again, after how long, and why",
  named_network_cache_hit: "an answer came from the cache, with its age",
  named_network_cache_miss: "none did, and why: absent, foreign, edited",
  named_network_cache_write: "an answer was kept",
  named_network_cache_stale: "a kept answer was too old",
  named_network_cache_eviction: "a kept answer made room",
  named_network_cache_error: "the cache could not be used",
  process_output_stream: "a piece of what a program wrote, scrubbed of known secrets",
  process_output_budget: "a program wrote more than fits: summarized, or failed closed",
  process_egress: "what a confined program connected to, or was refused",
  worker_host_call: "a call crossed from a worker to the host",
  authority_check: "what the host attested before the agent started",
  rerun_divergence: "a rerun did something else than its recording: what was expected, what came",
  unsupported_control: "reserved",
  run_artifact_manifest: "last but one: the files that the run wrote, with their digests, and under which plan",
  run_end: "last, exactly once: why the run ended",
};

/** Marks that stand around a generated part. */
const PART_REGEXP = /(<!-- generated:([a-z]+) -->\n)([\s\S]*?)(<!-- \/generated -->)/g;

/** Every generated part of the README by the name in its mark. */
export function readmeParts(manifests: Readonly<Record<string, ToolManifest>>): ReadonlyMap<string, string> {
  return new Map([
    ["tools", toolsTable(Object.values(manifests))],
    ["grants", grantsTable(Object.values(manifests))],
    ["keys", table(["act", "stopped by", "why"], KEY_TABLE.map((row) => [row.title, describeKeys(row), row.why]))],
    [
      "exits",
      table(["code", "meaning", "next"], EXIT_TABLE.map(({ code, meaning, next }) => [code, meaning, tick(next)])),
    ],
    ["denials", table(["reason", "meaning"], Object.entries(DENIAL_CODES).map(([code, what]) => [tick(code), what]))],
    ["records", table(["record", "says"], Object.entries(RECORDS).map(([type, what]) => [tick(type), what]))],
    [
      "budgets",
      table(
        ["budget", "bounds", "default"],
        Object.entries(BUDGETS).map(([name, { what, value, unit }]) => [tick(name), what, `${group(value)} ${unit}`]),
      ),
    ],
  ]);
}

/**
 * Puts the parts between their marks.
 *
 * @throws {TypeError} If a mark names no part, or a part has no mark.
 */
export function fillReadme(text: string, parts: ReadonlyMap<string, string>): string {
  const left = new Set(parts.keys());
  const filled = text.replaceAll(PART_REGEXP, (_, start: string, name: string, _old: string, end: string) => {
    const part = parts.get(name);
    if (part === undefined) throw new TypeError(`Cannot fill "${name}": there is no such part`);
    left.delete(name);
    return `${start}\n${part}\n${end}`;
  });
  if (left.size > 0) throw new TypeError(`Cannot place ${[...left].join(", ")}: the README has no mark of that name`);
  return filled;
}

function toolsTable(manifests: readonly ToolManifest[]): string {
  const families = manifests.toSorted((a, b) => a.family.localeCompare(b.family) || a.name.localeCompare(b.name));
  return table(
    ["tool", "what it does", "needs beside its name", "effect", "what it does not do"],
    families.map(({ name, summary, authority, effect, nonClaims }) => [
      tick(name),
      summary,
      needs(authority),
      effect,
      nonClaims.map(sentence).join(". ") || "nothing to mind",
    ]),
  );
}

/** Each tool with the lines of a policy that grant it, where it runs, and the records that a call can cause. */
function grantsTable(manifests: readonly ToolManifest[]): string {
  const tools = manifests.toSorted((a, b) => a.family.localeCompare(b.family) || a.name.localeCompare(b.name))
    .map(describeTool);
  return table(
    ["tool", "granted by, all together", ...ISOLATIONS, "records beside the outcome's"],
    tools.map(({ name, grant_requirements, isolations, audit_rows }) => [
      tick(name),
      grant_requirements.map(({ policy }) => policy.split(", or ").map(tick).join(" or ")).join(", "),
      ...ISOLATIONS.map((isolation) => isolations.includes(isolation) ? "yes" : "no"),
      audit_rows.filter((type) => type === "tool_call" || !OUTCOME_RECORD_TYPES.has(type)).map(tick).join(", "),
    ]),
  );
}

function needs({ fs, endpoints = {}, model, service, credential, process, skills }: ToolManifest["authority"]): string {
  const places = [
    ...rootsNeeded(fs).map((need) => tick(`fs.${need}`)),
    ...(process === true ? [tick("process.commands"), tick("process.cwd")] : []),
    ...(service === undefined ? [] : [tick(`${service}.repos`)]),
    ...(model === undefined ? [] : [tick("model")]),
    ...(skills === undefined ? [] : [tick("skills")]),
    ...(credential?.optional === false ? [tick("secrets")] : []),
  ];
  const requests = Object.values(model ?? endpoints).map(({ method, url }) => tick(`${method} ${url}`));
  const reached = model === undefined ? requests : [requests.join(" or ")];
  return [...places, ...reached].join(", ") || "nothing";
}

function sentence(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** A Markdown table with its columns padded, as the formatter writes it. */
function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const cells = rows.map((row) => row.map((cell) => String(cell).replaceAll("|", "\\|").replaceAll("*", "\\*")));
  const widths = head.map((title, i) => Math.max(title.length, ...cells.map((row) => row[i]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...cells.map(line), ""].join("\n");
}

function tick(text: string): string {
  return "`" + text + "`";
}

/** Groups the digits of a number by threes. */
function group(value: number): string {
  return value.toLocaleString("en-US");
}
