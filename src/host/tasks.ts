/**
 * The tasks of a run: what an agent plans to do, what waits for what, and where each stands.
 *
 * A change is tried on a copy of the one task that it is about; only one that breaks no rule takes its place. Nothing here
 * waits, so calls that overlap change the list one after the other.
 *
 * @module
 */
import { BugError } from "../errors.ts";
import { canonical, isJsonObject, type JsonObject, utf8Length } from "../json.ts";
import type { Task, TaskChange, TaskDraft, TaskPower, TaskRefusal } from "../tool/context_powers.ts";

/** Tasks at the same time. */
const MAX_TASKS = 256;
/** UTF-8 bytes of all tasks as JSON. */
const MAX_BYTES = 2_097_152;
/** Tasks that one task may wait for. */
const MAX_BLOCKERS = 128;
/** Identifiers that a sentence names before it counts the rest. */
const MAX_NAMED = 8;

/** A task as it is kept: what others say of it is not in it. */
type Kept = Omit<Task, "blockedBy" | "blocks"> & { readonly blockedBy: readonly string[] };

/** The list of one run. */
export class Tasks {
  readonly #now: () => number;
  /** By identifier, in order of creation. */
  readonly #kept = new Map<string, Kept>();
  #lastSeq = 0;
  #bytes = 0;

  /** What the tools get. */
  readonly power: TaskPower = Object.freeze({
    tasks: Object.freeze({
      create: (draft: TaskDraft) => this.#create(draft),
      update: (id: string, change: TaskChange) => this.#update(id, change),
      delete: (id: string) => this.#delete(id),
      get: (id: string) => this.#get(id),
      list: () => [...this.#kept.values()].map((task) => this.#shown(task)),
    }),
  });

  /**
   * @param now The clock that tasks are dated by, in milliseconds since the Unix epoch.
   * @param saved What `text` gave in an earlier run; absent: nothing yet.
   * @throws {BugError} If `saved` is anything else.
   */
  constructor(now: () => number, saved?: JsonObject) {
    this.#now = now;
    if (saved !== undefined) this.#restore(saved);
  }

  /** JSON text of the whole list, for the next run of its session. */
  get text(): string {
    return JSON.stringify({ last_seq: this.#lastSeq, tasks: [...this.#kept.values()] });
  }

  /** What is restored obeys every rule, or nothing is. */
  #restore({ last_seq: lastSeq, tasks }: JsonObject): void {
    const list = Array.isArray(tasks) && tasks.every(isKept) ? tasks as readonly Kept[] : undefined;
    if (list === undefined || !Number.isSafeInteger(lastSeq) || list.length > MAX_TASKS) throw notATaskList();
    for (const task of list) this.#kept.set(task.id, task);
    for (const [index, task] of list.entries()) {
      const isInOrder = task.seq > (list[index - 1]?.seq ?? 0) && task.seq <= Number(lastSeq);
      const isWhole = task.id === `t${task.seq}` && task.blockedBy.every((id) => this.#kept.has(id));
      if (!isInOrder || !isWhole || this.#leadsTo(task)) throw notATaskList();
      this.#bytes += sizeOf(task);
    }
    this.#lastSeq = Number(lastSeq);
  }

  #create({ subject, description, activeForm, blockedBy = [], metadata }: TaskDraft): Task | TaskRefusal {
    if (this.#kept.size >= MAX_TASKS) return refusal("task_limit", `there are ${MAX_TASKS} tasks, which is the most`);
    const seq = this.#lastSeq + 1;
    const now = this.#now();
    const task: Kept = {
      id: `t${seq}`,
      seq,
      subject,
      description,
      ...kept({ activeForm, metadata }),
      status: "pending",
      blockedBy: this.#ordered(blockedBy),
      createdMs: now,
      updatedMs: now,
    };
    const problem = this.#problemOf(task, undefined);
    if (problem !== undefined) return problem;
    this.#lastSeq = seq;
    return this.#keep(task);
  }

  #update(id: string, change: TaskChange): Task | TaskRefusal {
    const before = this.#kept.get(id);
    if (before === undefined) return notFound(id);
    const removed = new Set(change.removeBlockedBy);
    const blockedBy = [...before.blockedBy, ...change.addBlockedBy ?? []].filter((other) => !removed.has(other));
    const { activeForm = before.activeForm, metadata = before.metadata } = change;
    const after: Kept = {
      id,
      seq: before.seq,
      subject: change.subject ?? before.subject,
      description: change.description ?? before.description,
      ...kept({ activeForm, metadata }),
      status: change.status ?? before.status,
      blockedBy: this.#ordered(blockedBy),
      createdMs: before.createdMs,
      updatedMs: before.updatedMs,
    };
    const problem = this.#problemOf(after, before);
    if (problem !== undefined) return problem;
    if (canonical(after) === canonical(before)) return this.#shown(before);
    return this.#keep({ ...after, updatedMs: this.#laterThan(before) });
  }

  #delete(id: string): { readonly deleted: string } | TaskRefusal {
    const gone = this.#kept.get(id);
    if (gone === undefined) return notFound(id);
    this.#kept.delete(id);
    this.#bytes -= sizeOf(gone);
    for (const task of this.#waitingFor(id)) {
      const blockedBy = task.blockedBy.filter((other) => other !== id);
      this.#keep({ ...task, blockedBy, updatedMs: this.#laterThan(task) });
    }
    return { deleted: id };
  }

  #get(id: string): Task | TaskRefusal {
    const task = this.#kept.get(id);
    return task === undefined ? notFound(id) : this.#shown(task);
  }

  /** Why a task may not take the place of `before`; `undefined` where it may. */
  #problemOf(task: Kept, before: Kept | undefined): TaskRefusal | undefined {
    const unknown = task.blockedBy.filter((id) => id !== task.id && !this.#kept.has(id));
    if (unknown.length > 0) {
      return refusal("task_unknown_dependency", `there is no task ${named(unknown)} that ${task.id} could wait for`);
    }
    if (task.blockedBy.length > MAX_BLOCKERS) {
      return refusal("task_limit", `a task may wait for ${MAX_BLOCKERS} others at most`);
    }
    if (this.#leadsTo(task)) {
      return refusal("task_cycle", `${task.id} would wait for itself`);
    }
    const open = task.blockedBy.filter((id) => this.#kept.get(id)?.status !== "completed");
    // What was done before stays done when what it waited for is opened again.
    const isTold = before?.status !== task.status || !isEqual(before.blockedBy, task.blockedBy);
    if (open.length > 0 && (task.status === "in_progress" || (task.status === "completed" && isTold))) {
      return refusal("task_blocked", `${task.id} is blocked by ${named(open)}`);
    }
    const running = before?.status !== "completed" || task.status === "completed"
      ? []
      : this.#waitingFor(task.id).filter(({ status }) => status === "in_progress").map(({ id }) => id);
    if (running.length > 0) {
      return refusal(
        "task_blocked",
        `${task.id} must stay completed: ${named(running)} waited for it and is in progress`,
      );
    }
    const bytes = this.#bytes + sizeOf(task) - (before === undefined ? 0 : sizeOf(before));
    return bytes > MAX_BYTES ? refusal("task_limit", `all tasks together would be over ${MAX_BYTES} bytes`) : undefined;
  }

  /** Whether a task waits, by way of others, for itself. */
  #leadsTo({ id, blockedBy }: Kept): boolean {
    const seen = new Set<string>();
    const next = [...blockedBy];
    for (let other = next.pop(); other !== undefined; other = next.pop()) {
      if (other === id) return true;
      if (seen.has(other)) continue;
      seen.add(other);
      next.push(...this.#kept.get(other)?.blockedBy ?? []);
    }
    return false;
  }

  #waitingFor(id: string): Kept[] {
    return [...this.#kept.values()].filter(({ blockedBy }) => blockedBy.includes(id));
  }

  /** Identifiers once each, in order of creation; unknown ones last. */
  #ordered(ids: readonly string[]): readonly string[] {
    const seqOf = (id: string): number => this.#kept.get(id)?.seq ?? Infinity;
    return [...new Set(ids)].toSorted((a, b) => seqOf(a) === seqOf(b) ? 0 : seqOf(a) - seqOf(b));
  }

  #keep(task: Kept): Task {
    const before = this.#kept.get(task.id);
    this.#bytes += sizeOf(task) - (before === undefined ? 0 : sizeOf(before));
    this.#kept.set(task.id, task);
    return this.#shown(task);
  }

