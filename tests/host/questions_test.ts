import assert from "node:assert/strict";
import { ToolError } from "../../src/errors.ts";
import { askPower } from "../../src/host/questions.ts";
import type { JsonObject } from "../../src/json.ts";
import { makeCall } from "./run_context.ts";

const QUESTION = { question: "Which?", several: false };

async function failureOf(reply: JsonObject): Promise<ToolError> {
  const power = askPower(() => Promise.resolve(reply), makeCall("AskUser", []));
  try {
    await power.askUser({ ...QUESTION, timeoutMs: 7 });
  } catch (error) {
    assert.ok(error instanceof ToolError);
    return error;
  }
  throw new Error("it was answered");
}

Deno.test("askPower() hands the question over whole, on a person's time, and notes who was asked", async () => {
  const handed: unknown[] = [];
  let outside = 0;
  const base = makeCall("AskUser", []);
  const call = Object.assign(Object.create(base), {
    personsTime: <T>(work: () => Promise<T>) => {
      outside++;
      return work();
    },
  });
  const power = askPower((callId, question) => {
    handed.push([callId, question]);
    return Promise.resolve({ status: "answered", via: "terminal", answers: [{ choice: "a" }, { text: "b" }] });
  }, call);
  const answers = await power.askUser({ question: "Which?", choices: ["a"], several: true, timeoutMs: 9 });
  assert.deepEqual(answers, [{ choice: "a" }, { text: "b" }]);
  const question = { tool: "AskUser", question: "Which?", several: true, choices: ["a"], timeout_ms: 9 };
  assert.deepEqual(handed, [[base.callId, question]]);
  assert.equal(outside, 1);
  assert.deepEqual(base.notes, [{ asked_via: "terminal" }]);
});

Deno.test("askPower() has a code for every way in which no answer comes", async () => {
  for (
    const [status, code, retryable] of [
      ["no_human", "no_human", false],
      ["declined", "no_answer", false],
      ["timeout", "answer_timeout", true],
      ["failed", "answer_failed", false],
      ["else", "answer_failed", false],
    ] as const
  ) {
    const error = await failureOf({ status });
    assert.deepEqual([error.code, error.retryable], [code, retryable]);
    assert.match(error.message, /^Cannot ask for "AskUser": /);
  }
});
