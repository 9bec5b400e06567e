/**
 * The form for people of what `replay`, `audit verify`, `replay --diff` and `history` found.
 *
 * @module
 */
import type { Verdict } from "../audit/reader.ts";
import type { ReplayDiff, SequenceChange } from "../replay/diff.ts";
import type { HistoryEntry } from "../replay/history.ts";
import { COUNTERS } from "../replay/counters.ts";
import type { ReplaySummary } from "../replay/replay.ts";
import type { Json } from "../json.ts";
import { escapeText } from "./escape.ts";
import { freshnessText } from "./summary.ts";
import { reasonText } from "./reasons.ts";
import { PLAIN, type Style } from "./style.ts";
import { tableLines } from "./table.ts";
import { duration, instant } from "./units.ts";

/** How a report is printed. */
export interface TextOptions {
  readonly style?: Style;
}

/** Prints a verdict: what it says, the first damage, the calls in flight. Lines without a newline; escaped. */
export function verdictLines(verdict: Verdict, options: TextOptions = {}): string[] {
  const style = options.style ?? PLAIN;
  const lines = [verdictLine(verdict, style), `records   ${verdict.records}`, `head      ${verdict.head}`];
  if (verdict.damage !== null) {
    const { kind, line, seq, offset, detail } = verdict.damage;
    lines.push(style.bad(`damage    ${kind} at line ${line} (record ${seq}, byte ${offset}): ${escapeText(detail)}`));
  }
  for (const { call_id, tool, seq } of verdict.in_flight) {
    lines.push(style.warn(`in flight ${escapeText(tool)} (${escapeText(call_id)}, record ${seq}): it has no outcome`));
  }
  return lines;
}

function verdictLine({ verdict, finished }: Verdict, style: Style): string {
  switch (verdict) {
    case "authentic": {
      const end = finished ? "" : "; the run has no end";
      return style.good(`authentic: whole, and it ends in the head that was given${end}`);
    }
    case "consistent":
      return style.good(
        "consistent: whole in itself; give --head with what the run printed to know that it is authentic",
      );
    case "unfinished":
      return style.warn("unfinished: whole records, but the run has no end: it goes on, or its launcher was killed");
    case "broken":
      return style.bad("broken: the log is not as it was written");
  }
}

/** Prints a replay: run, verdict, tools, denials, budgets, artifacts, counters. Lines without a newline; escaped. */
export function replayLines(summary: ReplaySummary, options: TextOptions = {}): string[] {
  const style = options.style ?? PLAIN;
  const { run } = summary;
  const lines = [
    style.heading(`run ${summary.run_ids.map((id) => escapeText(id)).join(", ") || "-"}`),
    `status    ${run.status}${run.reason === null ? "" : ` (${escapeText(run.reason)})`}`,
    `started   ${instant(run.started_ms)}`,
    `took      ${run.duration_ms === null ? "-" : duration(run.duration_ms)}`,
  ];
  if (run.rerun_of !== null) lines.push(`rerun of  ${escapeText(run.rerun_of)}`);
  if (run.isolation !== null) lines.push(`isolation ${escapeText(run.isolation)}`);
  if (run.policy_digest !== null) {
    const path = run.policy_path === null ? "" : ` ${escapeText(run.policy_path)}`;
    lines.push(`policy    ${escapeText(run.policy_digest)}${path}`);
  }
  if (run.plan_digest !== null) lines.push(`plan      ${escapeText(run.plan_digest)}`);
  lines.push(...verdictLines(summary.verification, { style }));
  section(lines, style.heading("tools"), toolLines(summary));
  section(lines, style.heading("denials"), denialTable(summary));
  section(
    lines,
    style.heading("approvals"),
    tableLines(
      ["record", "tool", "target", "status", "by", "age", "id"],
      summary.approvals.map(({ seq, tool, target, status, mode, age_ms, approval_id }) => [
        seq,
        tool,
        target,
        status,
        mode,
        age_ms === null ? null : duration(age_ms),
        approval_id?.slice(0, 12) ?? null,
      ]),
    ),
  );
  section(
    lines,
    style.heading("budgets"),
    tableLines(["budget", "used", "limit"], summary.budgets.map(({ budget, used, limit }) => [budget, used, limit])),
  );
  section(
    lines,
    style.heading("artifacts"),
    tableLines(["path", "bytes", "sha256"], summary.artifacts.map(({ path, bytes, sha256 }) => [path, bytes, sha256])),
  );
  const fresh = freshnessText(summary.freshness);
  section(lines, style.heading("answers"), fresh === "" ? [] : [fresh]);
  const counted = COUNTERS.filter((name) => summary[name] > 0);
  section(
    lines,
    style.heading("counters"),
    tableLines(["counter", "count"], counted.map((name) => [name, summary[name]])),
  );
  if (summary.omitted > 0) {
    lines.push("", style.warn(`${summary.omitted} denials, approvals or artifacts are not listed`));
  }
  return lines;
}

