/**
 * The compiler's step for tools: each must exist and have its authority, and each authority a tool that can use it.
 *
 * @module
 */
import { rootsNeeded, usesRoots } from "../authority/file_access.ts";
import { nearest } from "../authority/nearest.ts";
import { canonicalHost } from "../authority/host.ts";
import type { Budgets, PlannedTool } from "../plan/plan.ts";
import type { ToolManifest } from "../tool/manifest.ts";
import { type Check, quote } from "./check.ts";
import { asksModels, modelReach } from "./check_model.ts";

/** Tools that do not exist on purpose: what people look for first, and what no argument check could hold. */
export const ABSENT_TOOLS: readonly string[] = Object.freeze(["shell", "exec", "spawn"]);

/** Why they are absent, as a slug. */
export const ABSENT_REASON = "process_tool_supervisor_required_not_available";

/** Plans the granted tools, sorted by name. */
export function planTools(check: Check, budgets: Budgets): Record<string, PlannedTool> {
  const planned: [string, PlannedTool][] = [];
  const seen = new Set<string>();
  for (const [index, name] of (check.loaded.policy.tools ?? []).entries()) {
    const at = `/tools/${index}`;
    if (seen.has(name)) {
      const message = `Cannot grant ${quote(name)}: it is listed twice`;
      check.refuse({ at, code: "policy_duplicate_tool", message, fix: "Keep one of the two" });
      continue;
    }
    seen.add(name);
    const manifest = check.manifest(name);
    if (manifest === undefined) {
      refuseUnknown(check, at, name);
      continue;
    }
    checkAuthority(check, at, manifest);
    planned.push([name, {
      family: manifest.family,
      manifest: manifest.digest,
      ...(manifest.authority.fs === undefined ? {} : { fs: manifest.authority.fs }),
      ...(manifest.authority.process === undefined ? {} : { process: true }),
      ...(manifest.authority.asks === undefined ? {} : { asks: true }),
      ...(manifest.authority.skills === undefined ? {} : { skills: true }),
      ...(manifest.authority.tasks === undefined ? {} : { tasks: true }),
      timeoutMs: Math.min(
        check.loaded.policy.budgets?.toolTimeoutMs ?? manifest.limits.timeoutMs ?? budgets.toolTimeoutMs,
        budgets.wallMs,
      ),
      ...(asksModels(manifest) ? modelReach(manifest, check.loaded.policy) : {
        endpoints: manifest.authority.endpoints ?? {},
        ...(manifest.authority.service === undefined ? {} : { service: manifest.authority.service }),
        ...(manifest.authority.credential === undefined ? {} : { credential: manifest.authority.credential }),
      }),
      rule: at,
    }]);
  }
  checkUse(check);
  planned.sort(([a], [b]) => a < b ? -1 : 1);
  return Object.fromEntries(planned);
}

/** Refuses the name of a tool that does not exist, with what was probably meant. */
export function refuseUnknown(check: Check, at: string, name: string): void {
  if (ABSENT_TOOLS.includes(name)) {
    const message = `Cannot grant ${quote(name)}: it is deliberately absent (${ABSENT_REASON})`;
    const fix = "Remove it: there is no tool that runs any program; twokey tool list shows what there is";
    check.refuse({ at, code: "policy_absent_tool", message, fix });
    return;
  }
  const meant = nearest(name, Object.keys(check.manifests));
  const fix = meant === undefined ? "See the names with: twokey tool list" : `Write ${quote(meant)}`;
  check.refuse({ at, code: "policy_unknown_tool", message: `Cannot use ${quote(name)}: no such tool`, fix });
}

function checkAuthority(check: Check, at: string, { name, authority }: ToolManifest): void {
  const { policy } = check.loaded;
  for (const need of rootsNeeded(authority.fs)) {
    if ((policy.fs?.[need] ?? []).length > 0) continue;
    const fix = need === "read"
      ? 'Add "fs": { "read": [{ "root": "." }] }, or remove the tool'
      : 'Add "fs": { "write": [{ "root": "out" }] }, or remove the tool';
    const message = `Cannot grant ${quote(name)}: the policy has no "fs.${need}" for it`;
    check.refuse({ at, code: "policy_tool_without_authority", message, fix });
  }
  for (const [endpoint, { url }] of Object.entries(authority.endpoints ?? {})) {
    const host = url.slice("https://".length).split("/")[0] ?? "";
    // a wildcard would match the apex too, and a placeholder is filled in by trusted code
    if (!/^<[a-z-]+>$/.test(host) && canonicalHost(host.replace(/:\d+$/, ""))?.host !== host.replace(/:\d+$/, "")) {
      const message = `Cannot grant ${quote(name)}: its endpoint ${quote(endpoint)} does not name one canonical host`;
      check.refuse({ at, code: "policy_bad_host", message, fix: "Name one host in the tool's definition" });
    }
  }
}

/** Whether a tool uses the roots of one kind. */
function uses(need: "read" | "write"): (manifest: ToolManifest) => boolean {
  return ({ authority }) => usesRoots(authority.fs, need);
}

/** Refuses authority that no granted tool can use: it would be granted for nothing, or a tool was forgotten. */
function checkUse(check: Check): void {
  const { policy } = check.loaded;
  const granted = check.granted();
  const unused = (at: string, what: string, candidates: readonly ToolManifest[]): void => {
    check.refuse({
      at,
      code: "policy_unused_authority",
      message: `Cannot grant ${check.name(at)}: no granted tool ${what}`,
      fix: check.removeOrGrant(at, candidates),
    });
  };
  const all = Object.values(check.manifests);
  for (const need of ["read", "write"] as const) {
    if ((policy.fs?.[need] ?? []).length > 0 && !granted.some(uses(need))) {
      unused(
        `/fs/${need}`,
        need === "read" ? "reads files" : "writes files",
        all.filter(uses(need)),
      );
    }
  }
  const writers = granted.filter(uses("write"));
  if (
    (policy.fs?.write ?? []).length > 1 && writers.length > 0 &&
    !writers.some(({ authority }) => authority.fs === "edit")
  ) {
    unused("/fs/write/1", "writes below a second root", []);
  }
  if (granted.some(({ authority }) => authority.endpoints)) return;
  const keys = Object.keys(policy.network ?? {});
  // A model is asked on the same way out, but its answers are neither recorded there, kept nor asked for again.
  const useless = granted.some(asksModels) && policy.model?.provider !== undefined
    ? keys.filter((key) => !["proxy", "ca", "ipv6"].includes(key)).map((key) => `/network/${key}`)
    : keys.length > 0
    ? ["/network"]
    : [];
  for (const at of useless) {
    unused(at, "uses it", all.filter((m) => m.authority.endpoints !== undefined));
  }
}
