/**
 * What the three isolations have in common: a channel of text lines to the agent's side, and an end.
 *
 * @module
 */

/** What the host tells the agent's side when a run begins. */
export interface GuestStart {
  /** JSON text of the policy's context. */
  readonly context: string;
  /** JSON text of what `auditControls()` returns. */
  readonly controls: string;
  /** The run's clock, in milliseconds since the Unix epoch. */
  readonly now: number;
  /** The run's seed: 32 hexadecimal digits. */
  readonly seed: string;
  /**
   * Whether the agent takes one answer at a time, each only once it has done all that the one before made it do, and
   * leaves its timers to the host. What it does is then decided by the order of the answers alone.
   */
  readonly ordered: boolean;
}

/** How an isolation reports to the host. */
export interface IsolateEvents {
  /** One line of the agent's side, without its newline. Hostile. */
  line(line: string): void;
  /** The agent's side is gone, or broke the framing. Called at most once, nothing follows. */
  gone(reason: string): void;
}

/** What an isolation asks about the run that it serves. */
export interface Served {
  /** Whether answers are still due: the host must not block then. */
  readonly busy: boolean;
  /** Whether the run has ended: nothing more is read. */
  readonly over: boolean;
}

/** A place where agent code runs. */
export interface Isolate {
  /** Resolves once the agent's side is up and holds its ends of the channel, or is gone. Nothing of the agent runs yet. */
  ready(): Promise<void>;
  /** Starts the agent. `code` is the checked bundle. */
  start(start: GuestStart, code: string): void | Promise<void>;
  /** Sends one line, without its newline. */
  send(line: string): void;
  /** Resolves once nothing waits to be sent; `undefined` where nothing does. */
  drained?(): Promise<void> | undefined;
  /** Takes note of bytes that the agent's side says it has read; absent where nothing is counted. */
  acknowledge?(bytes: number): void;
  /** Takes in what the agent sends. Resolves when the run is over or the agent's side is gone. */
  serve(run: Served): Promise<void>;
}
