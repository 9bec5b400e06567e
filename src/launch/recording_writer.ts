/**
 * Writes the recording of a run: only the launcher does, as with the log.
 *
 * @module
 */
import { MAX_ENTRY_BYTES, MAX_RECORDING_BYTES, RECEIVED_FIELD, RecordingChain } from "../audit/recording.ts";
import type { RecordBody } from "../audit/record.ts";
import type { Sha256 } from "../audit/sha256.ts";
import { AuditError } from "../errors.ts";
import type { JsonObject } from "../json.ts";

const ENCODER = new TextEncoder();
const NEWLINE = new Uint8Array([10]);

/** An open recording. Its first failure is final: without what it should hold, the run must not go on. */
export class RecordingWriter {
  readonly #file: Deno.FsFile;
  readonly #chain: RecordingChain;
  #open = true;

  private constructor(file: Deno.FsFile, sha256: Sha256) {
    this.#file = file;
    this.#chain = new RecordingChain(sha256);
  }

  /**
   * Creates the recording of one run, readable by its owner alone. The folder must exist.
   *
   * @throws {AuditError} If it exists or cannot be created.
   */
  static create(path: string, sha256: Sha256): RecordingWriter {
    try {
      return new RecordingWriter(Deno.openSync(path, { append: true, createNew: true, mode: 0o600 }), sha256);
    } catch (cause) {
      throw new AuditError("recording_not_created", "Cannot create the recording: the system refused", { cause });
    }
  }

  /** What `run_end` says of it: whoever holds the log's head can tell that not one line was changed. */
  get summary(): JsonObject {
    return { entries: this.#chain.entries, bytes: this.#chain.bytes, sha256: this.#chain.head };
  }

  /**
   * Appends one line of the host.
   *
   * @throws {AuditError} If it is too long, the recording is full, or the write fails; every later one throws as well.
   */
  append(line: string): void {
    if (!this.#open) throw new AuditError("recording_not_open", "Cannot write the recording: an earlier write failed");
    this.#open = false;
    const bytes = ENCODER.encode(line);
    if (bytes.length > MAX_ENTRY_BYTES || this.#chain.bytes + bytes.length + 1 > MAX_RECORDING_BYTES) {
      throw new AuditError(
        "recording_size",
        `Cannot write the recording: it would be over ${MAX_RECORDING_BYTES} bytes, or one line over ${MAX_ENTRY_BYTES}`,
      );
    }
    try {
      for (const part of [bytes, NEWLINE]) {
        for (let at = 0; at < part.length;) {
          const written = this.#file.writeSync(part.subarray(at));
          if (written === 0) throw new Error("nothing was taken");
          at += written;
        }
      }
    } catch (cause) {
      throw new AuditError("recording_write_failed", "Cannot write the recording: the system refused", { cause });
    }
    this.#chain.add(bytes);
    this.#open = true;
  }

  /** Refuses a record that names another head than the recording has: the host must have written what it tells of. */
  check(body: RecordBody): void {
    const received = body[RECEIVED_FIELD];
    if (received === undefined || received === this.#chain.head) return;
    throw new AuditError("recording_head", "Cannot take a record: it names a recording that was not written");
  }

  /** Waits until the disk has every line. @throws {AuditError} If it cannot be made sure. */
  sync(): void {
    try {
      this.#file.syncDataSync();
    } catch (cause) {
      throw new AuditError("recording_sync_failed", "Cannot bring the recording to disk: the system refused", {
        cause,
      });
    }
  }

  /** Closes the file. */
  close(): void {
    this.#open = false;
    this.#file.close();
  }
}
