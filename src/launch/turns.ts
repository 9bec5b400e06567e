/**
 * Lets one thing at a time have a person's attention.
 *
 * @module
 */

/** A line in which everybody who wants to ask a person waits. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Does something once everything before it is done, however that ended. */
  next<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(act);
    this.#last = turn.catch(() => {});
    return turn;
  }
}
