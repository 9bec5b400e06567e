// @ts-check
/**
 * The agent's side of the membrane: the globals that agent code sees, over a channel of text lines.
 *
 * The same code serves the three isolations. It is plain JavaScript without imports, because the agent's process has no
 * module cache to transpile into and the worker gets it as text. Nothing here is a wall: the host checks every byte that
 * this code, or an agent in its place, sends.
 *
 * Long on purpose: what a worker is started from is text, and what crosses the membrane is read in one place.
 *
 * A line is a JSON head, and for most operations a tab and a JSON body: `{"op":"call","id":1,"name":"echo"}\t{"a":1}`.
 *
 * @module
 */

/**
 * What the isolation lends to the guest.
 *
 * @typedef {object} GuestPowers
 * @property {(line: string) => void} post Queues one line for the host, without its newline.
 * @property {(text: string) => void} log Writes text to standard error.
 * @property {(value: unknown) => boolean} isProxy
 * @property {(run: () => void, ms: number) => number} setTimer
 * @property {(timer: number) => void} clearTimer
 * @property {DateConstructor} RealDate
 */

/**
 * What the host says when a run begins.
 *
 * @typedef {object} GuestStart
 * @property {string} context JSON text of the policy's context.
 * @property {string} controls JSON text of what `auditControls()` returns.
 * @property {number} now Milliseconds since the Unix epoch: the run's clock.
 * @property {string} seed At least eight hexadecimal digits: the run's seed.
 * @property {boolean} ordered Whether the host keeps every timer, so that timers and answers come in one order that it knows.
 */

const MAX_DEPTH = 64;
const MAX_TIMERS = 10_000;
const MAX_TIMER_MS = 2_147_483_647;

/** Why a value is not plain data, and where: a JSON Pointer from the value's root. */
class NotPlain extends Error {
  /**
   * @param {string} path
   * @param {string} reason
   */
  constructor(path, reason) {
    super(`value at "${path}" is not plain JSON data: ${reason}`);
    this.path = path;
    this.reason = reason;
  }
}

/**
 * Builds the guest.
 *
 * @param {GuestPowers} powers
 * @param {GuestStart} start
 */
