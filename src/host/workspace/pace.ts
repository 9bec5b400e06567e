/**
 * Gives the rest of the host its turn while a look over many files goes on, and says when its time is up.
 *
 * @module
 */
import type { CallContext, RunContext } from "../context.ts";

/** Milliseconds that a look works without giving others their turn. */
const TURN_MS = 50;

/** The share of a call's time that is kept for its result. */
const RESERVE = 0.1;

/** The pace of one call. */
export class Pace {
  readonly #run: RunContext;
  readonly #call: CallContext;
  readonly #stopMs: number;
  #turnMs: number;

  constructor(run: RunContext, call: CallContext) {
    this.#run = run;
    this.#call = call;
    const now = run.now();
    this.#stopMs = call.deadlineMs - (call.deadlineMs - now) * RESERVE;
    this.#turnMs = now + TURN_MS;
  }

  /** Whether it is somebody else's turn. */
  get isDue(): boolean {
    return this.#run.now() >= this.#turnMs;
  }

  /** Whether the call should end with what it has. */
  get isOver(): boolean {
    return this.#run.now() >= this.#stopMs;
  }

  /** Lets others have their turn. Rejects when the call has ended. */
  async turn(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 0));
    this.#call.signal.throwIfAborted();
    this.#turnMs = this.#run.now() + TURN_MS;
  }
}
