/**
 * The compiler's step for rules: each must be able to match, or its author believes in a rule that does nothing.
 *
 * @module
 */
import { readsFiles, writesFiles } from "../authority/file_access.ts";
import { DENIAL_CODES, isDenialCode } from "../authority/denial_codes.ts";
import { globProblem } from "../authority/glob.ts";
import { nearest } from "../authority/nearest.ts";
import type { RequirementKind } from "../authority/requirement.ts";
import type { ExpectedDenial, GateRule } from "../plan/plan.ts";
import { withoutRegistry } from "../tools/supply_chain/npm_registry.ts";
import type { ToolManifest } from "../tool/manifest.ts";
import { type Check, quote } from "./check.ts";
import { ABSENT_TOOLS, refuseUnknown } from "./check_tools.ts";
import type { PolicyGateRule } from "./schema.ts";

/** Plans the `gate` block: deny rules first, each list in the order of the file. */
export function planGate(check: Check): GateRule[] {
  const rules: GateRule[] = [];
  for (const effect of ["deny", "ask"] as const) {
    for (const [index, rule] of (check.loaded.policy.gate?.[effect] ?? []).entries()) {
      const at = `/gate/${effect}/${index}`;
      checkRule(check, at, { effect, rule });
      rules.push({ effect, kind: rule.kind, tools: rule.tools ?? [], match: stripScheme(rule), rule: at });
    }
  }
  return rules;
}

/** Plans `expectDenials`. */
export function planExpectedDenials(check: Check): ExpectedDenial[] {
  const { policy } = check.loaded;
  return (policy.expectDenials ?? []).map(({ tool, code }, index) => {
    const at = `/expectDenials/${index}`;
    if (check.manifest(tool) === undefined && !ABSENT_TOOLS.includes(tool)) refuseUnknown(check, `${at}/tool`, tool);
    if (code !== undefined && !isDenialCode(code)) {
      const meant = nearest(code, Object.keys(DENIAL_CODES));
      const fix = meant === undefined ? "See the codes in the table of denials" : `Write ${quote(meant)}`;
      const message = `Cannot expect the denial ${quote(code)}: no such code`;
      check.refuse({ at: `${at}/code`, code: "policy_unknown_code", message, fix });
    } else if (code !== undefined) {
      const granted = policy.tools?.includes(tool) ?? false;
      if (granted === (code === "tool_not_granted")) {
        const what = granted ? "the tool is granted" : "the tool is not granted, so the code is tool_not_granted";
        const message = `Cannot expect the denial ${quote(code)} of ${quote(tool)}: ${what}`;
        check.refuse({ at: `${at}/code`, code: "policy_dead_rule", message, fix: "Correct the code, or remove it" });
      }
    }
    return { tool, code: code ?? null, rule: at };
  });
}

function checkRule(check: Check, at: string, { effect, rule }: { effect: string; rule: PolicyGateRule }): void {
  const { kind, tools, match } = rule;
  const granted = check.granted();
  const can = granted.filter((manifest) => canNeed(manifest, kind));
  if (can.length === 0) {
    const message = `Cannot use ${check.name(at)}: no granted tool ever needs ${quote(kind)}`;
    check.refuse({ at: `${at}/kind`, code: "policy_dead_rule", message, fix: "Remove the rule, or correct its kind" });
  }
  for (const [index, name] of (tools ?? []).entries()) {
    const pointer = `${at}/tools/${index}`;
    if (check.manifest(name) === undefined) {
      refuseUnknown(check, pointer, name);
    } else if (can.length > 0 && !can.some((manifest) => manifest.name === name)) {
      const reason = granted.some((manifest) => manifest.name === name)
        ? `never needs ${quote(kind)}`
        : "is not granted";
      const message = `Cannot use ${check.name(pointer)}: ${quote(name)} ${reason}, so the rule never matches`;
      check.refuse({ at: pointer, code: "policy_dead_rule", message, fix: "Remove the name" });
    }
  }
  checkMatch(check, `${at}/match`, { kind, match: stripScheme(rule) });
  if (effect === "deny" && can.length > 0 && ["*", "**", "**/*", "/**", "/*"].includes(match)) {
    const dead = can.filter(({ name }) => tools === undefined || tools.includes(name)).map(({ name }) => quote(name));
    if (dead.length > 0) {
      const message = `Cannot use ${check.name(at)}: it denies everything that ${dead.join(", ")} could do`;
      const fix = "Remove the grant instead, or narrow the rule";
      check.refuse({ at, code: "policy_dead_grant", message, fix });
    }
  }
}

function checkMatch(check: Check, at: string, { kind, match }: { kind: RequirementKind; match: string }): void {
  const { project } = check.facts.places;
  const absolute = kind.startsWith("filesystem.") && (match === project || match.startsWith(project + "/"));
  const problem = absolute
    ? { problem: "the pattern looks like an absolute path", fix: "Write it relative to the project" }
    : kind === "command.execute"
    ? null
    : globProblem(match);
  if (problem !== null) {
    const message = `Cannot use ${check.name(at)} ${quote(match)}: ${problem.problem}`;
    check.refuse({ at, code: "policy_bad_pattern", message, fix: problem.fix });
    return;
  }
  if (kind !== "network" || /[*?[]/.test(match)) return;
  const { model } = check.loaded.policy;
  const hosts = check.granted().flatMap(({ authority }) =>
    [
      ...Object.values(authority.endpoints ?? {}),
      ...(model?.provider === undefined ? [] : [authority.model?.[model.provider] ?? []].flat()),
    ].map(({ url }) => url.slice("https://".length).split("/")[0] ?? "")
  );
  // a name without a slash may also be a segment of the path, so it cannot be judged
  const host = match.split("/")[0] ?? "";
  if (match.includes("/") && host !== "" && !hosts.includes(host)) {
    const message = `Cannot use ${check.name(at)} ${quote(match)}: no granted tool talks to ${quote(host)}`;
    const fix = hosts.length === 0 ? "Remove the rule" : `Write one of: ${[...new Set(hosts)].join(", ")}`;
    check.refuse({ at, code: "policy_dead_rule", message, fix });
  }
}

/** The pattern of a rule in its portable form: a URL without its scheme, the registry by its placeholder. */
function stripScheme({ kind, match }: PolicyGateRule): string {
  if (kind !== "network") return match;
  return withoutRegistry(match.startsWith("https://") ? match.slice("https://".length) : match);
}

function canNeed({ authority }: ToolManifest, kind: RequirementKind): boolean {
  if (kind === "filesystem.read") return readsFiles(authority.fs);
  if (kind === "filesystem.write") return writesFiles(authority.fs);
  if (kind === "command.execute") return authority.process === true;
  if (kind === "context.load") return authority.model !== undefined || authority.skills === true;
  return kind === "network" && (authority.endpoints ?? authority.model) !== undefined;
}
