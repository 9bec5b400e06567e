/**
 * The file that keeps an agent's state between runs: read before a run starts, replaced as a whole after it ended well.
 *
 * What stands in it is what a run saved: a code under a key of its own, which only launchers of this user have, covers
 * every byte, and binds it to the policy and to the place of the file. It does not say that no later run saved another:
 * whoever may write the file can put back one that stood there before.
 *
 * @module
 */
import { isInside, parentOf } from "../authority/path.ts";
import { AuditError, DataError } from "../errors.ts";
import { isJsonObject, type JsonObject, nestsDeeper, sha256, utf8Length } from "../json.ts";
import { backupOf, type Places, type PortablePath } from "../plan/plan.ts";
import { lstatOrUndefined } from "./look.ts";
import { makeDir, makePrivateDir, sessionKey } from "./state_dir.ts";

const TYPE = "agent_session";
/** What the key authenticates here: nothing that it authenticates elsewhere passes for a session. */
const PURPOSE = "twokey agent session\n";
const SEALED = /,"mac":"([0-9a-f]{64})"\}\n$/;
/** Largest session file, in bytes: a state of the largest size, every character of its keys escaped. */
const MAX_FILE_BYTES = 128 * 1_048_576;
/** Levels of a session file, at most: a value of the agent, and what is around it. */
const MAX_DEPTH = 70;
/** What is put behind the name of a session file that could not be used: never in the place of a backup that can. */
const UNUSABLE = ".unusable";

/** What identifies a session. */
export interface SessionPlace {
  /** Absolute path of the file. */
  readonly path: string;
  /** The same, for records and messages. */
  readonly shown: PortablePath;
  readonly places: Places;
  /** Portable path of the policy, or `flags`: whose session it is. */
  readonly owner: string;
}

/** What a session file holds. */
export interface SavedSession {
  /** Runs that saved it, the last one included. */
  readonly turnId: number;
  readonly state: JsonObject;
  /** UTF-8 bytes of keys and values. */
  readonly stateBytes: number;
  /** The list of tasks, as the host keeps it; absent where no run kept one. */
  readonly tasks?: JsonObject | undefined;
  /** When it was saved, in milliseconds since the Unix epoch, and by which run. */
  readonly savedMs: number;
  readonly runId: string;
}

/** A session whose lock is held, until `close`. */
export class SessionFile {
  readonly #place: SessionPlace;
  readonly #lock: Deno.FsFile;
  readonly #key: CryptoKey;

  private constructor(place: SessionPlace, lock: Deno.FsFile, key: CryptoKey) {
    this.#place = place;
    this.#lock = lock;
    this.#key = key;
  }

  /**
   * Takes the lock of a session. It goes with the process, so a run that was killed leaves none behind.
   *
   * @throws {AuditError} `session_busy` where another run holds it.
   */
  static async open(place: SessionPlace): Promise<SessionFile> {
    const { state } = place.places;
    const folder = `${state}/sessions/.locks`;
    await makePrivateDir(folder);
    // Beside the key, not beside the file: nobody else can put a link there
    const path = `${folder}/${(await sha256(place.path)).slice(0, 32)}.lock`;
    let lock: Deno.FsFile;
    try {
      lock = await Deno.open(path, { read: true, write: true, create: true, mode: 0o600 });
    } catch (cause) {
      throw new AuditError("session_unusable", "Cannot lock the session: the state folder is not writable", { cause });
    }
    try {
      if (!await lock.tryLock(true)) {
        throw new AuditError(
          "session_busy",
          `Cannot use the session "${place.shown}": another run holds it; wait for its end`,
        );
      }
      return new SessionFile(place, lock, await importKey(await sessionKey(state)));
    } catch (error) {
      lock.close();
      throw error;
    }
  }

  /** Gives the lock back. */
  close(): void {
    this.#lock.close();
  }

  /** Absolute paths of the session file, of the one that a reset set aside, and of one that could not be used. */
  get paths(): Readonly<Record<"session" | "backup" | "unusable", string>> {
    const { path } = this.#place;
    return { session: path, backup: backupOf(path), unusable: `${path}${UNUSABLE}` };
  }

