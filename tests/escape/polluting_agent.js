// @ts-nocheck: agent code; it changes what it can of its own realm
// Changes every shared method that the agent's side of the membrane could use, keeps whatever passes through, then makes
// calls. What it caught must be its own texts and numbers, never an object of the runtime.
const caught = [];
const apply = Reflect.apply;
const define = Reflect.defineProperty;
const keysOf = Reflect.ownKeys;
const describe = Reflect.getOwnPropertyDescriptor;
const isFile = (value) => {
  try {
    return (typeof value === "object" || typeof value === "function") && value !== null &&
      (typeof value.writeSync === "function" || typeof value.readSync === "function" || "core" in value);
  } catch {
    return false;
  }
};
let frozen = 0;
let changed = 0;
let quiet = false;
function spy(owner, key) {
  const descriptor = describe(owner, key);
  if (descriptor === undefined || typeof descriptor.value !== "function" || key === "constructor") return;
  const real = descriptor.value;
  const ok = define(owner, key, {
    __proto__: null,
    ...descriptor,
    value: function (...args) {
      if (!quiet) {
        quiet = true;
        if (isFile(this)) caught[caught.length] = `this of ${String(key)}`;
        for (let i = 0; i < args.length; i++) if (isFile(args[i])) caught[caught.length] = `argument of ${String(key)}`;
        quiet = false;
      }
      return apply(real, this, args);
    },
  });
  if (ok) changed++;
  else frozen++;
}
const OWNERS = [
  Array.prototype,
  Object,
  Object.prototype,
  Promise.prototype,
  Promise,
  JSON,
  String.prototype,
  Map.prototype,
  Set.prototype,
  TextEncoder.prototype,
  TextDecoder.prototype,
  Function.prototype,
  Uint8Array.prototype,
  Reflect.getPrototypeOf(Uint8Array.prototype),
  RegExp.prototype,
  Reflect,
  Number,
  Array,
];
for (const owner of OWNERS) for (const key of keysOf(owner)) spy(owner, key);
for (const name of ["then", "value", "path", "name", "permissions", "toJSON", "op", "id", "writable", "signal"]) {
  if (
    define(Object.prototype, name, {
      __proto__: null,
      configurable: true,
      get() {
        if (!quiet && isFile(this)) caught[caught.length] = `getter ${name}`;
        return undefined;
      },
      set() {},
    })
  ) changed++;
  else frozen++;
}
define(Array.prototype, Symbol.species, {
  __proto__: null,
  value: function () {
    return [];
  },
  configurable: true,
});
const answers = [];
answers[0] = await callTool("echo", { n: 1 }).then((value) => value.n, (error) => error.code);
answers[1] = await callTool("readFile", { path: "excluded.md" }).then(() => "read", (error) => error.code);
answers[2] = await callTool("nope", {}).then(() => "called", (error) => error.code);
emit({ kind: "seen" });
const outcome = { caught, answers, changed, frozen };
export { outcome };
