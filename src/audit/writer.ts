/**
 * The writer of the audit log: numbers, chains and appends records. Only the launcher uses it.
 *
 * @module
 */
import { AuditError } from "../errors.ts";
import { type Json, type JsonObject, nestsDeeper, utf8Length } from "../json.ts";
import { GENESIS, HOST_RECORD_TYPES, type RecordBody, RESERVED_FIELDS } from "./record.ts";

/** Bytes of one record body, at most; a longer one is refused, and a longer line is not read back. */
export const MAX_BODY_BYTES = 16 * 1024 * 1024;

/** Levels of objects and arrays in one record body, at most; the body itself is the first. */
export const MAX_BODY_DEPTH = 128;

/** What a run id may be: it names a folder and stands unescaped in every line. */
export const RUN_ID_REGEXP = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;

/** What the writer is given, so that it needs no clock and no hash of its own. */
export interface AuditWriterOptions {
  /** Fits {@linkcode RUN_ID_REGEXP}. */
  readonly runId: string;
  /** Milliseconds since the Unix epoch. Where the clock steps back, `at_ms` stays what it was. */
  now(): number;
  /** SHA-256 as 64 lower-case hexadecimal digits; of a text, over its UTF-8 bytes. */
  sha256(data: Uint8Array<ArrayBuffer> | string): string;
}

const ENCODER = new TextEncoder();

/** A batch buffer beyond this size is given back after the write. */
const KEPT_BUFFER_BYTES = 1024 * 1024;

/** `,"hash":"`, 64 digits, `"}` and a newline. */
const TAIL_BYTES = 9 + 64 + 3;

/** `{"seq":`, `,"at_ms":`, `,"run_id":"`, `",`, `,"prev":"…"`, a run id and two safe integers. */
const ENVELOPE_BYTES = 300;

/**
 * An open audit log. Synchronous: when `append` returns, the kernel has the bytes; when `sync` returns, the disk has.
 *
 * The first failure is final. A log that may end in a torn line must not grow: the next line would be glued to it.
 */
export class AuditWriter {
  readonly #file: Deno.FsFile;
  readonly #options: AuditWriterOptions;
  #buffer: Uint8Array<ArrayBuffer> = new Uint8Array(64 * 1024);
  #head = GENESIS;
  #seq = 0;
  #bytes = 0;
  #atMs = 0;
  #state: "open" | "failed" | "closed" = "open";

  private constructor(file: Deno.FsFile, options: AuditWriterOptions) {
    this.#file = file;
    this.#options = options;
  }

  /**
   * Creates the log of one run, readable by its owner alone. The folder must exist.
   *
   * @throws {AuditError} If the run id is not one, or the file exists or cannot be created.
   */
  static create(path: string, options: AuditWriterOptions): AuditWriter {
    if (!RUN_ID_REGEXP.test(options.runId)) {
      throw new AuditError("audit_run_id", "Cannot create the audit log: a run id is letters, digits and . _ : -");
    }
    try {
      // Append mode: even where something else moves the end of the file, a write never lands on an earlier record.
      const file = Deno.openSync(path, { append: true, createNew: true, mode: 0o600 });
      return new AuditWriter(file, options);
    } catch (cause) {
      const what = cause instanceof Deno.errors.AlreadyExists
        ? "it exists, and a log belongs to one run"
        : "the system refused";
      throw new AuditError("audit_not_created", `Cannot create the audit log: ${what}`, { cause });
    }
  }

  /** Hash of the last record, {@linkcode GENESIS} before the first. */
  get head(): string {
    return this.#head;
  }

  /** Number of the last record, which is also how many there are; the first is 1. */
  get seq(): number {
    return this.#seq;
  }

  /** Bytes of every record so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Appends records with one write.
   *
   * @param bodies The text of one body each, as {@linkcode checkBody} accepts it. The launcher's own bodies are
   * `JSON.stringify` of an object whose first field is `type`.
   * @throws {AuditError} If a body has the wrong form, or the write fails; every later `append` throws as well.
   */
  append(bodies: readonly string[]): void {
    this.#assertOpen();
    if (bodies.length === 0) return;
    try {
      this.#append(bodies);
    } catch (cause) {
      this.#state = "failed";
      if (cause instanceof AuditError) throw cause;
      throw new AuditError("audit_write_failed", "Cannot write the audit log: the system refused", { cause });
    }
  }

