/**
 * An agent's run from its policy to its verdict: what the command line and embedders share.
 *
 * @module
 */
import type { RecordBody } from "../audit/record.ts";
import { DataError } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import type { LoadedPolicy } from "../policy/load.ts";
import { assertLocked } from "../policy/lock.ts";
import type { ApprovalOptions } from "./approver.ts";
import { dropGroundwork, execute, type Executed, type RunInputs, startGroundwork } from "./execute.ts";
import { type PreparedRun, prepareRun } from "./prepare.ts";
import { assertRunId } from "./run_dir.ts";
import { judge, Tally, type Verdict } from "./verdict.ts";

/** A policy to run, as its caller names it. */
export interface NamedRun {
  /** The policy, flags included. */
  readonly loaded: LoadedPolicy;
  /** Refuses whatever differs from the policy's lock. */
  readonly locked: boolean;
  /** Flags that add authority to what the policy's file grants; refused when locked. */
  readonly added?: readonly string[];
}

/** Options of {@linkcode runPolicy}. */
export interface RunPolicyOptions extends ApprovalOptions {
  /** Folder for the run's own folder; the default is `.twokey/runs` in the project. */
  readonly runsDir?: string;
  /** Judges a denial that the policy does not expect as a failure (exit 77); always so when locked. */
  readonly failOnDenial?: boolean;
  /**
   * Keeps what the agent asks and receives in `recording.jsonl` beside the log, so that the run can be run again. Known
   * secrets are taken out of it; the contents that tools returned are not.
   */
  readonly record?: boolean;
  /** Hears one line when something takes long. */
  onProgress?(line: string): void;
  /** Hears what whoever started the run should know of it before it begins: lines without a newline at the end. */
  onNotice?(text: string): void;
  /** What is handed to the agent beside its policy, and what the run is called. */
  readonly inputs?: RunInputs;
  /**
   * Called with the compiled plan and whether its lock was asked for and holds, before anything runs. What it throws
   * ends the run before it begins; what it returns are further fields of `run_start`.
   */
  onPrepared?(prepared: PreparedRun, locked: boolean): JsonObject | void | Promise<JsonObject | void>;
  /** Takes every record, once it is in the log. */
  onRecord?(body: RecordBody): void;
  /** Takes one line of standard error: untrusted, not escaped. */
  onStderr?(source: "host" | "agent", line: string): void;
}

/** A run that has ended. */
export interface FinishedRun extends Executed {
  /** The plan and the bundle that ran. */
  readonly prepared: PreparedRun;
  /** The exit code, and what was not as expected. */
  readonly verdict: Verdict;
}

/**
 * Runs an agent under its policy.
 *
 * @param named Gives the policy; called while the processes are already being started.
 * @throws {DataError} If the policy, the agent's source, a fixture or the lock is wrong.
 * @throws {AuditError} If the log cannot be written.
 */
export async function runPolicy(
  named: () => Promise<NamedRun>,
  options: RunPolicyOptions = {},
): Promise<FinishedRun> {
  if (options.inputs?.runId !== undefined) assertRunId(options.inputs.runId);
  const groundwork = startGroundwork();
  let prepared: PreparedRun;
  let locked: boolean;
  let start: JsonObject;
  try {
    const run = await named();
    locked = run.locked;
    assertNothingAdded(run);
    prepared = await prepareRun(run.loaded, options.onProgress === undefined ? {} : { onProgress: options.onProgress });
    if (locked) await assertLocked(prepared);
    start = await options.onPrepared?.(prepared, locked) ?? {};
  } catch (error) {
    await dropGroundwork(groundwork);
    throw error;
  }
  const tally = new Tally();
  const executed = await execute(prepared, {
    ...options.inputs,
    groundwork,
    withSession: true,
    ...(options.runsDir === undefined ? {} : { runsDir: options.runsDir }),
    start: { ...start, command: "run", locked },
    locked,
    record: options.record ?? false,
    approvals: options,
    onNotice: (text) => options.onNotice?.(text),
    onRecord: (body) => {
      tally.saw(body);
      options.onRecord?.(body);
    },
    onStderr: (source, line) => options.onStderr?.(source, line),
  });
  const verdict = judge({
    reason: executed.end.reason,
    denials: tally.denials,
    expected: prepared.plan.expectDenials,
    done: tally.done,
    failOnDenial: locked || (options.failOnDenial ?? false),
    failOnNothing: locked,
  });
  return { ...executed, prepared, verdict };
}

function assertNothingAdded({ locked, added = [] }: NamedRun): void {
  if (!locked || added.length === 0) return;
  throw new DataError("locked_flags", `Cannot run locked: ${added.join(", ")} adds authority to the policy`, {
    fix: "Put it into the policy, review it, and run `twokey policy lock`",
  });
}
