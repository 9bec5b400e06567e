/**
 * The pace at which the launcher reads records. Reading each one as it comes wakes a thread for every record; while
 * many come and nobody waits for an answer, it is cheaper to let some gather in the pipe and take them together.
 *
 * @module
 */

/** Milliseconds that records may gather; timers of the runtime are late by up to another one. */
export const GATHER_MS = 1;
/** Bytes that may gather until a late timer fires: well below what a pipe holds, so that the host is not held up. */
const GATHER_BYTES = 48 * 1024;
const LATE_MS = 2.5;
/** Reads in a row without anybody waiting, before records are let gather. */
const QUIET_READS = 32;
/** Bytes in a millisecond below which there is nothing to gain: about three records. */
const BUSY_BYTES = 1000;

/** Decides after each read whether the next one should wait. */
export class Pace {
  #quietReads = 0;
  #lastMs: number;

  /** @param nowMs A monotonic clock's reading. */
  constructor(nowMs: number) {
    this.#lastMs = nowMs;
  }

  /**
   * Takes note of a read.
   *
   * @param read.urgent Whether somebody waits for an answer to anything in it; then the next reads do not wait.
   * @returns Whether records should gather for {@linkcode GATHER_MS} before the next read.
   */
  shouldGather(read: { readonly bytes: number; readonly urgent: boolean; readonly nowMs: number }): boolean {
    const elapsed = Math.max(read.nowMs - this.#lastMs, 0.001);
    this.#lastMs = read.nowMs;
    this.#quietReads = read.urgent ? 0 : this.#quietReads + 1;
    const rate = read.bytes / elapsed;
    return this.#quietReads >= QUIET_READS && rate >= BUSY_BYTES && rate * LATE_MS <= GATHER_BYTES;
  }
}
