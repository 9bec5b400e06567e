/**
 * Puts calls that touch the same paths in the order in which they were made. Reads of a path run together, a write runs
 * alone, and nobody overtakes a call that came before and wants the same path: the line is fair by construction.
 *
 * A call takes its place in the line when it is made, before anything of it was waited for, and says what it touches once
 * it was prepared. Until then the calls behind it wait, since they cannot know whether it is in their way.
 *
 * @module
 */
import { foldPath, isInside } from "../../authority/path.ts";
import type { Requirement } from "../../authority/requirement.ts";

/** A path that a call touches, everything below it included. */
interface Claim {
  /** Absolute; folded, so that two spellings of one name on a folding file system are one. */
  readonly path: string;
  readonly writes: boolean;
}

/** The line of a run's calls. */
export class Permits {
  readonly #line: Turn[] = [];

  /** Takes the place at the end of the line. */
  open(): Turn {
    const turn = new Turn(this.#line);
    this.#line.push(turn);
    return turn;
  }

  /** Calls that are in the line, for tests and for nobody else. */
  get size(): number {
    return this.#line.length;
  }
}

/** The place of one call. Made by {@linkcode Permits.open} only. */
export class Turn {
  readonly #line: Turn[];
  #claims: readonly Claim[] | undefined;
  #wake: (() => void) | undefined;
  #acting = false;
  #ended = false;

  constructor(line: Turn[]) {
    this.#line = line;
  }

  /** Says what the call touches; what is no path is in nobody's way. */
  claim(requirements: readonly Requirement[]): void {
    this.#claims = requirements.filter(({ kind }) => kind === "filesystem.read" || kind === "filesystem.write").map(
      ({ kind, target }) => ({ path: foldPath(withoutSlash(target)), writes: kind === "filesystem.write" }),
    );
    this.#wakeLine();
  }

  /** Leaves the line while a person is asked: nobody waits for that behind it. */
  stepAside(): void {
    this.#leave();
  }

  /** Goes to the end of the line, once the answer is there. */
  rejoin(): void {
    if (!this.#ended) this.#line.push(this);
  }

  /**
   * Acts as soon as no call before this one is in the way: at once where none is. The place is kept until what `act`
   * returned has settled, even where the call has ended before: a write that is still under way is still in the way.
   *
   * @throws The reason of `signal`, if that is aborted before the turn comes; then `act` is never called.
   */
  run<T>(act: () => T | Promise<T>, signal: () => AbortSignal): T | Promise<T> {
    const value = this.#isFree() ? act() : this.#wait(signal()).then(act);
    if (!(value instanceof Promise)) return value;
    this.#acting = true;
    const settled = (): void => {
      this.#acting = false;
      if (this.#ended) this.#leave();
    };
    value.then(settled, settled);
    return value;
  }

  /** The call has its outcome. May be called again. */
  end(): void {
    this.#ended = true;
    if (!this.#acting) this.#leave();
  }

  #isFree(): boolean {
    for (const earlier of this.#line) {
      if (earlier === this) return true;
      if (earlier.#blocks(this)) return false;
    }
    return true;
  }

  #blocks(later: Turn): boolean {
    const mine = this.#claims;
    const theirs = later.#claims ?? [];
    if (mine === undefined) return true;
    return mine.some((a) =>
      theirs.some((b) => (a.writes || b.writes) && (isInside(a.path, b.path) || isInside(b.path, a.path)))
    );
  }

  #wait(signal: AbortSignal): Promise<void> {
    const turn = Promise.withResolvers<void>();
    const abort = (): void => turn.reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    this.#wake = () => {
      if (!this.#isFree()) return;
      this.#wake = undefined;
      turn.resolve();
    };
    return turn.promise.finally(() => {
      this.#wake = undefined;
      signal.removeEventListener("abort", abort);
    });
  }

  #leave(): void {
    const at = this.#line.indexOf(this);
    if (at < 0) return;
    this.#line.splice(at, 1);
    this.#wakeLine();
  }

  #wakeLine(): void {
    for (const turn of [...this.#line]) turn.#wake?.();
  }
}

/** A slash at the end says that all below is meant, which is true of every claim. */
function withoutSlash(path: string): string {
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}
