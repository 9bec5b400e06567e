import * as v from "valibot";
import { defineTool } from "../../tool/define.ts";
import { lineOf, plain, tasksResult } from "./task_schema.ts";

/**
 * Returns every task of the run's list, in order of creation.
 *
 * No arguments. Result: `{ ok: true, tasks, text }`; `text` has one line for each task.
 */
export const taskList = defineTool({
  name: "TaskList",
  family: "task",
  summary: "Returns every task of the run's list, in order of creation",
  args: v.strictObject({}),
  result: tasksResult,
  authority: { tasks: true },
  effect: "pure",
  audit: { args: {}, result: "digest" },
  prepare() {
    return { targets: [], artifact: {} };
  },
  invoke(_artifact, { tasks }) {
    const all = tasks.list();
    const text = all.length === 0 ? "There are no tasks" : all.map(lineOf).join("\n");
    return { ok: true, tasks: all.map(plain), trust: "trusted", text } as const;
  },
});