export function makeGuest(powers, start) {
  const { post, log, isProxy, RealDate } = powers;
  const { setTimer, clearTimer } = start.ordered ? { setTimer: askTimer, clearTimer: dropTimer } : powers;
  const { create: createObject, getPrototypeOf, setPrototypeOf, getOwnPropertyDescriptor, freeze, keys: keysOf } =
    Object;
  const { ownKeys } = Reflect;
  const { stringify, parse } = JSON;
  const { isArray } = Array;
  const { isFinite: isFiniteNumber } = Number;
  const ObjectPrototype = Object.prototype;
  const ArrayPrototype = Array.prototype;

  let now = start.now;
  let closed = false;
  let nextId = 1;
  let finished = false;
  let mainSettled = false;
  /** @type {{ status: string, error?: unknown } | undefined} */
  let failure;
  /** @type {string | undefined} */
  let value;
  /** @type {Map<number, { resolve: (value: unknown) => void, reject: (error: unknown) => void, tool?: string }>} */
  const waiting = new Map();
  /** @type {Map<number, number>} */
  const timers = new Map();
  let nextTimer = 1;

  /** A refused or failed call, as an agent sees it. */
  class ToolCallError extends Error {
    /** @param {{ outcome: string, code: string, message: string, tool: string }} fields */
    constructor({ outcome, code, message, tool }) {
      super(message);
      this.name = "ToolCallError";
      this.outcome = outcome;
      this.code = code;
      this.tool = tool;
      freeze(this);
    }
  }
  // What an agent catches leads to the class. In a compartment it runs on the host's stack, so nobody may give it a parent.
  freeze(ToolCallError);
  freeze(ToolCallError.prototype);

  /**
   * Copies plain data. Reads through property descriptors, so no getter, `toJSON` or proxy trap of the agent runs twice
   * and what was checked is what is sent. Copies have no prototype: nothing that was added to one can change the text.
   *
   * @param {unknown} input
   * @param {string} path
   * @param {number} depth
   * @param {Set<object>} above
   * @returns {unknown}
   */
  function copyPlain(input, path, depth, above) {
    switch (typeof input) {
      case "string":
        if (!input.isWellFormed()) throw new NotPlain(path, "a lone surrogate");
        return input;
      case "number":
        if (!isFiniteNumber(input)) throw new NotPlain(path, String(input));
        return input;
      case "boolean":
        return input;
      case "object":
        break;
      default:
        throw new NotPlain(path, input === undefined ? "undefined" : `a ${typeof input}`);
    }
    if (input === null) return null;
    if (isProxy(input)) throw new NotPlain(path, "a proxy");
    if (depth >= MAX_DEPTH) throw new NotPlain(path, `nested deeper than ${MAX_DEPTH}`);
    if (above.has(input)) throw new NotPlain(path, "a cycle");
    above.add(input);
    const prototype = getPrototypeOf(input);
    /** @type {unknown} */
    let copy;
    if (isArray(input)) {
      if (prototype !== ArrayPrototype) throw new NotPlain(path, "an array with another prototype");
      copy = copyArray(input, path, depth, above);
    } else {
      if (prototype !== ObjectPrototype && prototype !== null) {
        throw new NotPlain(path, "an object with another prototype");
      }
      copy = copyObject(input, path, depth, above);
    }
    above.delete(input);
    return copy;
  }

  /**
   * @param {unknown[]} input
   * @param {string} path
   * @param {number} depth
   * @param {Set<object>} above
   */
  function copyArray(input, path, depth, above) {
    const { length } = input;
    /** @type {unknown[]} */
    const copy = [];
    for (let i = 0; i < length; i++) {
      const descriptor = getOwnPropertyDescriptor(input, i);
      if (descriptor === undefined) throw new NotPlain(`${path}/${i}`, "a hole in an array");
      if (!("value" in descriptor)) throw new NotPlain(`${path}/${i}`, "a getter");
      copy[i] = copyPlain(descriptor.value, `${path}/${i}`, depth + 1, above);
    }
    if (ownKeys(input).length !== length + 1) throw new NotPlain(path, "an array with named properties");
    setPrototypeOf(copy, null);
    return copy;
  }

  /**
   * @param {object} input
   * @param {string} path
   * @param {number} depth
   * @param {Set<object>} above
   */
  function copyObject(input, path, depth, above) {
    const copy = createObject(null);
    for (const key of ownKeys(input)) {
      if (typeof key === "symbol") throw new NotPlain(path, "a symbol key");
      const plain = !key.includes("/") && !key.includes("~");
      const at = `${path}/${plain ? key : key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
      if (key === "__proto__") throw new NotPlain(at, "a key named __proto__");
      if (!key.isWellFormed()) throw new NotPlain(path, "a key with a lone surrogate");
      const descriptor = getOwnPropertyDescriptor(input, key);
      if (descriptor === undefined || !("value" in descriptor)) throw new NotPlain(at, "a getter");
      if (!descriptor.enumerable) throw new NotPlain(at, "a hidden property");
      // A property that is undefined is the same as one that is not there, as everywhere in JSON.
      if (descriptor.value !== undefined) copy[key] = copyPlain(descriptor.value, at, depth + 1, above);
    }
    return copy;
  }

  /** @param {unknown} input */
  function encode(input) {
    return stringify(copyPlain(input, "", 0, new Set()));
  }

  /**
   * Prints a head. Without a prototype, so that a `toJSON` which the agent gave to all objects changes nothing.
   *
   * @param {Record<string, unknown>} fields
   * @returns {string}
   */
  function headText(fields) {
    return stringify(withoutPrototype(fields));
  }

  /** @param {Record<string, unknown>} fields */
  function withoutPrototype(fields) {
    const copy = createObject(null);
    for (const key of keysOf(fields)) {
      const field = fields[key];
      copy[key] = typeof field === "object" && field !== null
        ? withoutPrototype(/** @type {Record<string, unknown>} */ (field))
        : field;
    }
    return copy;
  }

  /** @param {string} surface */
  function refuseClosed(surface) {
    post(headText({ op: "closed", surface }));
    return new Error(`agent compartment closed: ${surface}`);
  }

  /**
   * Sends a line that has an answer.
   *
   * @param {(id: number) => string} headOf Prints the head of the line.
   * @param {string | undefined} body
   * @param {string} [tool]
   */
  function ask(headOf, body, tool) {
    const id = nextId++;
    return new Promise((resolve, reject) => {
      const text = headOf(id);
      // Posted first: where the agent has used up its stack, nothing then waits for what was never asked.
      post(body === undefined ? text : `${text}\t${body}`);
      waiting.set(id, tool === undefined ? { resolve, reject } : { resolve, reject, tool });
    });
  }

  /**
   * @param {unknown} name
   * @param {unknown} [args]
   * @returns {Promise<unknown>}
   */
  function callTool(name, args) {
    if (closed) return Promise.reject(refuseClosed("callTool"));
    const tool = `${name}`;
    try {
      const body = encode(args === undefined ? {} : args);
      // The head of nearly every line: printed by hand, and a text as such asks nobody for a `toJSON`.
      return ask((id) => `{"op":"call","name":${stringify(tool)},"id":${id}}`, body, tool);
    } catch (error) {
      if (!(error instanceof NotPlain)) throw error;
      const bad = { path: error.path, reason: error.reason };
      return ask((id) => headText({ op: "call", name: tool, bad, id }), undefined, tool);
    }
  }

  /** @param {string} surface @param {unknown} input */
  function encodeOr(surface, input) {
    try {
      return encode(input);
    } catch (error) {
      if (!(error instanceof NotPlain)) throw error;
      throw new TypeError(`Cannot ${surface}: ${error.message}`);
    }
  }

  /** @param {unknown} event */
  function emit(event) {
    if (closed) throw refuseClosed("emit");
    post(`{"op":"emit"}\t${encodeOr("emit", event)}`);
  }

  /** @param {unknown} note */
  function auditNote(note) {
    if (closed) throw refuseClosed("auditNote");
    post(`{"op":"note"}\t${encodeOr("note", note)}`);
  }

  function auditControls() {
    if (closed) throw refuseClosed("auditControls");
    post('{"op":"controls"}');
    return deepFreeze(parse(start.controls));
  }

  function close() {
    if (closed) return true;
    closed = true;
    post('{"op":"close"}');
    return true;
  }

  const state = freeze({
    /** @param {unknown} key */
    get: (key) => stateOp({ op: "state", do: "get", key: `${key}` }),
    /** @param {unknown} key @param {unknown} input */
    set: (key, input) => {
      try {
        return stateOp({ op: "state", do: "set", key: `${key}` }, encodeOr("set state", input));
      } catch (error) {
        return Promise.reject(error);
      }
    },
    /** @param {unknown} key */
    delete: (key) => stateOp({ op: "state", do: "delete", key: `${key}` }),
    list: () => stateOp({ op: "state", do: "list" }),
    reset: () => stateOp({ op: "state", do: "reset" }),
  });

  /** @param {Record<string, unknown>} head @param {string} [body] */
  function stateOp(head, body) {
    return closed ? Promise.reject(refuseClosed("state")) : ask((id) => headText({ ...head, id }), body);
  }

  /** @param {unknown} error */
  function fail(error) {
    if (finished) return;
    failure ??= { status: "error", error };
    finish();
  }

  /** Asks the host to answer once the time is over. @param {() => void} run @param {number} ms */
  function askTimer(run, ms) {
    const id = nextId++;
    post(headText({ op: "timer", id, ms }));
    waiting.set(id, { resolve: run, reject: () => {} });
    return id;
  }

  /** @param {number} id */
  function dropTimer(id) {
    if (waiting.delete(id) && !finished) post(headText({ op: "untimer", id }));
  }

  /** @param {(...args: unknown[]) => void} run @param {unknown} ms @param {unknown[]} args @param {boolean} again */
  function startTimer(run, ms, args, again) {
    if (typeof run !== "function") throw new TypeError("Cannot start a timer: its first argument must be a function");
    if (timers.size >= MAX_TIMERS) throw new RangeError(`Cannot start a timer: ${MAX_TIMERS} are running`);
    const id = nextTimer++;
    const delay = Math.min(Math.max(Number(ms) || 0, again ? 1 : 0), MAX_TIMER_MS);
    const due = () => {
      if (again) timers.set(id, setTimer(due, delay));
      else timers.delete(id);
      // Where the host keeps the timers, its answer has moved the clock already.
      if (!start.ordered) now += delay;
      try {
        run(...args);
      } catch (error) {
        fail(error);
      }
    };
    timers.set(id, setTimer(due, delay));
    return id;
  }

  /** @param {unknown} id */
  function stopTimer(id) {
    const timer = timers.get(/** @type {number} */ (id));
    if (timer === undefined) return;
    timers.delete(/** @type {number} */ (id));
    clearTimer(timer);
  }

  /** @param {unknown} error */
  function describeError(error) {
    try {
      if (typeof error !== "object" || error === null) return { name: "thrown", message: clip(String(error), 2000) };
      const { name, message, stack } = /** @type {Error} */ (error);
      return { name: clip(`${name}`, 200), message: clip(`${message}`, 2000), stack: clip(`${stack ?? ""}`, 8000) };
    } catch {
      return { name: "thrown", message: "the error cannot be read" };
    }
  }

  function finish() {
    if (finished) return;
    finished = true;
    for (const timer of timers.values()) clearTimer(timer);
    timers.clear();
    const head = failure === undefined ? { op: "end", status: "ok" } : {
      op: "end",
      status: failure.status,
      ...(failure.error === undefined ? {} : { error: describeError(failure.error) }),
    };
    post(value === undefined ? headText(head) : `${headText(head)}\t${value}`);
  }

  /** Ends the run once the module is done and nothing is left to wait for. Called after the microtasks of a turn. */
  function settle() {
    if (mainSettled && !finished && waiting.size === 0 && timers.size === 0) finish();
  }

  /** Ends the run when the module waits for something that nothing can bring any more. */
  function stall() {
    if (finished || waiting.size > 0 || timers.size > 0) return;
    if (!mainSettled) failure ??= { status: "stalled" };
    finish();
  }

  /**
   * Takes one line of the host.
   *
   * @param {string} line
   */
  function deliver(line) {
    const tab = line.indexOf("\t");
    const head = parse(tab < 0 ? line : line.slice(0, tab));
    const entry = waiting.get(head.id);
    now = head.t;
    if (entry === undefined) return;
    waiting.delete(head.id);
    const body = tab < 0 ? undefined : parse(line.slice(tab + 1));
    if (head.e) entry.reject(new ToolCallError({ ...body, tool: entry.tool ?? "state" }));
    else entry.resolve(body);
  }

  /**
   * Watches the evaluation of the agent's module.
   *
   * @param {Promise<Record<string, unknown> | undefined>} main
   * @param {() => void} done Called when the evaluation has ended, well or not.
   */
  function begin(main, done) {
    main.then((exports) => {
      const outcome = exports?.outcome;
      if (outcome !== undefined) value = encode(outcome);
    }).catch((error) => {
      failure ??= { status: "error", error };
    }).then(() => {
      mainSettled = true;
      done();
    });
  }

  const globals = {
    callTool,
    emit,
    state,
    context: deepFreeze(parse(start.context)),
    auditNote,
    auditControls,
    close,
    console: makeConsole(log, encode),
    /** @param {(...args: unknown[]) => void} run @param {unknown} ms @param {unknown[]} args */
    setTimeout: (run, ms, ...args) => startTimer(run, ms, args, false),
    /** @param {(...args: unknown[]) => void} run @param {unknown} ms @param {unknown[]} args */
    setInterval: (run, ms, ...args) => startTimer(run, ms, args, true),
    clearTimeout: stopTimer,
    clearInterval: stopTimer,
    Date: makeDate(RealDate, () => now),
    Math: makeMath(start.seed),
  };

  return {
    globals,
    deliver,
    begin,
    settle,
    stall,
    fail,
    waiting: () => waiting.size,
    // What the host keeps is waited for like any answer.
    timers: () => start.ordered ? 0 : timers.size,
    isFinished: () => finished,
  };

  /** @param {unknown} input */
  function deepFreeze(input) {
    if (typeof input === "object" && input !== null) {
      freeze(input);
      for (const key of keysOf(input)) deepFreeze(/** @type {Record<string, unknown>} */ (input)[key]);
    }
    return input;
  }
}

/** @param {string} text @param {number} max */
function clip(text, max) {
  return text.length > max ? `${text.slice(0, max)}…`.toWellFormed() : text.toWellFormed();
}

/**
 * @param {(text: string) => void} log
 * @param {(value: unknown) => string} encode
 */
function makeConsole(log, encode) {
  /** @param {unknown} input */
  const show = (input) => {
    if (typeof input === "string") return input;
    try {
      if (input instanceof Error) return `${input.stack || `${input.name}: ${input.message}`}`;
      return encode(input);
    } catch {
      // not plain data
    }
    try {
      return String(input);
    } catch {
      return "[an object that cannot be shown]";
    }
  };
  /** @param {unknown[]} inputs */
  const write = (...inputs) => log(`${inputs.map(show).join(" ")}\n`);
  return Object.freeze({ log: write, info: write, warn: write, error: write, debug: write });
}

/**
 * A `Date` that reads the run's clock, which moves only with the host's answers: a rerun sees the same times.
 *
 * @param {DateConstructor} RealDate
 * @param {() => number} now
 */
function makeDate(RealDate, now) {
  /** @param {unknown[]} args */
  function Clock(...args) {
    if (new.target === undefined) return new RealDate(now()).toString();
    return Reflect.construct(RealDate, args.length === 0 ? [now()] : args, new.target);
  }
  Object.defineProperties(Clock, {
    name: { value: "Date" },
    prototype: { value: RealDate.prototype, writable: false },
    now: { value: () => now() },
    parse: { value: RealDate.parse },
    UTC: { value: RealDate.UTC },
  });
  return Object.freeze(Clock);
}

/**
 * `Math` with a seeded `random` (the sfc32 generator, 128 bits of state).
 *
 * @param {string} seed
 */
function makeMath(seed) {
  const words = [0, 8, 16, 24].map((at) => Number.parseInt(seed.slice(at, at + 8) || "0", 16) | 0);
  let [a = 0, b = 0, c = 0, d = 0] = words;
  function random() {
    const t = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + t) | 0;
    return (t >>> 0) / 4294967296;
  }
  for (let i = 0; i < 12; i++) random();
  /** @type {Record<string, unknown>} */
  const math = {};
  for (const name of Object.getOwnPropertyNames(Math)) {
    math[name] = /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (Math))[name];
  }
  math.random = random;
  Object.defineProperty(math, Symbol.toStringTag, { value: "Math" });
  return Object.freeze(math);
}
