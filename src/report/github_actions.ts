/**
 * A run for the pages of GitHub Actions: job summary, annotations, outputs. Everything that an agent, a pull request or a
 * log had a say in is data here: nothing of it starts Markdown, HTML, a workflow command or another output.
 *
 * @module
 */
import { BugError, EXIT, EXIT_TABLE, type Position } from "../errors.ts";
import type { Change } from "../plan/change.ts";
import { escapeText } from "./escape.ts";
import { markdownCode, markdownText } from "./markdown.ts";
import { changeText } from "./policy_diff.ts";
import { reasonText } from "./reasons.ts";

/** Rows of each table of the summary, at most. */
const MAX_ROWS = 40;

/** Characters of one cell, at most. */
const MAX_CELL = 200;

/** Annotations of each severity that GitHub shows of one step. */
const MAX_ANNOTATIONS = 10;

/** Characters of an annotation's message, at most. */
const MAX_MESSAGE = 1000;

/** One thing that the policy, or a reader of it, should look at. */
export interface Annotation {
  readonly severity: "error" | "warning" | "notice";
  readonly title: string;
  readonly message: string;
  /** Absent where it belongs to no line. */
  readonly position?: Position;
}

/** One denied call. */
export interface CiDenial {
  readonly tool: string;
  readonly target: string | null;
  /** Reason slug. */
  readonly reason: string | null;
  readonly expected: boolean;
  /** The line that would allow it; `null` where none may, or nobody knows. */
  readonly allow: string | null;
  /** Where the rule stands that decided, or the list that lacks a name. */
  readonly position: Position | null;
}

/** What went wrong before or instead of a run. */
export interface CiError {
  readonly code: string;
  readonly message: string;
  readonly issues: readonly { readonly message: string; readonly fix: string; readonly position: Position | null }[];
  readonly fix: string | null;
}

/** A run as its pages show it. */
export interface CiReport {
  readonly exit: number;
  readonly error: CiError | null;
  /** Reason slug of the end; `null` where nothing ran. */
  readonly reason: string | null;
  /** What else was not as it should be: what the agent threw, denials and work that did not come. */
  readonly faults: readonly string[];
  /** Outcomes with their counts, in the order to show. */
  readonly calls: readonly (readonly [name: string, count: number])[];
  readonly denials: readonly CiDenial[];
  /** Denials beside the listed ones. */
  readonly moreDenials: number;
  /** `null` where nothing was compared. */
  readonly gained: readonly (Change & { readonly position: Position | null })[] | null;
  readonly base: string | null;
  readonly budgets: readonly { readonly budget: string; readonly used: number; readonly limit: number | null }[];
  readonly audit: string | null;
  readonly head: string | null;
}

/** Markdown of the job summary: how it ended, calls, denials, gained authority, budgets, audit head. At most about 300 KiB. */
export function jobSummary(report: CiReport): string {
  return [
    `### twokey: exit ${report.exit}, ${markdownText(meaningOf(report.exit))}`,
    ...errorLines(report.error),
    ...callLines(report),
    ...report.faults.slice(0, MAX_ROWS).map((text) => `- ${markdownCode(text, { max: MAX_MESSAGE })}`),
    ...gainLines(report),
    ...denialLines(report),
    ...budgetLines(report),
    ...auditLines(report),
  ].join("\n\n") + "\n\n";
}

/** Annotations of a report, the gravest first. */
export function annotationsOf(report: CiReport): readonly Annotation[] {
  const { error, exit } = report;
  const gained = (report.gained ?? []).map((change): Annotation => ({
    severity: "error",
    title: "authority gained",
    message: changeText(change),
    ...(change.position === null ? {} : { position: change.position }),
  }));
  const issues = error === null || gained.length > 0
    ? []
    : error.issues.map(({ message, fix, position }): Annotation => ({
      severity: "error",
      title: "policy",
      message: `${message}. ${fix}`,
      ...(position === null ? {} : { position }),
    }));
  const [first = "", ...rest] = (error?.message ?? "").split("\n");
  const fault: Annotation[] = error === null || issues.length + gained.length > 0 ? [] : [{
    severity: "error",
    title: `twokey: exit ${exit}`,
    message: [first, ...rest.map((line) => line.trim()), error.fix ?? ""].filter((line) => line !== "").join(". "),
  }];
  const denials = report.denials.filter(({ expected }) => !expected).map((denial): Annotation => ({
    severity: exit === EXIT.denied ? "error" : "warning",
    title: "denied",
    message: `${denial.tool}${denial.target === null ? "" : ` ${denial.target}`}: ${reasonText(denial.reason)}${
      denial.allow === null ? "" : `. To allow it: ${denial.allow}`
    }`,
    ...(denial.position === null ? {} : { position: denial.position }),
  }));
  const faults = report.faults.map((message): Annotation => ({ severity: "error", title: "run", message }));
  return [...gained, ...issues, ...fault, ...faults, ...denials];
}

