/**
 * One started program, from its start to the end of everything that can be ended of it. There is one way to end it, for
 * the deadline, for too much output and for what it leaves behind.
 *
 * @module
 */
import { ToolError } from "../errors.ts";
import type { Output } from "./output.ts";

/** How long the pipes of a program that has ended may stay silent before they are cut, in milliseconds. */
const IDLE_MS = 250;
/** What a program may take to end after it was asked to, in milliseconds. */
const GRACE_MS = 250;
/** What a killed program's pipes may take to close, in milliseconds. */
const DRAIN_MS = 1_000;

/** What is started. */
export interface ChildOptions {
  /** Name of the command, for messages. */
  readonly command: string;
  /** Absolute path of what is run. */
  readonly run: string;
  readonly args: readonly string[];
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Real path of the folder to start in. */
  readonly cwd: string;
  /** Whether a confinement ends with what was started, and everything in it: then it is killed at once. */
  readonly confined: boolean;
  /** Whether what is run begins a session of its own; else it is started in one, which costs a copy of this process. */
  readonly ownSession: boolean;
  /** Aborted when the program must end. */
  readonly signal: AbortSignal;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Tells the launcher, which alone may signal a group: a child is there, is to be ended, is gone. */
  tell(word: "child" | "stop" | "gone", pid: number): void;
}

/** How a program ended. */
export interface ChildEnd {
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Whether its pipes were still held when it had ended, and were cut. */
  readonly descendantsLeft: boolean;
}

/**
 * Runs a program to its end.
 *
 * @throws {ToolError} `process_spawn_failed`. @throws {BudgetError} From an output. @throws The signal's reason. What was
 * started is ended in each case.
 */
export async function runChild(options: ChildOptions): Promise<ChildEnd> {
  options.signal.throwIfAborted();
  const child = start(options);
  options.tell("child", child.pid);
  const life = new Life(child, options);
  try {
    return await life.run();
  } finally {
    await life.close();
    options.tell("gone", child.pid);
  }
}

function start({ command, run, args, env, cwd, ownSession }: ChildOptions): Deno.ChildProcess {
  try {
    return new Deno.Command(run, {
      args: [...args],
      cwd,
      env: { ...env },
      clearEnv: true,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
      // a session of its own: no terminal, and a group that can be ended as one
      detached: !ownSession,
    }).spawn();
  } catch (cause) {
    const kind = cause instanceof Error ? cause.name : "unknown";
    throw new ToolError("process_spawn_failed", `Cannot start "${command}": the system refused (${kind})`, { cause });
  }
}

/** A program while it runs. */
class Life {
  readonly #child: Deno.ChildProcess;
  readonly #options: ChildOptions;
  readonly #readers: ReadableStreamDefaultReader<Uint8Array>[];
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();
  #status: Deno.CommandStatus | undefined;
  #isEnding = false;
  #touchedMs = performance.now();

  constructor(child: Deno.ChildProcess, options: ChildOptions) {
    this.#child = child;
    this.#options = options;
    this.#readers = [child.stdout.getReader(), child.stderr.getReader()];
  }

  async run(): Promise<ChildEnd> {
    const { signal, stdout, stderr } = this.#options;
    const stopped = Promise.withResolvers<never>();
    const onAbort = () => stopped.reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    const [out, err] = this.#readers;
    const pumps = Promise.all([this.#pump(out, stdout), this.#pump(err, stderr)]);
    pumps.catch(() => {});
    try {
      const exited = this.#child.status.then((status) => {
        this.#status = status;
        this.#touchedMs = performance.now();
      });
      // too much output ends the wait for the program as well
      await Promise.race([exited, stopped.promise, pumps.then(() => exited)]);
      const drained = await Promise.race([pumps.then(() => true), this.#idle(), stopped.promise]);
      const { code = null, signal: name = null } = this.#status ?? {};
      return { exitCode: name === null ? code : null, signal: name, descendantsLeft: !drained };
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Ends what is left: the group, the program, the pipes. Waits for it, but never longer than it says. */
  async close(): Promise<void> {
    this.#end();
    if (this.#status === undefined) {
      await Promise.race([
        this.#child.status.then((status) => this.#status = status),
        this.#after(DRAIN_MS + GRACE_MS),
      ]);
    }
    for (const timer of this.#timers) clearTimeout(timer);
    for (const reader of this.#readers) reader.cancel().catch(() => {});
    // a status that nobody waits for would leave a zombie
    this.#child.status.catch(() => {});
  }

  async #pump(reader: ReadableStreamDefaultReader<Uint8Array> | undefined, output: Output): Promise<void> {
    while (reader !== undefined) {
      const { done, value } = await reader.read();
      if (done) return;
      this.#touchedMs = performance.now();
      output.push(value);
    }
  }

  /** Resolves to `false` once the program has ended and its pipes have been silent for a while. */
  async #idle(): Promise<false> {
    while (true) {
      const left = this.#touchedMs + IDLE_MS - performance.now();
      if (left <= 0) return false;
      await this.#after(left);
    }
  }

  #end(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    const { confined, tell } = this.#options;
    if (!confined) tell("stop", this.#child.pid);
    if (this.#status !== undefined) return;
    // the end of a confinement is the end of all in it, and nothing in it ever sees another signal
    if (confined) return this.#signal("SIGKILL");
    this.#signal("SIGTERM");
    this.#timers.add(setTimeout(() => this.#status === undefined && this.#signal("SIGKILL"), GRACE_MS));
  }

  #signal(name: Deno.Signal): void {
    try {
      this.#child.kill(name);
    } catch {
      // it is gone already
    }
  }

  #after(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        resolve();
      }, ms);
      this.#timers.add(timer);
    });
  }
}
