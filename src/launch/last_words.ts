/**
 * What the host says beside its records, and how a run ended by that and by what became of the two processes.
 *
 * @module
 */
import type { JsonObject } from "../json.ts";
import type { Isolation } from "../plan/plan.ts";
import { agentDeath, isOutOfMemory } from "./death.ts";
import { AGENT_FAILED } from "./verdict.ts";

/** How a run ended. */
export interface Ending {
  readonly status: "ok" | "error";
  /** Reason slug. */
  readonly reason: string;
  /** What the agent threw: untrusted. */
  readonly error?: JsonObject;
  /** JSON text of the module's `outcome` export. */
  readonly value?: string;
}

/** What the host said beside its records. */
export interface HostWords {
  end?: Ending;
  fault?: { code: string; message: string };
  ready?: JsonObject;
  /** JSON text of the state that a session keeps. */
  state?: string;
  /** The same of the list of tasks. */
  tasks?: string;
}

/** What is known of a run whose host is gone. */
export interface EndFacts {
  readonly words: HostWords;
  /** Why the launcher ended it; absent where it did not. */
  readonly ended: string | undefined;
  readonly isolation: Isolation;
  readonly host: Deno.CommandStatus;
  readonly agent: Deno.CommandStatus | undefined;
  /** Whether a call waits for an approval. */
  readonly isPending: boolean;
}

/** Reason of a run whose program wrote what no tool may write. */
export const WRITTEN = "protected_path_written";

/** What is said of such a run. @param path Portable; a program chose it. */
export function writtenFault(path: string): { code: string; message: string } {
  const shown = JSON.stringify(path);
  return {
    code: WRITTEN,
    message: `Cannot call the run done: a program left ${shown}, which no tool may write; look at it and remove it`,
  };
}

/** Says how a run ended: what the launcher did comes first, then what the host said, then how it died. */
export function endingOf({ words: { end, fault }, ended, isolation, host, agent, isPending }: EndFacts): Ending {
  if (ended !== undefined) return failed(ended);
  if (fault !== undefined) return failed(fault.code);
  if (end === undefined) return failed(isOutOfMemory(host) ? memoryReason(isolation) : "host_crash");
  const own = end.reason === "agent_gone" && agent !== undefined ? failed(agentDeath(agent)) : withoutNothing(end);
  // Whatever the agent made of it: a call waits for an approval, so the run is not done.
  return isPending && (own.reason === "done" || AGENT_FAILED.has(own.reason)) ? failed("approval_pending") : own;
}

/** An agent that only waits has thrown nothing. */
function withoutNothing({ error, ...end }: Ending): Ending {
  return error === undefined || Object.keys(error).length === 0 ? end : { ...end, error };
}

function failed(reason: string): Ending {
  return { status: "error", reason };
}

/** A host out of memory is the agent's doing only where the agent shares its heap. */
function memoryReason(isolation: Isolation): string {
  return isolation === "process" ? "host_memory_exceeded" : "memory_exceeded";
}