/** The workflow commands of annotations: one line each, as many of each severity as GitHub shows. */
export function annotationLines(annotations: readonly Annotation[]): string[] {
  const counts = new Map<string, number>();
  return annotations.flatMap(({ severity, title, message, position }) => {
    const count = (counts.get(severity) ?? 0) + 1;
    counts.set(severity, count);
    if (count > MAX_ANNOTATIONS) return [];
    const place = position === undefined
      ? []
      : [`file=${property(position.file)}`, `line=${position.line}`, `col=${position.column}`];
    const properties = [...place, `title=${property(title)}`].join(",");
    return [`::${severity} ${properties}::${data(escapeText(message, { max: MAX_MESSAGE }))}`];
  });
}

/**
 * One output in the form of the file behind `GITHUB_OUTPUT`.
 *
 * @param delimiter Random, made for this value.
 * @throws {BugError} If the value holds the delimiter, or the name is not one.
 */
export function outputText(name: string, value: string, delimiter: string): string {
  if (!/^[a-z_]+$/.test(name) || !/^\w{16,}$/.test(delimiter) || value.includes(delimiter)) {
    throw new BugError("output_unsafe", "Cannot write an output: its name, value or delimiter is not safe");
  }
  return `${name}<<${delimiter}\n${value}\n${delimiter}\n`;
}

/** Escapes the message of a workflow command. */
function data(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

/** Escapes a property of a workflow command. */
function property(text: string): string {
  return data(escapeText(text, { max: MAX_CELL })).replaceAll(":", "%3A").replaceAll(",", "%2C");
}

function meaningOf(exit: number): string {
  return EXIT_TABLE.find(({ code }) => code === exit)?.meaning ?? "not an exit of twokey";
}

function errorLines(error: CiError | null): string[] {
  if (error === null) return [];
  const lines = error.issues.length > 0
    ? error.issues.slice(0, MAX_ROWS).map(({ message, fix, position }) =>
      `- ${markdownText(message, { max: MAX_MESSAGE })}${placeOf(position)}  \n  fix: ${
        markdownText(fix, { max: MAX_MESSAGE })
      }`
    ).join("\n")
    : error.message.split("\n").slice(0, MAX_ROWS).map((line) => markdownText(line, { max: MAX_MESSAGE })).join("  \n");
  const fix = error.fix === null || error.issues.length > 0
    ? []
    : [`**fix:** ${markdownText(error.fix, { max: MAX_MESSAGE })}`];
  return [lines, ...fix];
}

function callLines({ calls, reason }: CiReport): string[] {
  if (reason === null) return ["Nothing ran."];
  const shown = calls.filter(([name, count], i) => i < 2 || count > 0 || name === "");
  return [`Calls: ${shown.map(([name, count]) => `${count} ${name}`).join(", ")}. Ended: ${markdownCode(reason)}.`];
}

function gainLines({ gained, base }: CiReport): string[] {
  if (gained === null || base === null) return [];
  const over = `over ${markdownCode(base, { max: MAX_CELL })}`;
  if (gained.length === 0) return [`No authority is gained ${over}.`];
  const rows = gained.slice(0, MAX_ROWS).map((change) => [
    markdownText(changeText(change), { max: MAX_CELL }),
    placeOf(change.position).trim(),
  ]);
  return [
    `**Authority gained ${over}: ${gained.length}.** Review each grant before this is merged.`,
    table(["gained", "where"], rows, gained.length - rows.length),
  ];
}

function denialLines({ denials, moreDenials }: CiReport): string[] {
  if (denials.length === 0) return [];
  const rows = denials.slice(0, MAX_ROWS).map(({ tool, target, reason, expected, allow, position }) => [
    markdownCode(tool, { max: MAX_CELL }),
    markdownCode(target ?? "", { max: MAX_CELL }),
    `${markdownText(reasonText(reason), { max: MAX_CELL })}${expected ? " (expected)" : ""}`,
    markdownCode(allow ?? "", { max: MAX_CELL }),
    placeOf(position).trim(),
  ]);
  return [
    `Denied: ${denials.length + moreDenials}.`,
    table(["tool", "target", "reason", "to allow it", "where"], rows, denials.length - rows.length + moreDenials),
  ];
}

function budgetLines({ budgets }: CiReport): string[] {
  const used = budgets.filter(({ used, limit }) => used > 0 && limit !== null);
  if (used.length === 0) return [];
  return [table(
    ["budget", "used", "limit"],
    used.map(({ budget, used, limit }) => [
      markdownText(budget, { max: MAX_CELL }),
      String(used),
      String(limit),
    ]),
  )];
}

function auditLines({ audit, head }: CiReport): string[] {
  if (audit === null || head === null) return [];
  return [`Audit log ${markdownCode(audit, { max: MAX_CELL })}, head ${markdownCode(head, { max: MAX_CELL })}`];
}

function table(head: readonly string[], rows: readonly (readonly string[])[], more = 0): string {
  const lines = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  return `${lines.join("\n")}${more > 0 ? `\n\nand ${more} more` : ""}`;
}

function placeOf(position: Position | null): string {
  return position === null ? "" : ` ${markdownCode(`${position.file}:${position.line}`, { max: MAX_CELL })}`;
}
