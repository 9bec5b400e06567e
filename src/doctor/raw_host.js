// @ts-check
/**
 * The acts of an agent under the permissions of a host, and in a worker of it that has none. The worker also tries what
 * no permission covers: to write into a file that its host has open, as the channel of records is.
 *
 * @module
 */
import rawActsText from "./raw_acts.js" with { type: "text" };
import { tryRawActs } from "./raw_acts.js";

const targets = JSON.parse(Deno.args[0] ?? "null");
const channel = Deno.openSync(Deno.args[1] ?? "", { write: true });
const results = { host: await tryRawActs(targets), worker: await inWorker() };
// On a line of its own: the worker may have written into this pipe as well.
Deno.stderr.writeSync(new TextEncoder().encode(`\n${JSON.stringify(results)}\n`));
channel.close();
Deno.exit(0);

/** @returns {Promise<Record<string, true | string>>} */
function inWorker() {
  const code = `${rawActsText.replace("export async function", "async function")}
const results = await tryRawActs(${JSON.stringify(targets)});
const { Socket } = await import("node:net");
for (let fd = 3; fd < 64; fd++) {
  try {
    new Socket({ fd, writable: true }).on("error", () => {}).write("x");
  } catch {
    // no pipe
  }
}
setTimeout(() => postMessage(results), 50);`;
  const worker = new Worker(`data:text/javascript;charset=utf-8,${encodeURIComponent(code)}`, {
    type: "module",
    deno: { permissions: "none" },
  });
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = (event) => {
      event.preventDefault();
      reject(new Error(event.message));
    };
  });
}
