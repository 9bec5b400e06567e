/**
 * The timers that the host keeps for an agent whose run has one order: an agent left alone with its timers has no use
 * for the host.
 *
 * @module
 */

/** Timers that run at once, at most, and the longest of them: what the agent's side allows. */
const MAX_TIMERS = 10_000;
const MAX_TIMER_MS = 2_147_483_647;

/** Timers by the ids that the agent gave them. */
export class AgentTimers {
  readonly #running = new Map<number, ReturnType<typeof setTimeout>>();
  readonly #fault: (error: unknown) => void;

  /** @param fault Hears what a timer that came due has thrown: the run must stop. */
  constructor(fault: (error: unknown) => void) {
    this.#fault = fault;
  }

  /** How many are running. */
  get size(): number {
    return this.#running.size;
  }

  /** Starts one. Returns whether it may be: `ms` is the agent's word. */
  start(id: number, ms: unknown, due: () => void): boolean {
    if (typeof ms !== "number" || !(ms >= 0 && ms <= MAX_TIMER_MS) || this.#running.size >= MAX_TIMERS) return false;
    const fire = () => {
      this.#running.delete(id);
      try {
        due();
      } catch (error) {
        this.#fault(error);
      }
    };
    this.#running.set(id, setTimeout(fire, ms));
    return true;
  }

  /** Stops one, if it is running. Always `true`: one that came due meanwhile is no fault. */
  stop(id: number): true {
    clearTimeout(this.#running.get(id));
    this.#running.delete(id);
    return true;
  }

  /** Stops all. */
  clear(): void {
    for (const timer of this.#running.values()) clearTimeout(timer);
    this.#running.clear();
  }
}
