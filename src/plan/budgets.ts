/**
 * Every budget of a run with its default, its bounds and the reason for the default: the one table that the schema, its
 * documentation and the compiler read.
 *
 * @module
 */
import type { Budgets } from "./plan.ts";

/** One budget; all bounds are inclusive. */
export interface BudgetSpec {
  readonly unit: string;
  readonly what: string;
  readonly value: number;
  readonly min: number;
  readonly max: number;
  /** Why the default is what it is. */
  readonly why: string;
}

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;
const DAY_MS = 86_400_000;

/** The budgets in the order that documents print them. */
export const BUDGETS: { readonly [K in keyof Budgets]: BudgetSpec } = Object.freeze({
  toolTimeoutMs: {
    unit: "milliseconds",
    what: "Deadline of one tool call, its retries included",
    value: 30_000,
    min: 1,
    max: 3_600_000,
    why: "a registry that answers slowly plus two retries fit, a hung connection does not stall a run for minutes",
  },
  toolArgBytes: {
    unit: "bytes",
    what: "UTF-8 bytes of the arguments of one call",
    value: 256 * KIB,
    min: 2,
    max: 64 * MIB,
    why: "a report of a few thousand lines passes to writeArtifact in one call",
  },
  toolResultBytes: {
    unit: "bytes",
    what: "UTF-8 bytes of the result of one call",
    value: 16 * MIB,
    min: 2,
    max: 256 * MIB,
    why: "full npm metadata of popular packages exceeds 8 MiB",
  },
  totalArgBytes: {
    unit: "bytes",
    what: "UTF-8 bytes of the arguments of all calls together",
    value: 256 * MIB,
    min: 2,
    max: 64 * GIB,
    why: "a thousand calls may each use their whole argument budget",
  },
  totalResultBytes: {
    unit: "bytes",
    what: "UTF-8 bytes of the results of all calls together",
    value: GIB,
    min: 2,
    max: 64 * GIB,
    why: "reviewing a large lock file pulls some hundred megabytes of metadata",
  },
  toolCalls: {
    unit: "calls",
    what: "Attempted calls, the denied ones included",
    value: 10_000,
    min: 0,
    max: 10_000_000,
    why: "one call for each package of a large lock file, and a loop that went wrong still ends",
  },
  parallelCalls: {
    unit: "calls",
    what: "Calls that run at the same time; further ones wait",
    value: 8,
    min: 1,
    max: 64,
    why: "enough to hide network latency, few enough to be a polite client",
  },
  events: {
    unit: "events",
    what: "Events that the agent emits",
    value: 10_000,
    min: 0,
    max: 10_000_000,
    why: "one finding for each package of a large lock file",
  },
  eventBytes: {
    unit: "bytes",
    what: "UTF-8 bytes of all events together",
    value: 8 * MIB,
    min: 0,
    max: GIB,
    why: "ten thousand events of some hundred bytes each",
  },
  stateBytes: {
    unit: "bytes",
    what: "UTF-8 bytes of the agent's state",
    value: MIB,
    min: 0,
    max: 256 * MIB,
    why: "state is for cursors and summaries; documents belong into artifacts",
  },
  noteBytes: {
    unit: "bytes",
    what: "UTF-8 bytes of all audit notes together",
    value: 256 * KIB,
    min: 0,
    max: 64 * MIB,
    why: "notes explain a log to its reader and must not bury it",
  },
  operations: {
    unit: "operations",
    what: "Uses of the state, looks at the controls and uses after close, together",
    value: 100_000,
    min: 0,
    max: 10_000_000,
    why: "ten for each call; each leaves a record, and a log does not fill up a disk",
  },
  artifactBytes: {
    unit: "bytes",
    what: "Bytes of all written files together",
    value: 16 * MIB,
    min: 0,
    max: 4 * GIB,
    why: "reports and their data fit; a disk does not fill up",
  },
  readFileBytes: {
    unit: "bytes",
    what: "Bytes of one file that is read as text; a larger one is listed, not read",
    value: MIB,
    min: 1,
    max: 256 * MIB,
    why: "source and lock files fit, recordings and bundles do not",
  },
  editFileBytes: {
    unit: "bytes",
    what: "Bytes of one file that is edited or overwritten, before and after",
    value: 16 * MIB,
    min: 1,
    max: 256 * MIB,
    why: "lock files and recordings can be edited although they are too large to be shown whole",
  },
  readFiles: {
    unit: "files",
    what: "Files collected below all read roots together; further ones are listed as over the limit",
    value: 50_000,
    min: 1,
    max: 1_000_000,
    why: "large repositories have some 20,000 files",
  },
  stderrBytes: {
    unit: "bytes",
    what: "Bytes that agent and host print on standard error; a run that prints more is ended",
    value: MIB,
    min: 0,
    max: 256 * MIB,
    why: "generous for progress lines, small for a terminal or a CI log",
  },
  wallMs: {
    unit: "milliseconds",
    what: "Duration of the whole run",
    value: 600_000,
    min: 10,
    max: DAY_MS,
    why: "ten minutes cover hundreds of live look-ups and are short for a CI job",
  },
  cpuMs: {
    unit: "milliseconds",
    what: "Processor time of the process that runs the agent: its own, or the host's in a worker or compartment",
    value: 120_000,
    min: 10,
    max: DAY_MS,
    why: "agents mostly wait; two minutes of computing is a loop",
  },
  heapMb: {
    unit: "MiB",
    what: "JavaScript heap of the agent and of the host, each",
    value: 512,
    min: 64,
    max: 16_384,
    why: "several results of the largest size fit at once",
  },
  rssMb: {
    unit: "MiB",
    what: "Resident memory of the process that runs the agent, buffers included",
    value: 1024,
    min: 128,
    max: 65_536,
    why: "twice the heap: buffers live outside of it, and so does the runtime itself",
  },
});

/** The budgets of a run where the policy names none. */
export function defaultBudgets(): Budgets {
  return Object.fromEntries(Object.entries(BUDGETS).map(([name, spec]) => [name, spec.value])) as unknown as Budgets;
}
