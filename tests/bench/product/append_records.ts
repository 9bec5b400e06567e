/**
 * Appends records of the host to a log as the launcher does: checked, numbered, chained, written.
 * Arguments: file, warm-up, records.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { AuditWriter, checkBody } from "../../../src/audit/writer.ts";
import { writeLine } from "./write_line.ts";

const [path = "", warmUp = "0", count = "0"] = Deno.args;
const writer = AuditWriter.create(path, {
  runId: "20260101-000000-abcdef",
  now: Date.now,
  sha256: (data) => createHash("sha256").update(data).digest("hex"),
});

function append(records: number): void {
  for (let i = 0; i < records; i++) {
    const text = JSON.stringify({
      type: "tool_result",
      call_id: `c${i}`,
      tool: "readFile",
      result: { sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", bytes: 1024 },
      result_bytes: 1060,
      duration_ms: 1,
    });
    checkBody(text);
    writer.append([text]);
  }
}

append(Number(warmUp));
const start = performance.now();
append(Number(count));
writeLine({ us: (performance.now() - start) * 1000 / Number(count) });
