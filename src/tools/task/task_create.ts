import * as v from "valibot";
import { defineTool } from "../../tool/define.ts";
import {
  assertSizes,
  dataOf,
  description,
  metadata,
  outcomeOf,
  refusedResult,
  subject,
  taskIds,
  taskResult,
} from "./task_schema.ts";

/**
 * Adds a task to the run's list.
 *
 * Arguments: `{ subject, description, activeForm?, blockedBy?, metadata? }`; `blockedBy` names tasks that have to be completed
 * first. Result: `{ ok: true, task, text }`, or `{ ok: false, code, text }` with `task_unknown_dependency` or `task_limit`,
 * and then nothing was added.
 */
export const taskCreate = defineTool({
  name: "TaskCreate",
  family: "task",
  summary: "Adds a task to the run's list; it starts pending",
  args: v.strictObject({
    subject,
    description,
    activeForm: v.optional(v.pipe(
      v.string(),
      v.maxLength(512),
      v.description("What to show while the task is in progress: 512 bytes at most"),
    )),
    blockedBy: v.optional(v.pipe(taskIds, v.description("Tasks that have to be completed first"))),
    metadata: v.optional(v.pipe(metadata, v.description("Data that goes with the task: 16 KiB at most"))),
  }),
  result: v.union([taskResult, refusedResult]),
  authority: { tasks: true },
  effect: "pure",
  audit: {
    args: { subject: "keep", description: "digest", activeForm: "keep", blockedBy: "keep", metadata: "digest" },
    result: "digest",
  },
  nonClaims: ["Does no task: a list says what an agent means to do, and starts nothing"],
  prepare(args) {
    assertSizes("TaskCreate", args);
    return { targets: [], artifact: { draft: { ...args, metadata: dataOf(args.metadata) } } };
  },
  invoke({ draft }, { tasks }) {
    return outcomeOf(tasks.create(draft), "Created");
  },
});
