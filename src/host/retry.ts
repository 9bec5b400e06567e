/**
 * How long to wait before a request is tried again, and waiting that a signal ends.
 *
 * @module
 */

/** First wait, in milliseconds; each further one doubles it. */
const BASE_MS = 400;

/** Longest wait that back-off alone asks for, in milliseconds. */
const CAP_MS = 10_000;

/** RFC 9110 section 5.6.7: the one date form that senders may produce. */
const IMF_DATE = /^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT$/;

/**
 * Milliseconds to wait before retry number `retry` (1-based): exponential, half of it jitter, never less than what the
 * server asked for.
 *
 * @param random A number of 0 to 1, exclusive.
 */
export function backoffMs(retry: number, options: { random: number; retryAfterMs: number | undefined }): number {
  const full = Math.min(CAP_MS, BASE_MS * 2 ** (retry - 1));
  return Math.max(Math.ceil(full / 2 + options.random * full / 2), options.retryAfterMs ?? 0);
}

/**
 * Reads a `Retry-After` header: whole seconds or an HTTP date, as milliseconds from `nowMs`, at least 0.
 *
 * The header is hostile; anything else gives `undefined`.
 */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  if (/^[0-9]{1,9}$/.test(text)) return Number(text) * 1_000;
  if (!IMF_DATE.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}

/** Longest wait that a timer of the runtime takes, in milliseconds; a longer one would fire at once. */
const MAX_TIMER_MS = 2_147_483_647;

/** Resolves after `ms`; rejects with the signal's reason when it is aborted first. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    }, Math.min(ms, MAX_TIMER_MS));
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

/** Waits until a promise settles, whichever way; rejects when the signal is aborted first. */
export function settled(promise: Promise<unknown>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    const done = () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    };
    promise.then(done, done);
  });
}
