/**
 * The approval log: what runs asked for and what was decided, kept between runs, outside of what an agent can reach.
 *
 * Each line is sealed under a key that only launchers of this user have, and holds the seal of the line before; the last
 * seal is also kept beside the key. So a line that somebody else wrote or changed says nothing, and a line that is gone,
 * a tail that was cut off or a log from elsewhere is noticed. A line that was torn when a launcher was killed says
 * nothing either.
 *
 * @module
 */
import { type ApprovalEntry, type ApprovalItem, foldApprovals, liveEntries } from "../audit/approval_entries.ts";
import { parentOf } from "../authority/path.ts";
import { AuditError, DataError } from "../errors.ts";
import { isJsonObject, type Json, sha256, utf8Length } from "../json.ts";
import { approvalKey, isOwnAndClosed, makePrivateDir } from "./state_dir.ts";

/** Largest log that is read, in bytes. Nothing is added that would make it larger. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Of these, what requests leave to decisions: an agent can make up requests, and must not keep anybody from a no. */
const RESERVED_BYTES = 4 * 1024 * 1024;
/** From this size on what cannot matter any more is left out, where that is more than half. */
const COMPACT_BYTES = 8 * 1024 * 1024;
const NEWLINE = 10;
const ENCODER = new TextEncoder();

/** Between what is sealed and its seal. */
const SEAL = ',"mac":"';
const SEALED_REGEXP = /^(\{.*),"mac":"([0-9a-f]{64})"\}$/;

/** Where a log lies. */
export interface ApprovalLogPlace {
  /** Absolute; its folder exists. */
  readonly path: string;
  /** The user's state folder of the project: holds the key, the lock and the last seal. */
  readonly state: string;
}

/** What a log says. */
export interface ApprovalBook {
  /** One item for each request, in the order they were first asked for. */
  readonly items: ReadonlyMap<string, ApprovalItem>;
  /** Lines that are torn, or that no launcher of this user wrote: they count for nothing. */
  readonly foreign: number;
}

/** The path of a project's log where the caller names none. */
export function defaultApprovalLog(state: string): string {
  return `${state}/approvals.jsonl`;
}

/** The end of a log: how many entries, and the seal of the last one. */
interface Head {
  readonly entries: number;
  readonly mac: string;
}

/** What is kept of the end; `next` while the log is written anew, when it may be either. */
interface KeptHead extends Head {
  readonly next?: Head;
}

interface Read extends ApprovalBook {
  readonly entries: readonly ApprovalEntry[];
  readonly bytes: number;
  readonly head: Head;
  /** Whether the file ends within a line. */
  readonly isTorn: boolean;
}

/** One approval log. Every use reads it anew, so parallel runs and commands see each other. */
export class ApprovalLog {
  readonly #place: ApprovalLogPlace;
  readonly #key: CryptoKey;
  /** What the first line holds in the place of a seal before: the log's own name, so that a copy elsewhere is none. */
  readonly #start: string;
  readonly #now: () => number;

  private constructor(
    place: ApprovalLogPlace,
    { key, start, now }: { readonly key: CryptoKey; readonly start: string; readonly now: () => number },
  ) {
    this.#place = place;
    this.#key = key;
    this.#start = start;
    this.#now = now;
  }

  /** Opens a log, which need not exist yet. @throws {AuditError} If the state folder cannot be used. */
  static async open(place: ApprovalLogPlace, options: { now?(): number } = {}): Promise<ApprovalLog> {
    await makePrivateDir(place.state);
    const raw = Uint8Array.fromHex(await approvalKey(place.state));
    const key = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    const start = await sha256(`twokey approvals v1\n${place.path}`);
    return new ApprovalLog(place, { key, start, now: options.now ?? Date.now });
  }

  /** Absolute path of the file. */
  get path(): string {
    return this.#place.path;
  }

  /** Reads the log. @throws {DataError} If lines of it are missing. @throws {AuditError} If it cannot be used. */
  async read(): Promise<ApprovalBook> {
    const { items, foreign } = await this.#locked(() => this.#read());
    return { items, foreign };
  }

