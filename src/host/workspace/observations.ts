/**
 * What the agent of a run was shown of the files of its workspace: the digest that a later write is held to.
 *
 * @module
 */

/** What was seen of one file. */
export interface Observation {
  /** 64 hexadecimal digits of the whole file's SHA-256, however much of it was shown; `null`: nothing stood there. */
  readonly sha256: string | null;
  /** Whether the agent was shown the whole file, as opposed to some of its lines. */
  readonly complete: boolean;
}

/** Files kept in mind, at most. */
const MAX_OBSERVATIONS = 100_000;

/** The observations of one run, by canonical path. What one run saw says nothing to another. */
export class Observations {
  readonly #seen = new Map<string, Observation>();

  /** What was last seen at a canonical path. */
  get(canonical: string): Observation | undefined {
    return this.#seen.get(canonical);
  }

  /**
   * Keeps what was seen. Lines shown one part after the other never add up to a whole file, but a part of a file that
   * was shown whole, and has not changed since, takes nothing back.
   */
  set(canonical: string, { sha256, complete }: Observation): void {
    const before = this.#seen.get(canonical);
    const stays = before !== undefined && before.complete && before.sha256 === sha256;
    this.#seen.delete(canonical);
    this.#seen.set(canonical, { sha256, complete: complete || stays });
    if (this.#seen.size <= MAX_OBSERVATIONS) return;
    // The oldest goes: its file must be read again before it is written, which is safe.
    for (const oldest of this.#seen.keys()) {
      this.#seen.delete(oldest);
      return;
    }
  }

  /** Forgets a path. */
  delete(canonical: string): void {
    this.#seen.delete(canonical);
  }
}
