// @ts-check
/**
 * The agent's process: no permission at all, its two channel ends as standard input and output.
 *
 * Trusted code that runs before the agent. It takes what it needs from the realm, removes every other global, and runs
 * the agent's module from a `data:` URL: source that arrives as data is checked by the permission system, an entry
 * module would not be. Code generation from strings is off (a V8 flag of this process), the bundle has no imports, and
 * so nothing in it can name another module.
 *
 * @module
 */
import { makeGuest } from "./guest.js";
import { makeStructuredClone } from "./structured_clone.js";

/** The globals that agent code keeps: the language as a hardened compartment has it. */
const LANGUAGE = new Set([
  "AggregateError",
  "Array",
  "ArrayBuffer",
  "BigInt",
  "BigInt64Array",
  "BigUint64Array",
  "Boolean",
  "DataView",
  "Error",
  "EvalError",
  "Function",
  "Infinity",
  "Int16Array",
  "Int32Array",
  "Int8Array",
  "Iterator",
  "JSON",
  "Map",
  "NaN",
  "Number",
  "Object",
  "Promise",
  "Proxy",
  "RangeError",
  "ReferenceError",
  "Reflect",
  "RegExp",
  "Set",
  "String",
  "Symbol",
  "SyntaxError",
  "Temporal",
  "TextDecoder",
  "TextEncoder",
  "TypeError",
  "URIError",
  "URL",
  "URLSearchParams",
  "Uint16Array",
  "Uint32Array",
  "Uint8Array",
  "Uint8ClampedArray",
  "WeakMap",
  "WeakSet",
  "atob",
  "btoa",
  "decodeURI",
  "decodeURIComponent",
  "encodeURI",
  "encodeURIComponent",
  "escape",
  "globalThis",
  "isFinite",
  "isNaN",
  "parseFloat",
  "parseInt",
  "structuredClone",
  "undefined",
  "unescape",
]);

/** Name under which the agent's module says that it has begun; gone before the agent's own first line runs. */
const BEGUN = "$twokey_begun";

/** Looks, a millisecond apart, until a run that waits for nothing counts as stalled. */
const STALL_LOOKS = 3;

const { stdin, stdout, stderr, exit } = Deno;
const [launcherPid, watch] = Deno.args;
const later = globalThis.setImmediate;
const { setTimeout: setTimer, clearTimeout: clearTimer } = globalThis;
const eventTarget = /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (EventTarget.prototype));
const RealDate = Date;
const encoder = new TextEncoder();
const decoder = new TextDecoder();
const isProxy = /** @type {any} */ (Deno)[/** @type {any} */ (Deno).internal].core.isProxy;

// The launcher is the parent. If it is gone before the kernel was told to end us with it, end now.
if (Deno.ppid !== Number(launcherPid)) exit(70);
if (watch === "watch") watchParent();

/** @type {string[]} */
let batch = [];
/** Answers that wait for their turn, where each has a turn of its own. @type {string[]} */
const inbox = [];
let consumed = 0;
let scheduled = false;
let reading = false;
/** Whether the agent's module has begun: from then on, nothing to wait for means that it never ends. */
let evaluating = false;
/** Whether a look for a stall is due. */
let stalling = false;

const buffer = new Uint8Array(65_536);
/** @type {Uint8Array<ArrayBuffer>[]} */
let partial = [];

writeAll(encoder.encode('{"op":"hello"}\n'));
const first = readLines();
const [start, source] = JSON.parse(first[0] ?? "null");

const guest = makeGuest({
  post,
  log: (text) => {
    try {
      writeTo(stderr, encoder.encode(text.toWellFormed()));
    } catch {
      // The launcher stopped reading: what an agent prints is not worth ending it for.
    }
  },
  isProxy,
  setTimer: (run, ms) => /** @type {number} */ (/** @type {unknown} */ (setTimer(() => {
    run();
    schedule();
  }, ms))),
  clearTimer: (timer) => clearTimer(timer),
  RealDate,
}, start);

addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  guest.fail(event.reason);
});
addEventListener("error", (event) => {
  event.preventDefault();
  guest.fail(event.error);
});
showAgentFramesOnly();
removeGlobals();
Object.assign(globalThis, guest.globals, { structuredClone: makeStructuredClone(isProxy) });
Object.defineProperty(RealDate.prototype, "constructor", { value: guest.globals.Date });
guest.begin(importAgent(), schedule);

/**
 * Imports the agent's module. Loading takes turns of the event loop, and only the module itself can say that it has
 * begun: a word before its first line, which in a bundle is a comment, so that no position moves.
 */
function importAgent() {
  Object.defineProperty(globalThis, BEGUN, {
    configurable: true,
    value: () => {
      delete (/** @type {Record<string, unknown>} */ (/** @type {unknown} */ (globalThis)))[BEGUN];
      evaluating = true;
      schedule();
    },
  });
  const comma = source.indexOf(",") + 1;
  return import(`${source.slice(0, comma)}${BEGUN}();${source.slice(comma)}`);
}

/** @param {string} line */
function post(line) {
  batch.push(line);
  schedule();
}

function schedule() {
  if (scheduled) return;
  // Marked last: an agent that has used up its stack may make the call before it fail.
  later(turn);
  scheduled = true;
}

