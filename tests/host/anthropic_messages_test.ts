import assert from "node:assert/strict";
import { anthropicMessages } from "../../src/host/anthropic_messages.ts";
import type { Taken } from "../../src/host/model_provider.ts";
import { SseParser } from "../../src/host/sse.ts";
import type { Json, JsonObject } from "../../src/json.ts";
import { ANTHROPIC_ANSWER, anthropicEvents, event } from "../net/model_answers.ts";

function assemble(events: readonly string[], limit = 100_000): Taken {
  const parser = new SseParser(100_000);
  const assembly = anthropicMessages.assembly(limit);
  for (const one of parser.push(new TextEncoder().encode(events.join("")))) {
    const taken = assembly.take(one);
    if (taken !== undefined) return taken;
  }
  return undefined;
}

function failureOf(taken: Taken): string {
  if (taken === undefined) return "none";
  const failure = "failure" in taken ? taken.failure : anthropicMessages.refusal(taken.response);
  return failure === undefined ? "whole" : `${failure.kind} ${failure.retryable} ${failure.message}`;
}

const START = anthropicEvents()[0] ?? "";
const block = (index: number, content_block: JsonObject): string =>
  event({ type: "content_block_start", index, content_block });
const piece = (index: number, delta: JsonObject): string => event({ type: "content_block_delta", index, delta });
const stop = (index: number): string => event({ type: "content_block_stop", index });
const END = anthropicEvents("end_turn").slice(-2);

Deno.test("anthropicMessages puts a question without tools, its system messages apart", () => {
  const options = { model: "claude-sonnet-4-5", maxOutputTokens: 100 };
  assert.deepEqual(anthropicMessages.headers, { "anthropic-version": "2023-06-01" });
  assert.deepEqual(anthropicMessages.body([{ role: "user", texts: ["hello"] }], options), {
    model: "claude-sonnet-4-5",
    max_tokens: 100,
    messages: [{ role: "user", content: "hello" }],
    stream: true,
  });
  const { system, messages } = anthropicMessages.body(
    [{ role: "system", texts: ["s", "t"] }, { role: "user", texts: ["a", "b"] }],
    options,
  );
  assert.deepEqual(system, [{ type: "text", text: "s" }, { type: "text", text: "t" }]);
  assert.deepEqual(messages, [{ role: "user", content: [{ type: "text", text: "a" }, { type: "text", text: "b" }] }]);
});

Deno.test("anthropicMessages puts the pieces of a stream together", () => {
  assert.deepEqual(assemble(anthropicEvents()), { response: ANTHROPIC_ANSWER });
  assert.equal(anthropicMessages.refusal(ANTHROPIC_ANSWER), undefined);
  assert.deepEqual(anthropicMessages.usage(ANTHROPIC_ANSWER), { input: 30, output: 15 });
  const blocks = assemble([
    START,
    block(0, { type: "thinking", thinking: "", signature: "" }),
    piece(0, { type: "thinking_delta", thinking: "hm " }),
    piece(0, { type: "thinking_delta", thinking: "so" }),
    piece(0, { type: "signature_delta", signature: "c2ln" }),
    stop(0),
    block(1, { type: "text", text: "A" }),
    piece(1, { type: "text_delta", text: "b" }),
    piece(1, { type: "citations_delta", citation: { type: "char_location", cited_text: "x" } }),
    event({ type: "something_new", index: 7 }),
    stop(1),
    block(2, { type: "tool_use", id: "t1", name: "f", input: {} }),
    piece(2, { type: "input_json_delta", partial_json: '{"a":' }),
    piece(2, { type: "input_json_delta", partial_json: "[1]}" }),
    stop(2),
    block(3, { type: "tool_use", id: "t2", name: "g", input: {} }),
    piece(3, { type: "input_json_delta", partial_json: "" }),
    stop(3),
    block(4, { type: "redacted_thinking", data: "x" }),
    stop(4),
    ...END,
  ]);
  assert.ok(blocks !== undefined && "response" in blocks);
  assert.deepEqual(blocks.response.content, [
    { type: "thinking", thinking: "hm so", signature: "c2ln" },
    { type: "text", text: "Ab", citations: [{ type: "char_location", cited_text: "x" }] },
    { type: "tool_use", id: "t1", name: "f", input: { a: [1] } },
    { type: "tool_use", id: "t2", name: "g", input: {} },
    { type: "redacted_thinking", data: "x" },
  ]);
});

