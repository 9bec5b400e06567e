// @ts-check
/**
 * The agent's worker: permissions "none", and inside it a hardened compartment. Without the compartment agent code could
 * reach open file descriptors of the host, the record channel among them.
 *
 * The host joins this file to `guest.js`, `hardened.js` and `structured_clone.js` and starts the worker from the text.
 *
 * @module
 */
import { makeGuest } from "./guest.js";
import { evaluateHardened, lockRealm, proxyTest } from "./hardened.js";

const port = /** @type {any} */ (globalThis);
const send = port.postMessage.bind(port);
const later = port.setImmediate;
const { setTimeout: setTimer, clearTimeout: clearTimer, queueMicrotask: soon } = port;
const RealDate = Date;
const { stderr } = Deno;
const encoder = new TextEncoder();
const isProxy = proxyTest();

/** @type {ReturnType<typeof makeGuest> | undefined} */
let guest;
/** @type {string[]} */
let batch = [];
/** Answers that wait for their turn, where each has a turn of its own. @type {string[]} */
const inbox = [];
let ordered = false;
let checking = false;
let flushing = false;

lockRealm();
port.onmessage = (/** @type {MessageEvent} */ { data }) => {
  if (guest === undefined) return begin(data);
  const lines = data.split("\n");
  if (ordered) {
    if (inbox.length === 0) later(deliverNext);
    inbox.push(...lines);
    return;
  }
  for (const line of lines) guest.deliver(line);
  check();
};
send('{"op":"hello"}');

/** @param {{ start: any, wrapped: string }} message */
function begin({ start, wrapped }) {
  ordered = start.ordered;
  const made = makeGuest({
    post: (line) => {
      // Marked last: an agent that has used up its stack may make the call before it fail.
      if (!flushing) soon(flush);
      flushing = true;
      batch.push(line);
    },
    log: (text) => {
      const bytes = encoder.encode(text.toWellFormed());
      for (let at = 0; at < bytes.length;) at += stderr.writeSync(bytes.subarray(at));
    },
    isProxy,
    setTimer: (run, ms) => /** @type {number} */ (/** @type {unknown} */ (setTimer(() => {
      run();
      check();
    }, ms))),
    clearTimer: (timer) => clearTimer(timer),
    RealDate,
  }, start);
  guest = made;
  port.addEventListener("unhandledrejection", (/** @type {PromiseRejectionEvent} */ event) => {
    event.preventDefault();
    made.fail(event.reason);
  });
  made.begin(evaluateHardened(wrapped, made.globals, isProxy), check);
  check();
}

function deliverNext() {
  // Taken out last: an inbox that is not empty has a turn coming.
  guest?.deliver(inbox[0] ?? "");
  inbox.shift();
  check();
  if (inbox.length > 0) later(deliverNext);
}

function flush() {
  const lines = batch;
  batch = [];
  flushing = false;
  if (lines.length > 0) send(lines.join("\n"));
}

function check() {
  if (checking) return;
  later(() => {
    checking = false;
    guest?.settle();
    guest?.stall();
  });
  checking = true;
}
