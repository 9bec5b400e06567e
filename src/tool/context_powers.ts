/**
 * What a tool can be handed that touches nothing outside of the run: a person's attention, skills, the list of tasks.
 *
 * @module
 */
import type { JsonObject } from "../json.ts";
import type { Target } from "./powers.ts";

/** A question to a person. */
export interface UserQuestion {
  /** Not blank. */
  readonly question: string;
  /** Answers to choose from, each once; own words are possible as well. */
  readonly choices?: readonly string[] | undefined;
  /** Whether several answers may be given. */
  readonly several: boolean;
  /** What the person may take, in milliseconds; absent: as long as they want. */
  readonly timeoutMs?: number | undefined;
}

/** One answer: one of the choices, or the person's own words. */
export type UserAnswer = { readonly choice: string } | { readonly text: string };

/** Asks a person. */
export interface AskPower {
  /**
   * Asks, and waits for the answers: one at least. The deadline of the call stands still meanwhile.
   *
   * @throws {ToolError} `no_human`, `no_answer`, `answer_timeout` or `answer_failed`.
   */
  askUser(question: UserQuestion): Promise<readonly UserAnswer[]>;
}

/** A skill made canonical. */
export interface SkillTarget extends Target {
  /** As the call names it. */
  readonly name: string;
}

/** What a list of skills says of one. */
export interface SkillEntry {
  /** As the policy and its front matter have it. */
  readonly name: string;
  /** What it is for. */
  readonly description: string;
  /** `embedded`: the policy's own. `workspace`: the project's. */
  readonly source: "embedded" | "workspace";
  /** Whether its text is as good as the policy. */
  readonly trust: "trusted" | "untrusted";
  /** 64 hexadecimal digits, of its file. */
  readonly sha256: string;
}

/** A skill that was loaded. */
export interface Skill extends SkillEntry {
  /** Size of its file. */
  readonly bytes: number;
  /** What stands below its front matter: text, never run. */
  readonly body: string;
}

/** Makes names of skills canonical at preparation. */
export interface ResolveSkill {
  /** Takes a name; one that the policy does not name gives a target that the gate denies. */
  skill(name: string): SkillTarget;
}

/** Loads skills. Each is what it was when the run started. */
export interface SkillPower {
  /** The text of a skill. */
  loadSkill(target: SkillTarget): Skill;
  /** What the policy says of every skill that it names, sorted by name. */
  listSkills(): readonly SkillEntry[];
}

/** Where a task stands. */
export type TaskStatus = "pending" | "in_progress" | "completed";

/** One task of the run. A copy: changing it changes nothing. */
export interface Task {
  /** `t` and the number of the task. */
  readonly id: string;
  /** 1 for the first task of the run, or of its session; never used again. */
  readonly seq: number;
  /** What is to be done, in a few words. */
  readonly subject: string;
  /** The same at length. */
  readonly description: string;
  /** What to show while the task is in progress. */
  readonly activeForm?: string;
  /** Where it stands. */
  readonly status: TaskStatus;
  /** Identifiers of the tasks that have to be completed first, in order of creation; absent: none. */
  readonly blockedBy?: readonly string[];
  /** Identifiers of the tasks that wait for this one, in order of creation; absent: none. */
  readonly blocks?: readonly string[];
  /** Data of the agent's own, its keys sorted; absent: none. */
  readonly metadata?: JsonObject;
  /** When it was made, in milliseconds since the Unix epoch. */
  readonly createdMs: number;
  /** When it was last changed, in milliseconds since the Unix epoch. */
  readonly updatedMs: number;
}

/** A task to be made. Texts are bounded and not blank. */
export interface TaskDraft {
  /** What is to be done, in a few words. */
  readonly subject: string;
  /** The same at length. */
  readonly description: string;
  /** What to show while the task is in progress. */
  readonly activeForm?: string | undefined;
  /** Identifiers of the tasks that have to be completed first. */
  readonly blockedBy?: readonly string[] | undefined;
  /** Data of the agent's own. */
  readonly metadata?: JsonObject | undefined;
}

/** What is to change about a task; what is absent stays. */
export interface TaskChange {
  /** What is to be done, in a few words. */
  readonly subject?: string | undefined;
  /** The same at length. */
  readonly description?: string | undefined;
  /** An empty text takes it away. */
  readonly activeForm?: string | undefined;
  /** Where it is to stand. */
  readonly status?: TaskStatus | undefined;
  /** Identifiers of further tasks that have to be completed first. */
  readonly addBlockedBy?: readonly string[] | undefined;
  /** Wins over `addBlockedBy`. */
  readonly removeBlockedBy?: readonly string[] | undefined;
  /** Replaces all of it; an empty object takes it away. */
  readonly metadata?: JsonObject | undefined;
}

/** Why a task was not made, changed or found. Nothing has changed then. */
export interface TaskRefusal {
  /**
   * `task_not_found`; `task_unknown_dependency`, `task_cycle`, of a dependency; `task_blocked`, where a task would be
   * under way or done before what blocks it; `task_limit`, of their number or size.
   */
  readonly code: "task_not_found" | "task_unknown_dependency" | "task_cycle" | "task_blocked" | "task_limit";
  /** One sentence with the tasks that it is about. */
  readonly reason: string;
}

/** Keeps the tasks of the run: one list for all its calls. Each change happens as a whole or not at all. */
export interface TaskPower {
  /** The list. */
  readonly tasks: {
    create(draft: TaskDraft): Task | TaskRefusal;
    update(id: string, change: TaskChange): Task | TaskRefusal;
    /** Deletes a task, and takes it off every task that it blocked. */
    delete(id: string): { readonly deleted: string } | TaskRefusal;
    get(id: string): Task | TaskRefusal;
    /** All of them, in order of creation. */
    list(): readonly Task[];
  };
}
