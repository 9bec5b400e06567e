/**
 * What one call's requests share: the budget they use up, the judgement their answers pass, and what the record of the
 * outcome says of them.
 *
 * @module
 */
import { ToolError } from "../errors.ts";
import type { Json, JsonObject } from "../json.ts";
import type { RawReply } from "../plan/raw_reply.ts";
import type { Reply } from "../tool/powers.ts";
import type { KeptAnswer } from "./answer_memory.ts";
import type { CallContext, RunContext } from "./context.ts";
import { judgeGitHub } from "./github_answer.ts";
import { judge, type NetworkFailure, overBudget } from "./http_reply.ts";
import type { SendRequest } from "./send_request.ts";

/** Where an answer came from, in the words of the audit log. */
export type Transport = KeptAnswer["origin"] | "memory_cache";

/** Freshness by transport, freshest first: an outcome claims the last of those that its answers had. */
export const FRESHNESS: Readonly<Record<Transport, string>> = {
  pinned_https: "live",
  memory_cache: "cached_in_run",
  persistent_cache: "cached_persistent",
  fixture: "fixture",
};
const BY_FRESHNESS: readonly string[] = Object.keys(FRESHNESS);

/** What a call used so far. */
export interface Ledger {
  readonly startedMs: number;
  requests: number;
  /** Bytes of all answers, wherever they came from. */
  bytes: number;
  /** Bytes that came over the network in this call, or were replayed in its place. */
  responseBytes: number;
  retries: number;
  transport: Transport | undefined;
}

/** A call, what it used, and the limit of its tool. */
export interface Scope {
  readonly run: RunContext;
  readonly call: CallContext;
  readonly ledger: Ledger;
  readonly replyBytes: number;
}

/** An answer with what the record says of it. */
export interface Answer {
  readonly raw: RawReply;
  readonly reply: Reply;
  readonly transport: Transport;
  readonly note: JsonObject;
}

/** What came of a request: an answer, or why there is none. */
export type Sourced =
  | { readonly answer: Answer }
  | { readonly failure: NetworkFailure; readonly transport: Transport; readonly location?: string };

/** Opens the ledger of a call. */
export function openScope(run: RunContext, call: CallContext, limits: { readonly replyBytes?: number }): Scope {
  return {
    run,
    call,
    ledger: { startedMs: run.now(), requests: 0, bytes: 0, responseBytes: 0, retries: 0, transport: undefined },
    replyBytes: limits.replyBytes ?? Infinity,
  };
}

/** Bytes that the next answer of a call may have: the tool's limit for one, and what is left of the policy's for all. */
export function byteLimit({ run, ledger, replyBytes }: Scope): number {
  return Math.max(0, Math.min(replyBytes, run.plan.budgets.toolResultBytes - ledger.bytes));
}

/** Every answer, from wherever, passes the same budget and the same judgement. */
export function judged(
  request: SendRequest,
  raw: RawReply,
  { transport, scope, note }: { readonly transport: Transport; readonly scope: Scope; readonly note: JsonObject },
): Sourced {
  const limit = byteLimit(scope);
  if (raw.bytes > limit) return { transport, failure: overBudget(limit) };
  const nowMs = scope.run.now();
  const meant = request.service === "github" ? judgeGitHub(raw, nowMs) : undefined;
  if (meant !== undefined) return { transport, failure: meant };
  const outcome = judge(raw, nowMs);
  if ("reply" in outcome) return { answer: { raw, reply: outcome.reply, transport, note } };
  const moved = raw.location === undefined ? {} : { location: raw.location };
  return { transport, failure: outcome.failure, ...moved };
}

/** Counts an answer, and adds to the outcome's record what it says of all of them. */
export function countAnswer(request: SendRequest, { raw, transport, note }: Answer, scope: Scope): void {
  const { ledger } = scope;
  ledger.bytes += raw.bytes;
  const isReceived = (transport === "pinned_https" && note.revalidated !== true) || transport === "fixture";
  if (isReceived) ledger.responseBytes += raw.bytes;
  const before = ledger.transport;
  if (before === undefined || BY_FRESHNESS.indexOf(transport) > BY_FRESHNESS.indexOf(before)) {
    ledger.transport = transport;
    noteOutcome(request, scope, { status_code: raw.status, ...note });
  } else {
    noteOutcome(request, scope, {});
  }
}

/** Adds up what the outcome's record says of all requests of a call. */
export function noteOutcome(request: SendRequest, { run, call, ledger }: Scope, fields: JsonObject): void {
  const { transport } = ledger;
  call.note({
    endpoint: request.endpoint,
    ...(transport === undefined ? {} : { transport, freshness: FRESHNESS[transport] }),
    requests: ledger.requests,
    response_bytes: ledger.responseBytes,
    duration_ms: Math.max(0, run.now() - ledger.startedMs),
    ...fields,
  });
}

/** The error of a request that has no usable answer. */
export function toolErrorOf(
  request: SendRequest,
  { failure, transport }: { readonly failure: NetworkFailure; readonly transport: Transport },
  { run, ledger }: Scope,
): ToolError {
  const fields: { [name: string]: Json } = {
    endpoint: request.endpoint,
    transport,
    error_kind: failure.kind,
    retryable: failure.retryable,
    retry_policy: "bounded",
    retry_attempts: ledger.retries,
    retry_max_attempts: run.plan.network.retryAttempts,
    requests: ledger.requests,
    response_bytes: ledger.responseBytes,
    duration_ms: Math.max(0, run.now() - ledger.startedMs),
    ...failure.fields,
  };
  if (failure.status !== undefined) fields.status_code = failure.status;
  if (failure.retryAfterMs !== undefined) fields.retry_after_ms = failure.retryAfterMs;
  return new ToolError(failure.code ?? failure.kind, `Cannot read ${request.endpoint}: ${failure.message}`, {
    retryable: failure.retryable,
    fields,
    ...(failure.cause === undefined ? {} : { cause: failure.cause }),
  });
}
