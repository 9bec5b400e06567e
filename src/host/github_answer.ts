/**
 * What an answer of GitHub means where its status alone does not say it: limits, missing rights, and what is hidden.
 *
 * @module
 */
import type { RawReply } from "../plan/raw_reply.ts";
import type { NetworkFailure } from "./http_reply.ts";
import { parseRetryAfter } from "./retry.ts";

/** What GitHub asks to wait after a secondary limit that names no time, in milliseconds; each retry doubles it. */
const SECONDARY_WAIT_MS = 60_000;

/** Statuses whose body says more than their number; the body is read as far as that needs. */
export const TELLING_STATUSES: ReadonlySet<number> = new Set([403, 422, 429]);

/**
 * Judges an answer that is none. `undefined` where the status alone decides.
 *
 * Limits first, and by their headers first: GitHub answers 403 to a limit, to a missing right and to a blob that is too
 * large alike. The body of an error is hostile; it is only looked through for what GitHub writes there, and never shown.
 */
export function judgeGitHub({ status, headers, text }: RawReply, nowMs: number): NetworkFailure | undefined {
  if (status === 401) return refused(status, "credential_refused", "the credential was refused");
  if (status === 404) return refused(status, "not_found_or_private", "not found, or private and out of reach");
  if (!TELLING_STATUSES.has(status)) return undefined;
  const { message, codes } = readError(text);
  if (codes.includes("too_large")) return refused(status, "too_large", "the file is too large for this API");
  if (status === 422) return undefined;
  const retryAfterMs = parseRetryAfter(headers["retry-after"], nowMs);
  if (retryAfterMs !== undefined) return limited(status, "secondary", { retryAfterMs });
  const resetMs = readReset(headers["x-ratelimit-reset"], nowMs);
  if (headers["x-ratelimit-remaining"] === "0" && resetMs !== undefined) {
    return limited(status, "primary", { retryAfterMs: resetMs });
  }
  if (/secondary rate limit|abuse detection|rate limit exceeded/i.test(message)) {
    return limited(status, "secondary", { retryAfterMs: SECONDARY_WAIT_MS, grows: true });
  }
  if (status === 429) return limited(status, "secondary", { retryAfterMs: SECONDARY_WAIT_MS, grows: true });
  return refused(status, "forbidden_scope", "the credential, or its absence, does not admit this");
}

function refused(status: number, code: string, what: string): NetworkFailure {
  return { kind: "http_nonretryable", code, message: `${what} (http status ${status})`, retryable: false, status };
}

function limited(
  status: number,
  limit: "primary" | "secondary",
  wait: { readonly retryAfterMs: number; readonly grows?: boolean },
): NetworkFailure {
  return {
    kind: "http_retryable",
    code: "rate_limited",
    message: `the ${limit} rate limit is used up (http status ${status})`,
    retryable: true,
    status,
    fields: { rate_limit: limit },
    ...wait,
  };
}

/** Seconds since the Unix epoch as milliseconds from now, at least 0. */
function readReset(header: string | undefined, nowMs: number): number | undefined {
  return header !== undefined && /^[0-9]{1,11}$/.test(header) ? Math.max(0, Number(header) * 1_000 - nowMs) : undefined;
}

function readError(text: string): { readonly message: string; readonly codes: readonly unknown[] } {
  try {
    const { message, errors } = JSON.parse(text) as { message?: unknown; errors?: unknown };
    const codes = Array.isArray(errors) ? errors.map((one) => (one as { code?: unknown } | null)?.code) : [];
    return { message: typeof message === "string" ? message : "", codes };
  } catch {
    return { message: "", codes: [] };
  }
}