Deno.test("anthropicMessages never takes a cut, refused or strange answer for a whole one", () => {
  assert.equal(
    failureOf(assemble(anthropicEvents("max_tokens"))),
    "response_incomplete false the answer was cut: max_tokens",
  );
  assert.equal(
    failureOf(assemble(anthropicEvents("pause_turn"))),
    "response_incomplete false the answer was cut: pause_turn",
  );
  assert.equal(failureOf(assemble(anthropicEvents("refusal"))), "response_refused false the model refused to answer");
  assert.equal(failureOf(assemble(anthropicEvents(null))), "response_incomplete false the answer was cut");
  assert.equal(failureOf(assemble(anthropicEvents("Some Sentence"))), "response_incomplete false the answer was cut");
  const events = anthropicEvents();
  for (let count = 0; count < events.length; count++) {
    assert.equal(failureOf(assemble(events.slice(0, count))), "none", `${count} events`);
  }
  const strange: readonly (readonly string[])[] = [
    events.slice(1),
    [START, START],
    [START, ...END.slice(1), START],
    [START, stop(0)],
    [START, piece(0, { type: "text_delta", text: "x" })],
    [START, block(1, { type: "text", text: "" })],
    [START, block(0, { type: "text", text: "" }), block(1, { type: "text", text: "" })],
    [START, block(0, { type: "text", text: "" }), piece(1, { type: "text_delta", text: "x" })],
    [START, block(0, { type: "text", text: "" }), piece(0, { type: "new_delta", text: "x" })],
    [START, block(0, { type: "text", text: "" }), piece(0, { type: "text_delta", text: 1 })],
    [START, block(0, { type: "text", text: "" }), piece(0, { type: "constructor" })],
    [START, block(0, { type: "text", text: "" }), ...END],
    [
      START,
      block(0, { type: "tool_use", input: {} }),
      piece(0, { type: "input_json_delta", partial_json: "{" }),
      stop(0),
    ],
    ["event: message_start\ndata: {\n\n"],
    ["event: message_start\ndata: 1\n\n"],
    ["event: message_start\ndata: {}\n\n"],
    END,
  ];
  for (const one of strange) {
    const failure = failureOf(assemble(one));
    assert.match(failure, /^(?:invalid_json|response_incomplete) false/, one.join("").slice(-300));
  }
  const notMessage = assemble([event({ type: "message_start", message: { type: "thing" } }), ...END]);
  assert.match(failureOf(notMessage), /^invalid_json/);
});

Deno.test("anthropicMessages reads error events, and keeps nothing of their text but slugs", () => {
  const overloaded = event({ type: "error", error: { type: "overloaded_error", message: "Overloaded sk-ant-1" } });
  assert.equal(
    failureOf(assemble([...anthropicEvents().slice(0, 8), overloaded])),
    "http_retryable true the provider reports an error: overloaded_error",
  );
  const strange = event({ type: "error", error: "sk-ant-1" });
  assert.equal(failureOf(assemble([strange])), "http_nonretryable false the provider reports an error");
});

Deno.test("anthropicMessages holds no more than its limit", () => {
  const many = Array.from({ length: 100 }, () => piece(0, { type: "text_delta", text: "x".repeat(50) }));
  const taken = assemble([START, block(0, { type: "text", text: "" }), ...many], 2000);
  assert.match(failureOf(taken), /^response_byte_budget/);
  const empty = Array.from({ length: 3000 }, () => piece(0, { type: "text_delta", text: "" }));
  assert.match(
    failureOf(assemble([START, block(0, { type: "text", text: "" }), ...empty], 2000)),
    /^response_byte_budget/,
  );
});

Deno.test("anthropicMessages counts cached tokens too, and nothing that cannot be a number of tokens", () => {
  const of = (usage: Json) => anthropicMessages.usage({ ...ANTHROPIC_ANSWER, usage });
  assert.deepEqual(
    of({ input_tokens: 1, output_tokens: 2, cache_creation_input_tokens: 4, cache_read_input_tokens: 8 }),
    {
      input: 13,
      output: 2,
    },
  );
  assert.deepEqual(of({ input_tokens: 1, output_tokens: 2, cache_read_input_tokens: null }), { input: 1, output: 2 });
  for (
    const usage of [null, {}, { output_tokens: 1 }, { input_tokens: 1, output_tokens: 1, cache_read_input_tokens: -5 }]
  ) assert.equal(of(usage), undefined, JSON.stringify(usage));
});
