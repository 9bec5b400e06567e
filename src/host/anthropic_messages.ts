/**
 * The Messages API of Anthropic: a stream brings an answer block by block, piece by piece.
 *
 * @module
 */
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { overBudget } from "./http_reply.ts";
import {
  type Assembly,
  incomplete,
  isCount,
  isSlug,
  type ModelFailure,
  type ModelProvider,
  parseAnswer,
  providerError,
  refused,
  type Taken,
  unexpectedAnswer,
} from "./model_provider.ts";
import type { PromptMessage } from "./model_prompt.ts";
import type { SseEvent } from "./sse.ts";

/** The version of the API that this file knows. */
const VERSION = "2023-06-01";

/** Reasons to stop that end a whole answer. */
const WHOLE: ReadonlySet<Json | undefined> = new Set(["end_turn", "stop_sequence", "tool_use"]);

/** Anthropic's provider. No tool is offered. */
export const anthropicMessages: ModelProvider = Object.freeze({
  headers: { "anthropic-version": VERSION },
  body: (prompt: readonly PromptMessage[], { model, maxOutputTokens }: { model: string; maxOutputTokens: number }) => {
    const system = prompt.filter(({ role }) => role === "system").flatMap(({ texts }) => texts);
    return {
      model,
      max_tokens: maxOutputTokens,
      messages: prompt.filter(({ role }) => role !== "system").map(({ role, texts }) => ({
        role,
        content: texts.length === 1 ? texts[0] ?? "" : texts.map((text) => ({ type: "text", text })),
      })),
      stream: true,
      ...(system.length === 0 ? {} : { system: system.map((text) => ({ type: "text", text })) }),
    };
  },
  assembly: (limit: number): Assembly => new MessageAssembly(limit),
  usage: ({ usage }: JsonObject) => {
    if (!isJsonObject(usage)) return undefined;
    const { input_tokens: asked, output_tokens: output } = usage;
    const cached = [usage.cache_creation_input_tokens ?? 0, usage.cache_read_input_tokens ?? 0];
    if (!isCount(asked) || !isCount(output) || !cached.every(isCount)) return undefined;
    const input = cached.reduce((sum, count) => sum + count, asked);
    return isCount(input) ? { input, output } : undefined;
  },
  refusal: ({ type, content, stop_reason: reason }: JsonObject) => {
    if (type !== "message" || !Array.isArray(content)) return unexpectedAnswer("it has no content");
    if (WHOLE.has(reason)) return undefined;
    // A reason that nobody knows yet may mean that something is missing
    return reason === "refusal" ? refused() : incomplete(isSlug(reason) ? reason : undefined);
  },
});

/** A block while it is written: its pieces by the field that they belong to. */
interface OpenBlock {
  readonly block: JsonObject;
  readonly texts: Map<string, string[]>;
  readonly citations: Json[];
}

/** Which field a piece of a block belongs to, and what the piece is called. */
const PIECES: ReadonlyMap<string, readonly [piece: string, field: string]> = new Map([
  ["text_delta", ["text", "text"]],
  ["thinking_delta", ["thinking", "thinking"]],
  ["signature_delta", ["signature", "signature"]],
  ["input_json_delta", ["partial_json", "input"]],
]);

class MessageAssembly implements Assembly {
  readonly #limit: number;
  #units = 0;
  #message: JsonObject | undefined;
  readonly #content: JsonObject[] = [];
  #open: OpenBlock | undefined;

  constructor(limit: number) {
    this.#limit = limit;
  }