function toolLines({ tools }: ReplaySummary): string[] {
  return tableLines(
    ["tool", "calls", "ok", "denied", "failed", "timeout", "invalid", "budget", "ms"],
    tools.map((row) => [
      row.tool,
      row.calls,
      row.results,
      row.denials,
      row.errors,
      row.timeouts,
      row.invalid,
      row.budget,
      row.duration_ms,
    ]),
  );
}

function denialTable({ denials }: ReplaySummary): string[] {
  return tableLines(
    ["record", "tool", "target", "reason", "rule", "expected"],
    denials.map(({ seq, tool, target, reason, rule, expected }) => [
      seq,
      tool,
      target,
      reasonText(reason),
      rule,
      expected ? "yes" : null,
    ]),
  );
}

/** Prints a comparison: changed fields, then calls and events. Lines without a newline; escaped. */
export function diffLines(diff: ReplayDiff, options: TextOptions = {}): string[] {
  const style = options.style ?? PLAIN;
  const lines = [
    `before    ${escapeText(diff.left)} (${diff.left_verdict})`,
    `after     ${escapeText(diff.right)} (${diff.right_verdict})`,
  ];
  section(
    lines,
    style.heading("fields"),
    tableLines(
      ["field", "before", "after", "delta"],
      diff.fields.map(({ field, before, after, delta }) => [field, shown(before), shown(after), signed(delta)]),
    ),
  );
  section(
    lines,
    style.heading("calls"),
    sequenceLines(
      diff.calls,
      ({ tool, args, outcome, detail }) => `${tool} ${shown(args)} ${outcome} ${shown(detail)}`,
      style,
    ),
  );
  section(lines, style.heading("events"), sequenceLines(diff.events, ({ event }) => shown(event), style));
  const equal = diff.fields.length + diff.calls.length + diff.events.length === 0;
  lines.push("", equal ? style.good("no difference") : unchangedText(diff));
  if (diff.truncated) lines.push(style.warn("A log holds more than is compared: what is behind the limit may differ"));
  return lines;
}

function unchangedText(diff: ReplayDiff): string {
  return `${diff.calls_unchanged} calls and ${diff.events_unchanged} events are the same`;
}

function sequenceLines<T>(changes: readonly SequenceChange<T>[], print: (item: T) => string, style: Style): string[] {
  const lines: string[] = [];
  for (const { before, after } of changes) {
    if (before !== null) lines.push(style.bad(`- ${escapeText(print(before), { max: 240 })}`));
    if (after !== null) lines.push(style.good(`+ ${escapeText(print(after), { max: 240 })}`));
  }
  return lines;
}

function shown(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function signed(delta: number | null): string | null {
  return delta === null ? null : delta > 0 ? `+${delta}` : String(delta);
}

/** Prints the runs, as they are sorted. Lines without a newline; escaped. */
export function historyLines(entries: readonly HistoryEntry[], options: TextOptions = {}): string[] {
  const style = options.style ?? PLAIN;
  if (entries.length === 0) return ["No run is recorded here"];
  const [head, ...rows] = tableLines(
    [
      "run",
      "started",
      "status",
      "reason",
      "calls",
      "ok",
      "denied",
      "failed",
      "to approve",
      "events",
      "took",
      "rerun of",
    ],
    entries.map((entry) => [
      entry.run_id,
      instant(entry.started_ms),
      entry.status,
      entry.reason,
      entry.tool_calls,
      entry.tool_results,
      entry.tool_denials,
      entry.tool_errors,
      entry.tool_approval_pending,
      entry.events,
      entry.duration_ms === null ? null : duration(entry.duration_ms),
      entry.rerun_of,
    ]),
  );
  return [style.heading(head ?? ""), ...rows];
}

function section(lines: string[], head: string, body: readonly string[]): void {
  if (body.length > 0) lines.push("", head, ...body);
}
