/**
 * The form for people of what `doctor` found out.
 *
 * @module
 */
import type { Examination } from "../doctor/examine.ts";
import { ACTS, type StoppedBy } from "../doctor/judge.ts";
import { escapeText } from "./escape.ts";
import { PLAIN, type Style } from "./style.ts";

/** Prints an examination. Lines without a newline; escaped. */
export function doctorLines(found: Examination, options: { readonly style?: Style } = {}): string[] {
  const style = options.style ?? PLAIN;
  const proven = found.proven ? "the escape suite passed on it" : style.warn("the escape suite has not passed on it");
  return [
    `Deno ${found.deno} (${proven}), ${found.platform}`,
    "",
    style.heading("What stopped an agent here"),
    ...isolationLines(found, style),
    "",
    style.heading("Controls"),
    ...controlLines(found, style),
    "",
    style.heading("This machine"),
    ...factLines(found, style),
    ...projectLines(found, style),
    ...problemLines(found, style),
    "",
    found.held
      ? style.good(`Every required control held (${(found.elapsedMs / 1000).toFixed(1)} s)`)
      : style.bad("A required control did not hold, or something required is missing: nothing should run here"),
  ];
}

function isolationLines({ isolations }: Examination, style: Style): string[] {
  const columns = ["", ...ACTS];
  const rows = Object.entries(isolations).map((
    [name, findings],
  ) => [name, ...ACTS.map((act) => findings[act].stopped_by)]);
  const widths = columns.map((head, i) => Math.max(head.length, ...rows.map((row) => (row[i] ?? "").length)));
  const pad = (text: string, i: number) => text + " ".repeat((widths[i] ?? 0) - text.length);
  return [
    `  ${columns.map(pad).join("  ").trimEnd()}`,
    ...rows.map((row) =>
      `  ${
        row.map((text, i) => i === 0 ? pad(text, i) : marked(text as StoppedBy, pad(text, i), style)).join("  ")
          .trimEnd()
      }`
    ),
  ];
}

function marked(stoppedBy: StoppedBy, text: string, style: Style): string {
  if (stoppedBy === "nothing") return style.bad(text);
  return stoppedBy === "untried" ? style.warn(text) : style.good(text);
}

function controlLines({ controls }: Examination, style: Style): string[] {
  const width = Math.max(...Object.keys(controls).map((name) => name.length));
  return Object.entries(controls).map(([name, { value, held, evidence }]) =>
    `  ${name.padEnd(width)}  ${held ? style.good(value) : style.bad(value)}  ${style.dim(escapeText(evidence))}`
  );
}

function factLines({ facts }: Examination, style: Style): string[] {
  const width = Math.max(...facts.map(({ name }) => name.length));
  return facts.map(({ name, present, required, means }) => {
    const mark = present ? style.good("yes") : required ? style.bad("no ") : style.warn("no ");
    return `  ${name.padEnd(width)}  ${mark}  ${escapeText(means)}`;
  });
}

function projectLines({ project }: Examination, style: Style): string[] {
  if (project === undefined) return [];
  const lines = ["", style.heading("Project"), `  folder     ${escapeText(project.project)}`];
  lines.push(`  policy     ${project.policy === null ? style.bad("none") : escapeText(project.policy)}`);
  if (project.counts !== null) {
    const counts = Object.entries(project.counts).filter(([, count]) => count > 0);
    lines.push(`  isolation  ${project.isolation}`);
    lines.push(`  would hold ${counts.map(([name, count]) => counted(name, count)).join(", ")}`);
  }
  const good = project.lock === "ok";
  lines.push(`  lock       ${good ? style.good("ok") : style.warn(project.lock)}`);
  return lines;
}

function counted(name: string, count: number): string {
  const words = name.replaceAll("_", " ");
  if (name === "protected" || name === "secret") return `${count} ${words} ${count === 1 ? "name" : "names"}`;
  return `${count} ${count === 1 ? words.replace(/s$/, "") : words}`;
}

function problemLines({ problems }: Examination, style: Style): string[] {
  if (problems.length === 0) return [];
  return [
    "",
    style.heading("Problems"),
    ...problems.flatMap(({ problem, fix }) => [
      `  ${style.bad("-")} ${escapeText(problem)}`,
      ...(fix === null ? [] : [`    fix: ${escapeText(fix)}`]),
    ]),
  ];
}
