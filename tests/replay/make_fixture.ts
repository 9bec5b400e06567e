/** Writes `fixtures/audits/`: a log, and what replay and report make of it. Run it after a change that is meant. */
import { replayAudit } from "../../src/replay/replay.ts";
import { replayLines } from "../../src/report/text.ts";
import { summaryLines } from "../../src/report/summary.ts";
import { RUN, writeLog } from "../audit/log_maker.ts";

/** The fixture's log, as the golden output names it. */
export const LOG = "fixtures/audits/review.jsonl";

if (import.meta.main) {
  await Deno.remove(LOG).catch(() => {});
  writeLog(LOG, RUN, "review-1");
  await Deno.chmod(LOG, 0o644);
  const summary = await replayAudit(LOG);
  await Deno.writeTextFile("fixtures/audits/review.replay.json", `${JSON.stringify(summary, null, 2)}\n`);
  await Deno.writeTextFile("fixtures/audits/review.replay.txt", `${replayLines(summary).join("\n")}\n`);
  await Deno.writeTextFile("fixtures/audits/review.summary.txt", `${summaryLines(summary).join("\n")}\n`);
}
