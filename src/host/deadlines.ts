/**
 * Deadlines of many calls on one timer: arming a timer for each call would cost more than most calls.
 *
 * @module
 */

/** Calls for which loading the runtime's timers is put off: it takes longer than a short run's calls together. */
const COLD_CALLS = 16;
/** Turns of the microtask queue in which a call ends that waits for nothing outside. */
const TURNS = 50;

/** A set of deadlines. Entries are few (at most the parallel calls), so a scan is cheaper than an ordered queue. */
export class Deadlines {
  readonly #entries = new Set<{ readonly atMs: number; readonly expire: () => void }>();
  readonly #now: () => number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #armedForMs = Infinity;
  #coldCalls = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Calls `expire` once at `atMs`, unless the returned function is called first. */
  add(atMs: number, expire: () => void): () => void {
    const entry = { atMs, expire };
    this.#entries.add(entry);
    if (atMs < this.#armedForMs) {
      if (this.#coldCalls < COLD_CALLS) this.#armIfPending();
      else this.#arm(atMs);
    }
    return () => {
      this.#entries.delete(entry);
    };
  }

  /** Arms a timer only if something is still there once every call that needs no event has ended. */
  async #armIfPending(): Promise<void> {
    this.#coldCalls++;
    for (let turn = 0; turn < TURNS && this.#entries.size > 0; turn++) await undefined;
    if (this.#entries.size === 0 || this.#timer !== undefined) return;
    this.#coldCalls = COLD_CALLS;
    this.#fire();
  }

  #arm(atMs: number): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#armedForMs = atMs;
    this.#timer = setTimeout(() => this.#fire(), Math.max(0, atMs - this.#now()));
  }

  #fire(): void {
    this.#timer = undefined;
    this.#armedForMs = Infinity;
    const now = this.#now();
    let next = Infinity;
    for (const entry of this.#entries) {
      if (entry.atMs <= now) {
        this.#entries.delete(entry);
        entry.expire();
      } else if (entry.atMs < next) next = entry.atMs;
    }
    if (next < Infinity) this.#arm(next);
  }
}
