/**
 * What the egress process tells of connections: every one that was let through, and of the refused ones as many as there
 * is room for, and how many more.
 *
 * @module
 */

/** Lines of connections that are let through: two for each. None is let through without. */
const MAX_LINES = 20_000;
/** Lines of connections that are refused. They are cheap to make, so they have room of their own. */
const MAX_DENIALS = 2_000;

/** One connection that may be let through. Exactly one of `failed`, `denied` or `allowed`; `closed` after `allowed`. */
export interface ToldConnection {
  failed(): void;
  denied(): void;
  allowed(): void;
  closed(bytes: { readonly bytes_out: number; readonly bytes_in: number }): void;
}

/** Bounds of a report, in lines. */
export interface ReportBounds {
  readonly lines?: number;
  readonly denials?: number;
}

/** The report of one run. */
export class EgressReport {
  readonly #print: (line: string) => void;
  #left: number;
  #denials: number;
  #omitted = 0;

  constructor(print: (line: string) => void, { lines = MAX_LINES, denials = MAX_DENIALS }: ReportBounds = {}) {
    this.#print = print;
    this.#left = lines;
    this.#denials = denials;
  }

  /** Takes the lines that a connection needs; `undefined` where there are none left, and then it must be refused. */
  begin(host: string, port: number): ToldConnection | undefined {
    if (this.#left < 2) {
      this.omit();
      return undefined;
    }
    this.#left -= 2;
    return {
      failed: () => this.#line({ decision: "failed", host, port }),
      denied: () => this.#line({ decision: "deny", host, port }),
      allowed: () => this.#line({ decision: "allow", host, port }),
      closed: (bytes) => this.#line({ decision: "closed", host, port, ...bytes }),
    };
  }

  /** Tells of a connection that was refused, or counts it. */
  deny(host: string | null, port: number | null): void {
    if (this.#denials < 1) return this.omit();
    this.#denials--;
    this.#line({ decision: "deny", host, port });
  }

  /** Counts a connection that was refused without a line of its own. The first is told at once. */
  omit(): void {
    this.#omitted++;
    if (this.#omitted === 1) this.#tellOmitted();
  }

  /** Tells how many were refused without a line, where that is more than was told. */
  end(): void {
    if (this.#omitted > 1) this.#tellOmitted();
  }

  #tellOmitted(): void {
    this.#line({ decision: "omitted", host: null, port: null, count: this.#omitted });
  }

  #line(fields: Readonly<Record<string, string | number | null>>): void {
    this.#print(JSON.stringify(fields));
  }
}
