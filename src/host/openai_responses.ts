/**
 * The Responses API of OpenAI: the last event of a stream holds the whole answer.
 *
 * @module
 */
import { isJsonObject, type JsonObject } from "../json.ts";
import {
  type Assembly,
  incomplete,
  isCount,
  isSlug,
  type ModelProvider,
  parseAnswer,
  providerError,
  refused,
  type Taken,
  unexpectedAnswer,
} from "./model_provider.ts";
import type { PromptMessage } from "./model_prompt.ts";
import type { SseEvent } from "./sse.ts";

/** Events that end an answer, each with the whole of it. */
const LAST: ReadonlySet<string> = new Set(["response.completed", "response.incomplete", "response.failed"]);

/** OpenAI's provider. Nothing is stored there, and no tool is offered. */
export const openaiResponses: ModelProvider = Object.freeze({
  headers: {},
  body: (prompt: readonly PromptMessage[], { model, maxOutputTokens }: { model: string; maxOutputTokens: number }) => ({
    model,
    input: inputOf(prompt),
    max_output_tokens: maxOutputTokens,
    store: false,
    stream: true,
  }),
  assembly: (): Assembly => ({ take }),
  usage: ({ usage }: JsonObject) => {
    if (!isJsonObject(usage)) return undefined;
    const { input_tokens: input, output_tokens: output } = usage;
    return isCount(input) && isCount(output) ? { input, output } : undefined;
  },
  refusal: (response: JsonObject) => {
    const { status, output, error, incomplete_details: details } = response;
    if (response.object !== "response" || !Array.isArray(output)) return unexpectedAnswer("it has no output");
    if (status === "failed") return providerError(error, "response.failed");
    if (status !== "completed") {
      const reason = isJsonObject(details) && isSlug(details.reason)
        ? details.reason
        : isSlug(status)
        ? status
        : undefined;
      return incomplete(reason);
    }
    return output.some(isRefusal) ? refused() : undefined;
  },
});

function inputOf(prompt: readonly PromptMessage[]): string | JsonObject[] {
  const [first] = prompt;
  if (prompt.length === 1 && first?.role === "user" && first.texts.length === 1) return first.texts[0] ?? "";
  return prompt.map(({ role, texts }) => ({
    role,
    content: texts.length === 1
      ? texts[0] ?? ""
      : texts.map((text) => ({ type: role === "assistant" ? "output_text" : "input_text", text })),
  }));
}

function take({ name, data }: SseEvent): Taken {
  // The pieces of a text need not be looked at: the last event holds the whole of it
  if (name !== "" && name !== "error" && !LAST.has(name)) return undefined;
  if (data === "[DONE]") return undefined;
  const parsed = parseAnswer(data);
  if ("failure" in parsed) return parsed;
  const event = parsed.json;
  if (!isJsonObject(event)) return { failure: unexpectedAnswer("an event is no object") };
  const type = typeof event.type === "string" ? event.type : name;
  if (type === "error") return { failure: providerError(event.error ?? { code: event.code ?? null }, "error") };
  if (!LAST.has(type)) return undefined;
  const { response } = event;
  if (!isJsonObject(response)) return { failure: unexpectedAnswer("its last event holds no response") };
  // Whatever the answer says of itself: one that an event calls cut or failed is not a completed one
  if (response.status !== type.slice("response.".length)) {
    return { failure: unexpectedAnswer("its last event and its status differ") };
  }
  return { response };
}

function isRefusal(item: unknown): boolean {
  return isJsonObject(item) && Array.isArray(item.content) &&
    item.content.some((part: unknown) => isJsonObject(part) && part.type === "refusal");
}
