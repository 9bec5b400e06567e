/**
 * Timers of the launcher. The runtime's own load a module when they are first used, which takes as long as starting a
 * process; an abort signal with a timeout is there from the start.
 *
 * @module
 */

/** Calls `run` once after `ms` milliseconds, unless the returned function is called first. */
export function after(ms: number, run: () => void): () => void {
  const signal = AbortSignal.timeout(ms);
  signal.addEventListener("abort", run, { once: true });
  return () => signal.removeEventListener("abort", run);
}
