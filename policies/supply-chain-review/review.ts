/// <reference types="../agent.d.ts" />
/**
 * Reviews the npm packages that a project locks: asks OSV for known vulnerabilities and the registry for metadata, emits
 * an event for each package, and writes a report. Whatever was not answered is reported as unknown, never as fine.
 *
 * @module
 */
import { endpointGuard, type Failure } from "./review/ask.ts";
import { findPackages, type LockedPackage } from "./review/packages.ts";
import { markdownReport } from "./review/markdown.ts";

/** Packages that are asked about at the same time. */
const GROUP = 8;

/** What OSV said of one version. */
export type Vulnerabilities =
  | { readonly status: "none_known" }
  | { readonly status: "vulnerable"; readonly vulns: readonly { readonly id: string; readonly summary: string }[] }
  | { readonly status: "unknown"; readonly reason: string };

/** What the registry said of one version. */
export type Metadata =
  | {
    readonly status: "found";
    readonly latest: string | null;
    readonly deprecated: string | null;
    /** Whether the lock's checksum is the one that the registry names. */
    readonly integrity: "same" | "different" | "unknown";
    readonly install_script: boolean;
  }
  | { readonly status: "unknown"; readonly reason: string };

/** One package as it was reviewed. */
export type ReviewedPackage = LockedPackage & {
  /** The worst of what is known; `unknown` where a question has no answer. */
  readonly verdict: "vulnerable" | "attention" | "unknown" | "none_known";
  readonly vulnerabilities: Vulnerabilities;
  readonly metadata: Metadata;
};

/** The review in numbers. */
export type ReviewSummary = {
  readonly packages: number;
  readonly vulnerable: number;
  readonly attention: number;
  readonly unknown: number;
  readonly none_known: number;
};

/** A finished review. */
export type Review = {
  /** When it was made: the run's clock. */
  readonly at: string;
  readonly sources: readonly { readonly path: string; readonly source_hash: string }[];
  readonly summary: ReviewSummary;
  readonly packages: readonly ReviewedPackage[];
  /** Locked dependencies of other kinds, which nobody was asked about. */
  readonly not_reviewed: { readonly jsr: number; readonly remote: number; readonly other: number };
  /** Why answers are missing: reason to the number of questions. */
  readonly failures: Readonly<Record<string, number>>;
};

/** Reviews the project, emits the events `package` and `summary`, and writes `report.md` and `report.json`. */
export async function review(): Promise<{ readonly review: Review; readonly folder: string }> {
  const at = new Date();
  const { packages, sources, notReviewed } = await findPackages();
  const askOsv = endpointGuard();
  const askNpm = endpointGuard();
  const metadata = new Map<string, Promise<JsonObject | Failure>>();
  const packument = (name: string): Promise<JsonObject | Failure> => {
    const known = metadata.get(name) ?? askNpm(() => callTool("npm.metadata", { package: name }));
    metadata.set(name, known);
    return known;
  };
  const reviewed: ReviewedPackage[] = [];
  for (let i = 0; i < packages.length; i += GROUP) {
    const group = await Promise.all(
      packages.slice(i, i + GROUP).map(async (locked) => {
        const { name, version } = locked;
        const [answer, about] = await Promise.all([
          askOsv(() => callTool("osv.query", { package: { ecosystem: "npm", name }, version })),
          packument(name),
        ]);
        return judge(locked, readVulnerabilities(answer), readMetadata(about, locked));
      }),
    );
    for (const one of group) {
      reviewed.push(one);
      emit(eventOf(one));
    }
  }
  const result: Review = {
    at: at.toISOString(),
    sources,
    summary: summarize(reviewed),
    packages: reviewed,
    not_reviewed: notReviewed,
    failures: failuresOf(reviewed),
  };
  emit({ kind: "summary", ...result.summary, not_reviewed: notReviewed, failures: result.failures });
  // An artifact never replaces another, so each run has a folder of its own; clock and seed of the run name it.
  const stamp = result.at.replaceAll(/[-:]|\.\d+/g, "");
  const folder = `${stamp}-${Math.floor(Math.random() * 0x1_0000).toString(16).padStart(4, "0")}`;
  await callTool("writeArtifact", { path: `${folder}/report.json`, content: `${JSON.stringify(result, null, 2)}\n` });
  await callTool("writeArtifact", { path: `${folder}/report.md`, content: markdownReport(result) });
  return { review: result, folder };
}