  /** A clock that was set back does not turn the order of changes around. */
  #laterThan({ updatedMs }: Kept): number {
    return Math.max(this.#now(), updatedMs);
  }

  #shown({ blockedBy, metadata, createdMs, updatedMs, ...task }: Kept): Task {
    const blocks = this.#waitingFor(task.id).map(({ id }) => id);
    return {
      ...task,
      ...(blockedBy.length === 0 ? {} : { blockedBy: [...blockedBy] }),
      ...(blocks.length === 0 ? {} : { blocks }),
      ...(metadata === undefined ? {} : { metadata: structuredClone(metadata) }),
      createdMs,
      updatedMs,
    };
  }
}

/** What is kept of two arguments: an empty one is none. A copy, its keys sorted. */
function kept(
  { activeForm = "", metadata = {} }: {
    readonly activeForm?: string | undefined;
    readonly metadata?: JsonObject | undefined;
  },
): Pick<Kept, "activeForm" | "metadata"> {
  return {
    ...(activeForm === "" ? {} : { activeForm }),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata: JSON.parse(canonical(metadata)) as JsonObject }),
  };
}

/** Whether a value has the form of a task that was kept. */
function isKept(value: unknown): value is Kept {
  if (!isJsonObject(value)) return false;
  const { id, seq, subject, description, activeForm = "", status, blockedBy, metadata = {}, createdMs, updatedMs } =
    value;
  return [id, subject, description, activeForm].every((text) => typeof text === "string") &&
    [seq, createdMs, updatedMs].every((number) => Number.isSafeInteger(number)) &&
    (status === "pending" || status === "in_progress" || status === "completed") && isJsonObject(metadata) &&
    Array.isArray(blockedBy) && blockedBy.every((other: unknown) => typeof other === "string");
}

function notATaskList(): BugError {
  return new BugError("bug_tasks", "Cannot take up the tasks of the session: they are not what a run has left");
}

function sizeOf(task: Kept): number {
  return utf8Length(JSON.stringify(task));
}

function isEqual(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((id, index) => id === b[index]);
}

function named(ids: readonly string[]): string {
  const more = ids.length - MAX_NAMED;
  return `${ids.slice(0, MAX_NAMED).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

function notFound(id: string): TaskRefusal {
  return refusal("task_not_found", `there is no task ${id}`);
}

function refusal(code: TaskRefusal["code"], reason: string): TaskRefusal {
  return { code, reason };
}
