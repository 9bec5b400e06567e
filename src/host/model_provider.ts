/**
 * The contract of a provider of models: how a question is put, how an answer is put together, and what it is worth.
 *
 * @module
 */
import { isJsonObject, type Json, type JsonObject, nestsDeeper } from "../json.ts";
import { MAX_DEPTH } from "../membrane/copy.ts";
import { invalidJson, type NetworkFailure } from "./http_reply.ts";
import type { PromptMessage } from "./model_prompt.ts";
import type { SseEvent } from "./sse.ts";

/** Why a question has no usable answer. */
export interface ModelFailure extends Omit<NetworkFailure, "kind"> {
  readonly kind: NetworkFailure["kind"] | "request_byte_budget" | "response_incomplete" | "response_refused";
}

/** Tokens of one call, as its provider reports them. */
export interface TokenUsage {
  readonly input: number;
  readonly output: number;
}

/** What a part of a stream completes: nothing yet, the whole answer, or that there is none. */
export type Taken = undefined | { readonly response: JsonObject } | { readonly failure: ModelFailure };

/** Puts one streamed answer together. */
export interface Assembly {
  /** Takes the next event; nothing is taken after what ends the answer. */
  take(event: SseEvent): Taken;
}

/** A provider. */
export interface ModelProvider {
  /** Headers beside those of every request. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body of a request. */
  body(
    prompt: readonly PromptMessage[],
    options: { readonly model: string; readonly maxOutputTokens: number },
  ): JsonObject;
  /** Starts an answer that may hold `limit` UTF-16 units. */
  assembly(limit: number): Assembly;
  /** What an answer cost; `undefined` where it does not say, or says what cannot be. */
  usage(response: JsonObject): TokenUsage | undefined;
  /** Why a whole answer is none: it was cut, refused, or is not of the provider's form. */
  refusal(response: JsonObject): ModelFailure | undefined;
}

/** Parses the JSON of an answer or an event. */
export function parseAnswer(text: string, status = 200): { readonly json: Json } | { readonly failure: ModelFailure } {
  if (nestsDeeper(text, MAX_DEPTH)) {
    return { failure: invalidJson(status, `the answer nests deeper than ${MAX_DEPTH} levels`) };
  }
  try {
    return { json: JSON.parse(text) as Json };
  } catch {
    return { failure: invalidJson(status, "the answer is not JSON") };
  }
}

/** An answer that is JSON and not what the provider documents. */
export function unexpectedAnswer(what: string): ModelFailure {
  return invalidJson(200, `the answer is not one of a model: ${what}`);
}

/** An answer that its provider ended before it was whole. */
export function incomplete(reason: string | undefined): ModelFailure {
  return {
    kind: "response_incomplete",
    message: `the answer was cut${reason === undefined ? "" : `: ${reason}`}`,
    retryable: false,
    status: 200,
    ...(reason === undefined ? {} : { fields: { incomplete_reason: reason } }),
  };
}

/** An answer that the model, or its provider, refused to give. */
export function refused(): ModelFailure {
  return { kind: "response_refused", message: "the model refused to answer", retryable: false, status: 200 };
}

/** Kinds of errors that may pass, by the words of both providers. */
const PASSING: ReadonlySet<string> = new Set([
  "api_error",
  "internal_error",
  "overloaded_error",
  "rate_limit_error",
  "rate_limit_exceeded",
  "server_error",
  "server_is_overloaded",
  "slow_down",
  "timeout_error",
  "vector_store_timeout",
]);

/**
 * An error that came inside an answer. Of the provider's text only the slugs are kept: the rest is untrusted, may quote the
 * question or a part of the key, and goes nowhere.
 */
export function providerError(error: Json | undefined, event: string): ModelFailure {
  const slugs = errorSlugs(error);
  const retryable = slugs.some((slug) => PASSING.has(slug));
  return {
    kind: retryable ? "http_retryable" : "http_nonretryable",
    message: `the provider reports an error${slugs.length === 0 ? "" : `: ${slugs.join(", ")}`}`,
    retryable,
    status: 200,
    fields: { provider_event: event, ...errorFields(error) },
  };
}

/** Fields of the record that say what a provider called its error. */
export function errorFields(error: Json | undefined): JsonObject {
  if (!isJsonObject(error)) return {};
  const { type, code } = error;
  return {
    ...(isSlug(type) ? { provider_error_type: type } : {}),
    ...(isSlug(code) ? { provider_error_code: code } : {}),
  };
}

/** The slugs of an error, each once. */
export function errorSlugs(error: Json | undefined): readonly string[] {
  return [...new Set(Object.values(errorFields(error)).map(String))];
}

/** Lower-case words: nothing that could be a key, a sentence or a path. */
export function isSlug(value: Json | undefined): value is string {
  return typeof value === "string" && /^[a-z]{2,32}(?:_[a-z]{1,32}){0,7}$/.test(value);
}

/** A number of tokens that can be one. */
export function isCount(value: Json | undefined): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
