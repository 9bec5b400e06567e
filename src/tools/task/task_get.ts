import * as v from "valibot";
import { defineTool } from "../../tool/define.ts";
import { outcomeOf, refusedResult, taskId, taskResult } from "./task_schema.ts";

/**
 * Returns one task of the run's list.
 *
 * Arguments: `{ taskId }`. Result: `{ ok: true, task, text }`, or `{ ok: false, code: "task_not_found", text }`.
 */
export const taskGet = defineTool({
  name: "TaskGet",
  family: "task",
  summary: "Returns one task of the run's list",
  args: v.strictObject({ taskId }),
  result: v.union([taskResult, refusedResult]),
  authority: { tasks: true },
  effect: "pure",
  audit: { args: { taskId: "keep" }, result: "digest" },
  prepare({ taskId }) {
    return { targets: [], artifact: { taskId } };
  },
  invoke({ taskId }, { tasks }) {
    const found = outcomeOf(tasks.get(taskId), "Found");
    return found.ok ? { ...found, text: `${found.text}\n\n${found.task.description}` } : found;
  },
});
