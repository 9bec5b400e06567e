/**
 * One tool call through the whole path, in a run of its own.
 *
 * @module
 */
import type { ApprovalOptions } from "./approver.ts";
import { dropGroundwork, execute, startGroundwork } from "./execute.ts";
import { overBudget } from "../plan/over_budget.ts";
import { prepareRun } from "./prepare.ts";
import type { LoadedPolicy } from "../policy/load.ts";

/** The agent that makes the one call. Its two inputs come as context: they are never part of a source text. */
const CALLER = `
let outcome;
try {
  outcome = { outcome: "result", result: await callTool(context.tool, JSON.parse(context.args)) };
} catch (error) {
  outcome = { outcome: error.outcome, code: error.code, message: error.message };
}
export { outcome };
`;

/** What became of a call, as programs read it. */
export interface CallResult {
  /** What became of the call. */
  readonly outcome: "result" | "denied" | "invalid" | "error" | "timeout" | "budget";
  /** Name as the caller gave it. */
  readonly tool: string;
  /** The tool's result, where the outcome is `result`. */
  readonly result?: unknown;
  /** Why there is none, as a slug. */
  readonly code?: string;
  /** One line for people, without host paths. */
  readonly message?: string;
  /** The run of the call; absent where none was started. */
  readonly run_id?: string;
}

/** A call with what is known of its run. */
export interface CallReport {
  /** What became of the call. */
  readonly result: CallResult;
  /** Why the run itself ended, as a slug; `done` unless it was ended from outside. */
  readonly reason: string;
  /** What to change where the run could not begin; absent where nothing is known to help. */
  readonly fix?: string;
}

/** Options of {@linkcode callTool}. */
export interface CallOptions extends ApprovalOptions {
  /** Only decides: the result says what would be allowed, by which rules, and nothing is done. */
  readonly dryRun?: boolean;
  /** Folder for the run's own folder; the default is `.twokey/runs` in the project. */
  readonly runsDir?: string;
  /** Hears what the caller should know before the call: lines without a newline at the end. */
  onNotice?(text: string): void;
  /** Takes one line of standard error: untrusted, not escaped. */
  onStderr?(source: "host" | "agent", line: string): void;
}

/**
 * Runs one call of a tool under a policy.
 *
 * @param named Gives the policy; called while the processes are already being started.
 * @param call `args` is the JSON text of the arguments.
 * @throws {DataError} If the policy is wrong. @throws {AuditError} If the log cannot be written.
 */
export async function callTool(
  named: () => Promise<LoadedPolicy>,
  call: { readonly tool: string; readonly args: string },
  options: CallOptions = {},
): Promise<CallReport> {
  const { tool, args } = call;
  if (!isJson(args)) {
    const message = `Cannot call "${tool}": its arguments are not JSON`;
    return { result: { outcome: "invalid", tool, code: "tool_invalid_args", message }, reason: "done" };
  }
  const groundwork = startGroundwork();
  let prepared: Awaited<ReturnType<typeof prepareRun>>;
  try {
    prepared = await prepareRun(await named(), { code: CALLER });
  } catch (error) {
    await dropGroundwork(groundwork);
    throw error;
  }
  // What the policy expects of its own agent is not expected of this one.
  const plan = { ...prepared.plan, context: { tool, args }, expectEvents: {}, expectDenials: [] };
  const over = new Set<string>();
  const { end, runId } = await execute({ ...prepared, plan }, {
    groundwork,
    ...(options.runsDir === undefined ? {} : { runsDir: options.runsDir }),
    start: { command: "call" },
    dryRun: options.dryRun ?? false,
    approvals: options,
    onNotice: (text) => options.onNotice?.(text),
    onRecord: (body) => {
      if (body.type === "budget_exceeded") over.add(String(body.budget));
    },
    onStderr: (source, line) => options.onStderr?.(source, line),
  });
  if (end.value !== undefined) {
    const { outcome, ...rest } = JSON.parse(end.value) as Omit<CallResult, "tool" | "run_id">;
    return { result: { outcome, tool, ...rest, run_id: runId }, reason: end.reason };
  }
  if (end.reason === "approval_pending") {
    const pending = {
      outcome: "denied",
      tool,
      code: end.reason,
      message: `agent tool denied: ${tool}`,
      run_id: runId,
    } as const;
    return { result: pending, reason: end.reason };
  }
  const message = end.control?.message ?? `Cannot finish "${tool}": the run ended (${end.reason})`;
  const late = end.reason === "tool_unresponsive" || end.reason === "wall_exceeded";
  const outcome = end.reason === "budget_exceeded" ? "budget" : late ? "timeout" : "error";
  const raise = overBudget(end.reason, over, plan.budgets)?.raise ?? null;
  const fix = end.control?.fix ?? (raise === null ? undefined : `Raise its budget in the policy: ${raise}`);
  return {
    result: { outcome, tool, code: end.reason, message, run_id: runId },
    reason: end.reason,
    ...(fix === undefined ? {} : { fix }),
  };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
