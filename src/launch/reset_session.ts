/**
 * Resets a session, or puts the one back that a reset set aside. Nothing else is touched: no log, artifact, cache or
 * approval.
 *
 * @module
 */
import { GrowingSha256 } from "../audit/sha256.ts";
import { AuditWriter } from "../audit/writer.ts";
import { DataError, InputError, TwokeyError } from "../errors.ts";
import type { Json, JsonObject } from "../json.ts";
import type { CompiledPolicy } from "./compile_policy.ts";
import { makeRunDir, makeRunId } from "./run_dir.ts";
import { sessionPlace } from "./run_session.ts";
import { type SavedSession, SessionFile } from "./session_file.ts";
import { makePrivateDir } from "./state_dir.ts";

/** How a session is reset. */
export interface ResetOptions {
  /** Puts the backup back instead. */
  readonly rollback?: boolean;
  /** Says what would be done, and changes nothing but the log. */
  readonly dryRun?: boolean;
  /** Folder for the log's own folder; the default is that of runs. */
  readonly runsDir?: string;
}

/** What was done, or would be. */
export interface ResetReport {
  readonly session_file: string;
  readonly backup_file: string;
  readonly mode: "reset" | "rollback";
  /** Whether there was a session. */
  readonly existed: boolean;
  /** Whether the session was set aside: it is the backup now, or `unusable_file`. */
  readonly removed: boolean;
  /** Where a session that could not be used is set aside: never over a backup; `null` where it could, or where none was. */
  readonly unusable_file: string | null;
  /** Whether the backup was put back. */
  readonly restored: boolean;
  readonly dry_run: boolean;
  readonly scope: "session_file_only";
  readonly rollback: "one_backup";
}

/** A reset with what people want to know of it. */
export interface Reset {
  readonly report: ResetReport;
  /** What the session held; `null` where there was none, or none that can be read. */
  readonly session: SavedSession | null;
  /** What the backup held before, in the same way. */
  readonly backup: SavedSession | null;
  /** Whether there was a backup before, readable or not. */
  readonly hadBackup: boolean;
  /** Absolute path of the log. */
  readonly auditPath: string;
  /** Hash of its last record. */
  readonly head: string;
}

/**
 * Resets the session of a policy.
 *
 * @throws {DataError} `session_none` where the policy keeps none; `session_invalid` where the backup is not one.
 * @throws {InputError} `session_no_backup` where there is nothing to put back.
 * @throws {AuditError} `session_busy` where a run holds it, or where it or the log cannot be written.
 */
export async function resetSession(compiled: CompiledPolicy, options: ResetOptions = {}): Promise<Reset> {
  const { plan, places } = compiled;
  const place = sessionPlace(plan, places);
  if (place === undefined) {
    throw new DataError("session_none", "Cannot reset: the policy keeps no session", {
      position: compiled.loaded.positionOf(""),
      fix: 'Add "session": true to the policy, or name the one that has it with --policy',
    });
  }
  await makePrivateDir(places.state);
  const file = await SessionFile.open(place);
  try {
    return await resetLocked(compiled, file, options);
  } finally {
    file.close();
  }
}

async function resetLocked(
  compiled: CompiledPolicy,
  file: SessionFile,
  { rollback = false, dryRun = false, runsDir }: ResetOptions,
): Promise<Reset> {
  const { plan } = compiled;
  const [existed, hadBackup] = await Promise.all([file.exists("session"), file.exists("backup")]);
  const session = await readOrNull(file, "session");
  const backup = rollback ? await file.read("backup") ?? null : await readOrNull(file, "backup");
  if (rollback && backup === null) {
    throw new InputError("session_no_backup", `Cannot roll back: there is no backup "${file.shown.backup}"`);
  }
  const isUnusable = existed && session === null;
  const report: ResetReport = {
    session_file: file.shown.session,
    backup_file: file.shown.backup,
    mode: rollback ? "rollback" : "reset",
    existed,
    removed: !dryRun && !rollback && existed,
    unusable_file: isUnusable ? file.shown.unusable : null,
    restored: !dryRun && rollback,
    dry_run: dryRun,
    scope: "session_file_only",
    rollback: "one_backup",
  };
  const runId = makeRunId(Date.now());
  const dir = await makeRunDir(compiled, runId, runsDir === undefined ? {} : { runsDir });
  const auditPath = `${dir}/audit.jsonl`;
  const audit = AuditWriter.create(auditPath, { runId, now: Date.now, sha256: new GrowingSha256().digest });
  const append = (body: JsonObject) => {
    audit.append([JSON.stringify(body)]);
    audit.sync();
  };
  try {
    // The log comes first: a reset that nobody could read of is not begun.
    append({ type: "run_start", command: "reset", name: plan.name, policy: plan.policy as unknown as Json });
    try {
      if (!dryRun && rollback) await file.putBack({ isUsable: !isUnusable });
      else if (!dryRun && existed) await file.setAside(isUnusable ? "unusable" : "backup");
    } catch (error) {
      append({
        type: "run_end",
        status: "error",
        reason: error instanceof TwokeyError ? error.code : "session_unwritable",
      });
      throw error;
    }
    append({ type: "product_reset", ...report });
    append({ type: "run_end", status: "ok", reason: "done" });
    return { report, session, backup, hadBackup, auditPath, head: audit.head };
  } finally {
    audit.close();
  }
}

/** A session that cannot be used is no reason not to reset it. */
async function readOrNull(file: SessionFile, which: "session" | "backup"): Promise<SavedSession | null> {
  try {
    return await file.read(which) ?? null;
  } catch (error) {
    if (error instanceof DataError) return null;
    throw error;
  }
}
