/**
 * Reads the recording of a run and holds every line of it against the log. Never writes.
 *
 * @module
 */
import { readBlocks } from "../audit/lines.ts";
import { readRecords, type Verdict, verifyAudit } from "../audit/reader.ts";
import type { Record as AuditRecord } from "../audit/record.ts";
import {
  type EndEntry,
  MAX_ENTRY_BYTES,
  MAX_RECORDING_BYTES,
  RECEIVED_FIELD,
  RECORDING_FILE,
  RECORDING_VERSION,
  RecordingChain,
  type RecordingEntry,
  type RecordingHeader,
} from "../audit/recording.ts";
import { GrowingSha256 } from "../audit/sha256.ts";
import { DataError, InputError } from "../errors.ts";
import { isJsonObject, type JsonObject } from "../json.ts";
import { numberField, objectField, textField } from "./fields.ts";

/** Heads that a log may name, at most: a run has that many calls and no more. */
const MAX_HEADS = 10_000_001;
const NEWLINE = 10;

/** Where the log tells of a step, by the kind of step and its number among those of its kind; the first is 1. */
export type StepRecords = ReadonlyMap<string, AuditRecord>;

/** A recording that is what was recorded. */
export interface Recording {
  /** Whole lines, up to the last that the log vouches for. */
  readonly bytes: Uint8Array;
  readonly header: RecordingHeader;
  /** What checking the log found. */
  readonly verdict: Verdict;
  readonly start: AuditRecord;
  /** `undefined` where the run has none. */
  readonly end: AuditRecord | undefined;
  /** Whether the recording goes to the end of the agent: not where the run was ended from outside, or its launcher died. */
  readonly complete: boolean;
  /** Whether lines were left out that the log does not vouch for, or that are missing. */
  readonly cut: boolean;
  /** Answers that differ from what the agent received, because a secret was taken out. */
  readonly scrubbed: number;
  readonly records: StepRecords;
}

/**
 * Reads the log and the recording of a run. What is returned was written by the run that the log tells of: the log's
 * chain is whole, and it names the recording's chain.
 *
 * @param path Path of the log; the recording lies beside it.
 * @param options `head`: the hash that the run printed at its end.
 * @throws {InputError} If the log cannot be read, or there is no recording beside it.
 * @throws {DataError} If either is not as it was written.
 */
export async function readRecording(path: string, options: { head?: string } = {}): Promise<Recording> {
  const verdict = await verifyAudit(path, options);
  if (verdict.verdict === "broken") {
    const { line, detail } = verdict.damage ?? { line: 1, detail: "it is damaged" };
    throw new DataError("audit_broken", `Cannot run again: the log is not as it was written: ${detail}`, {
      position: { file: path, line, column: 1 },
      fix: "Run `twokey audit verify` on it",
    });
  }
  const log = new LogFold();
  let left = verdict.records;
  if (left > 0) {
    for await (const record of readRecords(path)) {
      log.add(record);
      if (--left === 0) break;
    }
  }
  const { start, end, heads, records } = log;
  if (start === undefined || numberField(objectField(start, "recording"), "version") === null) {
    throw new InputError(
      "recording_missing",
      "Cannot run again: nothing was recorded; record a run with `twokey run --record`",
    );
  }
  const version = numberField(objectField(start, "recording"), "version");
  if (version !== RECORDING_VERSION) {
    throw new DataError("recording_version", `Cannot run again: the recording has the form ${version}`, {
      fix: `Use a twokey that writes it; this one reads the form ${RECORDING_VERSION}`,
    });
  }
  const file = `${path.slice(0, path.lastIndexOf("/") + 1)}${RECORDING_FILE}`;
  const check = new RecordingCheck(file, heads);
  check.read(await readWhole(file));
  const total = end === undefined ? undefined : objectField(end, "recording");
  if (total !== undefined) check.assertWhole(textField(total, "sha256"));
  return { ...check.result(), verdict, start, end, records };
}

/** What the log tells of the steps of the agent. */
class LogFold {
  readonly heads: string[] = [];
  readonly records = new Map<string, AuditRecord>();
  readonly #counts = new Map<string, number>();
  start: AuditRecord | undefined;
  end: AuditRecord | undefined;

  add(record: AuditRecord): void {
    if (record.type === "run_start") this.start ??= record;
    else if (record.type === "run_end") this.end = record;
    const head = textField(record, RECEIVED_FIELD);
    if (head !== null && this.heads.length < MAX_HEADS) this.heads.push(head);
    const callId = textField(record, "call_id");
    // Of a call, its first record says the most: its arguments, or why it never started.
    if (callId !== null) {
      if (!this.records.has(callId)) this.records.set(callId, record);
      return;
    }
    const what = WHAT.get(record.type);
    if (what === undefined) return;
    const nth = (this.#counts.get(what) ?? 0) + 1;
    this.#counts.set(what, nth);
    this.records.set(`${what} ${nth}`, record);
  }
}

/** The step of an agent that a record tells of. */
const WHAT: ReadonlyMap<string, string> = new Map([
  ["event", "emit"],
  ["audit_note", "note"],
  ["state_get", "state"],
  ["state_set", "state"],
  ["state_delete", "state"],
  ["state_list", "state"],
  ["state_reset", "state"],
  ["audit_controls", "controls"],
  ["revocation", "close"],
  ["revocation_denial", "closed"],
]);

/** Checks the lines of a recording against the heads that the log names, which come in the order of the lines. */
class RecordingCheck {
  readonly #file: string;
  readonly #heads: readonly string[];
  readonly #chain = new RecordingChain(new GrowingSha256().digest);
  #bytes = new Uint8Array();
  #header: RecordingHeader | undefined;
  #end: EndEntry | undefined;
  /** How far the log vouches for the lines: heads met, bytes, lines. */
  #met = 0;
  #tied = 0;
  #whole = false;
  #scrubbed = 0;
  #tiedScrubbed = 0;

