/**
 * Asking the pinned endpoint itself: again where that can help, never past the call's deadline, with the credential of
 * the tool and of no other.
 *
 * @module
 */
import { makeRedactor } from "../audit/redact.ts";
import type { RawReply } from "../plan/raw_reply.ts";
import { exchange } from "./http_client.ts";
import { TELLING_STATUSES } from "./github_answer.ts";
import { backoffMs, sleep } from "./retry.ts";
import { byteLimit, judged, type Scope, type Sourced } from "./send_scope.ts";
import type { SendRequest } from "./send_request.ts";

/** Bodies of errors are read where somebody knows what they say. */
const NO_STATUSES: ReadonlySet<number> = new Set();

/** What asking needs beside the request. */
export interface LiveOptions {
  readonly client: Deno.HttpClient;
  readonly scope: Scope;
  /** A kept answer whose entity tag is sent along; it is the answer again where the service says that it still holds. */
  readonly kept?: RawReply | undefined;
  /** Jitter: numbers of 0 to 1, exclusive. */
  random(): number;
}

/** Asks the endpoint of a request. */
export async function askLive(request: SendRequest, options: LiveOptions): Promise<Sourced> {
  const { scope } = options;
  const { run, call, ledger } = scope;
  const maxAttempts = run.plan.network.retryAttempts;
  for (let retry = 1;; retry++) {
    const sourced = await askOnce(request, options);
    if ("answer" in sourced || !sourced.failure.retryable || retry > maxAttempts) return sourced;
    const { failure } = sourced;
    const asked = failure.retryAfterMs;
    const retryAfterMs = asked === undefined || failure.grows !== true ? asked : asked * 2 ** (retry - 1);
    const waitMs = backoffMs(retry, { random: options.random(), retryAfterMs });
    // A wait that ends at the deadline can only turn a clear failure into a timeout
    if (run.now() + waitMs >= call.deadlineMs) return sourced;
    ledger.retries++;
    call.record({
      type: "named_network_retry",
      endpoint: request.endpoint,
      transport: "pinned_https",
      attempt: retry,
      max_attempts: maxAttempts,
      error_kind: failure.kind,
      status_code: failure.status ?? null,
      retryable: true,
      retry_policy: "bounded",
      backoff_ms: waitMs,
      retry_after_ms: asked ?? null,
      elapsed_ms: Math.max(0, run.now() - ledger.startedMs),
    });
    await sleep(waitMs, call.signal);
  }
}

async function askOnce(request: SendRequest, { client, scope, kept }: LiveOptions): Promise<Sourced> {
  const { method, url, as, sender } = request;
  const [name, value] = sender?.header() ?? [];
  const headers = {
    ...request.sent,
    ...(kept?.headers.etag === undefined ? {} : { "if-none-match": kept.headers.etag }),
    ...(name === undefined || value === undefined ? {} : { [name]: value }),
  };
  const body = request.body === "" ? undefined : request.body;
  const telling = request.service === "github" ? TELLING_STATUSES : NO_STATUSES;
  const got = await exchange(client, { method, url, headers, body, as, telling }, {
    limit: byteLimit(scope),
    signal: scope.call.signal,
  });
  if ("failure" in got) return { failure: got.failure, transport: "pinned_https" };
  const { raw } = got;
  if (raw.status === 304 && kept !== undefined) {
    const again = { ...kept, headers: { ...kept.headers, ...raw.headers } };
    const note = { cache_hit: true, revalidated: true, status_code: 304 };
    return judged(request, again, { transport: "pinned_https", scope, note });
  }
  const clean = value === undefined ? raw : withoutSecret(raw, value);
  return judged(request, clean, { transport: "pinned_https", scope, note: { cache_hit: false } });
}

/** A service that sends a credential back would put it into the cache, and into the agent's hands. */
function withoutSecret(raw: RawReply, headerValue: string): RawReply {
  const secrets = new Map([["credential", headerValue.replace(/^Bearer /, "")]]);
  const { scrub } = makeRedactor({ fields: [], secrets });
  const headers = Object.fromEntries(Object.entries(raw.headers).map(([name, text]) => [name, scrub(text)]));
  const text = raw.encoding === "base64" ? scrubBytes(raw.text, scrub) : scrub(raw.text);
  return { ...raw, headers, text };
}

/** Bytes that are text are scrubbed as text; what is no text holds no credential that anybody could read. */
function scrubBytes(base64: string, scrub: (text: string) => string): string {
  const bytes = Uint8Array.fromBase64(base64);
  const latin = Array.from(
    { length: Math.ceil(bytes.length / 8192) },
    (_, at) => String.fromCharCode(...bytes.subarray(at * 8192, (at + 1) * 8192)),
  ).join("");
  const clean = scrub(latin);
  if (clean === latin) return base64;
  return Uint8Array.from(clean, (unit) => unit.charCodeAt(0)).toBase64();
}
