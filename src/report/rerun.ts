/**
 * The form for people of what a rerun found.
 *
 * @module
 */
import type { Json } from "../json.ts";
import type { RerunReport, Step } from "../replay/rerun_report.ts";
import { escapeText } from "./escape.ts";
import { withoutProject } from "./reasons.ts";
import { PLAIN, type Style } from "./style.ts";
import { tableLines } from "./table.ts";

/** How a rerun is printed. */
export interface RerunTextOptions {
  readonly style?: Style;
  /** The log is named relative to this folder where it lies below. */
  readonly folder?: string;
}

/** Prints a rerun: its verdict, the first divergence as a table, remarks, and where its own log is. Escaped. */
export function rerunLines(report: RerunReport, options: RerunTextOptions = {}): string[] {
  const style = options.style ?? PLAIN;
  const lines = [verdictLine(report, style)];
  const { divergence } = report;
  if (divergence !== null) {
    const row = (side: string, { what, name, value, seq }: Step) => [side, seq, what, name, shown(value)];
    lines.push(
      ...tableLines(
        ["", "record", "step", "name", "value"],
        [row("expected", divergence.expected), row("came", divergence.came)],
      ),
    );
    if (divergence.scrubbed_answers > 0) {
      lines.push(
        style.warn(
          `Before it, the agent received ${count(divergence.scrubbed_answers, "answer")} with a secret taken out: ` +
            "that alone can be the reason",
        ),
      );
    }
  }
  for (const remark of report.remarks) lines.push(style.warn(`note      ${escapeText(remark)}`));
  const { scrubbed_answers: scrubbed } = report;
  if (scrubbed > 0 && divergence === null) {
    lines.push(style.warn(`note      ${count(scrubbed, "answer")} had a secret taken out`));
  }
  const log = withoutProject(report.rerun.audit_log, options.folder ?? null);
  lines.push(`audit     ${escapeText(log)}`, `head      ${report.rerun.head}`);
  return lines;
}

function verdictLine(report: RerunReport, style: Style): string {
  const { verdict, divergence, reason, first_reason: first } = report;
  const did = [
    count(report.calls, "call"),
    count(report.events, "event"),
    ...(report.notes === 0 ? [] : [count(report.notes, "note")]),
    ...(report.state_operations === 0 ? [] : [count(report.state_operations, "state operation")]),
  ].join(", ");
  switch (verdict) {
    case "same":
      return style.good(`same: ${did}; ended as then (${escapeText(reason ?? "-")})`);
    case "same_so_far": {
      const end = first === null ? "" : `; the first run was ended there (${escapeText(first)})`;
      return style.good(`same as far as it is recorded: ${did}${end}`);
    }
    case "diverged":
      return style.bad(`diverged at step ${divergence?.step ?? 0} of ${divergence?.steps ?? 0}, after ${did}`);
    case "ended": {
      const then = first === null ? "" : `, the first run with ${escapeText(first)}`;
      return style.bad(`the rerun was ended: ${escapeText(reason ?? "it has no end")}${then}; until then ${did}`);
    }
  }
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}

function shown(value: Json): string | null {
  return value === null ? null : typeof value === "string" ? value : JSON.stringify(value);
}
