// @ts-check
/**
 * Agent code in a hardened compartment: what the worker and the host's own thread share. The worker gets this file as
 * text, so it is plain JavaScript that imports only what the worker gets beside it.
 *
 * @module
 */
import { makeStructuredClone } from "./structured_clone.js";

/** Names that a compartment has and agent code does not get: the agent's process does not have them either. */
const COMPARTMENT_ONLY = ["Compartment", "harden", "lockdown", "assert", "eval"];

/** Every option of `lockdown()`, so that none is looked up in the environment. */
const LOCKDOWN_OPTIONS = {
  errorTaming: "safe",
  errorTrapping: "none",
  reporting: "none",
  unhandledRejectionTrapping: "none",
  regExpTaming: "safe",
  // The same order and the same numbers as in a process; the locale is that of a cleared environment.
  localeTaming: "unsafe",
  consoleTaming: "unsafe",
  // Data of an agent may have any key: assigning `constructor` or `toString` must work as before.
  overrideTaming: "severe",
  stackFiltering: "concise",
  domainTaming: "safe",
  evalTaming: "safe-eval",
  overrideDebug: [],
  legacyRegeneratorRuntimeTaming: "safe",
  __hardenTaming__: "safe",
};

/** Freezes the realm's shared objects. The SES shim must be loaded. */
export function lockRealm() {
  const realm = /** @type {{ lockdown(options: object): void }} */ (/** @type {unknown} */ (globalThis));
  realm.lockdown(LOCKDOWN_OPTIONS);
}

/**
 * Evaluates wrapped agent code in a new compartment. The realm must be locked.
 *
 * @param {string} wrapped Text of an expression whose value is a promise of the module's exports.
 * @param {Record<string, unknown>} globals
 * @param {(value: unknown) => boolean} isProxy
 * @returns {Promise<Record<string, unknown> | undefined>}
 */
export function evaluateHardened(wrapped, globals, isProxy) {
  const { harden, Compartment } =
    /** @type {{ harden<T>(value: T): T, Compartment: new (options: object) => { globalThis: Record<string, unknown>, evaluate(source: string): unknown } }} */ (
      /** @type {unknown} */ (globalThis)
    );
  const { URL, URLSearchParams, TextEncoder, TextDecoder, atob, btoa, DOMException } = globalThis;
  const structuredClone = makeStructuredClone(isProxy);
  // Object URLs are the runtime's: the host's own worker starts from one.
  for (const name of ["createObjectURL", "revokeObjectURL"]) Reflect.deleteProperty(URL, name);
  const platform = harden({ URL, URLSearchParams, TextEncoder, TextDecoder, atob, btoa, structuredClone });
  // What the platform throws and returns has prototypes that no global leads to: agent and host share them.
  harden([DOMException, Object.getPrototypeOf(new URLSearchParams().entries())]);
  const compartment = new Compartment({ globals: { ...platform, ...harden({ ...globals }) }, __options__: true });
  for (const name of COMPARTMENT_ONLY) delete compartment.globalThis[name];
  // Code from strings is off in every isolation; the constructor stays, for `instanceof`.
  compartment.globalThis.Function = (function () {}).constructor;
  try {
    return /** @type {Promise<Record<string, unknown> | undefined>} */ (compartment.evaluate(wrapped));
  } catch (error) {
    return Promise.reject(error);
  }
}

/**
 * Takes the internals that tell a proxy from an object; only the runtime can.
 *
 * @returns {(value: unknown) => boolean}
 */
export function proxyTest() {
  const runtime = /** @type {any} */ (Deno);
  const { core } = runtime[runtime.internal];
  return (value) => core.isProxy(value);
}
