/**
 * The floor of a call without effect: the same work in a plain script. JSON in, arguments validated, JSON out, result
 * validated, and two chained records written. No policy, no gate, no isolation, no process border.
 * Arguments: log file, warm-up, calls.
 *
 * @module
 */
import { createHash } from "node:crypto";
import * as v from "valibot";
import { writeLine } from "./write_line.ts";

const [path = "", warmUp = "0", count = "0"] = Deno.args;
const log = Deno.openSync(path, { append: true, createNew: true });
const encoder = new TextEncoder();
const args = v.looseObject({});
let seq = 0;
let prev = "0".repeat(64);

function record(body: object): void {
  const text = JSON.stringify({ seq: ++seq, at_ms: Date.now(), run_id: "20260101-000000-abcdef", ...body, prev });
  const hashed = text.slice(0, -1);
  prev = createHash("sha256").update(hashed).digest("hex");
  log.writeSync(encoder.encode(`${hashed},"hash":"${prev}"}\n`));
}

function echo(text: string, id: string): string {
  const input = v.parse(args, JSON.parse(text));
  record({ type: "tool_call", call_id: id, tool: "echo", args: input, arg_bytes: text.length });
  const started = Date.now();
  const output = JSON.stringify(v.parse(args, { ...input }));
  const duration_ms = Date.now() - started;
  record({ type: "tool_result", call_id: id, tool: "echo", result: input, result_bytes: output.length, duration_ms });
  return output;
}

async function callMany(calls: number): Promise<void> {
  for (let i = 0; i < calls; i++) {
    const result = JSON.parse(await Promise.resolve(echo(JSON.stringify({ n: i, text: "hello" }), `c${i}`)));
    if (result.n !== i) throw new Error("Cannot measure: the echo is wrong");
  }
}

await callMany(Number(warmUp));
const start = performance.now();
await callMany(Number(count));
writeLine({ us: (performance.now() - start) * 1000 / Number(count) });