  take({ name, data }: SseEvent): Taken {
    const parsed = parseAnswer(data);
    if ("failure" in parsed) return parsed;
    const event = parsed.json;
    if (!isJsonObject(event)) return { failure: unexpectedAnswer("an event is no object") };
    const failure = (found: ModelFailure | undefined): Taken => found === undefined ? undefined : { failure: found };
    switch (typeof event.type === "string" ? event.type : name) {
      case "error":
        return { failure: providerError(event.error, "error") };
      case "message_start":
        return failure(this.#start(event, data.length));
      case "content_block_start":
        return failure(this.#startBlock(event, data.length));
      case "content_block_delta":
        return failure(this.#piece(event));
      case "content_block_stop":
        return failure(this.#stopBlock(event));
      case "message_delta":
        return failure(this.#change(event, data.length));
      case "message_stop":
        return this.#stop();
      default:
        // `ping`, and what may be added to the API
        return undefined;
    }
  }

  #count(units: number): ModelFailure | undefined {
    this.#units += units;
    return this.#units > this.#limit ? overBudget(this.#limit) : undefined;
  }

  #start({ message }: JsonObject, units: number): ModelFailure | undefined {
    if (this.#message !== undefined || !isJsonObject(message)) return unexpectedAnswer("it does not start once");
    this.#message = message;
    return this.#count(units);
  }

  #startBlock({ index, content_block: block }: JsonObject, units: number): ModelFailure | undefined {
    if (this.#message === undefined || this.#open !== undefined || !isJsonObject(block)) {
      return unexpectedAnswer("a block starts where none may");
    }
    if (index !== this.#content.length) return unexpectedAnswer("a block is missing");
    this.#open = { block, texts: new Map(), citations: [] };
    return this.#count(units);
  }

  #piece({ index, delta }: JsonObject): ModelFailure | undefined {
    const open = this.#open;
    if (open === undefined || index !== this.#content.length || !isJsonObject(delta)) {
      return unexpectedAnswer("a piece belongs to no block");
    }
    if (delta.type === "citations_delta" && delta.citation !== undefined) {
      open.citations.push(delta.citation);
      return this.#count(JSON.stringify(delta.citation).length);
    }
    const [piece, field] = PIECES.get(String(delta.type)) ?? [];
    const text = piece === undefined ? undefined : delta[piece];
    // A piece that nobody knows would be missing from what the agent gets
    if (field === undefined || typeof text !== "string") return unexpectedAnswer("a piece has no known form");
    const texts = open.texts.get(field);
    if (texts === undefined) open.texts.set(field, [text]);
    else texts.push(text);
    return this.#count(text.length + 1);
  }

  #stopBlock({ index }: JsonObject): ModelFailure | undefined {
    const open = this.#open;
    if (open === undefined || index !== this.#content.length) return unexpectedAnswer("a block ends that never began");
    this.#open = undefined;
    const { block, texts, citations } = open;
    const fields: Record<string, Json> = {};
    for (const [field, pieces] of texts) {
      const text = pieces.join("");
      if (field !== "input") fields[field] = `${typeof block[field] === "string" ? block[field] : ""}${text}`;
      else if (text !== "") {
        const parsed = parseAnswer(text);
        if ("failure" in parsed) return parsed.failure;
        fields.input = parsed.json;
      }
    }
    if (citations.length > 0) {
      const before = Array.isArray(block.citations) ? block.citations as readonly Json[] : [];
      fields.citations = [...before, ...citations];
    }
    this.#content.push({ ...block, ...fields });
    return undefined;
  }

  #change({ type: _, delta, usage, ...beside }: JsonObject, units: number): ModelFailure | undefined {
    const message = this.#message;
    if (message === undefined || !isJsonObject(delta)) return unexpectedAnswer("it changes before it starts");
    const before = isJsonObject(message.usage) ? message.usage : {};
    this.#message = {
      ...message,
      ...delta,
      ...beside,
      ...(isJsonObject(usage) ? { usage: { ...before, ...withoutNull(usage) } } : {}),
    };
    return this.#count(units);
  }

  #stop(): Taken {
    if (this.#message === undefined || this.#open !== undefined) {
      return { failure: unexpectedAnswer("it ends before its last block does") };
    }
    return { response: { ...this.#message, content: this.#content } };
  }
}

/** What a later count leaves open stays as it was. */
function withoutNull(usage: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null));
}
