// @ts-check
/**
 * The `structuredClone` of agent code: the standard's algorithm over the language's own types, and nothing else.
 *
 * The runtime's own is not lent, because it also revives platform objects: whoever knows a symbol of the runtime, which
 * every `DOMException` shows, makes it build a `Blob`, whose prototypes the host uses and nobody has frozen.
 *
 * Plain JavaScript without imports: the worker gets it as text. What it calls is taken from the realm when the module is
 * loaded, before any agent.
 *
 * @module
 */

/** @param {Function} method @returns {(target: any, ...args: any[]) => any} */
const uncurry = (method) => (target, ...args) => Reflect.apply(method, target, args);
/** @param {object} holder @param {PropertyKey} name */
const getterOf = (holder, name) => uncurry(/** @type {any} */ (Object.getOwnPropertyDescriptor(holder, name)).get);

const TYPED_ARRAY = Object.getPrototypeOf(Int8Array.prototype);
const VIEWS = /** @type {Map<string, any>} */ (new Map([
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
  ...("Float16Array" in globalThis ? [/** @type {any} */ (globalThis).Float16Array] : []),
].map((View) => /** @type {const} */ ([View.name, View]))));
const ERRORS = /** @type {Map<string, any>} */ (new Map(
  [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError].map((Kind) => [Kind.name, Kind]),
));
/** What the language cannot copy, and what the runtime lends to agents. */
const REFUSED = [Promise, WeakMap, WeakSet, WeakRef, URL, URLSearchParams, TextEncoder, TextDecoder];
const { isView } = ArrayBuffer;
const { isArray } = Array;
const { isError } = /** @type {{ isError(value: unknown): boolean }} */ (/** @type {unknown} */ (Error));
const { defineProperty, getPrototypeOf, hasOwn, keys: keysOf } = Object;
const ObjectPrototype = Object.prototype;
const LanguageDate = Date;
const PlatformException = DOMException;

const viewName = getterOf(TYPED_ARRAY, Symbol.toStringTag);
const viewLength = getterOf(TYPED_ARRAY, "length");
const viewBuffer = getterOf(TYPED_ARRAY, "buffer");
const viewOffset = getterOf(TYPED_ARRAY, "byteOffset");
const dataBuffer = getterOf(DataView.prototype, "buffer");
const dataOffset = getterOf(DataView.prototype, "byteOffset");
const dataLength = getterOf(DataView.prototype, "byteLength");
const bufferLength = getterOf(ArrayBuffer.prototype, "byteLength");
const bufferMax = getterOf(ArrayBuffer.prototype, "maxByteLength");
const isResizable = getterOf(ArrayBuffer.prototype, "resizable");
const isDetached = getterOf(ArrayBuffer.prototype, "detached");
const transferBuffer = uncurry(ArrayBuffer.prototype.transfer);
const regExpSource = getterOf(RegExp.prototype, "source");
const regExpFlags = getterOf(RegExp.prototype, "flags");
const mapSize = getterOf(Map.prototype, "size");
const mapEach = uncurry(Map.prototype.forEach);
const setSize = getterOf(Set.prototype, "size");
const setEach = uncurry(Set.prototype.forEach);
const timeOf = uncurry(Date.prototype.getTime);
const symbolOf = uncurry(Symbol.prototype.valueOf);
const WRAPPERS = [Boolean, Number, String, BigInt].map((Kind) => uncurry(Kind.prototype.valueOf));

/** Whether a look at what only one kind of object has does not throw. @param {() => unknown} look */
function succeeds(look) {
  try {
    look();
    return true;
  } catch {
    return false;
  }
}

/** @param {string} what */
function refuse(what) {
  return new PlatformException(`${what} could not be cloned.`, "DataCloneError");
}

/**
 * Makes the function.
 *
 * @param {(value: unknown) => boolean} isProxy A proxy is refused, as by the runtime.
 */