  /** The same paths for records and messages. */
  get shown(): Readonly<Record<"session" | "backup" | "unusable", PortablePath>> {
    const { shown } = this.#place;
    return { session: shown, backup: backupOf(shown), unusable: `${shown}${UNUSABLE}` };
  }

  /**
   * Reads what was saved; `undefined` where nothing was.
   *
   * @throws {DataError} `session_invalid` where the file is not what a run of this policy saved on this machine.
   */
  async read(which: "session" | "backup" = "session"): Promise<SavedSession | undefined> {
    const bytes = await this.#readBytes(this.paths[which], which);
    return bytes === undefined ? undefined : await this.#parse(bytes, which);
  }

  /** Whether there is a file, whatever is in it. */
  async exists(which: "session" | "backup"): Promise<boolean> {
    return await lstatOrUndefined(this.paths[which]) !== undefined;
  }

  /**
   * Writes a session beside the file, down to the disk, so that only a rename is left to do.
   *
   * @param state JSON text of an object.
   * @throws {AuditError} `session_unwritable`.
   */
  async stage(saved: Omit<SavedSession, "state" | "stateBytes">, state: string): Promise<void> {
    const { owner } = this.#place;
    const head = JSON.stringify({
      type: TYPE,
      version: 1,
      owner,
      run_id: saved.runId,
      saved_ms: saved.savedMs,
      turn_id: saved.turnId,
    });
    const tasks = saved.tasks === undefined ? "" : `,"tasks":${JSON.stringify(saved.tasks)}`;
    const body = `${head.slice(0, -1)},"state":${state}${tasks}`;
    const mac = new Uint8Array(await crypto.subtle.sign("HMAC", this.#key, this.#sealed(body))).toHex();
    await this.#orUnwritable(async () => {
      await this.#makeFolder();
      await this.#write(`${body},"mac":"${mac}"}\n`);
    });
  }

  /** Puts the staged session in the place of the file. @throws {AuditError} `session_unwritable`. */
  async commit(): Promise<void> {
    await this.#orUnwritable(() => Deno.rename(this.#staged, this.paths.session));
    await this.#syncFolder();
  }

  /** Drops a staged session. */
  async discard(): Promise<void> {
    await Deno.remove(this.#staged).catch(() => {});
  }

  /**
   * Sets the session aside: as the one backup, the one before is gone then; or, where it cannot be used, under a name of
   * its own, so that a good backup stays.
   */
  async setAside(as: "backup" | "unusable"): Promise<void> {
    await this.#orUnwritable(() => Deno.rename(this.paths.session, this.paths[as]));
    await this.#syncFolder();
  }

  /**
   * Puts the backup back. The session that is there becomes the backup, or is set aside where it cannot be used; where
   * there is none, or none that can be used, the backup stays.
   */
  async putBack({ isUsable }: { readonly isUsable: boolean }): Promise<void> {
    const { session, backup, unusable } = this.paths;
    await this.#orUnwritable(async () => {
      const current = isUsable ? await this.#readBytes(session, "session") : undefined;
      const kept = await this.#readBytes(backup, "backup");
      if (kept === undefined) throw new Deno.errors.NotFound();
      await this.#write(kept);
      if (!isUsable && await lstatOrUndefined(session) !== undefined) await Deno.rename(session, unusable);
      await Deno.rename(this.#staged, session);
      if (current === undefined) return;
      await this.#write(current);
      await Deno.rename(this.#staged, backup);
    });
    await this.#syncFolder();
  }

  /** Under the lock nobody else stages; what is there was left by a run that was killed. */
  get #staged(): string {
    return `${this.#place.path}.tmp`;
  }

