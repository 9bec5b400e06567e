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
    readonly unusable_file: string | null;
    readonly dry_run: boolean;
  };
  readonly session: ResetFile | null;
  readonly backup: ResetFile | null;
  readonly hadBackup: boolean;
}

/** Prints each file with what it held and what it holds now. Lines without a newline. */
export function resetLines({ report, session, backup, hadBackup }: ResetTable, style: Style = PLAIN): string[] {
  const { mode, existed, dry_run, unusable_file } = report;
  const now = { session: held(session, existed), backup: held(backup, hadBackup) };
  const moved = existed && unusable_file === null ? now.session : now.backup;
  const after = { session: mode === "rollback" ? now.backup : "none", backup: moved };
  const lines = tableLines(["", "file", "before", dry_run ? "would be" : "now"], [
    ["session", report.session_file, now.session, after.session],
    ["backup", report.backup_file, now.backup, after.backup],
    ...(unusable_file === null ? [] : [["unusable", unusable_file, null, now.session]]),
  ]);
  const back = unusable_file === null ? session : backup;
  return [...lines, "", ...sentences(report, { back, backup }, style)];
}

/** What the next run starts with, and what a rollback would do. */
function sentences(
  { mode, existed, dry_run, unusable_file, backup_file }: ResetTable["report"],
  { back, backup }: { readonly back: ResetFile | null; readonly backup: ResetFile | null },
  style: Style,
): string[] {
  if (mode === "reset" && !existed) return [style.dim("nothing to reset: there is no session")];
  const what = mode === "reset" || backup === null
    ? "the next run starts with an empty state"
    : `the next run starts with the state of turn ${backup.turnId}`;
  const first = dry_run ? style.warn(`nothing was changed; without --dry-run ${what}`) : style.good(what);
  const aside = unusable_file === null
    ? []
    : [`the session could not be used: it ${dry_run ? "would be" : "is"} set aside, and no rollback puts it back`];
  if (mode === "rollback") return [first, ...aside];
  const rollback = back === null
    ? `\`twokey reset --rollback\` would have nothing to put back: ${escapeText(backup_file)} holds no session`
    : `\`twokey reset --rollback\` then puts the state of turn ${back.turnId} back`;
  return [first, ...aside, rollback];
}

function held(file: ResetFile | null, exists: boolean): string {
  if (!exists) return "none";
  if (file === null) return "not readable";
  const at = new Date(file.savedMs).toISOString().slice(0, 19).replace("T", " ");
  return escapeText(`turn ${file.turnId}, ${file.stateBytes} bytes, ${at}Z`);
}
