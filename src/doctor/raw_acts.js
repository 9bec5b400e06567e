// @ts-check
/**
 * The acts of an agent without key 2, done by whichever process or worker loads this file: only Deno's permissions stand
 * in the way. The names of modules never occur here, so nothing is imported past a permission.
 *
 * @module
 */

/**
 * What is tried on; each is made by the launcher for this one run.
 *
 * @typedef {object} RawTargets
 * @property {string} read A file outside every root.
 * @property {string} write A file that does not exist, outside every root.
 * @property {number} port A port of 127.0.0.1 that somebody listens on.
 * @property {string} program A program that does nothing.
 * @property {string} variable A variable that is set and that nobody was granted.
 * @property {string} log The audit log of a run.
 */

/**
 * Tries every act. `true`: Deno refused it; a text: it went through, or failed in another way.
 *
 * @param {RawTargets} targets
 * @returns {Promise<Record<string, true | string>>}
 */
export async function tryRawActs({ read, write, port, program, variable, log }) {
  return {
    read: await tryOne(() => void Deno.readTextFileSync(read)),
    write: await tryOne(() => Deno.writeTextFileSync(write, "x")),
    fetch: await tryOne(async () => void await (await fetch(`http://127.0.0.1:${port}/`)).text()),
    spawn: await tryOne(() => void new Deno.Command(program, { stdin: "null", stdout: "null" }).outputSync()),
    secret: await tryOne(() => {
      // A variable that reads as if it were not set is hidden: that counts as refused.
      if (Deno.env.get(variable) === undefined) throw new Deno.errors.NotCapable("hidden");
    }),
    log: await tryAll([
      () => void Deno.readTextFileSync(log),
      () => Deno.writeTextFileSync(log, "x", { append: true }),
    ]),
  };
}

/** @param {(() => void | Promise<void>)[]} acts */
async function tryAll(acts) {
  for (const act of acts) {
    const refused = await tryOne(act);
    if (refused !== true) return refused;
  }
  return true;
}

/** @param {() => void | Promise<void>} act @returns {Promise<true | string>} */
async function tryOne(act) {
  try {
    await act();
    return "it went through";
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) return true;
    return error instanceof Error ? error.name : "it failed in another way";
  }
}
