/**
 * Reasons of denials in words, and the line of a policy that would allow what was denied.
 *
 * @module
 */
import type { DenialRow } from "../replay/replay.ts";

/** What a reason slug means, as the end of the sentence "denied: …". */
const REASONS: ReadonlyMap<string, string> = new Map([
  ["tool_not_granted", "the policy does not grant this tool"],
  ["fs_read_path_not_admitted", "the path is not below a root that may be read"],
  ["fs_read_path_ambiguous", "the path is below more than one root; its label must stand first"],
  ["symlink_refused", "the path is a link, or leads through one"],
  ["gitignore_default", "a .gitignore leaves the path out"],
  ["exclude_pattern", "an exclude pattern of the policy leaves the path out"],
  ["include_pattern", "no include pattern of the policy takes the path in"],
  ["non_file_refused", "the path is not a regular file"],
  ["large_file_summary_only", "the file is over the budget readFileBytes"],
  ["binary_refused", "the file is not text"],
  ["file_limit", "the file is behind the budget readFiles"],
  ["secret_name", "the path is the runner's own, or has the name of a secret"],
  ["content_changed", "the file has changed since it was first read"],
  ["artifact_path_not_admitted", "the path is not a plain one below the write root"],
  ["artifact_overwrite_denied", "the file exists; an artifact never replaces one"],
  ["artifact_root_not_configured", "the policy names no write root"],
  ["protected_path", "the place is protected: no policy can make it writable"],
  ["endpoint_not_granted", "the endpoint is not one of this tool's"],
  ["gate_deny_rule", "a deny rule of the policy matches"],
  ["approval_required", "a rule asks for an approval, and nobody is there to give it"],
  ["not_in_request", "the tool reached for something that it did not ask for"],
]);

/** Explains a reason slug; one that is not known stands for itself. */
export function reasonText(reason: string | null): string {
  if (reason === null) return "no reason is recorded";
  return REASONS.get(reason) ?? reason;
}

/**
 * The line of a policy that would allow a denied call, or `null` where no line can or the log does not tell. The text
 * is not escaped.
 *
 * @param project Real path of the project; a target below it is named relative to it.
 */
export function allowLine(denial: DenialRow, project: string | null = null): string | null {
  const target = denial.target === null ? null : withoutProject(denial.target, project);
  const folder = target?.includes("/") ? target.slice(0, target.lastIndexOf("/")) : ".";
  switch (denial.reason) {
    case "tool_not_granted":
      return `"tools": [${JSON.stringify(denial.tool)}]`;
    case "fs_read_path_not_admitted":
      return target === null ? null : readRoot(folder === "" ? "/" : folder, project);
    case "include_pattern":
      return target === null ? null : `"fs": { "read": [{ "include": [${JSON.stringify(target)}] }] }`;
    case "artifact_root_not_configured":
      return '"fs": { "write": [{ "root": "out" }] }';
    default:
      return null;
  }
}

function readRoot(root: string, project: string | null): string {
  const line = `"fs": { "read": [{ "root": ${JSON.stringify(root)} }] }`;
  if (project === null || !root.startsWith("/")) return line;
  const outside = `{ "root": ${JSON.stringify(root)}, "reason": "<why>", "expires": "<YYYY-MM-DD>" }`;
  return `${line}, "unsafe": { "outside": [${outside}] }`;
}

/** Names a path below the project relative to it. */
export function withoutProject(target: string, project: string | null): string {
  return project !== null && target.startsWith(`${project}/`) ? target.slice(project.length + 1) : target;
}
