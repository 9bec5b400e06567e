import { BudgetError, DenialError, ToolError, ToolInputError } from "../../../src/errors.ts";
import { type Changes, openChanges } from "../../../src/host/workspace/changes.ts";
import { Observations } from "../../../src/host/workspace/observations.ts";
import { WrittenBytes } from "../../../src/host/written_bytes.ts";
import { sha256 } from "../../../src/json.ts";
import type { FullPowers, FullResolve, Tool } from "../../../src/tool/define.ts";
import { EditFile } from "../../../src/tools/workspace/edit_file.ts";
import { WriteFile } from "../../../src/tools/workspace/write_file.ts";
import { makeCall, type TestRun } from "../run_context.ts";

/** How a call ended: `result`, or the code it ended with. */
export interface Ended {
  readonly code: string;
  readonly message?: string;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly notes: readonly unknown[];
}

/** The changing side of a run, without a gate and without an agent. */
export interface TestWorkspace {
  readonly changes: Changes;
  readonly observations: Observations;
  write(args: unknown, signal?: AbortSignal): Promise<Ended>;
  edit(args: unknown, signal?: AbortSignal): Promise<Ended>;
  /** Reads a file as the agent would: its digest is known afterwards. */
  see(path: string): Promise<void>;
}

/** Opens the changing side of a run. */
export function openTestWorkspace(run: TestRun): TestWorkspace {
  const observations = new Observations();
  const changes = openChanges({ run, observations, written: new WrittenBytes(run.plan.budgets.artifactBytes) });
  const call = async (tool: Tool, args: unknown, signal?: AbortSignal): Promise<Ended> => {
    let notes: readonly unknown[] = [];
    try {
      const prepared = await tool.prepare(args, changes.resolve as unknown as FullResolve);
      const refused = prepared.request.requirements.find(({ refusal }) => refusal !== undefined);
      if (refused?.refusal !== undefined) return { code: refused.refusal, notes };
      const made = makeCall(tool.name, prepared.targets, signal);
      notes = made.notes;
      const powers = { ...changes.power(made), note: made.note, sha256: run.sha256 } as unknown as FullPowers;
      const result = await tool.invoke(prepared, powers) as Readonly<Record<string, unknown>>;
      return { code: "result", result, notes };
    } catch (error) {
      const isOurs = error instanceof DenialError || error instanceof ToolError || error instanceof ToolInputError ||
        error instanceof BudgetError;
      if (!isOurs) throw error;
      return { code: error.code, message: error.message, notes };
    }
  };
  return {
    changes,
    observations,
    write: (args, signal) => call(WriteFile, args, signal),
    edit: (args, signal) => call(EditFile, args, signal),
    see: async (path) => {
      const full = `${run.places.project}/${path}`;
      observations.set(full, { sha256: await sha256(await Deno.readFile(full)), complete: true });
    },
  };
}