  async #makeFolder(): Promise<void> {
    const { path, places } = this.#place;
    const folder = parentOf(path);
    if (isInside(places.state, folder)) return await makePrivateDir(folder);
    await makeDir(folder, { above: isInside(places.project, folder) ? places.project : "/", mode: 0o700 });
  }

  async #write(content: string | Uint8Array<ArrayBuffer>): Promise<void> {
    const path = this.#staged;
    await Deno.remove(path).catch(() => {});
    const file = await Deno.open(path, { write: true, createNew: true, mode: 0o600 });
    try {
      const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
      for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
      await file.sync();
    } finally {
      file.close();
    }
  }

  /** Best effort: the file is whole either way, and which of the two is there after a power cut is not worth a run. */
  async #syncFolder(): Promise<void> {
    try {
      using folder = await Deno.open(parentOf(this.paths.session));
      await folder.sync();
    } catch {
      // not every file system can
    }
  }

  async #orUnwritable(act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (cause) {
      if (cause instanceof DataError) throw cause;
      throw new AuditError(
        "session_unwritable",
        `Cannot write the session "${this.#place.shown}": the system refused; the one before is still there`,
        { cause },
      );
    }
  }

  /** Reads a regular file that is no link; what stands in its place meanwhile is not read. */
  async #readBytes(path: string, which: "session" | "backup"): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const info = await lstatOrUndefined(path);
    if (info === undefined) return undefined;
    if (!info.isFile) throw this.#invalid(which, "it is a link or no regular file");
    if (info.size > MAX_FILE_BYTES) throw this.#invalid(which, "it is larger than any session");
    try {
      using file = await Deno.open(path);
      const opened = await file.stat();
      if (opened.dev !== info.dev || opened.ino !== info.ino) throw this.#invalid(which, "it was replaced just now");
      return new Uint8Array(await new Response(file.readable).arrayBuffer());
    } catch (cause) {
      if (cause instanceof DataError) throw cause;
      throw this.#invalid(which, "it cannot be read", cause);
    }
  }

  async #parse(bytes: Uint8Array<ArrayBuffer>, which: "session" | "backup"): Promise<SavedSession> {
    const text = new TextDecoder().decode(bytes);
    const mac = SEALED.exec(text)?.[1];
    if (mac === undefined) throw this.#invalid(which, "it is no session that a run has saved");
    const body = text.slice(0, text.length - `,"mac":"${mac}"}\n`.length);
    if (!await crypto.subtle.verify("HMAC", this.#key, Uint8Array.fromHex(mac), this.#sealed(body))) {
      throw this.#invalid(which, "it was changed since, or saved elsewhere or by another user");
    }
    if (nestsDeeper(body, MAX_DEPTH)) throw this.#invalid(which, "it is nested too deep");
    const { type, version, owner, turn_id, saved_ms, run_id, state, tasks } = JSON.parse(`${body}}`) as JsonObject;
    if (type !== TYPE || version !== 1 || !isJsonObject(state)) throw this.#invalid(which, "it is of another version");
    if (owner !== this.#place.owner) throw this.#invalid(which, "it was saved under another policy");
    if (tasks !== undefined && !isJsonObject(tasks)) throw this.#invalid(which, "it is of another version");
    return {
      ...(tasks === undefined ? {} : { tasks }),
      turnId: Number(turn_id),
      savedMs: Number(saved_ms),
      runId: String(run_id),
      state,
      stateBytes: stateBytesOf(state),
    };
  }

  /** What the code is over: its purpose, whose session it is by the place of the file, and what was saved. */
  #sealed(body: string): Uint8Array<ArrayBuffer> {
    return new TextEncoder().encode(`${PURPOSE}${JSON.stringify(this.#place.path)}\n${body}`);
  }

  #invalid(which: "session" | "backup", what: string, cause?: unknown): DataError {
    return new DataError("session_invalid", `Cannot use the ${which} "${this.shown[which]}": ${what}`, {
      fix: which === "session"
        ? "Run `twokey reset` to start anew, or `twokey reset --rollback` for the backup of an earlier reset: either " +
          "sets the file aside"
        : "Remove the file: nothing can be put back from it",
      cause,
    });
  }
}

/** UTF-8 bytes of a state as its budget counts them: keys and JSON texts of values. */
export function stateBytesOf(state: JsonObject): number {
  return Object.entries(state).reduce(
    (sum, [key, value]) => sum + utf8Length(key) + utf8Length(JSON.stringify(value)),
    0,
  );
}

function importKey(hex: string): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", Uint8Array.fromHex(hex), { name: "HMAC", hash: "SHA-256" }, false, [
    "sign",
    "verify",
  ]);
}
