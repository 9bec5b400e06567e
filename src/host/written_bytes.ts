/**
 * The budget `artifactBytes`: what all tools of a run write together.
 *
 * @module
 */
import { BudgetError } from "../errors.ts";

/** Counts the bytes of written files. */
export class WrittenBytes {
  readonly #limit: number;
  #written = 0;

  /** `limit` is in bytes, inclusive. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * Counts a file before it is written: of two that are written at the same time only those that fit are.
   *
   * @throws {BudgetError} `artifact_bytes` if it does not fit. `what` names the file for the agent.
   */
  reserve(bytes: number, what: string): void {
    const attempted = this.#written + bytes;
    if (attempted > this.#limit) {
      throw new BudgetError(
        "artifact_bytes",
        `Cannot write ${what}: the files of this run would have ${attempted} bytes, the budget is ${this.#limit}`,
        { limit: this.#limit, attempted },
      );
    }
    this.#written = attempted;
  }

  /** Gives back what was reserved for a file that was not written. */
  release(bytes: number): void {
    this.#written -= bytes;
  }
}
