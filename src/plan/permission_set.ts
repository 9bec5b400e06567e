/**
 * Prints key 1 as a permission set of a `deno.json`.
 *
 * @module
 */
import type { JsonObject } from "../json.ts";
import { key1, type Key1Options } from "./key1.ts";
import type { Places, Plan } from "./plan.ts";

/**
 * The value of one entry of `permissions` in a `deno.json`: the same grants as the flags. Deno accepts lists and
 * objects of lists here, no strings. Kinds that are not granted are absent, which is none.
 *
 * @throws {ControlError} If a place on this machine cannot be written as a flag: both prints grant the same or nothing.
 */
export function permissionSet(plan: Plan, places: Places, options: Key1Options = {}): JsonObject {
  const { read, denyRead, write, denyWrite, net, denyNet, run, env } = key1(plan, places, options);
  return {
    ...(read.length === 0 ? {} : { read: { allow: read, deny: denyRead } }),
    ...(write.length === 0 ? {} : { write: { allow: write, deny: denyWrite } }),
    ...(net.length === 0 ? {} : { net: { allow: net, deny: denyNet } }),
    ...(run.length === 0 ? {} : { run: { allow: run } }),
    ...(env.length === 0 ? {} : { env: { allow: env } }),
    import: ["none.invalid"],
  };
}
