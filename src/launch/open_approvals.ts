/**
 * Opens what a run needs for its approvals.
 *
 * @module
 */
import { isInside, pathProblem, resolvePath } from "../authority/path.ts";
import { UsageError } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import { approvalTerms, mayAsk } from "../plan/approval_terms.ts";
import { absolute } from "../plan/plan.ts";
import { isTracked } from "../policy/git_index.ts";
import { realOf } from "../policy/real_path.ts";
import { ApprovalLog, defaultApprovalLog, makeFolderOf } from "./approval_log.ts";
import type { ExecuteOptions } from "./execute.ts";
import type { LaunchOptions } from "./launch_options.ts";
import { assertOutOfReach } from "./out_of_reach.ts";
import type { PreparedRun } from "./prepare.ts";

/** Opens what a run needs for its approvals; `undefined` where no call can ask. */
export async function openApprovals(
  prepared: PreparedRun,
  { approvals: { approve, via = "callback", approveTools = [], approvalLog } = {}, dryRun, locked }: ExecuteOptions,
): Promise<{ readonly parts: NonNullable<LaunchOptions["approvals"]>; readonly start: JsonObject } | undefined> {
  const { plan, places } = prepared;
  if (!mayAsk(plan) || dryRun === true) return undefined;
  const path = approvalLog === undefined ? defaultApprovalLog(places.state) : approvalLogAt(approvalLog);
  if (approvalLog !== undefined) {
    assertLogOutOfReach(path, prepared);
    await makeFolderOf(path);
  }
  const log = await ApprovalLog.open({ path, state: places.state });
  // A log that is not whole is known before anything runs.
  await log.read();
  const pregranted = locked === true ? [] : [...new Set(approveTools)];
  return {
    parts: {
      log,
      pregranted,
      code: prepared.code,
      programs: new Map(Object.entries(prepared.programs).map(([name, { sha256 }]) => [name, sha256])),
      approver: approve === undefined ? undefined : { ask: approve, via },
    },
    start: {
      approval_gates: {
        mode: approve === undefined ? "headless" : via,
        required_tools: approvalTerms(plan).require.map(({ tool }) => tool),
        approved_tools: pregranted,
        approval_log_configured: approvalLog !== undefined,
        approval_max_age_ms: approvalTerms(plan).maxAgeMs,
      },
    },
  };
}

/** The real path of a log that the caller named, relative to the current folder. @throws {UsageError} If it names none. */
export function approvalLogAt(path: string): string {
  if (path === "" || path.endsWith("/") || pathProblem(path) !== null) {
    throw new UsageError("usage_approval_log", "Cannot keep the approval log there: it must be the path of a file");
  }
  return realOf(resolvePath(Deno.cwd(), path));
}

/** What agents can read tells them what was asked; what they can write, or git brings along, could cut the log. */
function assertLogOutOfReach(path: string, prepared: PreparedRun): void {
  const { plan, places } = prepared;
  assertOutOfReach(path, prepared, { code: "usage_approval_log", log: "the approval log" });
  const folder = plan.process?.cwd.find(({ root }) => isInside(absolute(root, places), path));
  const why = folder !== undefined
    ? `programs work in "${folder.root}"`
    : isTracked(path)
    ? "git tracks files there"
    : undefined;
  if (why === undefined) return;
  throw new UsageError("usage_approval_log", `Cannot keep the approval log there: ${why}; name a file outside of it`);
}
