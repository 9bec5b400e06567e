/**
 * Lists the runs whose logs are kept on this machine.
 *
 * @module
 */
import { readRecords } from "../audit/reader.ts";
import { DataError, InputError } from "../errors.ts";
import { objectField, textField } from "./fields.ts";

/** Name of the log in the folder of a run. */
export const AUDIT_FILE = "audit.jsonl";

/** One run. */
export interface HistoryEntry {
  /** From the log; the name of its folder where the log does not say. */
  readonly run_id: string;
  /** Path of the log. */
  readonly audit_log: string;
  readonly started_ms: number | null;
  readonly ended_ms: number | null;
  readonly duration_ms: number | null;
  /** `running_or_incomplete` until there is a `run_end`; `unreadable` where a line is no record. */
  readonly status: "ok" | "error" | "running_or_incomplete" | "unreadable";
  readonly reason: string | null;
  /** The run that this one ran again, against what was recorded of it; `null` for a run of its own. */
  readonly rerun_of: string | null;
  readonly tool_calls: number;
  readonly tool_results: number;
  readonly tool_denials: number;
  readonly tool_errors: number;
  /** Calls at which the run stopped for want of an approval. */
  readonly tool_approval_pending: number;
  readonly events: number;
}

/** Which runs are listed. */
export interface HistoryOptions {
  /** The newest so many; by default all. */
  readonly limit?: number;
}

/**
 * Lists runs, the newest first. The logs are read, not verified.
 *
 * @param folders Folders that hold one folder for each run, such as `.twokey/runs`; one that does not exist holds none.
 * A link is not followed: a run is a folder that a run made.
 * @throws {InputError} If a folder exists and cannot be read.
 */
export async function history(folders: readonly string[], options: HistoryOptions = {}): Promise<HistoryEntry[]> {
  const entries: HistoryEntry[] = [];
  for (const folder of new Set(folders)) {
    for (const name of await runFolders(folder)) {
      const entry = await entryOf(`${folder}/${name}/${AUDIT_FILE}`, name);
      if (entry !== undefined) entries.push(entry);
    }
  }
  // A log without a first record is the newest there is: its run is just starting.
  entries.sort((a, b) => (b.started_ms ?? Infinity) - (a.started_ms ?? Infinity) || (a.run_id < b.run_id ? 1 : -1));
  return entries.slice(0, options.limit ?? entries.length);
}

async function runFolders(folder: string): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const { name, isDirectory } of Deno.readDir(folder)) {
      if (isDirectory) names.push(name);
    }
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) return [];
    throw new InputError("history_unreadable", `Cannot list the runs in "${folder}": the system refused`, { cause });
  }
  return names.sort();
}

async function entryOf(path: string, folderName: string): Promise<HistoryEntry | undefined> {
  const counts = { tool_call: 0, tool_result: 0, tool_denial: 0, tool_error: 0, tool_approval_pending: 0, event: 0 };
  let runId = folderName;
  let started: number | null = null;
  let ended: number | null = null;
  let status: HistoryEntry["status"] = "running_or_incomplete";
  let reason: string | null = null;
  let rerunOf: string | null = null;
  try {
    for await (const record of readRecords(path)) {
      if (started === null) {
        started = record.at_ms;
        runId = record.run_id;
        rerunOf = textField(objectField(record, "rerun"), "run_id");
      }
      if (Object.hasOwn(counts, record.type)) counts[record.type as keyof typeof counts]++;
      if (record.type !== "run_end" || ended !== null) continue;
      ended = record.at_ms;
      status = textField(record, "status") === "ok" ? "ok" : "error";
      reason = textField(record, "reason");
    }
  } catch (error) {
    if (error instanceof InputError) return undefined; // a folder without a log is no run
    if (!(error instanceof DataError)) throw error;
    status = "unreadable";
  }
  return {
    run_id: runId,
    audit_log: path,
    started_ms: started,
    ended_ms: ended,
    duration_ms: started === null || ended === null ? null : ended - started,
    status,
    reason,
    rerun_of: rerunOf,
    tool_calls: counts.tool_call,
    tool_results: counts.tool_result,
    tool_denials: counts.tool_denial,
    tool_errors: counts.tool_error,
    tool_approval_pending: counts.tool_approval_pending,
    events: counts.event,
  };
}
