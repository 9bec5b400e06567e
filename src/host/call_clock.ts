/**
 * The deadline of one call. It stands still while a person thinks: their time is not the tool's.
 *
 * @module
 */
import type { Deadlines } from "./deadlines.ts";

/** Ends a call that takes too long. */
export class CallClock {
  readonly #deadlines: Deadlines;
  readonly #now: () => number;
  #deadlineMs: number;
  #expire: (() => void) | undefined;
  #takeBack: (() => void) | undefined;
  #pauses = 0;
  #pausedAtMs = 0;

  /** @param options `deadlineMs` is in milliseconds since the Unix epoch, by the same clock as `now`. */
  constructor(
    { deadlines, now, deadlineMs }: { readonly deadlines: Deadlines; now(): number; readonly deadlineMs: number },
  ) {
    this.#deadlines = deadlines;
    this.#now = now;
    this.#deadlineMs = deadlineMs;
  }

  /** When the call is over, in milliseconds since the Unix epoch; later after each pause. */
  get deadlineMs(): number {
    return this.#deadlineMs;
  }

  /** Calls `expire` once at the deadline. */
  start(expire: () => void): void {
    this.#expire = expire;
    if (this.#pauses === 0) this.#arm();
  }

  /** The call has ended. */
  stop(): void {
    this.#expire = undefined;
    this.#takeBack?.();
  }

  /** Does something that takes a person's time. The time of several at once counts once. */
  async outside<T>(work: () => Promise<T>): Promise<T> {
    if (this.#pauses++ === 0) {
      this.#takeBack?.();
      this.#pausedAtMs = this.#now();
    }
    try {
      return await work();
    } finally {
      if (--this.#pauses === 0) {
        this.#deadlineMs += Math.max(0, this.#now() - this.#pausedAtMs);
        if (this.#expire !== undefined) this.#arm();
      }
    }
  }

  #arm(): void {
    this.#takeBack = this.#deadlines.add(this.#deadlineMs, () => this.#expire?.());
  }
}