/** One turn: send what the agent asked for, then wait for answers in the cheapest way that its timers allow. */
function turn() {
  scheduled = false;
  guest.settle();
  flush();
  if (guest.isFinished()) exit(0);
  const next = inbox.shift();
  if (next !== undefined) {
    guest.deliver(next);
    return schedule();
  }
  if (guest.waiting() === 0) return lookForStall(STALL_LOOKS);
  if (reading) return;
  if (guest.timers() > 0) {
    readLater();
    return;
  }
  take(readLines());
  schedule();
}

/** @param {string[]} lines */
function take(lines) {
  for (const line of lines) {
    if (start.ordered) inbox.push(line);
    else guest.deliver(line);
  }
}

/**
 * Ends a run that waits for nothing. That a module has ended, or failed, is known some turns of the event loop after it
 * happened, so one look is not enough.
 *
 * @param {number} looks
 */
function lookForStall(looks) {
  if (!evaluating || stalling || guest.timers() > 0) return;
  stalling = true;
  setTimer(() => {
    stalling = false;
    if (guest.waiting() > 0 || guest.timers() > 0) return;
    if (looks > 1) return lookForStall(looks - 1);
    guest.stall();
    schedule();
  }, 1);
}

function flush() {
  if (batch.length === 0) return;
  batch.push(`{"op":"ack","bytes":${consumed}}\n`);
  const text = batch.join("\n");
  batch = [];
  consumed = 0;
  writeAll(encoder.encode(text));
}

/** Waits without blocking, because a blocked thread fires no timer. */
async function readLater() {
  reading = true;
  const count = await stdin.read(buffer);
  reading = false;
  if (count === null) return leave();
  take(split(count));
  schedule();
}

/** @returns {never} */
function leave() {
  return exit(0);
}

/** Blocks until at least one whole line is there. @returns {string[]} */
function readLines() {
  while (true) {
    const count = stdin.readSync(buffer);
    if (count === null) return leave();
    const lines = split(count);
    if (lines.length > 0) return lines;
  }
}

/** @param {number} count @returns {string[]} */
function split(count) {
  consumed += count;
  /** @type {string[]} */
  const lines = [];
  let from = 0;
  for (let at = buffer.indexOf(10); at >= 0 && at < count; at = buffer.indexOf(10, from)) {
    const tail = buffer.subarray(from, at);
    if (partial.length === 0) lines.push(decoder.decode(tail));
    else {
      lines.push(decoder.decode(join([...partial, tail])));
      partial = [];
    }
    from = at + 1;
  }
  if (from < count) partial.push(buffer.slice(from, count));
  return lines;
}

/** @param {Uint8Array[]} chunks */
function join(chunks) {
  const whole = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

/** @param {Uint8Array} bytes */
function writeAll(bytes) {
  try {
    writeTo(stdout, bytes);
  } catch {
    exit(0); // the host is gone; the launcher says why
  }
}

/** @param {{ writeSync(bytes: Uint8Array): number }} file @param {Uint8Array} bytes */
function writeTo(file, bytes) {
  for (let at = 0; at < bytes.length;) at += file.writeSync(at === 0 ? bytes : bytes.subarray(at));
}

function removeGlobals() {
  const all = /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (globalThis));
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    // Symbol keys stay: events of the runtime look for one of them.
    if (LANGUAGE.has(name)) continue;
    delete all[name];
    // Where the engine has one of its own below the runtime's, that one shows now.
    delete all[name];
    if (Object.hasOwn(all, name)) exit(70);
  }
  // The realm inherits these; without them agent code gets no event and so no constructor of one.
  for (const name of ["addEventListener", "removeEventListener"]) delete eventTarget[name];
  for (const name of ["createObjectURL", "revokeObjectURL"]) Reflect.deleteProperty(URL, name);
  if ("Temporal" in all) delete (/** @type {Record<string, unknown>} */ (all.Temporal)).Now;
}

/** Stack traces name the agent's own modules and nothing else: our own files stand at a path of this machine. */
function showAgentFramesOnly() {
  const { filter, map, join: joinAll } = Array.prototype;
  const { startsWith } = String.prototype;
  const call = Function.prototype.call.bind(Function.prototype.call);
  /** @param {{ getFileName(): string | null }} frame */
  const isAgents = (frame) => call(startsWith, frame.getFileName() ?? "", "agent:///");
  /** @param {unknown} frame */
  const line = (frame) => `\n    at ${frame}`;
  Object.defineProperty(Error, "prepareStackTrace", {
    value: (/** @type {Error} */ error, /** @type {any[]} */ frames) => {
      let head = "Error";
      try {
        head = `${error}`;
      } catch {
        // what it is called is the agent's own doing
      }
      return head + call(joinAll, call(map, call(filter, frames, isAgents), line), "");
    },
  });
}

/** Where the kernel cannot end us with the launcher: a thread of our own looks, also while the agent spins. */
function watchParent() {
  const code = `const p=${Number(launcherPid)};setInterval(()=>{if(Deno.ppid!==p)Deno.kill(Deno.pid,"SIGKILL")},200)`;
  new Worker(`data:text/javascript,${encodeURIComponent(code)}`, { type: "module" });
}
