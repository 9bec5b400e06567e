import assert from "node:assert/strict";
import { makeRedactor } from "../../src/audit/redact.ts";
import { AuditError } from "../../src/errors.ts";
import type { JsonObject } from "../../src/json.ts";
import type { AgentQuestion, Answerer, AnswerReply } from "../../src/launch/answerer.ts";
import { Questions } from "../../src/launch/questions.ts";
import { Turns } from "../../src/launch/turns.ts";
import type { Plan } from "../../src/plan/plan.ts";
import { makePlan } from "../gate/plan_maker.ts";

const SECRET = "s3cr3t-value-of-a-token";
const tool = { family: "ask", manifest: "0".repeat(64), timeoutMs: 1, endpoints: {}, rule: "/tools/0" };
const BASE = makePlan();
const PLAN: Plan = { ...BASE, tools: { ...BASE.tools, AskUser: { ...tool, asks: true } } };

const asked = (callId: string, more: JsonObject = {}): JsonObject => ({
  call_id: callId,
  tool: "AskUser",
  question: "Which?",
  several: false,
  ...more,
});

function makeQuestions(answer: Answerer | undefined) {
  const lines: string[] = [];
  const asking: string[] = [];
  const wakes: (() => void)[] = [];
  const questions = new Questions({
    plan: PLAN,
    redactor: makeRedactor({ fields: [], secrets: new Map([["TOKEN", SECRET]]) }),
    answerer: answer === undefined ? undefined : { answer, via: "callback" },
    turns: new Turns(),
  }, {
    answer: (line) => {
      lines.push(line);
      for (const wake of wakes) wake();
    },
    asking: (callId, on) => void asking.push(`${callId} ${on}`),
  });
  const answered = async (count: number): Promise<JsonObject[]> => {
    while (lines.length < count) await new Promise<void>((resolve) => wakes.push(resolve));
    return lines.map((line) => JSON.parse(line.slice(2)));
  };
  return { questions, lines, asking, answered };
}

/** What one reply of an answerer comes to. */
async function statusOf(reply: unknown, more: JsonObject = {}): Promise<JsonObject> {
  const { questions, answered } = makeQuestions(() => reply as AnswerReply);
  questions.ask(asked("c1", more));
  const [first] = await answered(1);
  assert.ok(first !== undefined);
  return first;
}

Deno.test("Questions says that nobody is there, and makes no answer up", async () => {
  const { questions, answered, asking } = makeQuestions(undefined);
  questions.ask(asked("c1", { choices: ["a"] }));
  assert.deepEqual(await answered(1), [{ call_id: "c1", via: "headless", status: "no_human" }]);
  assert.deepEqual(asking, ["c1 true", "c1 false"]);
});

Deno.test("Questions takes what fits the question, and nothing else", async () => {
  const choices = { choices: ["a", "B"] };
  const several = { ...choices, several: true };
  const fits: readonly (readonly [unknown, JsonObject])[] = [
    [{ answers: [{ text: "own" }] }, {}],
    [{ answers: [{ text: "" }] }, {}],
    [{ answers: [{ choice: "a" }] }, choices],
    [{ answers: [{ text: "a" }] }, choices],
    [{ answers: [{ choice: "B" }, { choice: "a" }, { text: "x" }] }, several],
  ];
  for (const [reply, more] of fits) {
    const { status, answers } = await statusOf(reply, more);
    assert.deepEqual([status, answers], ["answered", (reply as { answers: unknown }).answers], JSON.stringify(reply));
  }
  const wrong: readonly (readonly [unknown, JsonObject])[] = [
    [undefined, {}],
    [null, {}],
    ["a", {}],
    [{}, {}],
    [{ answers: [] }, {}],
    [{ answers: "a" }, {}],
    [{ answers: [{}] }, {}],
    [{ answers: [{ text: 1 }] }, {}],
    [{ answers: [{ text: "x".repeat(4097) }] }, {}],
    [{ answers: [{ choice: "a" }] }, {}],
    [{ answers: [{ choice: "A" }] }, choices],
    [{ answers: [{ choice: "b" }] }, choices],
    [{ answers: [{ choice: "a" }, { choice: "B" }] }, choices],
    [{ answers: [{ choice: "a" }, { choice: "a" }] }, several],
  ];
  for (const [reply, more] of wrong) {
    const { status, answers } = await statusOf(reply, more);
    assert.deepEqual([status, answers], ["failed", undefined], JSON.stringify(reply));
  }
  assert.equal((await statusOf({ declined: true })).status, "declined");
});

Deno.test("Questions asks one after the other, and shows no known secret", async () => {
  const seen: AgentQuestion[] = [];
  const gates = [Promise.withResolvers<AnswerReply>(), Promise.withResolvers<AnswerReply>()];
  const { questions, lines, answered } = makeQuestions((question) => {
    seen.push(question);
    return gates[seen.length - 1]?.promise ?? { declined: true };
  });
  questions.ask(asked("c1", { question: `Is it ${SECRET}?` }));
  questions.ask(asked("c2"));
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual([seen.length, lines], [1, []]);
  assert.ok(!seen[0]?.question.includes(SECRET));
  gates[0]?.resolve({ answers: [{ text: "ünd \u2028\n" }] });
  gates[1]?.resolve({ declined: true });
  const replies = await answered(2);
  assert.deepEqual(replies.map(({ call_id, status }) => [call_id, status]), [["c1", "answered"], ["c2", "declined"]]);
  assert.deepEqual(replies[0]?.answers, [{ text: "ünd \u2028\n" }]);
  for (const line of lines) assert.match(line, /^d [ -~]+$/, "the host takes a line apart byte by byte");
});

Deno.test("Questions withdraws what nobody answers in time, or when the run is over", async () => {
  const signals: AbortSignal[] = [];
  const never: Answerer = (_question, signal) => {
    signals.push(signal);
    return new Promise(() => {});
  };
  const late = makeQuestions(never);
  late.questions.ask(asked("c1", { timeout_ms: 5 }));
  assert.equal((await late.answered(1))[0]?.status, "timeout");
  assert.equal(signals[0]?.aborted, true);

  const over = makeQuestions(never);
  over.questions.ask(asked("c1"));
  over.questions.ask(asked("c2"));
  await new Promise((resolve) => setTimeout(resolve, 5));
  over.questions.close();
  assert.deepEqual((await over.answered(2)).map(({ status }) => status), ["declined", "declined"]);
  assert.equal(signals.length, 2, "the second was never asked");
  assert.equal(signals[1]?.aborted, true);

  const failing = makeQuestions(() => Promise.reject(new Error("no")));
  failing.questions.ask(asked("c1"));
  assert.equal((await failing.answered(1))[0]?.status, "failed");
});

Deno.test("Questions believes no line of the host that asks nothing", () => {
  const { questions } = makeQuestions(undefined);
  const wrong: readonly JsonObject[] = [
    {},
    asked("c1", { tool: "echo" }),
    asked("c1", { tool: "constructor" }),
    asked("c1", { question: " " }),
    asked("c1", { question: "x".repeat(4097) }),
    asked("c1", { several: 1 }),
    asked("c1", { choices: "a" }),
    asked("c1", { choices: [1] }),
    asked("c1", { choices: Array.from({ length: 33 }, (_, i) => String(i)) }),
  ];
  for (const body of wrong) assert.throws(() => questions.ask(body), AuditError, JSON.stringify(body));
  questions.ask(asked("c1"));
  assert.throws(() => questions.ask(asked("c1")), AuditError, "a call asks once");
});
