/**
 * Prints key 1 as the flags of the host's process.
 *
 * @module
 */
import { key1, type Key1Options } from "./key1.ts";
import type { Places, Plan } from "./plan.ts";

/**
 * A regular expression that goes back too often is finished by V8's linear engine, and code can ask, with the flag `l`,
 * whether that engine can run one.
 */
const LINEAR_ENGINE = [
  "--enable-experimental-regexp-engine-on-excessive-backtracks",
  "--enable-experimental-regexp-engine",
];

/**
 * The flags of `deno run` for the host, without the module. Nothing granted of a kind means no allow flag of that kind;
 * a bare deny would lose to a scoped allow, so a deny always names what it denies.
 *
 * @throws {ControlError} If a place on this machine cannot be written as a flag.
 */
export function hostFlags(plan: Plan, places: Places, options: Key1Options = {}): string[] {
  const twokey = options.portable === true ? "${twokey}" : places.twokey;
  const permissions = key1(plan, places, options);
  return [
    "--no-prompt",
    `--config=${twokey}/deno.json`,
    `--lock=${twokey}/deno.lock`,
    "--frozen",
    "--cached-only",
    "--no-remote",
    "--allow-import=none.invalid",
    "--ignore-env",
    ...flag("--allow-env", permissions.env),
    ...flag("--allow-read", permissions.read),
    ...flag("--deny-read", permissions.denyRead),
    ...flag("--allow-write", permissions.write),
    ...flag("--deny-write", permissions.denyWrite),
    ...flag("--allow-net", permissions.net),
    ...flag("--deny-net", permissions.denyNet),
    ...flag("--allow-run", permissions.run),
    `--v8-flags=--max-old-space-size=${plan.budgets.heapMb},${LINEAR_ENGINE.join(",")}`,
  ];
}

function flag(name: string, values: readonly string[]): string[] {
  return values.length === 0 ? [] : [`${name}=${values.join(",")}`];
}
