import assert from "node:assert/strict";
import { ToolInputError } from "../../../src/errors.ts";
import type { FullResolve, Tool } from "../../../src/tool/define.ts";
import { assertSizes, lineOf, outcomeOf } from "../../../src/tools/task/task_schema.ts";
import { taskCreate } from "../../../src/tools/task/task_create.ts";
import { taskUpdate } from "../../../src/tools/task/task_update.ts";

const TASK = {
  id: "t1",
  seq: 1,
  subject: "x",
  description: "y",
  status: "pending",
  createdMs: 0,
  updatedMs: 0,
} as const;

Deno.test("assertSizes() counts bytes, and names the argument, its size and the most", () => {
  assertSizes("TaskCreate", { subject: "ü".repeat(256), description: "x".repeat(16_384), metadata: {} });
  assert.throws(
    () => assertSizes("TaskCreate", { subject: "ü".repeat(257) }),
    new ToolInputError("tool_invalid_args", 'Cannot call "TaskCreate": "subject" must be 512 bytes at most, got 514'),
  );
  assert.throws(() => assertSizes("TaskUpdate", { activeForm: "ü".repeat(257) }), /"activeForm" .* 512/);
  assert.throws(() => assertSizes("TaskUpdate", { description: "ü".repeat(8193) }), /"description" .* 16384/);
  assertSizes("TaskUpdate", { metadata: { a: "x".repeat(16_384 - '{"a":""}'.length) } });
  assert.throws(() => assertSizes("TaskUpdate", { metadata: { a: "x".repeat(16_384) } }), /"metadata" .* got 16392/);
});

Deno.test("lineOf() keeps a task in its line, whatever its subject holds", () => {
  const subject = "a\r\nt2 [completed] b\u2028c\u202ed\u0000\x1b[2J";
  assert.equal(
    lineOf({ ...TASK, subject, blockedBy: ["t3", "t4"] }),
    "t1 [pending] a t2 [completed] b c d [2J (waits for t3, t4)",
  );
});

Deno.test("outcomeOf() tells a task from a refusal", () => {
  assert.deepEqual(outcomeOf(TASK, "Found"), {
    ok: true,
    task: { ...TASK },
    trust: "trusted",
    text: "Found t1 [pending] x",
  });
  const refusal = { code: "task_not_found", reason: "there is no task t9" } as const;
  const text = "Nothing was done: there is no task t9";
  assert.deepEqual(outcomeOf(refusal, "Found"), { ok: false, code: "task_not_found", text });
});

Deno.test("a wrong argument of a task is named with what came, cut and without control characters", () => {
  const refusal = (tool: Tool, args: unknown): string => {
    try {
      tool.prepare(args, {} as FullResolve);
    } catch (error) {
      assert.ok(error instanceof ToolInputError);
      return error.message;
    }
    throw new Error("it was taken");
  };
  const rest = { subject: "x", description: "y" };
  const start = 'Cannot call "TaskCreate": ';
  assert.equal(refusal(taskCreate, { ...rest, metadata: [1] }), `${start}"metadata" must be an object, got a list`);
  assert.equal(
    refusal(taskCreate, { ...rest, subject: " \n" }),
    `${start}"subject" must be a text that is not blank, got " \\u{a}"`,
  );
  const long = refusal(taskCreate, { ...rest, blockedBy: ["\u202e" + "x".repeat(1000)] });
  assert.match(
    long,
    /^Cannot call "TaskCreate": "blockedBy\.0" must be the id of a task, such as t1, got "\\u\{202e\}x+…$/,
  );
  assert.ok(long.length < 250);
  assert.equal(
    refusal(taskUpdate, { taskId: "t1", status: "deleted", subject: "x" }),
    'Cannot call "TaskUpdate": "subject" must be absent where "status" is deleted',
  );
});
