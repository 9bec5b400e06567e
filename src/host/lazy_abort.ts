/**
 * An abort signal that costs nothing until somebody asks for it.
 *
 * @module
 */

/** An abort controller that exists only if somebody asks for its signal. */
export class LazyAbort {
  #controller: AbortController | undefined;
  #reason: string | undefined;

  /** The signal; aborted already where that came before anybody asked. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(new Error(this.#reason));
    }
    return this.#controller.signal;
  }

  /** Aborts the signal. @param reason Its message. */
  abort(reason: string): void {
    this.#reason = reason;
    this.#controller?.abort(new Error(reason));
  }
}
