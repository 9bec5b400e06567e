/**
 * What a run prints at its end.
 *
 * @module
 */
import type { Counter } from "../replay/counters.ts";
import type { DenialRow, ReplaySummary } from "../replay/replay.ts";
import { escapeText, shellWord } from "./escape.ts";
import { reasonText, withoutProject } from "./reasons.ts";
import { PLAIN, type Style } from "./style.ts";
import { duration } from "./units.ts";

/** Denials that a run prints one by one, at most; the replay has them all. */
const MAX_DENIALS = 20;

/** How the summary of a run is printed. */
export interface SummaryOptions {
  readonly style?: Style;
  /** Real path of the project; places below it are named relative to it. */
  readonly project?: string;
  /** The command that replays the log; by default `twokey replay <audit>`. */
  readonly replayCommand?: string;
  /** The line of the policy that would allow a denied call; `null` where none may. Only whoever has the plan can tell. */
  allow?(denial: DenialRow): string | null;
}

/**
 * Sums up a run for people: how it ended, its calls, each denial with its reason and the policy line that would allow
 * it, the budgets, what was written, where the log is, its head, and how to replay it.
 *
 * @returns Lines without a newline. Everything that came from the agent or the log is escaped.
 */
export function summaryLines(summary: ReplaySummary, options: SummaryOptions = {}): string[] {
  const style = options.style ?? PLAIN;
  const project = options.project ?? null;
  const lines = [endLine(summary, style), callLine(summary)];
  for (const denial of summary.denials.slice(0, MAX_DENIALS)) lines.push(...denialLines(denial, options));
  const more = summary.tool_denials - Math.min(summary.denials.length, MAX_DENIALS);
  if (more > 0) lines.push(`  and ${more} more denied`);
  const approvals = approvalText(summary);
  if (approvals !== "") lines.push(`approvals ${approvals}`);
  const fresh = freshnessText(summary.freshness);
  if (fresh !== "") lines.push(`answers   ${fresh}`);
  const budgets = budgetText(summary);
  if (budgets !== "") lines.push(`budgets   ${budgets}`);
  for (const { path, bytes } of summary.artifacts) {
    lines.push(`wrote     ${escapeText(path)}${bytes === null ? "" : ` (${bytes} bytes)`}`);
  }
  for (const { tool, call_id } of summary.in_flight) {
    lines.push(style.warn(`in flight ${escapeText(tool)} (${escapeText(call_id)}): it has no outcome`));
  }
  const log = escapeText(withoutProject(summary.audit_log, project));
  lines.push(`audit     ${log}`);
  lines.push(`head      ${summary.verification.head}`);
  lines.push(style.dim(`replay    ${escapeText(options.replayCommand ?? "twokey replay")} ${shellWord(log)}`));
  return lines;
}

function endLine({ run }: ReplaySummary, style: Style): string {
  const took = run.duration_ms === null ? "" : ` in ${duration(run.duration_ms)}`;
  const reason = run.reason === null ? "" : `: ${escapeText(run.reason)}`;
  if (run.reason === "approval_pending") return style.warn(`run stopped${took}: a call waits for an approval`);
  if (run.status === "ok") return style.good(`run ok${took}`);
  if (run.status === "error") return style.bad(`run failed${took}${reason}`);
  return style.warn("run unfinished: its log has no end");
}

/** What people call each outcome of a call, and the counter of a replay that counts it. */
export const CALL_WORDS: readonly (readonly [word: string, counter: Counter])[] = [
  ["ok", "tool_results"],
  ["denied", "tool_denials"],
  ["failed", "tool_errors"],
  ["timed out", "tool_timeouts"],
  ["invalid", "tool_invalid_args"],
  ["over budget", "budget_exceeded"],
];

function callLine(summary: ReplaySummary): string {
  const parts = CALL_WORDS.map(([word, counter]) => [word, summary[counter]] as const);
  const shown = parts.filter(([name, count]) => count > 0 || name === "ok" || name === "denied");
  const events = summary.events === 0 ? "" : `; ${summary.events} ${summary.events === 1 ? "event" : "events"}`;
  return `calls     ${shown.map(([name, count]) => `${count} ${name}`).join(", ")}${events}`;
}

/** Counts approvals by what became of them; empty where nothing asked. */
function approvalText(summary: ReplaySummary): string {
  const words = ["granted", "denied", "stale", "pending"] as const;
  return words.map((word) => [word, summary[`tool_approval_${word}`]] as const)
    .filter(([, count]) => count > 0).map(([word, count]) => `${count} ${word}`).join(", ");
}

function denialLines(denial: DenialRow, options: SummaryOptions): string[] {
  const style = options.style ?? PLAIN;
  const project = options.project ?? null;
  const target = denial.target === null ? "" : ` ${escapeText(withoutProject(denial.target, project), { max: 200 })}`;
  const rule = denial.rule === null ? "" : ` (${escapeText(denial.rule)})`;
  const text = `denied    ${escapeText(denial.tool, { max: 80 })}${target}: ${
    escapeText(reasonText(denial.reason))
  }${rule}`;
  const lines = [denial.expected ? `${text}; as expected` : style.bad(text)];
  const line = options.allow?.(denial) ?? null;
  if (line !== null) lines.push(style.dim(`          to allow it: ${escapeText(line, { max: 300 })}`));
  return lines;
}

/** Prints how many answers came from where; empty where no answer makes a claim. */
export function freshnessText(freshness: Readonly<Record<string, number>>): string {
  return Object.entries(freshness).map(([name, count]) => `${count} ${escapeText(name)}`).join(", ");
}

/** Prints the budgets that have a limit and were used. */
function budgetText({ budgets }: ReplaySummary): string {
  return budgets.filter(({ used, limit }) => used > 0 && limit !== null)
    .map(({ budget, used, limit }) => `${escapeText(budget)} ${used} of ${limit}`).join(", ");
}
