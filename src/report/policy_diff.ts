/**
 * The difference of two plans in words: for a terminal, and as Markdown for a pull request.
 *
 * @module
 */
import type { Position } from "../errors.ts";
import type { Change } from "../plan/change.ts";
import { escapeText } from "./escape.ts";
import { markdownText } from "./markdown.ts";
import { PLAIN, type Style } from "./style.ts";

/** What a report of a difference needs beside the changes. */
export interface DiffReport {
  /** What is compared, as its reader named it. */
  readonly base: string;
  readonly head: string;
  readonly changes: readonly Change[];
  /** Where a rule stands in the head's policy, or in the base's for what was lost. */
  positionOf(change: Change): Position | undefined;
}

/** Lines for a terminal, without a newline. */
export function diffPolicyLines(report: DiffReport, { style = PLAIN }: { readonly style?: Style } = {}): string[] {
  const { base, head, changes } = report;
  const lines = [style.heading(`authority of ${escapeText(head)} compared with ${escapeText(base)}`)];
  for (const change of changes) {
    const word = change.kind.padEnd(9);
    const marked = change.kind === "gained"
      ? style.bad(word)
      : change.kind === "changed"
      ? style.dim(word)
      : style.good(word);
    lines.push(`${marked} ${escapeText(changeText(change))}${at(report, change)}`);
  }
  lines.push(verdictOf(changes, style));
  return lines;
}

/** Markdown for a pull request: a sentence and a table. Every text is escaped for Markdown and for HTML. */
export function diffPolicyMarkdown(report: DiffReport): string {
  const { base, head, changes } = report;
  const rows = changes.map((change) =>
    `| ${change.kind} | ${markdownText(changeText(change))} | ${markdownText(at(report, change).trim())} |`
  );
  const gained = changes.filter(({ kind }) => kind === "gained").length;
  const sentence = gained > 0
    ? `**${gained} ${gained === 1 ? "grant" : "grants"} gained.** Review each one before this is merged.`
    : changes.length > 0
    ? "No authority is gained."
    : "The authority is the same.";
  const table = rows.length === 0 ? "" : `\n\n| | what | where |\n|---|---|---|\n${rows.join("\n")}`;
  return `### Authority of ${markdownText(head)} compared with ${markdownText(base)}\n\n${sentence}${table}\n`;
}

/** A change in words. What was gained has an example, what went away one that no longer holds. */
export function changeText({ kind, text, example }: Change): string {
  if (example === undefined) return text;
  return `${text}, for example ${example.replace("${project}/", "")}${kind === "gained" ? "" : " no longer"}`;
}

function at(report: DiffReport, change: Change): string {
  const position = report.positionOf(change);
  return position === undefined ? "" : `   [${escapeText(position.file)}:${position.line}]`;
}

function verdictOf(changes: readonly Change[], style: Style): string {
  const gained = changes.filter(({ kind }) => kind === "gained").length;
  if (gained > 0) return style.bad(`${gained} ${gained === 1 ? "grant" : "grants"} gained`);
  return style.good(changes.length === 0 ? "the same authority" : "no authority gained");
}
