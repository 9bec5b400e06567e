/**
 * The gate: the only place that decides. Pure and total: it reads the plan and the request, touches nothing, never
 * throws; what it does not understand it denies.
 *
 * Order: the tool is granted; the resolver refused nothing; deny rules; protected and secret places; grants; what asks: the
 * tool, then rules.
 *
 * @module
 */
import type { DenialCode } from "../authority/denial_codes.ts";
import { isDenialCode } from "../authority/denial_codes.ts";
import type { Request, Requirement, RequirementKind } from "../authority/requirement.ts";
import { approvalTerms } from "../plan/approval_terms.ts";
import type { Places, Plan, PlannedTool } from "../plan/plan.ts";
import { makeCommandGate } from "./commands.ts";
import { makeEndpointGate } from "./endpoints.ts";
import { makeFileGate } from "./files.ts";
import { decideModel } from "./models.ts";
import { makeRules } from "./rules.ts";
import type { Verdict } from "./verdict.ts";

/** What the gate decided, with the rules of the policy (JSON Pointers) that decided. */
export type Decision =
  | { readonly kind: "allow"; readonly rules: readonly string[] }
  | {
    readonly kind: "deny";
    readonly code: DenialCode;
    readonly rule: string | null;
    readonly requirement: Requirement | null;
  }
  | {
    readonly kind: "ask";
    /** What the rules on requirements ask about; empty where only the tool itself needs an approval for every call. */
    readonly requirements: readonly Requirement[];
    /** The first rule that asks. */
    readonly rule: string;
    /** The rules that grant it, then every rule that asks. */
    readonly rules: readonly string[];
  };

/** Decides on one request. */
export type Gate = (request: Request) => Decision;

/** The reason for each kind where no grant covers a requirement. */
const DENIAL_OF_KIND: Readonly<Record<RequirementKind, DenialCode>> = {
  "command.execute": "process_command_not_admitted",
  "context.load": "tool_not_granted",
  "network": "endpoint_not_granted",
  "filesystem.read": "fs_read_path_not_admitted",
  "filesystem.write": "artifact_path_not_admitted",
};

/**
 * Compiles a plan to its gate. Roots are indexed by path, so that a decision costs the depth of the path and not the
 * number of roots.
 */
export function makeGate(plan: Plan, places: Places): Gate {
  const files = makeFileGate(plan, places);
  const endpoints = makeEndpointGate(plan);
  const commands = makeCommandGate(plan);
  const rules = makeRules(plan, places);
  const required = new Map(approvalTerms(plan).require.map(({ tool, rule }) => [tool, [rule]]));

  const verdictOf = (tool: PlannedTool, requirement: Requirement): Verdict => {
    if (requirement.kind === "filesystem.read") return files.read(tool, requirement.target);
    if (requirement.kind === "filesystem.write") return files.write(tool, requirement.target);
    if (requirement.kind === "network") return endpoints(tool, requirement.target);
    if (requirement.kind === "command.execute") return commands(tool, requirement.target);
    if (requirement.kind === "context.load") return decideModel(plan, tool, requirement.target);
    return { code: DENIAL_OF_KIND[requirement.kind] ?? "not_in_request", rule: null };
  };

  /** The line behind a refusal of the resolver, where the gate would have refused for the same reason. */
  const ruleOf = (tool: PlannedTool, requirement: Requirement, code: DenialCode): string | null => {
    const verdict = verdictOf(tool, requirement);
    return "code" in verdict && verdict.code === code ? verdict.rule : null;
  };

  const decideAll = (request: Request): Decision => {
    const { tool: name, requirements } = request;
    const tool = Object.hasOwn(plan.tools, name) ? plan.tools[name] : undefined;
    if (tool === undefined) return { kind: "deny", code: "tool_not_granted", rule: null, requirement: null };
    for (const requirement of requirements) {
      const { kind, target, refusal } = requirement;
      if (refusal !== undefined) {
        const code = isDenialCode(refusal) ? refusal : DENIAL_OF_KIND[kind] ?? "not_in_request";
        return { kind: "deny", code, rule: ruleOf(tool, requirement, code), requirement };
      }
      if (!isCanonical(target)) {
        return { kind: "deny", code: DENIAL_OF_KIND[kind] ?? "not_in_request", rule: null, requirement };
      }
    }
    for (const requirement of requirements) {
      const rule = rules.deny(name, requirement);
      if (rule !== null) return { kind: "deny", code: "gate_deny_rule", rule, requirement };
    }
    const granting = new Set<string>([tool.rule]);
    for (const requirement of requirements) {
      const verdict = verdictOf(tool, requirement);
      if (!("granted" in verdict)) return { kind: "deny", ...verdict, requirement };
      granting.add(verdict.granted);
    }
    const asked = requirements.flatMap((requirement) => {
      const rule = rules.ask(name, requirement);
      return rule === null ? [] : [{ requirement, rule }];
    });
    const asking = [...required.get(name) ?? [], ...asked.map(({ rule }) => rule)];
    const [first] = asking;
    if (first !== undefined) {
      const about = asked.map(({ requirement }) => requirement);
      return { kind: "ask", requirements: about, rule: first, rules: [...new Set([...granting, ...asking])] };
    }
    return { kind: "allow", rules: [...granting] };
  };

  return (request) => {
    try {
      return decideAll(request);
    } catch {
      // a request that cannot even be read is not one that the resolver made
      return { kind: "deny", code: "not_in_request", rule: null, requirement: null };
    }
  };
}

/** Text as every resolver writes it. The gate does not rely on that. */
function isCanonical(target: unknown): boolean {
  return typeof target === "string" && target !== "" && target === target.trim() && target.isWellFormed() &&
    !/\p{Cc}/u.test(target);
}
