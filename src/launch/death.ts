/**
 * What the end of a process says about its reason.
 *
 * @module
 */

/** Why an agent's process ended without a last word, as a reason slug. */
export function agentDeath(status: Deno.CommandStatus): string {
  if (isOutOfMemory(status)) return "memory_exceeded";
  return status.signal === "SIGXCPU" || status.signal === "SIGKILL" ? "agent_killed" : "agent_crash";
}

/** V8 ends a process that runs out of heap with a trap. */
export function isOutOfMemory({ signal, code }: Deno.CommandStatus): boolean {
  return signal === "SIGTRAP" || signal === "SIGILL" || signal === "SIGABRT" || code === 133;
}
