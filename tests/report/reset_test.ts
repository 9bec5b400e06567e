import assert from "node:assert/strict";
import { resetLines } from "../../src/report/reset.ts";

const file = (turnId: number) => ({ turnId, stateBytes: 7, savedMs: 0 });
const report = (mode: "reset" | "rollback", existed: boolean, dry_run = false) => ({
  session_file: "s",
  backup_file: "b",
  mode,
  existed,
  dry_run,
});
/** The two rows, with what was and what is. */
const rows = (lines: string[]) => lines.slice(1, 3).map((line) => line.split(/\s{2,}/).slice(2));

Deno.test("resetLines() shows what each file held and holds", () => {
  const one = "turn 1, 7 bytes, 1970-01-01 00:00:00Z";
  const two = "turn 2, 7 bytes, 1970-01-01 00:00:00Z";
  const lines = resetLines({ report: report("reset", true), session: file(1), backup: file(2), hadBackup: true });
  assert.deepEqual(rows(lines), [[one, "none"], [two, one]]);
  const back = resetLines({ report: report("rollback", true), session: file(1), backup: file(2), hadBackup: true });
  assert.deepEqual(rows(back), [[one, two], [two, one]]);
  const kept = resetLines({ report: report("rollback", false), session: null, backup: file(2), hadBackup: true });
  assert.deepEqual(rows(kept), [["none", two], [two, two]]);
  const edited = resetLines({ report: report("reset", true, true), session: null, backup: null, hadBackup: false });
  assert.deepEqual(rows(edited), [["not readable", "none"], ["none", "not readable"]]);
  assert.match(edited.at(-1) ?? "", /^nothing was changed/);
});

Deno.test("resetLines() says that there was nothing to do", () => {
  const lines = resetLines({ report: report("reset", false), session: null, backup: null, hadBackup: false });
  assert.match(lines.at(-1) ?? "", /^nothing to reset/);
});
