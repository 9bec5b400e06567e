/**
 * Joins a recording to the one path of every call: budgets, registry and copies are as ever, and in the place of the
 * tool stands what the recording holds.
 *
 * @module
 */
import { auditValue } from "../audit/redact.ts";
import type { RecordBody } from "../audit/record.ts";
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { copyIn } from "../membrane/copy.ts";
import type { Tool } from "../tool/define.ts";
import type { CallHost } from "./call.ts";
import type { Head } from "./frame.ts";
import { hadStarted, MAX_SHOWN_BYTES, recordedOutcome, shownArgs } from "./recorded_call.ts";
import { Rerun } from "./rerun.ts";
import type { DigestOptions, Transcript } from "./transcript.ts";

/** What a rerun is opened with. */
export interface OpenOptions extends DigestOptions {
  /** Names that the plan grants. */
  readonly toolNames: readonly string[];
  /** Loaders of every tool there is: asked for what the log may keep, and for nothing else. */
  readonly tools: Readonly<Record<string, (() => Promise<Tool>) | undefined>>;
  record(body: RecordBody): void;
}

/** A recording that answers in the place of tools. */
export interface OpenRerun {
  readonly transcript: Transcript;
  /** Further fields of `authority_check`. */
  readonly fields: JsonObject;
  /** What `auditControls()` returned then. */
  readonly controls: JsonObject;
  readonly calls: Pick<CallHost, "recorded" | "settled">;
}

/** Opens a verified recording. @param bytes Whole lines only. */
export async function openRerun(bytes: Uint8Array, options: OpenOptions): Promise<OpenRerun> {
  const { sha256, record } = options;
  const known = new Map<string, Tool>();
  for (const name of options.toolNames) {
    const load = Object.hasOwn(options.tools, name) ? options.tools[name] : undefined;
    if (load !== undefined) known.set(name, await load());
  }
  const args = (tool: string, value: JsonObject): JsonObject => shownArgs(known.get(tool), value, sha256);
  const rerun = new Rerun(bytes, { ...options, show: (head, body) => shownLine(head, body, { args, sha256 }) });
  const { controls } = rerun.header;
  return {
    transcript: rerun,
    fields: { recorded: true },
    controls: isJsonObject(controls) ? controls : {},
    calls: {
      settled: (callId, outcome) => rerun.settled(callId, outcome),
      recorded: ({ callId, tool, args: given, bytes: argBytes }) => {
        const outcome = rerun.outcome(callId);
        if (outcome === undefined) return undefined;
        if (hadStarted(outcome)) {
          record({
            type: "tool_call",
            call_id: callId,
            tool,
            args: args(tool, given),
            arg_bytes: argBytes,
            recorded: true,
          });
        }
        const body: RecordBody = outcome.kind === "result" ? { type: "tool_result" } : recordedOutcome(outcome);
        return { outcome, body, mode: known.get(tool)?.audit.result ?? "digest" };
      },
    },
  };
}

/** What the log shows of a line that nobody expected: as much as it would show of one that was. */
function shownLine(
  { op, name, bad }: Head,
  body: string | undefined,
  { args, sha256 }: { args(tool: string, value: JsonObject): JsonObject; sha256(text: string): string },
): Json {
  if (body === undefined) return bad === undefined ? null : "not plain data";
  const copied = copyIn(body);
  if (!copied.ok) return "not plain data";
  const { value } = copied;
  if (op === "call" && typeof name === "string") return isJsonObject(value) ? args(name, value) : "no object";
  // Of state, the log holds keys and sizes.
  if (op === "state") return auditValue(value, "digest", { sha256 }) as Json;
  return body.length > MAX_SHOWN_BYTES ? auditValue(value, "digest", { sha256 }) as Json : value;
}
