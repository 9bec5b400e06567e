import assert from "node:assert/strict";
import { GENESIS, type RecordBody } from "../../src/audit/record.ts";
import { RecordingChain } from "../../src/audit/recording.ts";
import { sha256Now } from "../../src/audit/sha256.ts";
import { DataError, InputError } from "../../src/errors.ts";
import { readRecording } from "../../src/replay/recording.ts";
import { reportRerun } from "../../src/replay/rerun_report.ts";
import { writeLog } from "../audit/log_maker.ts";

const HEADER = '{"op":"header","version":1,"context":{},"controls":{},"redact":[]}';
const ASKED = (id: number) => `{"op":"asked","what":"call","id":${id},"name":"echo","sha256":"${"a".repeat(64)}"}`;
const ANSWER = (id: number) => `{"op":"answer","id":${id},"t":${id},"call_id":"c${id}","scrubbed":true,"value":${id}}`;
const EMIT = `{"op":"asked","what":"emit","sha256":"${"b".repeat(64)}"}`;
const END = `{"op":"end","status":"ok","reason":"done","sha256":"${"c".repeat(64)}"}`;
const LINES = [HEADER, ASKED(1), ANSWER(1), EMIT, ASKED(2), ANSWER(2), END];

function headAfter(lines: readonly string[]): string {
  const chain = new RecordingChain(sha256Now);
  for (const line of lines) chain.add(new TextEncoder().encode(line));
  return chain.head;
}

/** The log of a run that recorded `lines`. */
function logOf(lines: readonly string[], { ended = true, recorded = true } = {}): RecordBody[] {
  const heads = (count: number) => recorded ? { received_sha256: headAfter(lines.slice(0, count)) } : {};
  return [
    { type: "run_start", deno: "2", ...(recorded ? { recording: { version: 1, bundle: "x" } } : {}) },
    { type: "authority_check", ...heads(1) },
    { type: "tool_call", call_id: "c1", tool: "echo", args: { n: 1 } },
    { type: "tool_result", call_id: "c1", tool: "echo", ...heads(3) },
    { type: "event", event: { kind: "k" } },
    { type: "tool_call", call_id: "c2", tool: "echo", args: { n: 2 } },
    { type: "tool_result", call_id: "c2", tool: "echo", ...heads(6) },
    ...(ended
      ? [{
        type: "run_end",
        status: "ok",
        reason: "done",
        ...(recorded ? { recording: { sha256: headAfter(lines) } } : {}),
      }]
      : []),
  ] as RecordBody[];
}

