import * as v from "valibot";
import { ToolInputError } from "../../errors.ts";
import { defineTool } from "../../tool/define.ts";
import {
  assertSizes,
  dataOf,
  deletedResult,
  description,
  metadata,
  outcomeOf,
  refused,
  refusedResult,
  subject,
  taskId,
  taskIds,
  taskResult,
} from "./task_schema.ts";

/**
 * Changes a task, or deletes it.
 *
 * Arguments: `{ taskId, subject?, description?, activeForm?, status?, addBlockedBy?, removeBlockedBy?, metadata? }`. What is
 * absent stays; an empty `activeForm` or `metadata` is taken away; `removeBlockedBy` wins over `addBlockedBy`. The status
 * `deleted` deletes, takes the task off every task that waited for it, and stands alone.
 *
 * Result: `{ ok: true, task, text }`, or `{ ok: true, deletedTaskId, text }`, or `{ ok: false, code, text }` where a rule
 * forbids it: `task_not_found`, `task_unknown_dependency`, `task_cycle`, `task_blocked`, `task_limit`. Nothing has changed
 * then.
 */
export const taskUpdate = defineTool({
  name: "TaskUpdate",
  family: "task",
  summary: "Changes or deletes a task of the run's list, as a whole or not at all",
  args: v.strictObject({
    taskId,
    subject: v.optional(subject),
    description: v.optional(description),
    activeForm: v.optional(v.pipe(
      v.string(),
      v.maxLength(512),
      v.description("What to show while the task is in progress: 512 bytes at most; an empty text takes it away"),
    )),
    status: v.optional(v.pipe(
      v.picklist(["pending", "in_progress", "completed", "deleted"]),
      v.description("A task that waits for others can be neither in progress nor completed; deleted stands alone"),
    )),
    addBlockedBy: v.optional(v.pipe(taskIds, v.description("Further tasks that have to be completed first"))),
    removeBlockedBy: v.optional(v.pipe(taskIds, v.description("Tasks to wait for no longer; wins over addBlockedBy"))),
    metadata: v.optional(v.pipe(
      metadata,
      v.description("Replaces the data that goes with the task: 16 KiB at most; an empty object takes it away"),
    )),
  }),
  result: v.union([taskResult, deletedResult, refusedResult]),
  authority: { tasks: true },
  effect: "pure",
  audit: {
    args: {
      taskId: "keep",
      subject: "keep",
      description: "digest",
      activeForm: "keep",
      status: "keep",
      addBlockedBy: "keep",
      removeBlockedBy: "keep",
      metadata: "digest",
    },
    result: "digest",
  },
  nonClaims: ["Does no task: a task is completed because the agent says so"],
  prepare({ taskId, status, ...rest }) {
    assertSizes("TaskUpdate", rest);
    const other = Object.keys(rest)[0];
    if (status === "deleted" && other !== undefined) {
      const message = `Cannot call "TaskUpdate": "${other}" must be absent where "status" is deleted`;
      throw new ToolInputError("tool_invalid_args", message);
    }
    const change = status === "deleted" ? null : { ...rest, status, metadata: dataOf(rest.metadata) };
    return { targets: [], artifact: { taskId, change } };
  },
  invoke({ taskId, change }, { tasks }) {
    if (change !== null) return outcomeOf(tasks.update(taskId, change), "Updated");
    const gone = tasks.delete(taskId);
    if ("code" in gone) return refused(gone);
    return { ok: true, deletedTaskId: gone.deleted, text: `Deleted ${gone.deleted}` } as const;
  },
});
