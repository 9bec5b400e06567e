/**
 * Asking a provider: one request, one answer, read as a stream or as a whole. Nothing is tried again.
 *
 * @module
 */
import { isJsonObject, type JsonObject } from "../json.ts";
import { readBody, readError, strangeCoding, transportFailure } from "./http_client.ts";
import { invalidJson, judge, overBudget } from "./http_reply.ts";
import {
  errorFields,
  errorSlugs,
  type ModelFailure,
  type ModelProvider,
  parseAnswer,
  unexpectedAnswer,
} from "./model_provider.ts";
import { SseError, SseParser } from "./sse.ts";

/** One request in its final form. */
export interface ModelRequest {
  readonly url: string;
  /** Every header, the credential's included. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text. */
  readonly body: string;
}

/** How an answer is read. */
export interface ModelExchangeOptions {
  readonly provider: ModelProvider;
  /** Decoded bytes that may be received. */
  readonly wireBytes: number;
  /** UTF-16 units of an answer in the end, and of one event of a stream. */
  readonly answerUnits: number;
  readonly signal: AbortSignal;
}

/** What came of a request. */
export interface ModelExchanged {
  /** The answer, whatever it is worth; absent where none came. */
  readonly response?: JsonObject;
  readonly failure?: ModelFailure;
  /** Whether an answer may have been written, and so paid for. */
  readonly spent: boolean;
  /** For the record: status, bytes, whether it was a stream. */
  readonly note: JsonObject;
}

/** What an event of a stream holds beside the answer itself, in UTF-16 units. */
const ENVELOPE_UNITS = 4_096;

/**
 * Sends a request and reads its answer.
 *
 * @throws The reason of `signal`, if it is aborted first.
 */
export async function exchangeModel(
  client: Deno.HttpClient,
  { url, headers, body }: ModelRequest,
  options: ModelExchangeOptions,
): Promise<ModelExchanged> {
  const { signal } = options;
  // Until the status is known: a request that went out may have been answered and paid for
  let known: { note: JsonObject } = { note: {} };
  try {
    const response = await fetch(url, { client, method: "POST", headers, body, redirect: "manual", signal });
    known = { note: headNote(response) };
    const strange = strangeCoding(response);
    if (strange !== undefined) {
      await response.body?.cancel();
      return { failure: strange, spent: response.ok, ...known };
    }
    // 206 would be a part of an answer that looks like a whole one
    if (!response.ok || response.status === 206) {
      return { failure: await readFailure(response), spent: response.status === 206, ...known };
    }
    const read = isStream(response) ? await readStream(response, options) : await readWhole(response, options);
    return { spent: true, ...read, note: { ...known.note, ...read.note } };
  } catch (cause) {
    signal.throwIfAborted();
    const failure = transportFailure(cause);
    return { failure, spent: wasSent(cause), ...known };
  }
}

/** Whether any of a request may have been sent: not where permissions refused it, or nobody could be reached at all. */
function wasSent(cause: unknown): boolean {
  if (cause instanceof Deno.errors.NotCapable) return false;
  const detail = cause instanceof TypeError && cause.cause instanceof Error ? cause.cause.message : "";
  return !/: client error \(Connect\): (?:dns error|tcp connect error): /.test(detail);
}

type Read = Pick<ModelExchanged, "response" | "failure" | "note">;

function headNote({ status, headers }: Response): JsonObject {
  const id = headers.get("x-request-id") ?? headers.get("request-id");
  return {
    status_code: status,
    ...(id !== null && /^[A-Za-z0-9_-]{1,128}$/.test(id) ? { provider_request_id: id } : {}),
  };
}

function isStream({ headers }: Response): boolean {
  return /^\s*text\/event-stream\s*(?:;|$)/i.test(headers.get("content-type") ?? "");
}

/** An answer that is an error, or leads elsewhere: of its text only the provider's own words for it are kept. */
async function readFailure(response: Response): Promise<ModelFailure> {
  const { status } = response;
  const isRedirect = status >= 300 && status < 400;
  const text = isRedirect ? "" : await readError(response).catch(() => "");
  await response.body?.cancel().catch(() => {});
  const wait = response.headers.get("retry-after");
  const raw = { status, headers: wait === null ? {} : { "retry-after": wait }, text: "", bytes: 0 };
  const judged = judge(raw, Date.now());
  if (!("failure" in judged)) return unexpectedAnswer("its status is none");
  const parsed = text === "" ? undefined : parseAnswer(text, status);
  const error = parsed !== undefined && "json" in parsed && isJsonObject(parsed.json) ? parsed.json.error : undefined;
  const { failure } = judged;
  const slugs = errorSlugs(error);
  return {
    ...failure,
    message: [failure.message, ...slugs].join(", "),
    fields: {
      ...errorFields(error),
      ...(failure.retryAfterMs === undefined ? {} : { retry_after_ms: failure.retryAfterMs }),
    },
  };
}

async function readWhole(response: Response, { answerUnits, wireBytes }: ModelExchangeOptions): Promise<Read> {
  // A text of n units has n bytes at least
  const limit = Math.min(answerUnits, wireBytes);
  const body = await readBody(response, limit);
  if (body === undefined) return { failure: overBudget(limit), note: { streamed: false } };
  const note = { streamed: false, response_bytes: body.byteLength };
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    return { failure: invalidJson(response.status, "the answer is not UTF-8"), note };
  }
  const parsed = parseAnswer(text);
  if ("failure" in parsed) return { failure: parsed.failure, note };
  if (!isJsonObject(parsed.json)) return { failure: unexpectedAnswer("it is no object"), note };
  return { response: parsed.json, note };
}

async function readStream(response: Response, options: ModelExchangeOptions): Promise<Read> {
  const { provider, wireBytes, answerUnits } = options;
  const parser = new SseParser(answerUnits + ENVELOPE_UNITS);
  const assembly = provider.assembly(answerUnits);
  let bytes = 0;
  const noteOf = (): JsonObject => ({ streamed: true, response_bytes: bytes });
  try {
    // Leaving the loop cancels the stream, and with it the connection
    for await (const chunk of response.body ?? []) {
      bytes += chunk.byteLength;
      if (bytes > wireBytes) return { failure: overBudget(wireBytes), note: noteOf() };
      for (const event of parser.push(chunk)) {
        const taken = assembly.take(event);
        if (taken !== undefined) return { ...taken, note: noteOf() };
      }
    }
  } catch (cause) {
    if (cause instanceof SseError) {
      const failure = cause.reason === "too_long"
        ? overBudget(answerUnits)
        : invalidJson(response.status, "the answer is not UTF-8");
      return { failure, note: noteOf() };
    }
    options.signal.throwIfAborted();
    return { failure: { ...cutOff(), cause }, note: noteOf() };
  }
  return { failure: cutOff(), note: noteOf() };
}

/** A stream that ended before the event that ends an answer. */
function cutOff(): ModelFailure {
  return { kind: "transport_error", message: "the answer broke off before its end", retryable: true, status: 200 };
}