async function withRun(
  { lines = LINES, text, bodies = logOf(LINES) }: { lines?: readonly string[]; text?: string; bodies?: RecordBody[] },
  body: (path: string, dir: string) => Promise<void>,
): Promise<void> {
  const dir = await Deno.makeTempDir();
  try {
    writeLog(`${dir}/audit.jsonl`, bodies, "first");
    await Deno.writeTextFile(`${dir}/recording.jsonl`, text ?? lines.map((line) => `${line}\n`).join(""));
    await body(`${dir}/audit.jsonl`, dir);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

Deno.test("readRecording() gives a recording that the log vouches for, line by line", async () => {
  await withRun({}, async (path) => {
    const recording = await readRecording(path);
    assert.equal(new TextDecoder().decode(recording.bytes), LINES.map((line) => `${line}\n`).join(""));
    const { complete, cut, scrubbed, records, end, start } = recording;
    assert.deepEqual([complete, cut, scrubbed, end?.seq, start.seq], [true, false, 2, 8, 1]);
    assert.deepEqual([records.get("c2")?.seq, records.get("emit 1")?.seq], [6, 5]);
  });
});

Deno.test("readRecording() finds every change of a recording", async () => {
  const swapped = [HEADER, ASKED(2), ANSWER(2), EMIT, ASKED(1), ANSWER(1), END];
  const changes: readonly (readonly string[])[] = [
    LINES.with(2, ANSWER(1).replace('"value":1', '"value":2')),
    LINES.with(2, ANSWER(1).replace('"t":1', '"t":2')),
    LINES.with(1, ASKED(1).replace("aaaa", "aaab")),
    LINES.with(0, HEADER.replace('"context":{}', '"context":{"a":1}')),
    LINES.with(3, EMIT.replace("bbbb", "bbbc")),
    LINES.with(6, END.replace("ok", "error")),
    LINES.toSpliced(3, 1),
    LINES.slice(0, -1),
    LINES.slice(0, 3),
    [...LINES, EMIT],
    [HEADER, ...LINES],
    swapped,
    ["not JSON", ...LINES.slice(1)],
    LINES.slice(1),
    [],
  ];
  for (const lines of changes) {
    await withRun({ lines }, async (path) => {
      await assert.rejects(readRecording(path), { name: "DataError", code: "recording_changed" }, lines.join("\n"));
    });
  }
});

Deno.test("readRecording() refuses a log that is not as it was written, and a head that is another", async () => {
  await withRun({}, async (path) => {
    await assert.rejects(
      readRecording(path, { head: GENESIS }),
      (error) => error instanceof DataError && error.code === "audit_broken",
    );
    const log = await Deno.readTextFile(path);
    await Deno.writeTextFile(path, log.replace('"n":2', '"n":3'));
    await assert.rejects(readRecording(path), { code: "audit_broken" });
  });
});

Deno.test("readRecording() reads the recording of a run without an end as far as the log vouches for it", async () => {
  const bodies = logOf(LINES, { ended: false });
  await withRun({ bodies, text: `${LINES.slice(0, 6).join("\n")}\n${EMIT}\n{"op":"ans` }, async (path) => {
    const { bytes, complete, cut } = await readRecording(path);
    assert.equal(new TextDecoder().decode(bytes), LINES.slice(0, 6).map((line) => `${line}\n`).join(""));
    assert.deepEqual([complete, cut], [false, true]);
  });
  // The log is behind the recording, and the other way round.
  await withRun({ bodies: bodies.slice(0, 5), lines: LINES.slice(0, 6) }, async (path) => {
    const { bytes } = await readRecording(path);
    assert.equal(new TextDecoder().decode(bytes), LINES.slice(0, 3).map((line) => `${line}\n`).join(""));
  });
  await withRun({ bodies, lines: LINES.slice(0, 3) }, async (path) => {
    assert.equal((await readRecording(path)).cut, true);
  });
  await withRun({ bodies, lines: LINES.with(2, ANSWER(1).replace('"value":1', '"value":2')) }, async (path) => {
    await assert.rejects(readRecording(path), { code: "recording_changed" });
  });
});

Deno.test("readRecording() says that nothing was recorded", async () => {
  const isMissing = (error: unknown) => error instanceof InputError && error.code === "recording_missing";
  await withRun(
    { bodies: logOf(LINES, { recorded: false }) },
    (path) => assert.rejects(readRecording(path), isMissing),
  );
  await withRun({}, async (path, dir) => {
    await Deno.remove(`${dir}/recording.jsonl`);
    await assert.rejects(readRecording(path), isMissing);
  });
  await withRun({ bodies: logOf(LINES, { ended: false }).slice(0, 1) }, async (path) => {
    await assert.rejects(readRecording(path), { name: "InputError", code: "recording_empty" });
  });
});

Deno.test("reportRerun() finds the step of a divergence in the first log", async () => {
  await withRun({}, async (path, dir) => {
    const recording = await readRecording(path);
    const report = async (bodies: readonly RecordBody[]) => {
      const auditPath = `${dir}/${crypto.randomUUID()}.jsonl`;
      writeLog(auditPath, [{ type: "run_start" }, ...bodies], "second");
      return await reportRerun({
        path,
        recording,
        rerun: { runId: "second", auditPath, head: "h", bundle: "x", deno: "2" },
      });
    };
    const end = (reason: string): RecordBody => ({ type: "run_end", status: "error", reason });
    const diverged = await report([
      { type: "event", event: 1 },
      {
        type: "rerun_divergence",
        step: 3,
        steps: 4,
        expected: { what: "call", nth: 2, name: "echo" },
        came: { what: "emit", value: { kind: "other" } },
        scrubbed_answers: 1,
      },
      end("rerun_diverged"),
    ]);
    assert.equal(diverged.verdict, "diverged");
    assert.deepEqual(diverged.divergence?.expected, { what: "call", name: "echo", value: { n: 2 }, seq: 6 });
    assert.deepEqual(diverged.divergence?.came, { what: "emit", name: null, value: { kind: "other" }, seq: 3 });
    assert.deepEqual([diverged.events, diverged.divergence?.scrubbed_answers, diverged.remarks], [1, 1, []]);
    assert.equal((await report([end("done")])).verdict, "same");
    assert.equal((await report([end("recording_ended")])).verdict, "same_so_far");
    assert.equal((await report([end("wall_exceeded")])).verdict, "ended");
    assert.equal((await report([])).verdict, "ended");
  });
});
