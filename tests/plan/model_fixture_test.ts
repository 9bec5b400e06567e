import assert from "node:assert/strict";
import { DataError } from "../../src/errors.ts";
import { anthropicMessages } from "../../src/host/anthropic_messages.ts";
import { openaiResponses } from "../../src/host/openai_responses.ts";
import { findRecording, parseModelFixture } from "../../src/plan/model_fixture.ts";

const parse = (value: unknown) => parseModelFixture(JSON.stringify(value), "answers.json");

Deno.test("parseModelFixture() reads recorded answers, and findRecording() the first one that fits", () => {
  const recordings = parse({
    note: "for people",
    responses: [
      { id: "a", model: "m", response: { n: 1 } },
      { id: "a", model: "n", response: { n: 2 } },
      { id: "a", response: { n: 3 } },
      { id: "b", response: { n: 4 } },
    ],
  });
  const find = (id: string, model?: string) => findRecording(recordings, { id, model })?.response.n;
  assert.equal(find("a"), 1);
  assert.equal(find("a", "n"), 2);
  assert.equal(find("a", "other"), 3);
  assert.equal(find("b", "other"), 4);
  assert.equal(find("c"), undefined);
  assert.equal(find("constructor"), undefined);
});

Deno.test("the shipped recording has the form of both providers' answers", async () => {
  const text = await Deno.readTextFile(new URL("../../fixtures/model/answers.json", import.meta.url));
  const recordings = parseModelFixture(text, "answers.json");
  const answer = (model: string) => findRecording(recordings, { id: "summary", model })?.response ?? {};
  assert.equal(openaiResponses.refusal(answer("gpt-5-mini")), undefined);
  assert.equal(anthropicMessages.refusal(answer("claude-sonnet-4-5")), undefined);
});

Deno.test("parseModelFixture() refuses anything else, with its place", () => {
  const refused = (text: string): string => {
    try {
      parseModelFixture(text, "answers.json");
    } catch (error) {
      assert.ok(error instanceof DataError && error.position?.file === "answers.json");
      return `${error.code} ${error.position.line} ${error.message}`;
    }
    return "taken";
  };
  assert.match(refused("{"), /^fixture_invalid 1 Cannot load fixture "answers\.json": it is not JSON/);
  assert.match(refused("[]"), /^fixture_invalid 1 .*its root is no object/);
  assert.match(refused('{"answers":[]}'), /fixture_invalid/);
  assert.match(refused('{"responses":[\n{"id":"","response":{}}]}'), /^fixture_invalid 2 .*\/responses\/0\/id/);
  assert.match(refused('{"responses":[{"id":"a","response":[]}]}'), /\/responses\/0\/response expected an object/);
  assert.match(refused('{"responses":[{"id":"a","response":{},"extra":1}]}'), /extra is not a known key/);
  assert.match(
    refused('{"responses":[{"id":"a","response":{}},\n{"id":"a","response":{"x":1}}]}'),
    /^fixture_ambiguous 2 .*same id and model/,
  );
});
