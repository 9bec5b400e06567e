import assert from "node:assert/strict";
import fc from "fast-check";
import { Tasks } from "../../src/host/tasks.ts";
import type { Task, TaskPower, TaskRefusal } from "../../src/tool/context_powers.ts";

type List = TaskPower["tasks"];

/** A list whose clock stands where it is put. */
function makeList(clock: { now: number } = { now: 1000 }): List {
  return new Tasks(() => clock.now).power.tasks;
}

function add(tasks: List, subject: string, blockedBy?: readonly string[]): Task {
  const made = tasks.create({ subject, description: subject, blockedBy });
  assert.ok(!("code" in made), JSON.stringify(made));
  return made;
}

function codeOf(found: Task | TaskRefusal | { readonly deleted: string }): string | undefined {
  return "code" in found ? found.code : undefined;
}

Deno.test("Tasks dates and numbers tasks by the run's clock, and changes the date with the task alone", () => {
  const clock = { now: 1000 };
  const tasks = makeList(clock);
  add(tasks, "a");
  clock.now = 2000;
  add(tasks, "b", ["t1"]);
  clock.now = 3000;
  const same = tasks.update("t1", { subject: "a" });
  assert.ok(!("code" in same));
  assert.deepEqual([same.createdMs, same.updatedMs], [1000, 1000]);
  const changed = tasks.update("t1", { subject: "c" });
  assert.ok(!("code" in changed));
  assert.deepEqual([changed.createdMs, changed.updatedMs], [1000, 3000]);
  clock.now = 500;
  const later = tasks.update("t1", { subject: "d" });
  assert.ok(!("code" in later));
  assert.equal(later.updatedMs, 3000, "a clock that was set back turns no order around");
  assert.deepEqual(tasks.list().map(({ id, seq }) => [id, seq]), [["t1", 1], ["t2", 2]]);
});

Deno.test("Tasks refuses cycles of two and of three, and leaves the list as it was", () => {
  const tasks = makeList();
  add(tasks, "a");
  add(tasks, "b", ["t1"]);
  add(tasks, "c", ["t2"]);
  const before = JSON.stringify(tasks.list());
  assert.equal(codeOf(tasks.update("t1", { addBlockedBy: ["t1"] })), "task_cycle");
  assert.equal(codeOf(tasks.update("t1", { addBlockedBy: ["t2"] })), "task_cycle");
  assert.equal(codeOf(tasks.update("t1", { addBlockedBy: ["t3"], subject: "x" })), "task_cycle");
  assert.equal(JSON.stringify(tasks.list()), before);
});

Deno.test("Tasks keeps what was done, and holds what is in progress to what it waited for", () => {
  const tasks = makeList();
  add(tasks, "a");
  add(tasks, "b", ["t1"]);
  add(tasks, "c");
  assert.equal(codeOf(tasks.update("t1", { status: "completed" })), undefined);
  assert.equal(codeOf(tasks.update("t2", { status: "completed" })), undefined);
  // Nobody works on t2 any more, so t1 may be opened again, and t2 may still be described anew
  assert.equal(codeOf(tasks.update("t1", { status: "in_progress" })), undefined);
  assert.equal(codeOf(tasks.update("t2", { subject: "done" })), undefined);
  assert.equal(codeOf(tasks.update("t2", { addBlockedBy: ["t3"] })), "task_blocked");
  assert.equal(codeOf(tasks.update("t2", { status: "in_progress" })), "task_blocked");
  assert.equal(codeOf(tasks.update("t2", { status: "in_progress", removeBlockedBy: ["t1"] })), undefined);
  // Deleting what blocks sets free
  add(tasks, "d", ["t3"]);
  assert.equal(codeOf(tasks.update("t4", { status: "in_progress" })), "task_blocked");
  assert.equal(codeOf(tasks.delete("t3")), undefined);
  assert.equal(codeOf(tasks.update("t4", { status: "in_progress" })), undefined);
});

Deno.test("Tasks hands out copies: what a caller does to one changes nothing", () => {
  const tasks = makeList();
  const metadata = { deep: { list: [1] } };
  const made = tasks.create({ subject: "a", description: "a", metadata });
  metadata.deep.list.push(2);
  (made as { subject: string }).subject = "x";
  ((made as Task).metadata?.deep as { list: number[] }).list.push(3);
  const [kept] = tasks.list();
  assert.deepEqual([kept?.subject, kept?.metadata], ["a", { deep: { list: [1] } }]);
});

