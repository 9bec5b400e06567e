// @ts-nocheck: agent code; it names what is not there
// Tries, with nothing but the language and the globals of agent code, to reach what it was not given. Says what it got.
const found = {};
function attempt(name, act) {
  try {
    const got = act();
    if (got !== undefined && got !== null && got !== false) found[name] = String(got).slice(0, 200);
  } catch {
    // refused
  }
}

const NAMES = [
  "Deno",
  "process",
  "require",
  "module",
  "Bun",
  "Worker",
  "SharedWorker",
  "WebAssembly",
  "SharedArrayBuffer",
  "Atomics",
  "fetch",
  "Request",
  "Response",
  "WebSocket",
  "EventSource",
  "XMLHttpRequest",
  "navigator",
  "caches",
  "localStorage",
  "sessionStorage",
  "BroadcastChannel",
  "MessageChannel",
  "postMessage",
  "Blob",
  "File",
  "crypto",
  "performance",
  "setImmediate",
  "queueMicrotask",
  "eval",
  "importScripts",
  "Compartment",
  "lockdown",
  "harden",
  "EventTarget",
  "Event",
  "addEventListener",
  "removeEventListener",
  "AbortController",
  "reportError",
  "prompt",
  "alert",
  "confirm",
  "global",
  "window",
  "self",
  "Intl",
  "FinalizationRegistry",
  "WeakRef",
  "gc",
  "$262",
  "print",
  "load",
  "read",
  "DOMException",
];
for (const name of NAMES) {
  attempt(`name ${name}`, () => name in globalThis);
  attempt(`bare ${name}`, () => globalThis[name] !== undefined);
}

// Code from strings.
const SOURCE = "return typeof Deno + typeof globalThis";
for (const make of [function () {}, async function () {}, function* () {}, async function* () {}, () => {}, class {}]) {
  attempt(`constructor of ${make.toString().slice(0, 20)}`, () => make.constructor(SOURCE)());
}
attempt("Function", () => Function(SOURCE)());
attempt("new Function", () => new Function(SOURCE)());
attempt("Reflect.construct", () => Reflect.construct(Function, [SOURCE])());
attempt("constructor chain", () => "".constructor.constructor.constructor(SOURCE)());
attempt("constructor of a lent function", () => callTool.constructor(SOURCE)());
attempt("constructor of a lent console", () => console.log.constructor(SOURCE)());
attempt("constructor of a platform class", () => URL.constructor(SOURCE)());
attempt("constructor of a platform error", () => {
  try {
    structuredClone(() => {});
  } catch (error) {
    return error.constructor.constructor(SOURCE)();
  }
});
for (const name of ["createObjectURL", "revokeObjectURL"]) attempt(`URL.${name}`, () => name in URL);
for (const owner of [URL, URLSearchParams, TextEncoder, TextDecoder]) {
  for (const key of Object.getOwnPropertySymbols(owner.prototype)) {
    // What the runtime's printer would hand to such a method is not the agent's to have.
    attempt(`symbol ${String(key)} of ${owner.name}`, () => {
      let leak;
      owner.prototype[key].call(
        new owner("x:y"),
        (...args) => leak = args.find((arg) => typeof arg === "function"),
        {},
      );
      return leak;
    });
  }
}
attempt("timer from a string", () => setTimeout("globalThis.leak = 1", 0));
attempt("indirect lookup", () => (0, globalThis["ev" + "al"])("1"));

// Frames of the stack.
attempt("stack frames", () => {
  let leak;
  Error.prepareStackTrace = (_, sites) => {
    for (const site of sites) leak ??= site.getFunction?.() ?? site.getThis?.();
    return "";
  };
  void new Error("x").stack;
  return leak;
});
attempt("stack names a place of this machine", () => {
  delete Error.prepareStackTrace;
  return /file:\/\/\/|\/src\/|\/tmp\//.test(new Error("x").stack ?? "");
});
attempt("caller", () =>
  (function f() {
    return f.caller;
  })());
attempt("arguments.callee.caller", () =>
  (function () {
    return arguments.callee.caller;
  })());

// Everything that can be walked to must be known: no function of the runtime, no class of the platform beside those lent.
const PLATFORM =
  /^(Deno|FsFile|Worker|Process|ChildProcess|Command|Window|WorkerGlobalScope|DedicatedWorkerGlobalScope)$/;
const seen = new Set();
const stack = [[globalThis, "globalThis"]];
while (stack.length > 0) {
  const [object, path] = stack.pop();
  if ((typeof object !== "object" && typeof object !== "function") || object === null || seen.has(object)) continue;
  seen.add(object);
  attempt(`walk ${path}`, () => {
    if (typeof object.writeSync === "function" || typeof object.readSync === "function") return "a file";
    if (typeof object.core === "object" && object.core !== null) return "internals";
    if (typeof object === "function" && PLATFORM.test(object.name) && path !== "globalThis.__proto__.constructor") {
      return object.name;
    }
  });
  stack.push([Reflect.getPrototypeOf(object), `${path}.__proto__`]);
  for (const key of Reflect.ownKeys(object)) {
    const { value, get, set } = Reflect.getOwnPropertyDescriptor(object, key);
    for (const inner of [value, get, set]) stack.push([inner, `${path}.${String(key)}`]);
  }
}

// The context and what is lent cannot be exchanged for the next reader.
attempt("write to the context", () => {
  context.calls = 1;
  return context.calls;
});
attempt("a real clock", () => {
  const before = Date.now();
  for (let i = 0; i < 3e6; i++);
  return Date.now() !== before;
});
attempt("a real clock by Temporal", () => Temporal.Now);
attempt("a real clock by Date's prototype", () => new (new Date().constructor)().getTime() !== Date.now());
const outcome = found;
export { outcome };
