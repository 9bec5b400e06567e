/**
 * Counts and checks the events that a policy expects, and records what was met and what was not.
 *
 * @module
 */
import type { RecordBody } from "../audit/record.ts";
import { BugError } from "../errors.ts";
import type { Json } from "../json.ts";
import type { Plan } from "../plan/plan.ts";
import type { EventCheck } from "./event_check.ts";

/** What the events of a run are held against. */
export interface ExpectedEventsOptions {
  readonly expectEvents: Plan["expectEvents"];
  /** One check for each kind that has a schema. */
  readonly checks: ReadonlyMap<string, EventCheck>;
  record(body: RecordBody): void;
}

/** One event that was emitted. */
export interface SeenEvent {
  /** Hostile. */
  readonly event: Json;
  /** UTF-8 bytes of its text. */
  readonly bytes: number;
  /** Its place among all events of the run. */
  readonly index: number;
}

/** The expectations of one run. */
export class ExpectedEvents {
  readonly #options: ExpectedEventsOptions;
  readonly #counts = new Map<string, number>();

  constructor(options: ExpectedEventsOptions) {
    this.#options = options;
  }

  /**
   * Takes an event that stands in the log already: a reader sees what was refused.
   *
   * @returns The reason that the run ends with, where the event is not as expected.
   */
  take(kind: string, { event, bytes, index }: SeenEvent): string | undefined {
    const { expectEvents, checks, record } = this.#options;
    const expected = Object.hasOwn(expectEvents, kind) ? expectEvents[kind] : undefined;
    if (expected === undefined) return undefined;
    const actual = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, actual);
    const check = checks.get(kind);
    if (expected.schema !== undefined && check === undefined) {
      throw new BugError("bug_no_check", "Cannot check an event: its schema is not loaded");
    }
    const about = { type: "schema_validation", kind, event_index: index } as const;
    const fault = check?.(event, bytes);
    if (fault !== undefined) {
      record({ ...about, status: "fail", ...fault });
      return "schema_validation_failed";
    }
    if (expected.max !== undefined && actual > expected.max) {
      record({ ...about, status: "fail", reason: "max_events", expected: expected.max, actual });
      return "expected_event_exceeded";
    }
    if (check !== undefined) record({ ...about, status: "pass" });
    return undefined;
  }

  /** Records for each expected kind whether enough of them came; returns whether all did. */
  end(): boolean {
    let met = true;
    for (const [kind, { min }] of Object.entries(this.#options.expectEvents)) {
      const actual = this.#counts.get(kind) ?? 0;
      const pass = actual >= min;
      met &&= pass;
      this.#options.record({
        type: "schema_validation",
        kind,
        status: pass ? "pass" : "fail",
        ...(pass ? {} : { reason: "min_events" }),
        expected: min,
        actual,
      });
    }
    return met;
  }
}
