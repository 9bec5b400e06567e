import { openArtifacts } from "../../src/host/artifacts.ts";
import type { RunContext } from "../../src/host/context.ts";
import { collectSource } from "../../src/host/source.ts";
import { Tasks } from "../../src/host/tasks.ts";
import type { Tool } from "../../src/tool/define.ts";
import type { CommandTarget, EndpointTarget, ModelTarget, Reply, SpawnResult } from "../../src/tool/powers.ts";
import type { SkillTarget } from "../../src/tool/context_powers.ts";
import { BudgetError, DenialError, ToolError, ToolInputError } from "../../src/errors.ts";
import { makeCall } from "./run_context.ts";

/** How a call of a file system tool ended. */
export type FsOutcome =
  | { readonly outcome: "result"; readonly result: unknown }
  | { readonly outcome: "denied" | "invalid" | "budget" | "error"; readonly code: string };

/** Collects the source of a run and opens its write root once; then runs tools as the host would. */
export async function openFs(run: RunContext): Promise<(tool: Tool, args: unknown) => Promise<FsOutcome>> {
  const source = await collectSource(run);
  const artifacts = openArtifacts(run);
  return async (tool, args) => {
    try {
      const endpoint = (): EndpointTarget => {
        throw new Error("no endpoint in this test");
      };
      const command = (): Promise<CommandTarget> => Promise.reject(new Error("no program in this test"));
      const unused = (): never => {
        throw new Error("no workspace in this test");
      };
      const browse = { file: unused, trees: unused };
      const model = (): ModelTarget => {
        throw new Error("no model in this test");
      };
      const skill = (): SkillTarget => {
        throw new Error("no skill in this test");
      };
      const prepared = await tool.prepare(args, {
        ...source.resolve,
        ...artifacts.resolve,
        ...browse,
        fileToChange: unused,
        sameFileToRead: unused,
        endpoint,
        command,
        model,
        skill,
      });
      const refused = prepared.request.requirements.find((requirement) => requirement.refusal !== undefined);
      if (refused?.refusal !== undefined) return { outcome: "denied", code: refused.refusal };
      const call = makeCall(tool.name, prepared.targets);
      const result = await tool.invoke(prepared, {
        ...source.power(call),
        ...artifacts.power(call),
        readLines: unused,
        findFiles: unused,
        searchFiles: unused,
        change: unused,
        signal: call.signal,
        now: run.now,
        sleep: () => Promise.resolve(),
        sha256: run.sha256,
        note: call.note,
        askUser: () => Promise.reject(new Error("nobody in this test")),
        loadSkill: skill as never,
        listSkills: () => [],
        tasks: new Tasks(run.now).power.tasks,
        spawn: (): Promise<SpawnResult> => Promise.reject(new Error("no program in this test")),
        generate: () => Promise.reject(new Error("no model in this test")),
        fetchBytes: () => Promise.reject(new Error("no network in this test")),
        send: (): Promise<Reply> => Promise.reject(new Error("no network in this test")),
      });
      return { outcome: "result", result };
    } catch (error) {
      if (error instanceof DenialError) return { outcome: "denied", code: error.code };
      if (error instanceof ToolInputError) return { outcome: "invalid", code: error.code };
      if (error instanceof BudgetError) return { outcome: "budget", code: error.code };
      if (error instanceof ToolError) return { outcome: "error", code: error.code };
      throw error;
    }
  };
}