  /**
   * Looks at the log and adds to it what follows from that, while nobody else can.
   *
   * @param change Returns the entries to add, without their time, and any result.
   * @throws {DataError} If lines of it are missing. @throws {AuditError} If it cannot be used or written.
   */
  async change<T>(
    change: (book: ApprovalBook, nowMs: number) => { readonly add: readonly NewEntry[]; readonly result: T },
  ): Promise<T> {
    return await this.#locked(async () => {
      const read = await this.#read();
      const nowMs = this.#now();
      const { add, result } = change(read, nowMs);
      if (add.length > 0) await this.#append(read, add.map((entry) => ({ ...entry, at_ms: nowMs } as ApprovalEntry)));
      return result;
    });
  }

  async #locked<T>(act: () => Promise<T>): Promise<T> {
    // The lock has a file of its own: it stays where it is, whatever becomes of the log.
    const lock = await usable(() =>
      Deno.open(`${this.#place.state}/approvals.lock`, { create: true, write: true, mode: 0o600 })
    );
    try {
      await usable(() => lock.lock(true));
      return await act();
    } finally {
      lock.close();
    }
  }

  async #read(): Promise<Read> {
    const bytes = await this.#bytes();
    const last = bytes.lastIndexOf(NEWLINE) + 1;
    const lines = new TextDecoder().decode(bytes.subarray(0, last)).split("\n").slice(0, -1);
    const kept = await this.#keptHead();
    const known = new Set<string>();
    const ends = [kept, ...(kept.next === undefined ? [] : [kept.next])];
    for (const end of ends) if (end.entries === 0 && end.mac === this.#start) known.add(end.mac);
    const entries: ApprovalEntry[] = [];
    let mac = this.#start;
    let foreign = 0;
    for (const line of lines) {
      const opened = await this.#open(line);
      if (opened === undefined) {
        if (line !== "") foreign++;
        continue;
      }
      const { n, prev, ...entry } = opened.value;
      if (n !== entries.length + 1 || prev !== mac) {
        throw this.#broken("a line is missing, or it is the log of another place");
      }
      entries.push(entry as unknown as ApprovalEntry);
      mac = opened.mac;
      for (const end of ends) if (end.entries === entries.length && end.mac === mac) known.add(mac);
    }
    if (known.size === 0) {
      const isShort = entries.length < Math.min(...ends.map(({ entries }) => entries));
      throw this.#broken(isShort ? "its end is missing" : "it is not the log that was written");
    }
    return {
      entries,
      bytes: bytes.length,
      items: foldApprovals(entries),
      foreign,
      head: { entries: entries.length, mac },
      isTorn: last < bytes.length,
    };
  }

  /** What a line says; `undefined` where its seal is not ours. */
  async #open(line: string): Promise<{ readonly value: Record<string, Json>; readonly mac: string } | undefined> {
    const [, body, mac] = SEALED_REGEXP.exec(line) ?? [];
    if (body === undefined || mac === undefined || await this.#seal(body) !== mac) return undefined;
    const value = JSON.parse(`${body}}`) as Json;
    return isJsonObject(value) ? { value: { ...value }, mac } : undefined;
  }

  /** Adds entries; where they would not fit, or most of the log cannot matter any more, it is written anew first. */
  async #append(read: Read, entries: readonly ApprovalEntry[]): Promise<void> {
    const { head, isTorn } = read;
    const added = await this.#sealed(head, entries);
    const bound = entries.some(({ kind }) => kind === "pending") ? MAX_BYTES - RESERVED_BYTES : MAX_BYTES;
    const size = read.bytes + utf8Length(added.text) + 1;
    if (size > Math.min(bound, COMPACT_BYTES)) {
      const nowMs = this.#now();
      const live = liveEntries([...read.entries, ...entries], nowMs);
      // Its id is random: no line of the log before can stand where one of this one does.
      const mark = { kind: "compacted", id: crypto.getRandomValues(new Uint8Array(32)).toHex(), at_ms: nowMs } as const;
      const anew = await this.#sealed({ entries: 0, mac: this.#start }, [mark, ...live]);
      const newSize = utf8Length(anew.text);
      if (newSize <= bound && (size > bound || newSize < size / 2)) return await this.#replace(anew);
    }
    if (size > bound) {
      throw new AuditError(
        "approval_log_full",
        "Cannot add to the approval log: what waits in it fills it; decide on that first, see `twokey approval inbox`",
      );
    }
    await this.#write(`${isTorn ? "\n" : ""}${added.text}`);
    await this.#keepHead(added.head);
  }

  /** Seals entries behind a head. */
  async #sealed(
    { entries: n, mac }: Head,
    entries: readonly ApprovalEntry[],
  ): Promise<{ readonly text: string; readonly head: Head }> {
    let text = "";
    for (const { kind, id, at_ms, ...rest } of entries) {
      const body = JSON.stringify({ n: ++n, kind, id, at_ms, ...rest, prev: mac }).slice(0, -1);
      mac = await this.#seal(body);
      text += `${body}${SEAL}${mac}"}\n`;
    }
    return { text, head: { entries: n, mac } };
  }

  /** Puts a log in the place of the one that is there. Whichever of the two a crash leaves is the one that is known. */
  async #replace({ text, head }: { readonly text: string; readonly head: Head }): Promise<void> {
    const draft = `${this.path}.${crypto.randomUUID()}.tmp`;
    await writeSynced(draft, text, { write: true, createNew: true });
    await this.#keepHead({ ...await this.#keptHead(), next: head });
    await usable(() => Deno.rename(draft, this.path));
    await this.#keepHead(head);
  }

  async #keepHead(head: KeptHead): Promise<void> {
    const draft = `${this.#headPath}.${crypto.randomUUID()}.tmp`;
    await usable(async () => {
      await Deno.writeTextFile(draft, JSON.stringify(head), { createNew: true, mode: 0o600 });
      await Deno.rename(draft, this.#headPath);
    });
  }

  async #write(text: string): Promise<void> {
    await writeSynced(this.path, text, { append: true, create: true });
  }

  /** The file's bytes; none where there is no file. */
  async #bytes(): Promise<Uint8Array<ArrayBuffer>> {
    let info: Deno.FileInfo;
    try {
      info = await Deno.lstat(this.path);
    } catch (cause) {
      if (cause instanceof Deno.errors.NotFound) return new Uint8Array();
      throw unusable(cause);
    }
    if (!info.isFile || !isOwnAndClosed(info)) {
      throw new AuditError(
        "approval_log_unusable",
        "Cannot use the approval log: it must be a regular file that is this user's own and closed to others (0600)",
      );
    }
    if (info.size > MAX_BYTES) throw this.#broken(`it is over ${MAX_BYTES} bytes`);
    return await usable(() => Deno.readFile(this.path));
  }

  get #headPath(): string {
    return `${this.#place.state}/approvals-${this.#start.slice(0, 16)}.head`;
  }

  async #keptHead(): Promise<KeptHead> {
    try {
      const { entries, mac, next } = JSON.parse(await Deno.readTextFile(this.#headPath)) as Partial<KeptHead>;
      if (typeof entries === "number" && typeof mac === "string") {
        return { entries, mac, ...(next === undefined ? {} : { next: { entries: next.entries, mac: next.mac } }) };
      }
    } catch (cause) {
      if (cause instanceof Deno.errors.NotFound) return { entries: 0, mac: this.#start };
      if (!(cause instanceof SyntaxError)) throw unusable(cause);
    }
    throw this.#broken("what is kept of its end is no JSON of ours");
  }

  async #seal(body: string): Promise<string> {
    return new Uint8Array(await crypto.subtle.sign("HMAC", this.#key, ENCODER.encode(body))).toHex();
  }

  #broken(what: string): DataError {
    return new DataError("approval_log_broken", `Cannot use the approval log: ${what}`, {
      fix: `Nothing in it holds any more. Move it and ${this.#headPath} away, and ask again`,
    });
  }
}

/** An entry before it is written. */
export type NewEntry = WithoutTime<ApprovalEntry>;

type WithoutTime<T> = T extends unknown ? Omit<T, "at_ms"> : never;

/** Makes the folders that are missing above a log that the caller named. @throws {AuditError} If the system refuses. */
export async function makeFolderOf(path: string): Promise<void> {
  await usable(() => Deno.mkdir(parentOf(path), { recursive: true, mode: 0o700 }));
}

async function usable<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (cause) {
    throw cause instanceof AuditError ? cause : unusable(cause);
  }
}

function unusable(cause: unknown): AuditError {
  return new AuditError("approval_log_unusable", "Cannot use the approval log: the system refused", { cause });
}

/** Writes a text for this user alone; on disk when it returns. */
async function writeSynced(path: string, text: string, options: Deno.OpenOptions): Promise<void> {
  await usable(async () => {
    const file = await Deno.open(path, { ...options, mode: 0o600 });
    try {
      const bytes = ENCODER.encode(text);
      for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
      await file.syncData();
    } finally {
      file.close();
    }
  });
}
