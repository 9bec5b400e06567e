/**
 * The compiler's step for approvals: each name must be a granted tool, and terms must have something to hold for.
 *
 * @module
 */
import { type ApprovalTerms, DEFAULT_TERMS } from "../plan/approval_terms.ts";
import { type Check, quote } from "./check.ts";
import { refuseUnknown } from "./check_tools.ts";

/** Plans the `approvals` block; `undefined` where the policy has none. */
export function planApprovals(check: Check): ApprovalTerms | undefined {
  const { approvals, gate, tools = [] } = check.loaded.policy;
  if (approvals === undefined) return undefined;
  const seen = new Set<string>();
  const require = (approvals.require ?? []).map((tool, index) => {
    const at = `/approvals/require/${index}`;
    if (check.manifest(tool) === undefined) refuseUnknown(check, at, tool);
    else if (!tools.includes(tool)) {
      const message = `Cannot require an approval of ${quote(tool)}: the tool is not granted, so no call of it runs`;
      check.refuse({ at, code: "policy_dead_rule", message, fix: "Remove the name, or grant the tool" });
    } else if (seen.has(tool)) {
      const message = `Cannot require an approval of ${quote(tool)}: it is listed twice`;
      check.refuse({ at, code: "policy_duplicate_tool", message, fix: "Keep one of the two" });
    }
    seen.add(tool);
    return { tool, rule: at };
  });
  if (require.length === 0 && (gate?.ask ?? []).length === 0) {
    const message = `Cannot use ${check.name("/approvals")}: no tool and no rule asks for an approval`;
    const fix = 'Name a granted tool in "require", or remove the block';
    check.refuse({ at: "/approvals", code: "policy_dead_rule", message, fix });
  }
  return {
    require,
    maxAgeMs: approvals.maxAgeMs ?? DEFAULT_TERMS.maxAgeMs,
    waitMs: approvals.waitMs ?? DEFAULT_TERMS.waitMs,
  };
}
