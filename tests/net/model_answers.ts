/** Answers of the two providers as they come over the wire, for the tests of models. */
import type { Json, JsonObject } from "../../src/json.ts";

/** The one text of every answer: letters of one, two, three and four bytes. */
export const TEXT = "Zwei Funde: “minimist” und lodash 🔎";

/** What the agent gets of OpenAI's answer. */
export const OPENAI_ANSWER: JsonObject = {
  id: "resp_1",
  object: "response",
  created_at: 1764504000,
  status: "completed",
  error: null,
  incomplete_details: null,
  model: "gpt-5-mini-2025-08-07",
  output: [{
    id: "msg_1",
    type: "message",
    status: "completed",
    role: "assistant",
    content: [{ type: "output_text", annotations: [], text: TEXT }],
  }],
  usage: { input_tokens: 36, output_tokens: 12, total_tokens: 48 },
};

/** What the agent gets of Anthropic's answer. */
export const ANTHROPIC_ANSWER: JsonObject = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-sonnet-4-5-20250929",
  content: [{ type: "text", text: TEXT }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 25, cache_creation_input_tokens: 0, cache_read_input_tokens: 5, output_tokens: 15 },
};

/** One event as text. */
export function event(data: JsonObject, name = String(data.type)): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** The events of an answer of OpenAI; `last` changes the response that the last one holds. */
export function openaiEvents(last: { readonly type?: string; readonly response?: JsonObject } = {}): string[] {
  const started = { ...OPENAI_ANSWER, status: "in_progress", output: [], usage: null };
  let sequence = 0;
  const next = (type: string, more: JsonObject): string => event({ type, sequence_number: sequence++, ...more });
  return [
    next("response.created", { response: started }),
    next("response.in_progress", { response: started }),
    next("response.output_item.added", { output_index: 0, item: { id: "msg_1", type: "message", content: [] } }),
    ...[...TEXT].map((delta) =>
      next("response.output_text.delta", {
        item_id: "msg_1",
        output_index: 0,
        content_index: 0,
        delta,
        obfuscation: "xy",
      })
    ),
    next("response.output_text.done", { item_id: "msg_1", output_index: 0, content_index: 0, text: TEXT }),
    next(last.type ?? "response.completed", { response: { ...OPENAI_ANSWER, ...last.response } }),
  ];
}

/** The events of an answer of Anthropic; `stop` is why it stopped. */
export function anthropicEvents(stop: Json = "end_turn"): string[] {
  const { content: _, usage: _usage, stop_reason: _stop, ...message } = ANTHROPIC_ANSWER;
  const usage = { input_tokens: 25, cache_creation_input_tokens: 0, cache_read_input_tokens: 5, output_tokens: 1 };
  return [
    event({ type: "message_start", message: { ...message, content: [], stop_reason: null, usage } }),
    event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
    event({ type: "ping" }),
    ...[...TEXT].map((text) => event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })),
    event({ type: "content_block_stop", index: 0 }),
    event({ type: "message_delta", delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: 15 } }),
    event({ type: "message_stop" }),
  ];
}
