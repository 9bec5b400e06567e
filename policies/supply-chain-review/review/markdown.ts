/// <reference types="../../agent.d.ts" />
/**
 * Prints a review as Markdown.
 *
 * @module
 */
import type { Review, ReviewedPackage } from "../review.ts";

/** Characters of one text that a stranger wrote. */
const MAX_TEXT = 200;

/** Prints the report. Names, summaries and notices were written by strangers: none of them can become markup. */
export function markdownReport({ at, sources, summary, packages, not_reviewed, failures }: Review): string {
  const lines = [
    "# Supply chain review",
    "",
    `Made ${at} from ${sources.map(({ path }) => path).join(", ") || "no file"}.`,
    "",
  ];
  if (packages.length === 0) lines.push("No locked npm package was found: nothing was reviewed.", "");
  lines.push(
    "| packages | vulnerable | to look at | unknown | no known vulnerability |",
    "| ---: | ---: | ---: | ---: | ---: |",
    `| ${summary.packages} | ${summary.vulnerable} | ${summary.attention} | ${summary.unknown} | ${summary.none_known} |`,
    "",
    "No known vulnerability means that OSV lists none, not that there is none. Unknown means that nobody answered.",
  );
  const { jsr, remote, other } = not_reviewed;
  if (jsr + remote + other > 0) {
    lines.push("", `Not reviewed: ${jsr} JSR packages, ${remote} remote modules, ${other} of other kinds.`);
  }
  section(lines, "Vulnerable", packages.filter(({ verdict }) => verdict === "vulnerable").flatMap(vulnerableLines));
  section(lines, "To look at", packages.flatMap(attentionLines));
  section(lines, "Unknown", Object.entries(failures).map(([reason, count]) => `- ${plain(reason)}: ${count}`));
  section(lines, "Newer versions", packages.flatMap(newerLines));
  section(lines, "Install scripts", packages.flatMap(scriptLines));
  if (packages.length > 0) {
    lines.push("", "## All packages", "", "| package | version | direct | vulnerabilities | integrity |");
    lines.push("| --- | --- | --- | --- | --- |", ...packages.map(row));
  }
  lines.push("", "## Sources", "", ...sources.map(({ path, source_hash }) => `- ${plain(path)} ${source_hash}`));
  return `${lines.join("\n")}\n`;
}

function vulnerableLines({ name, version, vulnerabilities }: ReviewedPackage): string[] {
  if (vulnerabilities.status !== "vulnerable") return [];
  return vulnerabilities.vulns.map(({ id, summary }) =>
    `- ${plain(name)} ${plain(version)}: ${plain(id)} ${plain(summary)}`
  );
}

function attentionLines({ name, version, metadata }: ReviewedPackage): string[] {
  if (metadata.status !== "found") return [];
  const title = `- ${plain(name)} ${plain(version)}:`;
  const lines: string[] = [];
  if (metadata.deprecated !== null) lines.push(`${title} deprecated: ${plain(metadata.deprecated)}`);
  if (metadata.integrity === "different") lines.push(`${title} the lock's checksum is not the one of the registry`);
  return lines;
}

function newerLines({ name, version, metadata }: ReviewedPackage): string[] {
  if (metadata.status !== "found" || metadata.latest === null || metadata.latest === version) return [];
  return [`- ${plain(name)} ${plain(version)}: latest is ${plain(metadata.latest)}`];
}

function scriptLines({ name, version, metadata }: ReviewedPackage): string[] {
  if (metadata.status !== "found" || !metadata.install_script) return [];
  return [`- ${plain(name)} ${plain(version)} runs a script when it is installed`];
}

function row({ name, version, direct, vulnerabilities, metadata }: ReviewedPackage): string {
  const known = vulnerabilities.status === "vulnerable"
    ? vulnerabilities.vulns.map(({ id }) => plain(id)).join(" ")
    : vulnerabilities.status === "unknown"
    ? `unknown: ${plain(vulnerabilities.reason)}`
    : "none known";
  const integrity = metadata.status === "found" ? metadata.integrity : `unknown: ${plain(metadata.reason)}`;
  return `| ${plain(name)} | ${plain(version)} | ${direct ? "yes" : "no"} | ${known} | ${integrity} |`;
}

function section(lines: string[], title: string, body: readonly string[]): void {
  if (body.length > 0) lines.push("", `## ${title}`, "", ...body);
}

/** One line of a stranger's text without control characters, every character that Markdown or HTML reads escaped. */
function plain(text: string): string {
  const cut = text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
  return cut.toWellFormed().replaceAll(/[\p{C}\p{Z}]+/gu, " ").trim()
    .replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(/[\\`*_{}[\]()#!|~>]/g, "\\$&");
}
