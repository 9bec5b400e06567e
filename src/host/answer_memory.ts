/**
 * Answers kept in memory for the length of a run.
 *
 * @module
 */
import type { RawReply } from "../plan/raw_reply.ts";

/** UTF-8 bytes of all bodies kept, at most: a share of the host's heap that no run of real size needs more than. */
const MAX_BYTES = 64 * 1_024 * 1_024;

/** An answer and where it came from. */
export interface KeptAnswer {
  readonly raw: RawReply;
  /** The transport that brought it into this run. */
  readonly origin: "pinned_https" | "persistent_cache" | "fixture";
  /** When the service gave it, in milliseconds since the Unix epoch. */
  readonly storedMs: number;
}

/** Keeps the answers that were used last, within a fixed number of bytes. */
export class AnswerMemory {
  readonly #byKey = new Map<string, KeptAnswer>();
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number = MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** Finds an answer and marks it as used last. */
  get(key: string): KeptAnswer | undefined {
    const kept = this.#byKey.get(key);
    if (kept === undefined) return undefined;
    this.#byKey.delete(key);
    this.#byKey.set(key, kept);
    return kept;
  }

  /** Keeps an answer; those used longest ago make room. One that is larger than the whole memory is not kept. */
  set(key: string, answer: KeptAnswer): void {
    this.delete(key);
    if (answer.raw.bytes > this.#maxBytes) return;
    this.#byKey.set(key, answer);
    this.#bytes += answer.raw.bytes;
    for (const oldest of this.#byKey.keys()) {
      if (this.#bytes <= this.#maxBytes) break;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    const kept = this.#byKey.get(key);
    if (kept === undefined) return;
    this.#byKey.delete(key);
    this.#bytes -= kept.raw.bytes;
  }
}