Deno.test("Tasks holds its limits exactly, and a refused task takes no room", () => {
  const tasks = makeList();
  for (let count = 0; count < 256; count++) add(tasks, "x");
  assert.equal(codeOf(tasks.create({ subject: "x", description: "x" })), "task_limit");
  assert.equal(codeOf(tasks.delete("t7")), undefined);
  assert.equal(add(tasks, "x").id, "t257");
  assert.equal(codeOf(tasks.create({ subject: "x", description: "x" })), "task_limit");

  const ids = tasks.list().map(({ id }) => id);
  assert.equal(codeOf(tasks.update("t257", { addBlockedBy: ids.slice(0, 128) })), undefined);
  assert.equal(codeOf(tasks.update("t257", { addBlockedBy: [ids[128] ?? ""] })), "task_limit");

  const large = makeList();
  const description = "x".repeat(16_384);
  let made = 0;
  while (codeOf(large.create({ subject: "x", description })) === undefined) made++;
  assert.ok(made > 120 && made < 128, `${made} tasks of 16 KiB fit into 2 MiB`);
  const size = (list: List) => JSON.stringify(list.list()).length;
  assert.ok(size(large) < 2_200_000);
  assert.equal(codeOf(large.update("t1", { description: "y" })), undefined);
  assert.equal(codeOf(large.create({ subject: "x", description: description.slice(20) })), undefined);
});

Deno.test("Tasks never breaks its rules, whatever is tried in whatever order", () => {
  const id = fc.integer({ min: 1, max: 8 }).map((number) => `t${number}`);
  const ids = fc.array(id, { maxLength: 3 });
  const step = fc.oneof(
    fc.record({ do: fc.constant("create" as const), blockedBy: ids }),
    fc.record({ do: fc.constant("delete" as const), id }),
    fc.record({
      do: fc.constant("update" as const),
      id,
      addBlockedBy: ids,
      removeBlockedBy: ids,
      status: fc.constantFrom("pending" as const, "in_progress" as const, "completed" as const, undefined),
    }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const tasks = makeList();
      for (const one of steps) {
        const before = JSON.stringify(tasks.list());
        const { do: act } = one;
        const result = act === "create"
          ? tasks.create({ subject: "x", description: "x", blockedBy: one.blockedBy })
          : act === "delete"
          ? tasks.delete(one.id)
          : tasks.update(one.id, one);
        if ("code" in result) assert.equal(JSON.stringify(tasks.list()), before);
        assertSound(tasks.list());
      }
    }),
    { numRuns: 300 },
  );
});

Deno.test("Tasks takes up what an earlier run left, numbers included, and nothing else", () => {
  const before = new Tasks(() => 5);
  const list = before.power.tasks;
  add(list, "a");
  add(list, "b", ["t1"]);
  add(list, "c");
  list.update("t2", { metadata: { k: [1] }, activeForm: "doing" });
  list.delete("t3");
  const saved = JSON.parse(before.text);
  const after = new Tasks(() => 9, saved);
  assert.deepEqual(after.power.tasks.list(), list.list());
  assert.equal(after.text, before.text);
  assert.equal(add(after.power.tasks, "d").id, "t4", "t3 is not used again");
  assert.equal(codeOf(after.power.tasks.update("t2", { status: "in_progress" })), "task_blocked");

  const [a, b] = saved.tasks;
  const wrong = [
    {},
    { last_seq: 1, tasks: {} },
    { last_seq: 1.5, tasks: [] },
    { last_seq: 1, tasks: [a, b] },
    { last_seq: 3, tasks: [b, a] },
    { last_seq: 3, tasks: [b] },
    { last_seq: 3, tasks: [{ ...a, blockedBy: ["t2"] }, b] },
    { last_seq: 3, tasks: [{ ...a, id: "t9" }] },
    { last_seq: 3, tasks: [{ ...a, status: "deleted" }] },
    { last_seq: 3, tasks: [{ ...a, subject: 1 }] },
  ];
  for (const one of wrong) assert.throws(() => new Tasks(() => 9, one), { code: "bug_tasks" }, JSON.stringify(one));
});

/** Dependencies are there, both ways, without a cycle, and nothing in progress is blocked. */
function assertSound(list: readonly Task[]): void {
  const byId = new Map(list.map((task) => [task.id, task]));
  assert.deepEqual(list.map(({ seq }) => seq), list.map(({ seq }) => seq).toSorted((a, b) => a - b));
  const depth = (task: Task, seen: readonly string[]): void => {
    assert.ok(!seen.includes(task.id), `${task.id} waits for itself`);
    for (const other of task.blockedBy ?? []) {
      const blocker = byId.get(other);
      assert.ok(blocker !== undefined && blocker.blocks?.includes(task.id));
      if (task.status === "in_progress") assert.equal(blocker.status, "completed");
      depth(blocker, [...seen, task.id]);
    }
    for (const other of task.blocks ?? []) assert.ok(byId.get(other)?.blockedBy?.includes(task.id));
  };
  for (const task of list) depth(task, []);
}
