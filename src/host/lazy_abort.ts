/**
 * Aborting what may never ask whether it was.
 *
 * @module
 */

/** An abort controller that exists only if somebody asks for its signal. */
export class LazyAbort {
  #controller: AbortController | undefined;
  #reason: string | undefined;

  /** The signal; made when it is first asked for. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(new Error(this.#reason));
    }
    return this.#controller.signal;
  }

  /** Aborts, for a reason that whoever listens is given as an error. */
  abort(reason: string): void {
    this.#reason = reason;
    this.#controller?.abort(new Error(reason));
  }
}