  constructor(file: string, heads: readonly string[]) {
    this.#file = file;
    this.#heads = heads;
  }

  read(bytes: Uint8Array<ArrayBuffer>): void {
    this.#bytes = bytes;
    for (let from = 0; from < bytes.length;) {
      const to = bytes.indexOf(NEWLINE, from);
      // What a run that was killed has left half written.
      if (to === -1) break;
      const line = bytes.subarray(from, to);
      this.#chain.add(line);
      this.#take(this.#parse(line), to + 1);
      from = to + 1;
    }
  }

  /** Holds the whole against what the log's last record says. */
  assertWhole(sha256: string | null): void {
    if (sha256 === this.#chain.head && this.#met === this.#heads.length) {
      this.#whole = true;
      return;
    }
    throw this.#changed("it is not the one that the log tells of");
  }

  result(): Pick<Recording, "bytes" | "header" | "complete" | "cut" | "scrubbed"> {
    const header = this.#header;
    if (header === undefined || this.#tied === 0) {
      throw new InputError("recording_empty", "Cannot run again: the run was ended before its agent began");
    }
    const length = this.#whole ? this.#chain.bytes : this.#tied;
    return {
      bytes: this.#bytes.subarray(0, length),
      header,
      complete: this.#whole && this.#end !== undefined,
      cut: length < this.#bytes.length || this.#met < this.#heads.length,
      scrubbed: this.#whole ? this.#scrubbed : this.#tiedScrubbed,
    };
  }

  #take(entry: RecordingHeader | RecordingEntry, end: number): void {
    if (this.#header === undefined) {
      if (entry.op !== "header") throw this.#changed("its first line is no header");
      this.#header = entry;
    } else if (entry.op === "header" || this.#end !== undefined) {
      throw this.#changed("a line stands where none may");
    }
    if (entry.op === "end") this.#end = entry;
    if (entry.op === "answer" && entry.scrubbed === true) this.#scrubbed++;
    const isTied = entry.op === "header" || (entry.op === "answer" && entry.call_id !== undefined);
    if (!isTied) return;
    const head = this.#heads[this.#met];
    // The log of a run that was killed may lack its last lines; then it vouches for these no more than for a stranger's.
    if (head === undefined) return;
    if (head !== this.#chain.head) throw this.#changed("it is not what the log says was received");
    this.#met++;
    this.#tied = end;
    this.#tiedScrubbed = this.#scrubbed;
  }

  #parse(line: Uint8Array): RecordingHeader | RecordingEntry {
    let value: unknown;
    try {
      value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(line));
    } catch {
      throw this.#changed("a line is not JSON");
    }
    if (!isJsonObject(value) || !isEntry(value)) throw this.#changed("a line has no known form");
    return value as unknown as RecordingHeader | RecordingEntry;
  }

  #changed(what: string): DataError {
    return new DataError("recording_changed", `Cannot run again: the recording is not as it was written: ${what}`, {
      position: { file: this.#file, line: Math.max(1, this.#chain.entries), column: 1 },
      fix: "Record the run again with `twokey run --record`",
    });
  }
}

function isEntry({ op, id, t, sha256, what, version, redact }: JsonObject): boolean {
  switch (op) {
    case "header":
      return version === RECORDING_VERSION && Array.isArray(redact) && redact.every((name) => typeof name === "string");
    case "asked":
      return typeof what === "string" && typeof sha256 === "string" && (id === undefined || typeof id === "number");
    case "answer":
      return typeof id === "number" && typeof t === "number";
    case "end":
      return typeof sha256 === "string";
    default:
      return false;
  }
}

/** Reads a whole recording into memory: nothing of it is used before all of it was verified. */
async function readWhole(file: string): Promise<Uint8Array<ArrayBuffer>> {
  const blocks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const { bytes, kind } of readBlocks(file, MAX_ENTRY_BYTES)) {
      if (kind === "tail") break;
      length += bytes.length;
      if (kind === "overlong" || length > MAX_RECORDING_BYTES) {
        throw new DataError("recording_size", "Cannot run again: the recording is larger than any that is written");
      }
      blocks.push(bytes.slice());
    }
  } catch (cause) {
    if (!(cause instanceof InputError)) throw cause;
    throw new InputError("recording_missing", `Cannot run again: there is no ${RECORDING_FILE} beside the log`, {
      cause,
    });
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const block of blocks) {
    whole.set(block, at);
    at += block.length;
  }
  return whole;
}
