/**
 * The order of a run that is recorded, or that is run again: a plain run loads neither.
 *
 * @module
 */
import type { JsonObject } from "../json.ts";
import type { Plan } from "../plan/plan.ts";
import type { Tool } from "../tool/define.ts";
import type { CallHost } from "./call.ts";
import type { RecordChannel } from "./records.ts";
import type { DigestOptions, Transcript } from "./transcript.ts";

/** What a host takes from its order. */
export interface Order {
  readonly transcript: Transcript;
  /** Further fields of `authority_check`. */
  readonly fields: JsonObject;
  /** What `auditControls()` returns. */
  readonly controls: JsonObject;
  readonly calls: Pick<CallHost, "recorded" | "settled">;
}

/** What an order is made of. */
export interface OrderOptions extends DigestOptions {
  /** Loaders of every tool there is. */
  readonly tools: Readonly<Record<string, (() => Promise<Tool>) | undefined>>;
  readonly channel: RecordChannel;
  /** What `auditControls()` returns in a run that is recorded. */
  readonly controls: JsonObject;
}

/** Makes what records a run, or, where there is a recording of `rerun.bytes` bytes, what holds the run to it. */
export async function makeOrder(
  { plan, rerun }: { readonly plan: Plan; readonly rerun?: { readonly bytes: number } },
  { tools, channel, controls, ...digests }: OrderOptions,
): Promise<Order> {
  if (rerun !== undefined) {
    const { openRerun } = await import("./open_rerun.ts");
    channel.control("recording", {});
    return await openRerun(channel.readBytes(rerun.bytes), {
      ...digests,
      toolNames: Object.keys(plan.tools),
      tools,
      record: (body) => channel.send(body),
    });
  }
  const { Recorder } = await import("./recorder.ts");
  const recorder = new Recorder({
    ...digests,
    start: { context: plan.context, controls, redact: plan.redact, expect: expectations(plan) },
    write: (line) => channel.recording(line),
    now: Date.now,
  });
  return {
    transcript: recorder,
    fields: recorder.received,
    controls,
    calls: { settled: (callId, outcome) => recorder.settled(callId, outcome) },
  };
}

/** What the plan expects of events, with the schemas themselves: the log has their digests alone. */
function expectations({ expectEvents }: Plan): JsonObject {
  return Object.fromEntries(
    Object.entries(expectEvents).map(([kind, { min, max, schema }]): [string, JsonObject] => [kind, {
      min,
      ...(max === undefined ? {} : { max }),
      ...(schema === undefined ? {} : { schema: schema.value }),
    }]),
  );
}
