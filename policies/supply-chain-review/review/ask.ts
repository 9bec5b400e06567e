/// <reference types="../../agent.d.ts" />
/**
 * Asks one tool many questions, and stops asking where nobody answers.
 *
 * @module
 */

/** A question that has no answer. */
export interface Failure {
  /** Why, for people. */
  readonly failure: string;
}

/** Failures in a row, with no answer ever, after which the endpoint counts as out of reach. */
const MAX_SILENT = 8;

/** Failures that speak of the way to the endpoint, not of one package. */
const UNREACHABLE = new Set(["transport_error", "timeout", "http_retryable"]);

/** Reasons in words; other codes stand for themselves. */
const REASONS = new Map([
  ["fixture_miss", "no recorded answer"],
  ["cache_miss", "no kept answer"],
  ["transport_error", "the endpoint cannot be reached"],
  ["timeout", "no answer in time"],
  ["http_retryable", "the service is not available"],
  ["http_nonretryable", "the service refused the question"],
]);

/**
 * Makes an asker for one endpoint. It never rejects for what became of a call, except for a denial and a used-up budget,
 * which no review should hide.
 */
export function endpointGuard(): <T>(ask: () => Promise<T>) => Promise<T | Failure> {
  let silent = 0;
  let answered = false;
  return async (ask) => {
    if (!answered && silent >= MAX_SILENT) return { failure: "not asked: the endpoint cannot be reached" };
    try {
      const answer = await ask();
      answered = true;
      return answer;
    } catch (error) {
      if (!isToolCallError(error) || (error.outcome !== "error" && error.outcome !== "timeout")) throw error;
      const code = error.outcome === "timeout" ? "timeout" : error.code;
      if (UNREACHABLE.has(code)) silent++;
      else answered = true;
      return { failure: REASONS.get(code) ?? code };
    }
  };
}

function isToolCallError(error: unknown): error is ToolCallError {
  return error instanceof Error && error.name === "ToolCallError";
}
