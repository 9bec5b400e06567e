/**
 * What an answer is worth: the one path that live, cached and recorded answers go through.
 *
 * @module
 */
import type { RawReply } from "../plan/raw_reply.ts";
import { type Json, type JsonObject, nestsDeeper } from "../json.ts";
import { MAX_DEPTH } from "../membrane/copy.ts";
import type { Reply } from "../tool/powers.ts";
import { parseRetryAfter } from "./retry.ts";

/** Why a request has no usable answer. */
export type NetworkErrorKind =
  | "response_byte_budget"
  | "timeout"
  | "http_retryable"
  | "http_nonretryable"
  | "invalid_json"
  | "transport_error"
  | "cache_miss"
  | "fixture_miss"
  | "redirect_refused";

/** A failed request as a value; `message` is the part after `Cannot read <endpoint>: ` and is safe for agents. */
export interface NetworkFailure {
  readonly kind: NetworkErrorKind;
  readonly message: string;
  readonly retryable: boolean;
  readonly status?: number;
  /** Slug of the error where the kind says too little. */
  readonly code?: string;
  /** What the server asked to wait, in milliseconds. */
  readonly retryAfterMs?: number;
  /** Whether the wait doubles with every retry. */
  readonly grows?: boolean;
  /** Further fields of the record. */
  readonly fields?: JsonObject;
  readonly cause?: unknown;
}

/** Judges an answer: only a 2xx status with a JSON body is one, or with any body where bytes were asked for. */
export function judge(raw: RawReply, nowMs: number): { readonly reply: Reply } | { readonly failure: NetworkFailure } {
  const refused = judgeStatus(raw, nowMs);
  if (refused !== undefined) return { failure: refused };
  if (raw.encoding === "base64") return { reply: { status: raw.status, headers: raw.headers, json: null } };
  if (nestsDeeper(raw.text, MAX_DEPTH)) {
    return { failure: invalidJson(raw.status, `the answer nests deeper than ${MAX_DEPTH} levels`) };
  }
  try {
    const json = JSON.parse(raw.text) as Json;
    return { reply: { status: raw.status, headers: raw.headers, json } };
  } catch {
    // The parser's own message quotes the body
    return { failure: invalidJson(raw.status, "the answer is not JSON") };
  }
}

function judgeStatus({ status, headers }: RawReply, nowMs: number): NetworkFailure | undefined {
  if (status >= 300 && status < 400) {
    return { kind: "redirect_refused", message: `redirect refused, status ${status}`, retryable: false, status };
  }
  if (status === 429 || status >= 500) {
    const retryAfterMs = parseRetryAfter(headers["retry-after"], nowMs);
    return {
      kind: "http_retryable",
      message: `http status ${status}`,
      retryable: true,
      status,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    };
  }
  // 206 would be a part of an answer that looks like a whole one
  if (status < 200 || status >= 300 || status === 206) {
    return { kind: "http_nonretryable", message: `http status ${status}`, retryable: false, status };
  }
  return undefined;
}

/** An answer that is not the JSON it should be. */
export function invalidJson(status: number, message: string): NetworkFailure {
  return { kind: "invalid_json", message, retryable: false, status };
}

/** An answer that is larger than the call may receive. */
export function overBudget(limit: number): NetworkFailure {
  return { kind: "response_byte_budget", message: `the answer is larger than ${limit} bytes`, retryable: false };
}
