/**
 * What would have to stand in the policy for a denied call to be allowed.
 *
 * @module
 */
import type { DenialCode } from "../authority/denial_codes.ts";
import { isInside, nameOf, parentOf, pathFrom, relativeTo } from "../authority/path.ts";
import { BUDGETS } from "../plan/budgets.ts";
import { absolute, type Places, type Plan } from "../plan/plan.ts";

/** A denial as the gate or a power made it. */
export interface Denial {
  readonly tool: string;
  readonly code: DenialCode;
  /** The canonical target that was refused; `null` where the request had none. */
  readonly target: string | null;
  /** JSON Pointer of the rule that decided, if one did. */
  readonly rule?: string | null;
}

/**
 * The smallest change to the policy that would allow a denied call, as one line of the file; `null` where no line may
 * (a protected place, the runner's state, a request that the tool does not declare) or where the cause is the file
 * itself (a link, binary content, a change).
 *
 * @param options `toolNames`: the tools that exist, so that a name nobody knows gets no advice.
 */
export function suggest(
  denial: Denial,
  plan: Plan,
  options: { places: Places; toolNames?: readonly string[] },
): string | null {
  const { tool, code, target } = denial;
  const { places } = options;
  switch (code) {
    case "tool_not_granted":
      if (options.toolNames !== undefined && !options.toolNames.includes(tool)) return null;
      return `"tools": ${list([...Object.keys(plan.tools), tool])}`;
    case "fs_read_path_not_admitted": {
      if (target === null || !target.startsWith("/") || isState(target, places)) return null;
      // a root that may be read is around it, so it is the file that is missing: no line would bring it
      if (enclosing(target, plan, places) !== undefined) return null;
      const { root, include } = readEntry(target, plan, places);
      const line = `"fs": { "read": [{ "root": ${quote(root)}, "include": ${list([include])} }] }`;
      return isInside(places.project, target) ? line : `${line}, ${outside(parentOf(target))}`;
    }
    case "include_pattern":
    case "secret_name": {
      const entry = target === null || isState(target, places) ? undefined : enclosing(target, plan, places);
      if (entry === undefined || target === null) return null;
      const named = relativeTo(entry.path, target);
      const include = named.includes("/") ? named : `/${named}`;
      // a root without a list admits everything; with one it must still say so
      const admitted = entry.root.include.length === 0 ? ["**"] : entry.root.include;
      const patterns = list([...admitted, include]);
      return `"fs": { "read": [{ "root": ${quote(fromPolicy(entry.path, plan, places))}, "include": ${patterns} }] }`;
    }
    case "exclude_pattern": {
      const index = excludeIndex(denial.rule ?? null);
      const pattern = index === null
        ? undefined
        : plan.fs.read.find(({ rule }) => rule === index.root)?.exclude[index.at];
      return pattern === undefined ? null : `remove ${quote(pattern)} from "exclude"`;
    }
    case "artifact_root_not_configured":
      return `"fs": { "write": [{ "root": "out" }] }`;
    case "artifact_path_not_admitted": {
      if (target === null || !target.startsWith("/") || target === "/") return null;
      const root = parentOf(target);
      if (!isInside(places.project, root) || root === places.project) return null;
      return `"fs": { "write": [{ "root": ${quote(fromPolicy(root, plan, places))} }] }`;
    }
    case "model_not_admitted": {
      const name = target?.startsWith("model:") ? target.slice("model:".length) : "*";
      // Without a name it is not the list that is too short
      return name === "*" ? null : `"model": { "models": ${list([...plan.model?.models ?? [], name])} }`;
    }
    case "large_file_summary_only":
      return `"budgets": { "readFileBytes": ${Math.min(plan.budgets.readFileBytes * 4, BUDGETS.readFileBytes.max)} }`;
    case "file_limit":
      return `"budgets": { "readFiles": ${Math.min(plan.budgets.readFiles * 4, BUDGETS.readFiles.max)} }`;
    case "gate_deny_rule":
    case "approval_required": {
      const asking = plan.approvals?.require.find((entry) => entry.rule === denial.rule);
      if (asking !== undefined) return `remove ${quote(asking.tool)} from "approvals": { "require": [...] }`;
      const rule = plan.gate.find((entry) => entry.rule === denial.rule);
      return rule === undefined ? null : `remove { "kind": ${quote(rule.kind)}, "match": ${quote(rule.match)} } from ` +
        `"gate": { "${rule.effect}": [...] }`;
    }
    default:
      return null;
  }
}

/** The folder of the file, as seen from the policy, and a pattern for just that file. */
function readEntry(target: string, plan: Plan, places: Places): { root: string; include: string } {
  return { root: fromPolicy(parentOf(target), plan, places), include: `/${nameOf(target)}` };
}

function enclosing(target: string, plan: Plan, places: Places) {
  return plan.fs.read
    .map((root) => ({ root, path: absolute(root.root, places) }))
    .filter(({ path }) => path !== target && isInside(path, target))
    .toSorted((a, b) => b.path.length - a.path.length)[0];
}

function fromPolicy(path: string, plan: Plan, places: Places): string {
  if (!isInside(places.project, path)) return path;
  const folder = plan.policy.path === null ? places.project : parentOf(absolute(plan.policy.path, places));
  return pathFrom(folder, path);
}

function isState(target: string, { project, state }: Places): boolean {
  return isInside(state, target) || isInside(`${project}/.twokey`, target);
}

function excludeIndex(rule: string | null): { readonly root: string; readonly at: number } | null {
  const match = /^(.*)\/exclude\/(\d+)$/.exec(rule ?? "");
  return match === null ? null : { root: match[1] ?? "", at: Number(match[2]) };
}

function outside(root: string): string {
  return `"unsafe": { "outside": [{ "root": ${quote(root)}, "reason": "…", "expires": "YYYY-MM-DD" }] }`;
}

function list(items: readonly string[]): string {
  return `[${items.map(quote).join(", ")}]`;
}

function quote(text: string): string {
  return JSON.stringify(text);
}
