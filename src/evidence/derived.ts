/**
 * What a bundle says that follows from its log: made from it once, and made again by whoever checks the bundle.
 *
 * @module
 */
import { readRecords, type Verdict } from "../audit/reader.ts";
import { isJsonObject, type Json } from "../json.ts";
import { replayAudit } from "../replay/replay.ts";
import { escapeJson, escapeText } from "../report/escape.ts";
import { replayLines } from "../report/text.ts";
import { Documents, readmeText } from "./documents.ts";
import { LOG_FILE, type Manifest, MANIFEST_FILE, type RunRelation } from "./manifest.ts";

/** Name of the text for whoever gets the bundle. */
export const README_FILE = "README.txt";

/** What follows from a log. */
export interface Derived {
  /** Names and texts of the files. */
  readonly files: readonly (readonly [path: string, text: string])[];
  readonly run: RunRelation;
}

/**
 * Makes everything that follows from a bundled log.
 *
 * @param verdict What checking that log, or the one that it was copied from, found.
 * @throws {TwokeyError} If the log cannot be read.
 */
export async function deriveFrom(log: string, verdict: Verdict): Promise<Derived> {
  const documents = new Documents();
  for await (const record of readRecords(log)) documents.take(record);
  const replay = { ...await replayAudit(log), audit_log: LOG_FILE };
  return {
    files: [
      ["source-manifest.json", json(documents.sources())],
      ["controls.json", json(documents.controls())],
      ["run-artifact-manifest.json", json(documents.artifacts())],
      ["replay.json", json(replay)],
      ["replay.txt", `${replayLines(replay).join("\n")}\n`],
    ],
    run: runOf(documents, verdict),
  };
}

/** The text of {@linkcode README_FILE}: it follows from the manifest, which lists every other file. */
export function readmeOf(manifest: Omit<Manifest, "digest" | "signature" | "type" | "version">): string {
  const entries = manifest.entries.filter(({ path }) => path !== README_FILE && path !== MANIFEST_FILE);
  // What an agent named may hold anything that moves a cursor.
  return readmeText({ ...manifest, entries }).split("\n").map((line) => escapeText(line)).join("\n");
}

function runOf({ start, end }: Documents, { run_id }: Verdict): RunRelation {
  const text = (value: Json | undefined) => typeof value === "string" ? value : null;
  return {
    run_id: run_id ?? "",
    status: end === undefined ? "unfinished" : end.status === "ok" ? "ok" : "error",
    reason: text(end?.reason),
    started_ms: start?.at_ms ?? null,
    ended_ms: end?.at_ms ?? null,
    policy_digest: isJsonObject(start?.policy) ? text(start.policy.sha256) : null,
    plan_digest: text(start?.plan),
  };
}

function json(value: unknown): string {
  return `${escapeJson(JSON.stringify(value, null, 2))}\n`;
}
