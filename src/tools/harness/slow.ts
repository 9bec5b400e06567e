import * as v from "valibot";
import { defineTool } from "../../tool/define.ts";

/** Longest sleep that can be asked for: the run's own deadline is shorter in any sensible policy. */
const MAX_DELAY_MS = 86_400_000;

/**
 * Sleeps, then returns: exercises deadlines.
 *
 * `delay_ms` is a whole number of milliseconds, 0 to 86400000; without it the sleep is longer than any deadline. Result: `{ ok: true, tool: "slow", delay_ms, value }`
 * with the `value` that was passed, or `null`. A delay past the call's deadline ends in a timeout.
 */
export const slow = defineTool({
  name: "slow",
  family: "harness",
  summary: "Sleeps for a while, then returns: exercises deadlines",
  args: v.strictObject({
    delay_ms: v.optional(
      v.pipe(
        v.number(),
        v.integer(),
        v.minValue(0),
        v.maxValue(MAX_DELAY_MS),
        v.description("How long to sleep, in milliseconds; without it, longer than any deadline"),
      ),
    ),
    value: v.optional(v.pipe(v.unknown(), v.description("Any JSON value; it comes back in the result"))),
  }),
  result: v.strictObject({
    ok: v.literal(true),
    tool: v.literal("slow"),
    delay_ms: v.number(),
    value: v.unknown(),
  }),
  authority: {},
  effect: "pure",
  audit: { args: { delay_ms: "keep", value: "keep" }, result: "keep" },
  prepare(args) {
    return { targets: [], artifact: { delay_ms: args.delay_ms ?? MAX_DELAY_MS, value: args.value } };
  },
  async invoke({ delay_ms, value }, { sleep }) {
    await sleep(delay_ms);
    return { ok: true as const, tool: "slow" as const, delay_ms, value: value ?? null };
  },
});
