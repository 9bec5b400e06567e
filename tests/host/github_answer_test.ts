import assert from "node:assert/strict";
import { judgeGitHub } from "../../src/host/github_answer.ts";

const NOW = 1_700_000_000_000;
const RESET = String(NOW / 1_000 + 30);

function judged(status: number, headers: Record<string, string> = {}, body: unknown = "") {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const failure = judgeGitHub({ status, headers, text, bytes: 0 }, NOW);
  if (failure === undefined) return undefined;
  const { code, retryable, retryAfterMs, fields } = failure;
  return [code, retryable, retryAfterMs, fields?.rate_limit];
}

Deno.test("judgeGitHub() tells limits, missing rights and what is hidden apart", () => {
  const secondary = { message: "You have exceeded a secondary rate limit. Please wait a few minutes" };
  assert.deepEqual(judged(401), ["credential_refused", false, undefined, undefined]);
  assert.deepEqual(judged(404), ["not_found_or_private", false, undefined, undefined]);
  const scope = { message: "Resource not accessible by integration" };
  assert.deepEqual(judged(403, { "x-ratelimit-remaining": "14" }, scope), [
    "forbidden_scope",
    false,
    undefined,
    undefined,
  ]);
  // Retry-After first, then the reset of a limit that is used up, then the words
  const both = { "retry-after": "7", "x-ratelimit-remaining": "0", "x-ratelimit-reset": RESET };
  assert.deepEqual(judged(403, both, secondary), ["rate_limited", true, 7_000, "secondary"]);
  const used = { "x-ratelimit-remaining": "0", "x-ratelimit-reset": RESET };
  assert.deepEqual(judged(403, used, scope), ["rate_limited", true, 30_000, "primary"]);
  assert.deepEqual(judged(429, used), ["rate_limited", true, 30_000, "primary"]);
  const left = { "x-ratelimit-remaining": "14" };
  assert.deepEqual(judged(403, left, secondary), ["rate_limited", true, 60_000, "secondary"]);
  assert.deepEqual(judged(429), ["rate_limited", true, 60_000, "secondary"]);
});

Deno.test("judgeGitHub() is not led by hostile headers and bodies", () => {
  for (const reset of ["", "-1", "soon", "9".repeat(12), "1e9"]) {
    const headers = { "x-ratelimit-remaining": "0", "x-ratelimit-reset": reset };
    assert.equal(judged(403, headers)?.[0], "forbidden_scope", reset);
  }
  const past = { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1" };
  assert.deepEqual(judged(403, past), ["rate_limited", true, 0, "primary"]);
  for (const body of ["{", "null", "[]", '"rate limit exceeded"', { message: 7 }, { errors: [null, 1, {}] }]) {
    assert.equal(judged(403, {}, body)?.[0], "forbidden_scope", JSON.stringify(body));
  }
  // Texts of successes are never looked at
  assert.equal(judged(200, {}, { message: "secondary rate limit" }), undefined);
  assert.equal(judged(500, {}, { message: "secondary rate limit" }), undefined);
  assert.equal(judged(422, {}, { message: "secondary rate limit" }), undefined);
});

Deno.test("judgeGitHub() knows a blob that is too large by its code", () => {
  const body = { message: "This API returns blobs up to 100 MB", errors: [{ code: "too_large" }] };
  for (const status of [403, 422]) {
    assert.deepEqual(judged(status, {}, body), ["too_large", false, undefined, undefined]);
  }
});
