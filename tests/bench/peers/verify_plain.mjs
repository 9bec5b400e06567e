// What a plain script does to check a chained log: split, parse, compare, hash. node verify_plain.mjs <file>
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import process from "node:process";
import { createInterface } from "node:readline";

let prev = "0".repeat(64);
let seq = 0;
for await (const line of createInterface({ input: createReadStream(process.argv[2], { highWaterMark: 262_144 }) })) {
  const record = JSON.parse(line);
  if (record.prev !== prev || record.seq !== ++seq) throw new Error(`Cannot verify: record ${seq} is out of place`);
  const hashed = line.slice(0, line.lastIndexOf(',"hash":"'));
  prev = createHash("sha256").update(hashed).digest("hex");
  if (prev !== record.hash) throw new Error(`Cannot verify: record ${seq} was changed`);
}
process.stdout.write(`${JSON.stringify({ records: seq })}\n`);