  #append(bodies: readonly string[]): void {
    const { runId, now, sha256 } = this.#options;
    const atMs = Math.max(this.#atMs, Math.floor(now()));
    if (!Number.isSafeInteger(atMs)) throw new AuditError("audit_clock", "Cannot write the audit log: the clock fails");
    const start = `,"at_ms":${atMs},"run_id":"${runId}",`;
    let head = this.#head;
    let seq = this.#seq;
    let end = 0;
    for (const body of bodies) {
      // These three keep a bad body from breaking the form of the line; what is inside is for `checkBody`.
      if (!body.startsWith('{"type":"') || !body.endsWith("}") || body.includes("\n")) {
        throw new AuditError("audit_body_form", 'Cannot write a record: its text must be one line, {"type":"…",…}');
      }
      seq++;
      const text = `{"seq":${seq}${start}${body.slice(1, -1)},"prev":"${head}"`;
      this.#reserve(end, text.length * 3 + TAIL_BYTES);
      const from = end;
      end += ENCODER.encodeInto(text, this.#buffer.subarray(from)).written;
      if (end - from > MAX_BODY_BYTES + ENVELOPE_BYTES) {
        throw new AuditError("audit_body_size", `Cannot write a record: it is over ${MAX_BODY_BYTES} bytes`);
      }
      // Over the very bytes that are written: no second encoding can differ from the first.
      head = sha256(this.#buffer.subarray(from, end));
      if (head.length !== 64) throw new AuditError("audit_hash", "Cannot write a record: the hash fails");
      end += ENCODER.encodeInto(`,"hash":"${head}"}\n`, this.#buffer.subarray(end)).written;
    }
    for (let done = 0; done < end;) {
      const written = this.#file.writeSync(this.#buffer.subarray(done, end));
      if (written === 0) throw new AuditError("audit_write_failed", "Cannot write the audit log: nothing was taken");
      done += written;
    }
    this.#head = head;
    this.#seq = seq;
    this.#bytes += end;
    this.#atMs = atMs;
    if (this.#buffer.length > KEPT_BUFFER_BYTES) this.#buffer = new Uint8Array(64 * 1024);
  }

  /** Grows the buffer so that `more` bytes fit behind the first `used`. */
  #reserve(used: number, more: number): void {
    if (used + more <= this.#buffer.length) return;
    const grown = new Uint8Array(Math.max(used + more, this.#buffer.length * 2));
    grown.set(this.#buffer.subarray(0, used));
    this.#buffer = grown;
  }

  /**
   * Waits until the disk has every record.
   *
   * @throws {AuditError} If it cannot be made sure; every later `append` throws as well.
   */
  sync(): void {
    this.#assertOpen();
    try {
      this.#file.syncDataSync();
    } catch (cause) {
      // After a failed sync the kernel may have dropped the pages: a second try that succeeds would prove nothing.
      this.#state = "failed";
      throw new AuditError("audit_sync_failed", "Cannot bring the audit log to disk: the system refused", { cause });
    }
  }

  /** Closes the file; a second call does nothing. */
  close(): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#file.close();
  }

  /** Closes the file at the end of a `using` block. */
  [Symbol.dispose](): void {
    this.close();
  }

  #assertOpen(): void {
    if (this.#state === "open") return;
    const why = this.#state === "failed" ? "an earlier write failed" : "it is closed";
    throw new AuditError("audit_not_open", `Cannot write the audit log: ${why}`);
  }
}

const HOST_TYPES: ReadonlySet<string> = new Set(HOST_RECORD_TYPES);

/**
 * Checks the text of a record that the host sent. The host runs tools, so the launcher believes nothing of it: not the
 * type (only the launcher says when a run started and ended), not the number, not the form.
 *
 * The text must be what `JSON.stringify` prints, with `type` first. That leaves one reading of it: no key stands
 * twice, none is spelled with escapes, no white space, no second line.
 *
 * @returns The parsed body.
 * @throws {AuditError} If the text is anything else, is over {@linkcode MAX_BODY_BYTES} or {@linkcode MAX_BODY_DEPTH}.
 */
export function checkBody(text: string): RecordBody {
  if (text.length > MAX_BODY_BYTES || (text.length * 3 > MAX_BODY_BYTES && utf8Length(text) > MAX_BODY_BYTES)) {
    throw new AuditError("audit_body_size", `Cannot take a record: it is over ${MAX_BODY_BYTES} bytes`);
  }
  if (!text.startsWith('{"type":"')) {
    throw new AuditError("audit_body_form", 'Cannot take a record: its text must start with {"type":"');
  }
  if (!bracketsAtMost(text, MAX_BODY_DEPTH) && nestsDeeper(text, MAX_BODY_DEPTH)) {
    throw new AuditError("audit_body_depth", `Cannot take a record: it is nested over ${MAX_BODY_DEPTH} levels`);
  }
  const body = parseObject(text);
  const type = body.type;
  if (typeof type !== "string" || !HOST_TYPES.has(type)) {
    throw new AuditError("audit_body_type", "Cannot take a record: the host may not write records of its type");
  }
  for (const field of RESERVED_FIELDS) {
    if (Object.hasOwn(body, field)) {
      throw new AuditError("audit_body_reserved", `Cannot take a record: "${field}" is the launcher's to write`);
    }
  }
  return body as RecordBody;
}

/** Parses a text that starts like an object, and compares it with its own printed form. */
function parseObject(text: string): JsonObject {
  let body: Json;
  try {
    body = JSON.parse(text) as Json;
  } catch (cause) {
    throw new AuditError("audit_body_json", "Cannot take a record: its text is not JSON", { cause });
  }
  if (JSON.stringify(body) !== text) {
    throw new AuditError("audit_body_form", "Cannot take a record: its text must be as JSON.stringify prints it");
  }
  return body as JsonObject;
}

/** Whether a text holds at most `limit` opening brackets: then nothing in it is nested deeper. */
function bracketsAtMost(text: string, limit: number): boolean {
  let count = 0;
  for (const bracket of ["{", "["]) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      if (++count > limit) return false;
    }
  }
  return true;
}