export function makeStructuredClone(isProxy) {
  /**
   * @param {any} value
   * @param {Map<object, unknown>} known
   * @returns {any}
   */
  function copy(value, known) {
    if (typeof value === "symbol") throw refuse("a symbol");
    if (typeof value === "function") throw refuse("a function");
    if (typeof value !== "object" || value === null) return value;
    if (known.has(value)) return known.get(value);
    if (isProxy(value)) throw refuse("a proxy");
    /** @template T @param {T} made @returns {T} */
    const keep = (made) => {
      known.set(value, made);
      return made;
    };
    if (isArray(value)) return copyKeys(value, keep(new Array(value.length)), known);
    // Nearly every object; to find out what any other is costs some errors.
    if (getPrototypeOf(value) === ObjectPrototype) return copyKeys(value, keep({}), known);
    if (isView(value)) return keep(copyView(value, known));
    if (isError(value)) {
      return value instanceof PlatformException ? keep(copyException(value)) : copyError(value, known);
    }
    if (succeeds(() => bufferLength(value))) return keep(copyBuffer(value));
    if (succeeds(() => timeOf(value))) return keep(new LanguageDate(timeOf(value)));
    if (succeeds(() => mapSize(value))) return copyMap(value, keep(new Map()), known);
    if (succeeds(() => setSize(value))) return copySet(value, keep(new Set()), known);
    if (isRegExp(value)) return keep(new RegExp(regExpSource(value), regExpFlags(value)));
    for (const unwrap of WRAPPERS) {
      if (succeeds(() => unwrap(value))) return keep(Object(unwrap(value)));
    }
    if (succeeds(() => symbolOf(value))) throw refuse("a symbol");
    if (value instanceof PlatformException) return keep(copyException(value));
    if (REFUSED.some((Kind) => value instanceof Kind)) throw refuse("an object of this kind");
    return copyKeys(value, keep({}), known);
  }

  /** @param {any} from @param {any} to @param {Map<object, unknown>} known */
  function copyKeys(from, to, known) {
    for (const key of keysOf(from)) {
      // A getter may have deleted it.
      if (!hasOwn(from, key)) continue;
      const value = copy(from[key], known);
      defineProperty(to, key, { value, writable: true, enumerable: true, configurable: true });
    }
    return to;
  }

  /** @param {any} from @param {Map<any, any>} to @param {Map<object, unknown>} known */
  function copyMap(from, to, known) {
    /** @type {[unknown, unknown][]} */
    const entries = [];
    mapEach(from, (/** @type {unknown} */ value, /** @type {unknown} */ key) => void entries.push([key, value]));
    for (const [key, value] of entries) to.set(copy(key, known), copy(value, known));
    return to;
  }

  /** @param {any} from @param {Set<any>} to @param {Map<object, unknown>} known */
  function copySet(from, to, known) {
    /** @type {unknown[]} */
    const values = [];
    setEach(from, (/** @type {unknown} */ value) => void values.push(value));
    for (const value of values) to.add(copy(value, known));
    return to;
  }

  /** @param {any} view @param {Map<object, unknown>} known */
  function copyView(view, known) {
    const name = viewName(view);
    if (name === undefined) return new DataView(copy(dataBuffer(view), known), dataOffset(view), dataLength(view));
    const View = VIEWS.get(name);
    if (View === undefined) throw refuse("a view of this kind");
    return new View(copy(viewBuffer(view), known), viewOffset(view), viewLength(view));
  }

  /** @param {any} error @param {Map<object, unknown>} known */
  function copyError(error, known) {
    const Kind = ERRORS.get(`${error.name}`) ?? Error;
    const made = new Kind();
    known.set(error, made);
    for (const key of ["message", "stack", "cause"]) {
      if (!hasOwn(error, key)) continue;
      const value = key === "cause" ? copy(error.cause, known) : `${error[key]}`;
      defineProperty(made, key, { value, writable: true, enumerable: false, configurable: true });
    }
    return made;
  }

  /**
   * @param {any} value
   * @param {{ transfer?: Iterable<any> }} [options]
   */
  return function structuredClone(value, options) {
    if (arguments.length === 0) throw new TypeError("Cannot clone: there is no value");
    /** @type {Map<object, unknown>} */
    const known = new Map();
    const moved = [...options?.transfer ?? []];
    for (const buffer of moved) {
      if (isProxy(buffer) || !succeeds(() => bufferLength(buffer)) || isDetached(buffer) || known.has(buffer)) {
        throw refuse("a value to transfer");
      }
      known.set(buffer, undefined);
    }
    // Moved when the copy is made, and not before it is sure that it can be: a view needs the new buffer at once.
    for (const buffer of moved) known.set(buffer, copyBuffer(buffer));
    const made = copy(value, known);
    for (const buffer of moved) transferBuffer(buffer);
    return made;
  };
}

/** @param {any} buffer */
function copyBuffer(buffer) {
  if (isDetached(buffer)) throw refuse("a detached buffer");
  const length = bufferLength(buffer);
  const made = isResizable(buffer)
    ? new ArrayBuffer(length, { maxByteLength: bufferMax(buffer) })
    : new ArrayBuffer(length);
  new Uint8Array(made).set(new Uint8Array(buffer));
  return made;
}

/** @param {DOMException} exception */
function copyException({ message, name }) {
  return new PlatformException(`${message}`, `${name}`);
}

/** @param {any} value */
function isRegExp(value) {
  // The getter also answers for the prototype, which is no expression.
  return value !== RegExp.prototype && succeeds(() => regExpSource(value));
}
