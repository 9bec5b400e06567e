import assert from "node:assert/strict";
import { replayAudit } from "../../src/replay/replay.ts";
import { summaryLines } from "../../src/report/summary.ts";
import type { JsonObject } from "../../src/json.ts";
import { inTempDir, writeLog } from "../audit/log_maker.ts";
import { LOG } from "../replay/make_fixture.ts";

async function linesOf(bodies: readonly JsonObject[], project?: string): Promise<string[]> {
  let lines: string[] = [];
  await inTempDir(async (dir) => {
    writeLog(`${dir}/it's.jsonl`, bodies);
    const summary = await replayAudit(`${dir}/it's.jsonl`);
    lines = summaryLines(summary, { project: project ?? dir });
  });
  return lines;
}

Deno.test("summaryLines() of the golden log", async () => {
  const golden = await Deno.readTextFile("fixtures/audits/review.summary.txt");
  assert.equal(`${summaryLines(await replayAudit(LOG)).join("\n")}\n`, golden);
});

Deno.test("summaryLines() escapes everything that an agent or a log can name", async () => {
  const evil = "\x1b[2J\u202e\nrun ok";
  const lines = await linesOf([
    { type: "run_start" },
    { type: "tool_denial", call_id: "c1", tool: evil, reason: evil, rule: evil, requirement: { target: evil } },
    { type: "tool_denial", call_id: "c2", tool: evil, reason: "tool_not_granted" },
    { type: "tool_result", call_id: "c3", tool: "writeArtifact", result: { path: evil }, freshness: evil },
    { type: "tool_call", call_id: "c4", tool: `x${evil}` },
    { type: "run_end", status: "error", reason: evil },
  ]);
  for (const line of lines) assert.ok(!/[\p{C}]/u.test(line), JSON.stringify(line));
  assert.ok(!lines.slice(1).some((line) => line.startsWith("run ok")));
  assert.ok(lines[0]?.startsWith("run failed"));
});

Deno.test("summaryLines() bounds the denials, and quotes the log's path for the shell", async () => {
  const denials = Array.from(
    { length: 30 },
    (_, i) => ({ type: "tool_denial", call_id: `c${i}`, tool: "t", reason: "x" }),
  );
  const lines = await linesOf([{ type: "run_start" }, ...denials]);
  assert.equal(lines[0], "run unfinished: its log has no end");
  assert.equal(lines.filter((line) => line.startsWith("denied")).length, 20);
  assert.ok(lines.includes("  and 10 more denied"));
  assert.equal(lines.at(-1), "replay    twokey replay 'it'\\''s.jsonl'");
});

Deno.test("summaryLines() passes finished words to the style", async () => {
  const mark = (name: string) => (text: string): string => `<${name}>${text}</${name}>`;
  const style = { heading: mark("h"), good: mark("g"), bad: mark("b"), warn: mark("w"), dim: mark("d") };
  const lines = summaryLines(await replayAudit(LOG), { style });
  assert.equal(lines[0], "<g>run ok in 140 ms</g>");
  assert.ok(lines.some((line) => line.startsWith("<b>denied    readFile")));
  assert.ok(lines.some((line) => line.startsWith("denied    fetch") && line.endsWith("as expected")));
});
