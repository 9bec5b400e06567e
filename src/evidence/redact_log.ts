/**
 * Copies a log with secrets removed once more, as a chain of its own.
 *
 * A record in which nothing has to be replaced comes out as it is, byte for byte, as long as no record before it was
 * changed: where nothing is replaced at all, the copy is the original, with the same head.
 *
 * @module
 */
import { readRecords, type Verdict } from "../audit/reader.ts";
import type { Redactor } from "../audit/redact.ts";
import { mapTexts, scrubPatterns } from "../audit/secret_patterns.ts";
import { loadFastSha256 } from "../audit/sha256.ts";
import { AuditWriter, MAX_BODY_BYTES } from "../audit/writer.ts";
import { AuditError, DataError } from "../errors.ts";
import { type Json, utf8Length } from "../json.ts";

/** Records that are written at once. */
const BATCH = 500;

/** A copy that was made. */
export interface RedactedLog {
  /** Hash of the copy's last record. */
  readonly head: string;
  readonly records: number;
  /** Records in which something was replaced. */
  readonly changed: number;
}

/** What is copied. */
export interface RedactLogOptions {
  /** Path of the original. */
  readonly from: string;
  /** Path of the copy, which must not exist. */
  readonly to: string;
  /** What checking the original found; only whole records are copied. */
  readonly verdict: Verdict;
  readonly redactor: Redactor;
}

/** Removes secrets from a value: by field name, by known value, by form. */
export function redactValue(value: Json, redactor: Redactor): Json {
  return mapTexts(redactor.redact(value), scrubPatterns);
}

/**
 * Copies a log.
 *
 * @throws {DataError} If the original is not what it was when it was checked.
 * @throws {AuditError} If the copy cannot be written.
 */
export async function redactLog({ from, to, verdict, redactor }: RedactLogOptions): Promise<RedactedLog> {
  let atMs = 0;
  let changed = 0;
  let last = "";
  let left = verdict.records;
  const texts: string[] = [];
  using writer = AuditWriter.create(to, {
    runId: verdict.run_id ?? "",
    now: () => atMs,
    sha256: await loadFastSha256(),
  });
  const flush = () => writer.append(texts.splice(0));
  if (left > 0) {
    for await (const record of readRecords(from)) {
      const { seq: _, at_ms, run_id: __, prev: ___, hash, ...body } = record;
      if (at_ms !== atMs || texts.length >= BATCH) flush();
      atMs = at_ms;
      last = hash;
      const { type, ...fields } = body;
      const clean = redactValue(fields, redactor);
      if (clean !== fields) changed++;
      const text = JSON.stringify({ type, ...clean as Record<string, Json> });
      if (utf8Length(text) > MAX_BODY_BYTES) throw new AuditError("audit_body_size", "Cannot copy a record: it grew");
      texts.push(text);
      if (--left === 0) break;
    }
  }
  flush();
  writer.sync();
  if (last !== verdict.head || left > 0) {
    throw new DataError("evidence_moved", "Cannot bundle the log: it changed meanwhile", { fix: "Try again" });
  }
  return { head: writer.head, records: writer.seq, changed };
}
