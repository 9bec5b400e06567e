/** An abort controller that exists only if somebody asks for its signal. */
export class LazyAbort {
  #controller: AbortController | undefined;
  #reason: string | undefined;

  /** Aborted as soon as {@linkcode LazyAbort.abort} was called, also where it is asked for afterwards. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(new Error(this.#reason));
    }
    return this.#controller.signal;
  }

  /** Aborts with an error of that message. */
  abort(reason: string): void {
    this.#reason = reason;
    this.#controller?.abort(new Error(reason));
  }
}
