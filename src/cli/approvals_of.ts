/**
 * How the command line approves calls: by its flags, and by the person at the terminal.
 *
 * @module
 */
import { nearest } from "../authority/nearest.ts";
import { UsageError } from "../errors.ts";
import type { ApprovalOptions } from "../launch/approver.ts";
import { MANIFESTS } from "../launch/prepare.ts";
import { escapeText } from "../report/escape.ts";
import { canAsk } from "./confirm.ts";
import type { RunFlags } from "./policy_flags.ts";
import type { Progress } from "./progress.ts";

/**
 * The approval options of a command line.
 *
 * @param options `mayPrompt`: whether a person at the terminal is asked, where there is one.
 * @throws {UsageError} If `--approve-tool` names no tool.
 */
export async function approvalsOf(
  { approveTool = [], approvalLog }: RunFlags,
  { progress, mayPrompt, project }: {
    readonly progress: Progress;
    readonly mayPrompt: boolean;
    project?(): string | undefined;
  },
): Promise<ApprovalOptions> {
  for (const name of approveTool) {
    if (Object.hasOwn(MANIFESTS, name)) continue;
    const meant = nearest(name, Object.keys(MANIFESTS));
    const help = meant === undefined ? "`twokey tool list` shows the tools" : `did you mean "${meant}"?`;
    const shown = escapeText(name, { max: 80 });
    throw new UsageError("usage_unknown_tool", `Cannot use --approve-tool="${shown}": no such tool; ${help}`);
  }
  const words = {
    ...(approveTool.length === 0 ? {} : { approveTools: approveTool }),
    ...(approvalLog === undefined ? {} : { approvalLog }),
  };
  if (!mayPrompt || !canAsk()) return words;
  const { TerminalApprover } = await import("./terminal_approver.ts");
  const approver = new TerminalApprover(progress, project === undefined ? {} : { project });
  return { ...words, via: "terminal", approve: (request, signal) => approver.ask(request, signal) };
}
