/**
 * The recording of a run: what its agent asked and what it received, in order, so that it can be run again without
 * anything else. One JSON object a line, in a file beside the log. Its lines are chained, and the log holds the
 * chain's head where it matters: in `authority_check`, in the record of each call's outcome, and in `run_end`.
 *
 * @module
 */
import type { Json } from "../json.ts";
import { GENESIS } from "./record.ts";
import type { Sha256 } from "./sha256.ts";

/** Name of the recording in the folder of a run. */
export const RECORDING_FILE = "recording.jsonl";

/** Version of the form that this program writes and reads. */
export const RECORDING_VERSION = 1;

/** Bytes of a recording, at most: it is held in memory as a whole to be verified before any of it is used. */
export const MAX_RECORDING_BYTES = 256 * 1024 * 1024;

/** Bytes of one line, at most, its newline left out. */
export const MAX_ENTRY_BYTES = 28 * 1024 * 1024;

/** Field of the log's records that holds the head of the recording as it was then. */
export const RECEIVED_FIELD = "received_sha256";

/** The first line: what the agent was given before its own first line. */
export interface RecordingHeader {
  readonly op: "header";
  readonly version: number;
  /** What the agent sees as `context`. */
  readonly context: Json;
  /** What `auditControls()` returns. */
  readonly controls: Json;
  /** What the policy expects of events: by kind `min`, and where it has them `max` and the JSON Schema `schema`. */
  readonly expect: Json;
  /** Names of fields that the log of a rerun must not show either. */
  readonly redact: readonly string[];
  /** Set where a secret was taken out. */
  readonly scrubbed?: true;
}

/** What an agent can ask of its host. */
export const ASKED = ["call", "emit", "note", "state", "controls", "close", "closed", "timer", "untimer"] as const;

/** One line of the agent: what it was, for people, and a digest of all of it, for comparing. */
export interface AskedEntry {
  readonly op: "asked";
  readonly what: typeof ASKED[number];
  /** What its answer is named by; absent where none is due. */
  readonly id?: number;
  /** Name of the tool, the key or the operation, cut and scrubbed. */
  readonly name?: string;
  /** SHA-256 over the canonical JSON of the whole line, scrubbed. */
  readonly sha256: string;
}

/** One answer that the agent received. */
export interface AnswerEntry {
  readonly op: "answer";
  readonly id: number;
  /** What the clock of the agent was set to, in milliseconds since the Unix epoch. */
  readonly t: number;
  /** Set where the log has a record of this outcome: it holds the head that this line makes. */
  readonly call_id?: string;
  /** Set where the call was refused or failed: `value` is `{ outcome, code, message }` then. */
  readonly failed?: true;
  /** Set where a secret was taken out: a rerun is given something else than the agent was. */
  readonly scrubbed?: true;
  readonly value: Json;
}

/** How the agent's side ended. A run that was ended from outside has none. */
export interface EndEntry {
  readonly op: "end";
  readonly status: "ok" | "error";
  readonly reason: string;
  /** SHA-256 over the canonical JSON of status, reason, error and value, scrubbed. */
  readonly sha256: string;
}

/** One line behind the first. */
export type RecordingEntry = AskedEntry | AnswerEntry | EndEntry;

/** The chain over the lines of a recording. */
export class RecordingChain {
  readonly #sha256: Sha256;
  #head = GENESIS;
  #entries = 0;
  #bytes = 0;

  constructor(sha256: Sha256) {
    this.#sha256 = sha256;
  }

  /** SHA-256 over the head before the last line, as hexadecimal digits, and that line; 64 zeros before the first. */
  get head(): string {
    return this.#head;
  }

  /** Lines so far, the first included. */
  get entries(): number {
    return this.#entries;
  }

  /** Bytes of the lines so far, newlines included. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds one line. @param line UTF-8 bytes without the newline. */
  add(line: Uint8Array): void {
    const chained = new Uint8Array(this.#head.length + line.length);
    for (let i = 0; i < this.#head.length; i++) chained[i] = this.#head.charCodeAt(i);
    chained.set(line, this.#head.length);
    this.#head = this.#sha256(chained);
    this.#entries++;
    this.#bytes += line.length + 1;
  }
}
