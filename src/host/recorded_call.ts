/**
 * A call that is answered from a recording: its records are those of a call, and nothing acts.
 *
 * @module
 */
import { auditValue } from "../audit/redact.ts";
import type { RecordBody } from "../audit/record.ts";
import type { Json, JsonObject } from "../json.ts";
import type { AuditMode, Tool } from "../tool/define.ts";
import type { Outcome } from "./ended.ts";

/** A value over this size is digested in the log even where a tool says that it is kept. */
export const MAX_SHOWN_BYTES = 65_536;

/** A call that wants its answer. */
export interface RecordedCall {
  readonly callId: string;
  readonly tool: string;
  readonly args: JsonObject;
  /** UTF-8 bytes of the arguments. */
  readonly bytes: number;
}

/** Looks up what a recording holds of a call; `undefined` where it holds no answer. */
export type AnswerRecorded = (call: RecordedCall) => {
  readonly outcome: Outcome;
  /** The record of an outcome that is no result. */
  readonly body: RecordBody;
  /** What the log keeps of one that is. */
  readonly mode: AuditMode;
} | undefined;

/** What the log says of the arguments of a call: of each, what the tool's definition keeps. */
export function shownArgs(tool: Tool | undefined, args: JsonObject, sha256: (text: string) => string): JsonObject {
  const modes: Readonly<Record<string, AuditMode | undefined>> = tool?.audit.args ?? {};
  const kept: Record<string, Json> = {};
  for (const [key, value] of Object.entries(args)) {
    // A tool that is gone cannot say what may be kept.
    const mode = tool === undefined ? "digest" : (Object.hasOwn(modes, key) ? modes[key] : modes["*"]) ?? "drop";
    const isLarge = mode === "keep" && JSON.stringify(value).length > MAX_SHOWN_BYTES;
    kept[key] = auditValue(value, isLarge ? "digest" : mode, { sha256 }) as Json;
  }
  return kept;
}

/** The record of an outcome that is no result, as a recording knows it. */
export function recordedOutcome({ kind, code, message }: Exclude<Outcome, { kind: "result" }>): RecordBody {
  switch (kind) {
    case "denied":
      return { type: "tool_denial", policy: "denied", reason: code, rule: null };
    case "invalid":
      return { type: "tool_invalid_args", policy: "denied", message };
    case "timeout":
      return { type: "tool_timeout", message };
    case "budget":
      return { type: "budget_exceeded", budget: code, message };
    case "error":
      return { type: "tool_error", policy: "allowed", message, code };
  }
}

/** Whether a call had started before it came to this outcome, as far as a recording can tell. */
export function hadStarted({ kind }: Outcome): boolean {
  return kind === "result" || kind === "error" || kind === "timeout";
}