/** Sums a review up in a few lines for a console. */
export function consoleLines({ summary, not_reviewed, failures }: Review, folder: string): readonly string[] {
  const { packages, vulnerable, attention, unknown, none_known } = summary;
  const others = not_reviewed.jsr + not_reviewed.remote + not_reviewed.other;
  return [
    packages === 0
      ? "no locked npm package was found: is there a deno.lock here?"
      : `${packages} npm packages: ${vulnerable} vulnerable, ${attention} to look at, ${unknown} unknown, ` +
        `${none_known} without a known vulnerability`,
    ...(others === 0 ? [] : [`not reviewed: ${others} dependencies of other kinds`]),
    ...Object.entries(failures).map(([reason, count]) => `unknown: ${reason} (${count})`),
    `report: ${folder}/report.md`,
  ];
}

function readVulnerabilities(answer: AgentTools["osv.query"]["result"] | Failure): Vulnerabilities {
  if ("failure" in answer && typeof answer.failure === "string") return { status: "unknown", reason: answer.failure };
  const { vulns } = answer as AgentTools["osv.query"]["result"];
  if (vulns.length === 0) return { status: "none_known" };
  return {
    status: "vulnerable",
    vulns: vulns.map(({ id, summary }) => ({ id, summary: typeof summary === "string" ? summary : "" })),
  };
}

function readMetadata(answer: JsonObject | Failure, { version, integrity }: LockedPackage): Metadata {
  if (typeof answer.failure === "string") return { status: "unknown", reason: answer.failure };
  const versions = objectOf((answer as JsonObject).versions);
  if (!Object.hasOwn(versions, version)) return { status: "unknown", reason: "version not in the answer" };
  const entry = objectOf(versions[version]);
  const { latest } = objectOf((answer as JsonObject)["dist-tags"]);
  const published = objectOf(entry.dist).integrity;
  const comparable = typeof published === "string" && integrity !== null;
  return {
    status: "found",
    latest: typeof latest === "string" ? latest : null,
    deprecated: typeof entry.deprecated === "string" && entry.deprecated !== "" ? entry.deprecated : null,
    integrity: !comparable ? "unknown" : published === integrity ? "same" : "different",
    install_script: entry.hasInstallScript === true,
  };
}

function judge(locked: LockedPackage, vulnerabilities: Vulnerabilities, metadata: Metadata): ReviewedPackage {
  const attention = metadata.status === "found" &&
    (metadata.deprecated !== null || metadata.integrity === "different");
  const unknown = vulnerabilities.status === "unknown" || metadata.status === "unknown";
  const verdict = vulnerabilities.status === "vulnerable"
    ? "vulnerable"
    : attention
    ? "attention"
    : unknown
    ? "unknown"
    : "none_known";
  return { ...locked, verdict, vulnerabilities, metadata };
}

function eventOf({ name, version, direct, verdict, vulnerabilities, metadata }: ReviewedPackage): JsonObject {
  return { kind: "package", name, version, direct, verdict, vulnerabilities, metadata };
}

function summarize(packages: readonly ReviewedPackage[]): ReviewSummary {
  const count = (verdict: ReviewedPackage["verdict"]): number =>
    packages.filter((reviewed) => reviewed.verdict === verdict).length;
  return {
    packages: packages.length,
    vulnerable: count("vulnerable"),
    attention: count("attention"),
    unknown: count("unknown"),
    none_known: count("none_known"),
  };
}

function failuresOf(packages: readonly ReviewedPackage[]): Record<string, number> {
  const failures: Record<string, number> = {};
  for (const { vulnerabilities, metadata } of packages) {
    for (const [tool, answer] of [["osv.query", vulnerabilities], ["npm.metadata", metadata]] as const) {
      if (answer.status !== "unknown") continue;
      const key = `${tool}: ${answer.reason}`;
      failures[key] = (failures[key] ?? 0) + 1;
    }
  }
  return failures;
}

function objectOf(value: Json | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value as JsonObject : {};
}
