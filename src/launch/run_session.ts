/**
 * The session of one run: what it starts with, and what is kept of it once it has ended.
 *
 * @module
 */
import type { RecordBody } from "../audit/record.ts";
import { AuditError, DataError, TwokeyError } from "../errors.ts";
import { isJsonObject, type JsonObject, nestsDeeper } from "../json.ts";
import { absolute, type Places, type Plan } from "../plan/plan.ts";
import { type SavedSession, SessionFile, type SessionPlace, stateBytesOf } from "./session_file.ts";

/** Levels of a state that a host hands over, at most. */
const MAX_DEPTH = 70;

/** Largest list of tasks that a host hands over, in characters; its own bound is a little lower. */
const MAX_TASKS_UNITS = 4_194_304;

/** What opens a session. */
export interface RunSessionOptions {
  readonly plan: Plan;
  readonly places: Places;
  /** State to start with where nothing was saved yet. */
  readonly initial?: JsonObject | undefined;
}

/** Where the session of a plan stands; `undefined` where it keeps none. */
export function sessionPlace(plan: Plan, places: Places): SessionPlace | undefined {
  if (plan.session === undefined) return undefined;
  const { file } = plan.session;
  return { path: absolute(file, places), shown: file, places, owner: plan.policy.path ?? "flags" };
}

/** Refuses a state that is larger than the plan lets it be. @throws {DataError} `state_too_large`. */
export function assertStateFits(state: JsonObject, { budgets }: Plan, what: string): void {
  const bytes = stateBytesOf(state);
  if (bytes <= budgets.stateBytes) return;
  throw new DataError(
    "state_too_large",
    `Cannot start with ${what}: it is ${bytes} bytes, and "budgets.stateBytes" is ${budgets.stateBytes}`,
    { fix: `Set "stateBytes" to ${bytes} or more, or start with less` },
  );
}

/** What a session starts with. */
interface SessionStart extends Pick<SavedSession, "turnId" | "state" | "tasks"> {
  readonly existed: boolean;
}

/** A run's session, locked from its start to its end. */
export class RunSession {
  readonly #file: SessionFile;
  readonly #stateBudget: number;
  /** How many runs had saved the session before this one. */
  readonly turnId: number;
  /** What the agent starts with. */
  readonly state: JsonObject;
  /** The tasks that the run before left. */
  readonly tasks: JsonObject | undefined;
  /** The first record of the session. */
  readonly loaded: RecordBody;

  private constructor(file: SessionFile, plan: Plan, start: SessionStart) {
    this.#file = file;
    this.#stateBudget = plan.budgets.stateBytes;
    this.turnId = start.turnId;
    this.state = start.state;
    this.tasks = start.tasks;
    this.loaded = {
      type: "session_load",
      path: file.shown.session,
      existed: start.existed,
      turn_id: start.turnId,
      state_bytes: stateBytesOf(start.state),
    };
  }

  /**
   * Locks and reads the session of a plan; `undefined` where it keeps none.
   *
   * @throws {AuditError} `session_busy` where another run holds it. @throws {DataError} Where the file is not one, or
   * holds more than the budget.
   */
  static async open({ plan, places, initial = {} }: RunSessionOptions): Promise<RunSession | undefined> {
    const place = sessionPlace(plan, places);
    if (place === undefined) return undefined;
    const file = await SessionFile.open(place);
    try {
      const saved = await file.read();
      const state = saved?.state ?? initial;
      if (saved !== undefined) assertStateFits(state, plan, `the session "${place.shown}"`);
      return new RunSession(file, plan, {
        turnId: saved?.turnId ?? 0,
        state,
        tasks: saved?.tasks,
        existed: saved !== undefined,
      });
    } catch (error) {
      file.close();
      throw error;
    }
  }

  close(): void {
    this.#file.close();
  }

  /**
   * Saves the state of a run that ended well; keeps the file as it is after every other one.
   *
   * Three records: what is about to be kept, before the file is replaced, and that it was, after; or that nothing is.
   *
   * @param state JSON text as the host handed it over: untrusted. `undefined` where it handed none over.
   * @param run `record` puts a record onto the disk. `tasks`: JSON text of the list of tasks, as untrusted; without one the
   * list of the run before is kept.
   * @returns The reason that the run ends with instead, where it could not be saved.
   */
  async save(
    state: string | undefined,
    run: {
      readonly runId: string;
      readonly reason: string;
      readonly tasks?: string | undefined;
      record(body: RecordBody): void;
    },
  ): Promise<string | undefined> {
    const fields = { path: this.#file.shown.session };
    if (run.reason !== "done") {
      run.record({ type: "session_save", ...fields, status: "kept", turn_id: this.turnId, reason: run.reason });
      return undefined;
    }
    const turnId = this.turnId + 1;
    try {
      const bytes = this.#check(state);
      const told = { ...fields, turn_id: turnId, state_bytes: bytes };
      const tasks = run.tasks === undefined ? this.tasks : checkTasks(run.tasks);
      await this.#file.stage({ turnId, tasks, savedMs: Date.now(), runId: run.runId }, state ?? "");
      run.record({ type: "session_save", ...told, status: "staged" });
      await this.#file.commit();
      run.record({ type: "session_save", ...told, status: "saved" });
      return undefined;
    } catch (error) {
      await this.#file.discard();
      const reason = error instanceof TwokeyError ? error.code : "session_unwritable";
      // a log that cannot be written is a graver end than a session that cannot
      if (reason.startsWith("audit_")) throw error;
      run.record({ type: "session_save", ...fields, status: "failed", turn_id: this.turnId, reason });
      return reason;
    }
  }

  /** The host is not taken at its word: a text that could not be read back would lose the session. */
  #check(text: string | undefined): number {
    const value = text === undefined || nestsDeeper(text, MAX_DEPTH) ? undefined : parse(text);
    if (value === undefined) {
      throw new AuditError("session_state", "Cannot save the session: the host handed over no state");
    }
    const bytes = stateBytesOf(value);
    if (bytes > this.#stateBudget) {
      throw new AuditError("session_state", `Cannot save the session: ${bytes} bytes are over the budget`);
    }
    return bytes;
  }
}

function checkTasks(text: string): JsonObject {
  const value = text.length > MAX_TASKS_UNITS || nestsDeeper(text, MAX_DEPTH) ? undefined : parse(text);
  if (value === undefined) {
    throw new AuditError("session_tasks", "Cannot save the session: the host handed over no list of tasks");
  }
  return value;
}

function parse(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
