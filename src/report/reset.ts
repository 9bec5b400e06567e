/**
 * What a reset did, or would do, as a table.
 *
 * @module
 */
import { escapeText } from "./escape.ts";
import { PLAIN, type Style } from "./style.ts";
import { tableLines } from "./table.ts";

/** What a session file held. */
export interface ResetFile {
  readonly turnId: number;
  readonly stateBytes: number;
  readonly savedMs: number;
}

/** A reset, as far as it is printed. */
export interface ResetTable {
  readonly report: {
    readonly session_file: string;
    readonly backup_file: string;
    readonly mode: "reset" | "rollback";
    readonly existed: boolean;
    readonly dry_run: boolean;
  };
  readonly session: ResetFile | null;
  readonly backup: ResetFile | null;
  readonly hadBackup: boolean;
}

/** Prints each file with what it held and what it holds now. Lines without a newline. */
export function resetLines({ report, session, backup, hadBackup }: ResetTable, style: Style = PLAIN): string[] {
  const { mode, existed, dry_run } = report;
  const now = { session: held(session, existed), backup: held(backup, hadBackup) };
  const after = mode === "rollback"
    ? { session: now.backup, backup: existed ? now.session : now.backup }
    : { session: "none", backup: existed ? now.session : now.backup };
  const lines = tableLines(["", "file", "before", dry_run ? "would be" : "now"], [
    ["session", report.session_file, now.session, after.session],
    ["backup", report.backup_file, now.backup, after.backup],
  ]);
  return [...lines, "", sentence(report, style)];
}

function sentence({ mode, existed, dry_run }: ResetTable["report"], style: Style): string {
  if (mode === "reset" && !existed) return style.dim("nothing to reset: there is no session");
  const what = mode === "reset" ? "the next run starts with an empty state" : "the next run starts with the old state";
  if (dry_run) return style.warn(`nothing was changed; without --dry-run ${what}`);
  const back = mode === "reset" ? "; `twokey reset --rollback` puts the old one back" : "";
  return style.good(`${what}${back}`);
}

function held(file: ResetFile | null, exists: boolean): string {
  if (!exists) return "none";
  if (file === null) return "not readable";
  const at = new Date(file.savedMs).toISOString().slice(0, 19).replace("T", " ");
  return escapeText(`turn ${file.turnId}, ${file.stateBytes} bytes, ${at}Z`);
}
