import assert from "node:assert/strict";
import { resetLines } from "../../src/report/reset.ts";

const file = (turnId: number) => ({ turnId, stateBytes: 7, savedMs: 0 });
const report = (
  mode: "reset" | "rollback",
  existed: boolean,
  dry_run = false,
  unusable_file: string | null = null,
) => ({
  session_file: "s",
  backup_file: "b",
  mode,
  existed,
  unusable_file,
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
});

Deno.test("resetLines() says what a rollback would put back, and that a session that cannot be used is none of it", () => {
  const good = resetLines({ report: report("reset", true), session: file(1), backup: file(2), hadBackup: true });
  assert.deepEqual(good.slice(-2), [
    "the next run starts with an empty state",
    "`twokey reset --rollback` then puts the state of turn 1 back",
  ]);
  const bad = report("reset", true, false, "u");
  const edited = resetLines({ report: bad, session: null, backup: file(2), hadBackup: true });
  const two = "turn 2, 7 bytes, 1970-01-01 00:00:00Z";
  assert.deepEqual(rows(edited), [["not readable", "none"], [two, two]]);
  assert.match(edited[3] ?? "", /^unusable +u +- +not readable$/);
  assert.deepEqual(edited.slice(-2), [
    "the session could not be used: it is set aside, and no rollback puts it back",
    "`twokey reset --rollback` then puts the state of turn 2 back",
  ]);
  const nothing = resetLines({ report: { ...bad, dry_run: true }, session: null, backup: null, hadBackup: false });
  assert.match(
    nothing.at(-3) ?? "",
    /^nothing was changed; without --dry-run the next run starts with an empty state$/,
  );
  assert.match(nothing.at(-1) ?? "", /would have nothing to put back/);
  const back = resetLines({
    report: report("rollback", true, false, "u"),
    session: null,
    backup: file(2),
    hadBackup: true,
  });
  assert.deepEqual(rows(back), [["not readable", two], [two, two]]);
  assert.match(back.at(-2) ?? "", /^the next run starts with the state of turn 2$/);
});

Deno.test("resetLines() says that there was nothing to do", () => {
  const lines = resetLines({ report: report("reset", false), session: null, backup: null, hadBackup: false });
  assert.match(lines.at(-1) ?? "", /^nothing to reset/);
});
