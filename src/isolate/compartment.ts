/**
 * An agent in a hardened compartment of the host's own thread: the fastest call, and no bound on processor or memory
 * but the launcher's.
 *
 * @module
 */
import { sesWrap } from "./ses_wrap.ts";
import { makeGuest } from "./guest.js";
import { evaluateHardened, lockRealm, proxyTest } from "./hardened.js";
import type { GuestStart, Isolate, IsolateEvents } from "./isolate.ts";

/** Milliseconds after which the agent waits one turn of the event loop, so that timers and sockets of the host get theirs. */
const TURN_MS = 10;
/** Lines between two looks at the clock. */
const LINES_PER_LOOK = 32;
const ENCODER = new TextEncoder();

/** Joins the host to a compartment in its own thread. */
export class CompartmentIsolate implements Isolate {
  readonly #events: IsolateEvents;
  readonly #gone = Promise.withResolvers<void>();
  readonly #fromAgent: string[] = [];
  #guest: ReturnType<typeof makeGuest> | undefined;
  /** Answers that wait for their turn, where each has a turn of its own. */
  readonly #inbox: string[] = [];
  #ordered = false;
  #checking = false;
  #taking = false;
  #lines = 0;
  #turnedMs = 0;

  constructor(events: IsolateEvents) {
    this.#events = events;
  }

  ready(): Promise<void> {
    return Promise.resolve();
  }

  async start(start: GuestStart, code: string): Promise<void> {
    this.#ordered = start.ordered;
    const RealDate = Date;
    const isProxy = proxyTest();
    await import("ses");
    lockRealm();
    const guest = makeGuest({
      post: (line) => this.#post(line),
      log: (text) => writeAll(Deno.stderr, ENCODER.encode(text.toWellFormed())),
      isProxy,
      setTimer: (run, ms) => setTimeout(() => this.#enter(run), ms) as unknown as number,
      clearTimer: (timer) => clearTimeout(timer),
      RealDate,
    }, start);
    this.#guest = guest;
    addEventListener("unhandledrejection", (event) => {
      event.preventDefault();
      guest.fail(event.reason);
    });
    guest.begin(evaluateHardened(sesWrap(code), guest.globals, isProxy), () => this.#check());
    this.#check();
  }

  send(line: string): void {
    if (this.#ordered) {
      if (this.#inbox.push(line) === 1) setImmediate(() => this.#deliverNext());
      return;
    }
    if (++this.#lines % LINES_PER_LOOK === 0 && performance.now() - this.#turnedMs > TURN_MS) {
      setImmediate(() => {
        this.#turnedMs = performance.now();
        this.#deliver(line);
      });
    } else this.#deliver(line);
  }

  #deliver(line: string): void {
    this.#enter(() => this.#guest?.deliver(line));
  }

  #deliverNext(): void {
    const line = this.#inbox[0] ?? "";
    this.#enter(() => this.#guest?.deliver(line));
    // Taken out last: an inbox that is not empty has a turn coming.
    this.#inbox.shift();
    if (this.#inbox.length > 0) setImmediate(() => this.#deliverNext());
  }

  serve(): Promise<void> {
    return this.#gone.promise;
  }

  /** Lines are taken on a stack of the host's own: an agent that has almost used up its stack cannot break the host. */
  #post(line: string): void {
    // Marked last: an agent that has used up its stack may make the call before it fail.
    if (!this.#taking) queueMicrotask(() => this.#take());
    this.#taking = true;
    this.#fromAgent.push(line);
  }

  #take(): void {
    for (let at = 0; at < this.#fromAgent.length; at++) this.#events.line(this.#fromAgent[at] ?? "");
    this.#fromAgent.length = 0;
    this.#taking = false;
  }

  /** What goes wrong on the agent's side is the agent's failure: the host's own stack, on which it runs, must not see it. */
  #enter(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#guest?.fail(error);
    }
    this.#check();
  }

  /** Looks, once the turn's microtasks have run, whether anything can still happen. */
  #check(): void {
    if (this.#checking) return;
    setImmediate(() => {
      this.#checking = false;
      this.#guest?.settle();
      this.#guest?.stall();
    });
    this.#checking = true;
  }
}

function writeAll(file: { writeSync(bytes: Uint8Array): number }, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += file.writeSync(bytes.subarray(at));
}
