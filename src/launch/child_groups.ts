/**
 * The programs that the host has started outside of any namespace, as the launcher knows them: it alone may signal a
 * group. A number that the host names is believed only as far as the system confirms it.
 *
 * @module
 */
import { type ProcessFacts, readMembers, readProcess } from "./process_facts.ts";

/** What a group may take to end after it was asked to, in milliseconds. */
const GRACE_MS = 200;

/** How the system is asked and told; a test puts its own in. */
export interface GroupSystem {
  /** Facts of one process; `undefined` once it is gone. */
  read(pid: number): ProcessFacts | undefined;
  /** Facts of every process of a group. */
  members(group: number): readonly ProcessFacts[];
  kill(group: number, signal: "SIGTERM" | "SIGKILL"): void;
}

/** The system itself. */
const SYSTEM: GroupSystem = Object.freeze({
  read: readProcess,
  members: readMembers,
  kill: (group: number, signal: "SIGTERM" | "SIGKILL") => Deno.kill(-group, signal),
});

/** The groups of one run. */
export class ChildGroups {
  readonly #hostPid: number;
  readonly #system: GroupSystem;
  /** When each leader began; `null` for one that had ended before it could be looked at. */
  readonly #groups = new Map<number, string | null>();
  readonly #timers = new Map<number, ReturnType<typeof setTimeout>>();
  readonly #host: ProcessFacts | undefined;
  readonly #since: number;

  constructor(hostPid: number, system: GroupSystem = SYSTEM) {
    this.#hostPid = hostPid;
    this.#system = system;
    this.#host = system.read(hostPid);
    this.#since = this.#host?.order ?? Infinity;
  }

  /** Groups that were not ended yet. */
  get size(): number {
    return this.#groups.size;
  }

  /**
   * The host says that it started a program. Returns whether the system confirms it: it is the host's child, in a group
   * of its own or still in the host's, as it is until it has begun its session. What is signalled later is looked at
   * again then.
   */
  started(pid: number): boolean {
    if (!Number.isSafeInteger(pid) || pid < 2 || pid === this.#hostPid) return false;
    const facts = this.#system.read(pid);
    if (facts === undefined) {
      this.#groups.set(pid, null);
      return true;
    }
    const { group, session } = facts;
    const isHosts = group === this.#host?.group && session === this.#host.session;
    const confirmed = facts.parent === this.#hostPid && ((group === pid && session === pid) || isHosts);
    if (confirmed) this.#groups.set(pid, facts.start);
    return confirmed;
  }

  /** Ends a group: asks it first, and ends what is left of it after a moment. */
  stop(pid: number): void {
    if (!this.#groups.has(pid) || this.#timers.has(pid)) return;
    if (!this.#signal(pid, "SIGTERM") && !this.#isBeginning(pid)) {
      this.#groups.delete(pid);
      return;
    }
    this.#timers.set(pid, setTimeout(() => this.#finish(pid), GRACE_MS));
  }

  /** The host says that a program has ended. What is left of its group is ended as well. */
  gone(pid: number): void {
    this.stop(pid);
  }

  /** Ends every group at once: the run is over. */
  end(): void {
    for (const pid of [...this.#groups.keys()]) this.#finish(pid);
  }

  #finish(pid: number): void {
    clearTimeout(this.#timers.get(pid));
    this.#timers.delete(pid);
    this.#signal(pid, "SIGKILL");
    this.#groups.delete(pid);
  }

  /** Whether a program has not begun its session yet: its group is looked for again later. */
  #isBeginning(pid: number): boolean {
    const leader = this.#system.read(pid);
    return leader !== undefined && leader.start === this.#groups.get(pid) && leader.group !== pid;
  }

  /** Signals a group that is surely the announced one; returns whether there was anything to signal. */
  #signal(pid: number, signal: "SIGTERM" | "SIGKILL"): boolean {
    const start = this.#groups.get(pid);
    if (start === undefined) return false;
    const leader = this.#system.read(pid);
    // the number belongs to somebody else by now, or no group has it yet
    if (leader !== undefined && (leader.start !== start || leader.group !== pid || leader.session !== pid)) {
      return false;
    }
    if (leader === undefined) {
      // Without its leader a group is known by its session, which nobody else can have, and by its age.
      const left = this.#system.members(pid);
      if (left.length === 0 || left.some(({ session, order }) => session !== pid || order < this.#since)) return false;
    }
    try {
      this.#system.kill(pid, signal);
      return true;
    } catch {
      return false;
    }
  }
}
