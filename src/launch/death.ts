/**
 * The end of a process, and what it says about its reason.
 *
 * @module
 */

/** Ends a process at once; one that is gone already is left alone. */
export function endProcess(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch {
    // it is gone already
  }
}

/** Why an agent's process ended without a last word, as a reason slug. */
export function agentDeath(status: Deno.CommandStatus): string {
  if (isOutOfMemory(status)) return "memory_exceeded";
  return status.signal === "SIGXCPU" || status.signal === "SIGKILL" ? "agent_killed" : "agent_crash";
}

/** V8 ends a process that runs out of heap with a trap. */
export function isOutOfMemory({ signal, code }: Deno.CommandStatus): boolean {
  return signal === "SIGTRAP" || signal === "SIGILL" || signal === "SIGABRT" || code === 133;
}
