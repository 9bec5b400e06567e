/**
 * What became of the calls of one tool, in numbers.
 *
 * @module
 */

/** What became of the calls of one tool. Attempts are the sum of the outcomes and of the calls still in flight. */
export interface ToolRow {
  /** Name, as recorded: untrusted text. */
  readonly tool: string;
  /** Calls that started. */
  readonly calls: number;
  /** Calls that ended with a result. */
  readonly results: number;
  /** Calls that were denied. */
  readonly denials: number;
  /** Calls that the tool or the world failed. */
  readonly errors: number;
  /** Calls that met their deadline. */
  readonly timeouts: number;
  /** Calls with arguments that do not fit. */
  readonly invalid: number;
  /** Calls that a budget stopped. */
  readonly budget: number;
  /** Sum of what the outcomes say, in milliseconds. */
  readonly duration_ms: number;
  /** Results by where they came from, as recorded: `live`, `fixture`, `cached_in_run`, `cached_persistent`. */
  readonly freshness: Readonly<Record<string, number>>;
  /** Errors by kind. */
  readonly error_kinds: Readonly<Record<string, number>>;
}

/** Mutable form of a {@linkcode ToolRow}. */
export interface Row {
  calls: number;
  results: number;
  denials: number;
  errors: number;
  timeouts: number;
  invalid: number;
  budget: number;
  duration_ms: number;
  readonly freshness: Map<string, number>;
  readonly error_kinds: Map<string, number>;
}

/** A row of a tool that nothing was counted of yet. */
export function emptyRow(): Row {
  return {
    calls: 0,
    results: 0,
    denials: 0,
    errors: 0,
    timeouts: 0,
    invalid: 0,
    budget: 0,
    duration_ms: 0,
    freshness: new Map(),
    error_kinds: new Map(),
  };
}
