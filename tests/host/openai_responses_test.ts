import assert from "node:assert/strict";
import { openaiResponses } from "../../src/host/openai_responses.ts";
import type { Taken } from "../../src/host/model_provider.ts";
import { SseParser } from "../../src/host/sse.ts";
import type { Json, JsonObject } from "../../src/json.ts";
import { event, OPENAI_ANSWER, openaiEvents } from "../net/model_answers.ts";

function assemble(events: readonly string[]): Taken {
  const parser = new SseParser(100_000);
  const assembly = openaiResponses.assembly(100_000);
  for (const one of parser.push(new TextEncoder().encode(events.join("")))) {
    const taken = assembly.take(one);
    if (taken !== undefined) return taken;
  }
  return undefined;
}

function failureOf(taken: Taken): string {
  if (taken === undefined) return "none";
  const failure = "failure" in taken ? taken.failure : openaiResponses.refusal(taken.response);
  return failure === undefined ? "whole" : `${failure.kind} ${failure.retryable} ${failure.message}`;
}

Deno.test("openaiResponses puts a question without tools, references or storage", () => {
  const options = { model: "gpt-5-mini", maxOutputTokens: 100 };
  assert.deepEqual(openaiResponses.body([{ role: "user", texts: ["hello"] }], options), {
    model: "gpt-5-mini",
    input: "hello",
    max_output_tokens: 100,
    store: false,
    stream: true,
  });
  const { input } = openaiResponses.body([
    { role: "system", texts: ["s"] },
    { role: "user", texts: ["a", "b"] },
    { role: "assistant", texts: ["c", "d"] },
  ], options);
  assert.deepEqual(input, [
    { role: "system", content: "s" },
    { role: "user", content: [{ type: "input_text", text: "a" }, { type: "input_text", text: "b" }] },
    { role: "assistant", content: [{ type: "output_text", text: "c" }, { type: "output_text", text: "d" }] },
  ]);
});

Deno.test("openaiResponses takes the whole answer from the last event", () => {
  assert.deepEqual(assemble(openaiEvents()), { response: OPENAI_ANSWER });
  assert.equal(openaiResponses.refusal(OPENAI_ANSWER), undefined);
  assert.deepEqual(openaiResponses.usage(OPENAI_ANSWER), { input: 36, output: 12 });
  assert.equal(assemble(openaiEvents().slice(0, -1)), undefined);
  // without names of events, and with a sentinel that some send
  const unnamed = openaiEvents().map((text) => text.replace(/^event: .*\n/, ""));
  assert.deepEqual(assemble(["data: [DONE]\n\n", ...unnamed]), { response: OPENAI_ANSWER });
});

Deno.test("openaiResponses never takes a cut, failed, refused or strange answer for a whole one", () => {
  const last = (type: string, response: JsonObject): string => failureOf(assemble(openaiEvents({ type, response })));
  const details = { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } };
  assert.equal(
    last("response.incomplete", details),
    "response_incomplete false the answer was cut: max_output_tokens",
  );
  assert.equal(
    last("response.failed", { status: "failed", error: { code: "server_error", message: "sk-secret is wrong" } }),
    "http_retryable true the provider reports an error: server_error",
  );
  assert.equal(
    last("response.failed", { status: "failed", error: { code: "invalid_prompt", message: "x" } }),
    "http_nonretryable false the provider reports an error: invalid_prompt",
  );
  const refusal = [{ type: "message", content: [{ type: "refusal", refusal: "I cannot" }] }];
  assert.equal(last("response.completed", { output: refusal }), "response_refused false the model refused to answer");
  // an event and a status that differ, a status that is none, no output
  assert.match(last("response.completed", { status: "incomplete" }), /^invalid_json/);
  assert.match(last("response.incomplete", {}), /^invalid_json/);
  assert.match(last("response.completed", { output: null }), /^invalid_json/);
  assert.match(last("response.completed", { object: "thing" }), /^invalid_json/);
  for (const status of ["in_progress", "queued", "cancelled", null, 1]) {
    const failure = openaiResponses.refusal({ ...OPENAI_ANSWER, status: status as Json });
    assert.equal(failure?.kind, "response_incomplete", String(status));
  }
  assert.match(failureOf(assemble(["event: response.completed\ndata: {\n\n"])), /^invalid_json/);
  assert.match(failureOf(assemble(["event: response.completed\ndata: []\n\n"])), /^invalid_json/);
  assert.match(failureOf(assemble([event({ type: "response.completed" })])), /^invalid_json/);
  const deep = `event: response.completed\ndata: ${"[".repeat(100)}\n\n`;
  assert.match(failureOf(assemble([deep])), /nests deeper/);
});

Deno.test("openaiResponses reads error events in both forms, and keeps nothing of their text but slugs", () => {
  const flat = event({ type: "error", code: "rate_limit_exceeded", message: "key sk-1", param: null });
  assert.equal(
    failureOf(assemble([flat])),
    "http_retryable true the provider reports an error: rate_limit_exceeded",
  );
  const nested = event({ type: "error", error: { type: "invalid_request_error", code: "SK-1", message: "sk-1" } });
  assert.equal(
    failureOf(assemble([...openaiEvents().slice(0, 9), nested])),
    "http_nonretryable false the provider reports an error: invalid_request_error",
  );
});

Deno.test("openaiResponses counts nothing that cannot be a number of tokens", () => {
  const of = (usage: Json) => openaiResponses.usage({ ...OPENAI_ANSWER, usage });
  for (
    const usage of [
      null,
      1,
      {},
      { input_tokens: 1 },
      { input_tokens: -1, output_tokens: 1 },
      {
        input_tokens: 1.5,
        output_tokens: 1,
      },
      { input_tokens: 1, output_tokens: "1" },
      { input_tokens: 1, output_tokens: 1e300 },
    ]
  ) assert.equal(of(usage), undefined, JSON.stringify(usage));
});
