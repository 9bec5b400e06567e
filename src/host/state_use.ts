/**
 * One use that an agent makes of its state: what is recorded of it, and what the agent is told.
 *
 * @module
 */
import { DROPPED } from "../audit/redact.ts";
import type { RecordBody } from "../audit/record.ts";
import type { Json } from "../json.ts";
import { copyIn } from "../membrane/copy.ts";
import type { AgentState } from "./agent_state.ts";
import type { Head } from "./frame.ts";

const MAX_KEY = 1024;
/** Bytes of a state that the log still shows. */
const MAX_SNAPSHOT_BYTES = 1_048_576;

/** A use of the state. */
export interface StateUse {
  readonly record: RecordBody;
  /** JSON text of the answer, or why there is none. */
  readonly answer: string | { readonly outcome: "budget"; readonly code: string; readonly message: string };
}

/** Uses the state as a line of the agent says; `undefined` where the line is none that its side could send. */
export function useState(state: AgentState, head: Head, body: string | undefined): StateUse | undefined {
  const { key } = head;
  if (head.do === "list") {
    const keys = state.keys();
    return { record: { type: "state_list", count: keys.length }, answer: JSON.stringify(keys) };
  }
  if (head.do === "reset") {
    const before = state.bytes;
    state.reset();
    return { record: { type: "state_reset", previous_state_bytes: before, state_bytes: 0 }, answer: "null" };
  }
  if (typeof key !== "string" || key.length > MAX_KEY || !key.isWellFormed()) return undefined;
  if (head.do === "get") return { record: { type: "state_get", key }, answer: state.get(key) };
  if (head.do === "delete") {
    const existed = state.delete(key);
    return { record: { type: "state_delete", key, existed }, answer: JSON.stringify(existed) };
  }
  return head.do === "set" && body !== undefined && copyIn(body).ok ? set(state, key, body) : undefined;
}

function set(state: AgentState, key: string, body: string): StateUse {
  const attempted = state.set(key, body);
  if (attempted === undefined) {
    return { record: { type: "state_set", key, state_bytes: state.bytes }, answer: "null" };
  }
  const limit = state.maxBytes;
  return {
    record: { type: "budget_exceeded", budget: "state_bytes", limit, attempted },
    answer: {
      outcome: "budget",
      code: "state_bytes",
      message: `Cannot set state: ${attempted} is over the budget state_bytes of ${limit}`,
    },
  };
}

/** The record of the state as it is. What a field or a text in it keeps secret is redacted on the way into the log. */
export function snapshotOf({ bytes, text }: AgentState, phase: "start" | "end"): RecordBody {
  const state = bytes <= MAX_SNAPSHOT_BYTES ? JSON.parse(text) as Json : DROPPED;
  return { type: "state_snapshot", phase, state, state_bytes: bytes };
}
