/**
 * Edits a file of 1 MiB again and again: `tool`, through the tool with all that the host does for it but the log; `bare`,
 * read, replace, write to a temporary file, fsync, rename. Prints the median in milliseconds.
 *
 * Arguments: which of the two, an empty folder, how often.
 */
import { makeCall, makeRun } from "../../host/run_context.ts";
import { GrowingSha256 } from "../../../src/audit/sha256.ts";
import { openChanges } from "../../../src/host/workspace/changes.ts";
import { Observations } from "../../../src/host/workspace/observations.ts";
import { WrittenBytes } from "../../../src/host/written_bytes.ts";
import type { FullPowers, FullResolve } from "../../../src/tool/define.ts";
import { EditFile } from "../../../src/tools/workspace/edit_file.ts";

const [which = "", dir = "", times = ""] = Deno.args;
const path = `${dir}/file.txt`;
const line = "const value = compute(left, right); // what a line of a source file looks like\n";
const half = line.repeat(Math.ceil(512 * 1024 / line.length));
const text = `${half}const marker = 0;\n${half}`;
Deno.writeTextFileSync(path, text);

const edit = which === "tool" ? await makeTool() : bare;
const samples: number[] = [];
for (let round = 0; round < Number(times); round++) {
  const started = performance.now();
  await edit(`const marker = ${round};`, `const marker = ${round + 1};`);
  samples.push(performance.now() - started);
}
if (!Deno.readTextFileSync(path).includes(`const marker = ${times};`)) {
  throw new Error("Cannot measure: it did nothing");
}
samples.sort((a, b) => a - b);
Deno.stdout.writeSync(new TextEncoder().encode(JSON.stringify({ ms: samples[Math.floor(samples.length / 2)] }) + "\n"));

function bare(old: string, made: string): Promise<void> {
  const changed = Deno.readTextFileSync(path).replace(old, made);
  const temp = `${dir}/file.txt.tmp`;
  const file = Deno.openSync(temp, { write: true, createNew: true });
  const bytes = new TextEncoder().encode(changed);
  for (let done = 0; done < bytes.length;) done += file.writeSync(bytes.subarray(done));
  file.syncSync();
  file.close();
  Deno.renameSync(temp, path);
  return Promise.resolve();
}

async function makeTool(): Promise<(old: string, made: string) => Promise<void>> {
  const hash = new GrowingSha256();
  await hash.load();
  const run = { ...makeRun(dir, { write: ["."] }), sha256: hash.digest };
  const observations = new Observations();
  observations.set(path, { sha256: hash.digest(text), complete: true });
  const changes = openChanges({ run, observations, written: new WrittenBytes(1e12) });
  return async (old, made) => {
    const prepared = await EditFile.prepare({ path: "file.txt", old, new: made }, changes.resolve as FullResolve);
    const call = makeCall("EditFile", prepared.targets);
    const powers = { ...changes.power(call), note: call.note } as unknown as FullPowers;
    await EditFile.invoke(prepared, powers);
  };
}
