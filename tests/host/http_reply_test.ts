import assert from "node:assert/strict";
import { invalidJson, judge, overBudget } from "../../src/host/http_reply.ts";

function judged(text: string, options: { status?: number; headers?: Record<string, string> } = {}) {
  return judge({ status: options.status ?? 200, headers: options.headers ?? {}, text, bytes: text.length }, 0);
}

Deno.test("judge() returns the JSON of a 2xx answer with its headers", () => {
  const headers = { etag: '"1"' };
  assert.deepEqual(judged('{"a":[1]}', { headers }), { reply: { status: 200, headers, json: { a: [1] } } });
});

Deno.test("judge() counts nesting outside strings only, up to its limit", () => {
  const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
  assert.ok("reply" in judged(nested(64)));
  assert.deepEqual(judged(nested(65)), { failure: invalidJson(200, "the answer nests deeper than 64 levels") });
  assert.ok("reply" in judged(JSON.stringify([`"${"[".repeat(500)}\\`])));
  assert.ok("reply" in judged(`[${"[],".repeat(500)}1]`));
});

Deno.test("judge() decides by status and headers alone, before any body", () => {
  const failure = (status: number, headers = {}) => {
    const result = judged('{"message":"rate limit"}', { status, headers });
    return "failure" in result ? [result.failure.kind, result.failure.retryAfterMs] : undefined;
  };
  assert.deepEqual(failure(403), ["http_nonretryable", undefined]);
  assert.deepEqual(failure(429, { "retry-after": "2" }), ["http_retryable", 2_000]);
  assert.deepEqual(failure(503, { "retry-after": "never" }), ["http_retryable", undefined]);
  assert.deepEqual(failure(308), ["redirect_refused", undefined]);
  assert.equal(failure(299), undefined);
});

Deno.test("overBudget() names the limit", () => {
  assert.equal(overBudget(10).message, "the answer is larger than 10 bytes");
});
