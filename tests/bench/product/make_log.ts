/**
 * Writes a whole log of many records. Arguments: file, records.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { AuditWriter } from "../../../src/audit/writer.ts";

const [path = "", count = "0"] = Deno.args;
const writer = AuditWriter.create(path, {
  runId: "20260101-000000-abcdef",
  now: Date.now,
  sha256: (data) => createHash("sha256").update(data).digest("hex"),
});
writer.append([JSON.stringify({ type: "run_start", name: "bench" })]);
for (let i = 0; i < (Number(count) - 2) / 2; i++) {
  const call = { call_id: `c${i}`, tool: "echo" };
  writer.append([
    JSON.stringify({ type: "tool_call", ...call, args: { n: i, text: "hello" }, arg_bytes: 26 }),
    JSON.stringify({ type: "tool_result", ...call, result: { n: i, text: "hello" }, result_bytes: 26, duration_ms: 0 }),
  ]);
}
writer.append([JSON.stringify({ type: "run_end", status: "ok", reason: "done" })]);
writer.close();
