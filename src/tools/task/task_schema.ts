/**
 * What the tools of tasks share: the shapes of their arguments and results, and how a task reads as text.
 *
 * @module
 */
import * as v from "valibot";
import { ToolInputError } from "../../errors.ts";
import { canonical, type JsonObject, utf8Length } from "../../json.ts";
import type { Task, TaskRefusal } from "../../tool/context_powers.ts";

const MAX_SUBJECT_BYTES = 512;
const MAX_DESCRIPTION_BYTES = 16_384;
const MAX_METADATA_BYTES = 16_384;
/** Dependencies that one call may name. */
const MAX_IDS = 128;

/** Identifier of a task, as an earlier call gave it. */
export const taskId = v.pipe(v.string(), v.regex(/^t[1-9][0-9]{0,9}$/, "the id of a task, such as t1"));

/** Identifiers of tasks. */
export const taskIds = v.pipe(v.array(taskId), v.maxLength(MAX_IDS));

/** What a task is about in a few words. */
export const subject = v.pipe(
  v.string(),
  v.regex(/\S/, "a text that is not blank"),
  v.maxLength(MAX_SUBJECT_BYTES),
  v.description("What is to be done, in a few words: 512 bytes at most"),
);

/** What a task is about at length. */
export const description = v.pipe(
  v.string(),
  v.regex(/\S/, "a text that is not blank"),
  v.maxLength(MAX_DESCRIPTION_BYTES),
  v.description("The same at length: 16 KiB at most"),
);

/** Data that goes with a task. */
export const metadata = v.record(v.string(), v.unknown());

const status = v.picklist(["pending", "in_progress", "completed"]);

/** A task in a result. */
const task = v.strictObject({
  id: taskId,
  seq: v.pipe(v.number(), v.integer()),
  subject: v.string(),
  description: v.string(),
  activeForm: v.optional(v.string()),
  status,
  blockedBy: v.optional(v.array(taskId)),
  blocks: v.optional(v.array(taskId)),
  metadata: v.optional(metadata),
  createdMs: v.pipe(v.number(), v.integer()),
  updatedMs: v.pipe(v.number(), v.integer()),
});

const text = v.pipe(v.string(), v.description("The same for a model to read"));

const trust = v.pipe(v.literal("trusted"), v.description("Nobody but the agent of this run wrote it"));

/** A task that was found, made or changed. */
export const taskResult = v.strictObject({ ok: v.literal(true), task, trust, text });

/** A task that was deleted. */
export const deletedResult = v.strictObject({ ok: v.literal(true), deletedTaskId: taskId, text });

/** Every task. */
export const tasksResult = v.strictObject({ ok: v.literal(true), tasks: v.array(task), trust, text });

/** Why nothing was made, changed or found. */
export const refusedResult = v.strictObject({
  ok: v.literal(false),
  code: v.picklist(["task_not_found", "task_unknown_dependency", "task_cycle", "task_blocked", "task_limit"]),
  text,
});

/** What a call about one task comes to. */
export type TaskOutcome =
  | { ok: true; task: OneTask; trust: "trusted"; text: string }
  | { ok: false; code: TaskRefusal["code"]; text: string };

type OneTask = v.InferInput<typeof task>;

/** Texts whose size in bytes no schema can state. */
interface Texts {
  readonly subject?: string | undefined;
  readonly description?: string | undefined;
  readonly activeForm?: string | undefined;
  readonly metadata?: Record<string, unknown> | undefined;
}

/** Refuses texts that are too long in UTF-8. @throws {ToolInputError} That names the argument, its size and the most. */
export function assertSizes(tool: string, { subject, description, activeForm, metadata }: Texts): void {
  const bounds = [
    ["subject", subject, MAX_SUBJECT_BYTES],
    ["description", description, MAX_DESCRIPTION_BYTES],
    ["activeForm", activeForm, MAX_SUBJECT_BYTES],
    ["metadata", metadata === undefined ? undefined : canonical(metadata), MAX_METADATA_BYTES],
  ] as const;
  for (const [name, value, most] of bounds) {
    const bytes = utf8Length(value ?? "");
    if (bytes <= most) continue;
    const message = `Cannot call "${tool}": "${name}" must be ${most} bytes at most, got ${bytes}`;
    throw new ToolInputError("tool_invalid_args", message);
  }
}

/** The result of a call about one task. */
export function outcomeOf(found: Task | TaskRefusal, verb: string): TaskOutcome {
  if ("code" in found) return refused(found);
  return { ok: true, task: plain(found), trust: "trusted", text: `${verb} ${lineOf(found)}` };
}

/** The result of a call that came to nothing. */
export function refused({ code, reason }: TaskRefusal): Extract<TaskOutcome, { ok: false }> {
  return { ok: false, code, text: `Nothing was done: ${reason}` };
}

/** A task as the schema of results names its parts. */
export function plain({ blockedBy, blocks, ...rest }: Task): OneTask {
  return {
    ...rest as Omit<OneTask, "blockedBy" | "blocks">,
    ...(blockedBy === undefined ? {} : { blockedBy: [...blockedBy] }),
    ...(blocks === undefined ? {} : { blocks: [...blocks] }),
  };
}

/** A task in one line: its subject cannot make another one. */
export function lineOf({ id, status, subject, blockedBy }: Task): string {
  const waits = blockedBy === undefined ? "" : ` (waits for ${blockedBy.join(", ")})`;
  return `${id} [${status}] ${subject.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ")}${waits}`;
}

/** Metadata as it crossed the membrane: plain JSON, whatever its values are. */
export function dataOf(metadata: Record<string, unknown> | undefined): JsonObject | undefined {
  return metadata as JsonObject | undefined;
}
