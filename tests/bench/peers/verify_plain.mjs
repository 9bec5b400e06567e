// What a plain script does to check a chained log: split, parse, compare, hash. node verify_plain.mjs <file>
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import process from "node:process";

let prev = "0".repeat(64);
let seq = 0;
let rest = "";

function check(line) {
  const record = JSON.parse(line);
  if (record.prev !== prev || record.seq !== ++seq) throw new Error(`Cannot verify: record ${seq} is out of place`);
  const hashed = line.slice(0, line.lastIndexOf(',"hash":"'));
  prev = createHash("sha256").update(hashed).digest("hex");
  if (prev !== record.hash) throw new Error(`Cannot verify: record ${seq} was changed`);
}

for await (const chunk of createReadStream(process.argv[2], { encoding: "utf8", highWaterMark: 262_144 })) {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop();
  for (const line of lines) check(line);
}
process.stdout.write(`${JSON.stringify({ records: seq })}\n`);
