// @ts-check
/**
 * First module of an agent's process in which nothing but Deno's permissions holds. Tells what they refused on standard
 * error, so that it needs no host.
 *
 * @module
 */
import { tryRawActs } from "./raw_acts.js";

const buffer = new Uint8Array(65_536);
const count = Deno.stdin.readSync(buffer) ?? 0;
const targets = JSON.parse(new TextDecoder().decode(buffer.subarray(0, count)));
const results = await tryRawActs(targets);
Deno.stderr.writeSync(new TextEncoder().encode(`${JSON.stringify(results)}\n`));
Deno.exit(0);
