/**
 * Reads the audit log back: whether it is whole, what was in flight when it ended, and its records. Never writes.
 *
 * @module
 */
import { DataError, UsageError } from "../errors.ts";
import { isJsonObject, type Json } from "../json.ts";
import { ChainCheck, type Damage, type InFlight } from "./chain_check.ts";
import { readBlocks } from "./lines.ts";
import { GrowingSha256 } from "./sha256.ts";
import { HOST_RECORD_TYPES, LAUNCHER_RECORD_TYPES, type Record } from "./record.ts";

/** What reading a log found. */
export interface Verdict {
  /**
   * - `authentic`: whole, and it ends in the head that was given; nothing in it was changed since that head was noted.
   * - `consistent`: whole in itself. Whoever can write the file can also make it so, hence not `authentic`.
   * - `unfinished`: whole records only, but no `run_end`: the run goes on, or its launcher died.
   * - `broken`: see `damage`.
   */
  readonly verdict: "authentic" | "consistent" | "unfinished" | "broken";
  /** How many records are whole and in order, up to the first damage. */
  readonly records: number;
  /** Hash of the last of them. */
  readonly head: string;
  /** Run id of the first record; `null` where there is none. */
  readonly run_id: string | null;
  /** Whether the last of them is a `run_end`. */
  readonly finished: boolean;
  /** The first bad record; `null` unless `broken`. */
  readonly damage: Damage | null;
  /** Calls that have a `tool_call` but no outcome, in the order they started; at most 1,000. */
  readonly in_flight: readonly InFlight[];
}

/**
 * Checks a log: every hash, that each record names the one before, the numbers, the run. In one pass, in constant
 * memory, whatever the file holds.
 *
 * @param options `head`: the hash that the run printed at its end, 64 hexadecimal digits.
 * @throws {InputError} If the file cannot be read.
 * @throws {UsageError} If `head` is not a hash.
 */
export async function verifyAudit(path: string, options: { head?: string } = {}): Promise<Verdict> {
  const head = options.head?.toLowerCase();
  if (head !== undefined && !/^[0-9a-f]{64}$/.test(head)) {
    throw new UsageError("audit_head", "Cannot verify the log: a head is 64 hexadecimal digits");
  }
  const check = new ChainCheck(new GrowingSha256().digest, head);
  for await (const block of readBlocks(path)) {
    if (!check.take(block)) break;
  }
  return verdictOf(check, head);
}

function verdictOf(check: ChainCheck, head: string | undefined): Verdict {
  const damage = check.end() ?? (head === undefined ? null : headDamage(check, head));
  const whole = head === undefined ? (check.finished ? "consistent" : "unfinished") : "authentic";
  return {
    verdict: damage === null ? whole : "broken",
    records: check.records,
    head: check.head,
    run_id: check.runId,
    finished: check.finished,
    damage,
    in_flight: check.inFlight,
  };
}

/** What it means that a chain which is whole does not end in the head that was noted. */
function headDamage(check: ChainCheck, head: string): Damage | null {
  if (check.head === head) return null;
  const at = { line: check.lines + 1, seq: check.records + 1, offset: check.offset };
  if (check.headSeq !== null) {
    const more = check.records - check.headSeq;
    return { ...at, kind: "wrong_head", detail: `the head is that of record ${check.headSeq}; ${more} follow it` };
  }
  if (!check.finished) {
    return { ...at, kind: "truncation", detail: "the log ends before the record that the head names" };
  }
  return { ...at, kind: "wrong_head", detail: "no record has this head: the log was rewritten, or is of another run" };
}

const TYPES: ReadonlySet<string> = new Set([...HOST_RECORD_TYPES, ...LAUNCHER_RECORD_TYPES]);

/**
 * Reads the records of a log in order, one at a time. Checks the form of each, not the chain: that is
 * {@linkcode verifyAudit}. Skips blank lines; leaves out what stands behind the last newline, which a run that was
 * killed may have left half written.
 *
 * @throws {InputError} If the file cannot be read.
 * @throws {DataError} At the first line that is not a record, with its number.
 */
export async function* readRecords(path: string): AsyncGenerator<Record> {
  // Fatal: a replaced character would hide that bytes are wrong. A byte order mark is not JSON and is not ours.
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let line = 0;
  for await (const { bytes, kind } of readBlocks(path)) {
    if (kind === "overlong") throw notARecord(path, line + 1, "it is longer than any record");
    if (kind === "tail") return;
    for (let from = 0; from < bytes.length;) {
      const to = bytes.indexOf(0x0a, from);
      line++;
      const record = parseRecord(decoder, bytes.subarray(from, to));
      if (typeof record === "string") throw notARecord(path, line, record);
      if (record !== undefined) yield record;
      from = to + 1;
    }
  }
}

/** Parses one line; a text says what is wrong with it, `undefined` that it is blank. */
function parseRecord(decoder: TextDecoder, bytes: Uint8Array): Record | string | undefined {
  let text: string;
  let value: Json;
  try {
    text = decoder.decode(bytes);
    if (text.trim() === "") return undefined;
    value = JSON.parse(text) as Json;
  } catch (cause) {
    return cause instanceof SyntaxError ? "it is not JSON" : "it is not UTF-8";
  }
  if (!isJsonObject(value)) return "it is not an object";
  const { seq, at_ms, run_id, type, prev, hash } = value;
  if (typeof type !== "string" || !TYPES.has(type)) return "it has no known type";
  if (typeof prev !== "string" || typeof hash !== "string") return "it has no place in a chain";
  // The envelope stands where the launcher puts it: a second `type` further on must not win over the first.
  const start = `{"seq":${String(seq)},"at_ms":${String(at_ms)},"run_id":"${String(run_id)}","type":"${type}"`;
  if (typeof seq !== "number" || typeof at_ms !== "number" || typeof run_id !== "string" || !text.startsWith(start)) {
    return "it does not start with its number, time, run and type";
  }
  return value as unknown as Record;
}

function notARecord(path: string, line: number, what: string): DataError {
  return new DataError("audit_not_a_record", `Cannot read the audit log at line ${line}: ${what}`, {
    position: { file: path, line, column: 1 },
    fix: "Run `twokey audit verify` on it: it names what was done to the file",
  });
}
