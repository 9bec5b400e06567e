import * as v from "valibot";
import { ToolInputError } from "../../errors.ts";
import { defineTool } from "../../tool/define.ts";

const answer = v.union([v.strictObject({ choice: v.string() }), v.strictObject({ text: v.string() })]);

/**
 * Asks the person at the terminal, or whoever answers for them.
 *
 * Arguments: `{ question, choices?, several?, timeoutMs? }`. With `choices` one of them is picked, or several; an answer in
 * one's own words is possible in any case. Result: `{ ok: true, answers, trust: "trusted", text }`: each answer is
 * `{ choice }` or `{ text }`; `text` has them one below the other. The call's deadline stands still meanwhile; `timeoutMs`
 * bounds what a person may take.
 *
 * Errors: `no_human` where nobody is there, `no_answer` where the person gives none, `answer_timeout`, `answer_failed`.
 * No answer is ever made up.
 */
export const askUser = defineTool({
  name: "AskUser",
  family: "ask",
  summary: "Asks a person: a choice or their own words, one answer or several",
  args: v.strictObject({
    question: v.pipe(
      v.string(),
      v.regex(/\S/, "a text that is not blank"),
      v.maxLength(4096),
      v.description("What to ask: 4,096 characters at most"),
    ),
    choices: v.optional(v.pipe(
      v.array(v.pipe(v.string(), v.regex(/\S/, "a text that is not blank"), v.maxLength(256))),
      v.minLength(1),
      v.maxLength(32),
      v.description("Answers to choose from, each once. Own words are possible as well"),
    )),
    several: v.optional(v.pipe(v.boolean(), v.description("Whether several answers may be given; default: one"))),
    timeoutMs: v.optional(v.pipe(
      v.number(),
      v.integer(),
      v.minValue(1),
      v.maxValue(86_400_000),
      v.description("What the person may take, in milliseconds, up to a day; default: as long as they want"),
    )),
  }),
  result: v.strictObject({
    ok: v.literal(true),
    answers: v.array(answer),
    trust: v.literal("trusted"),
    text: v.pipe(v.string(), v.description("The same for a model to read")),
  }),
  authority: { asks: true },
  effect: "ask",
  audit: { args: { question: "keep", choices: "keep", several: "keep", timeoutMs: "keep" }, result: "digest" },
  nonClaims: [
    "Approves nothing: what a person answers is text, and opens no gate",
    "Does not know who answers: it is whoever is at the terminal",
  ],
  prepare({ question, choices, several = false, timeoutMs }) {
    const twice = choices?.find((choice, index) => choices.indexOf(choice) !== index);
    if (twice !== undefined) {
      throw new ToolInputError(
        "tool_invalid_args",
        'Cannot call "AskUser": "choices" must be different from each other',
      );
    }
    return { targets: [], artifact: { asked: { question, choices, several, timeoutMs } } };
  },
  async invoke({ asked }, { askUser }) {
    const answers = [...await askUser(asked)];
    const text = answers.map((one) => "choice" in one ? one.choice : one.text).join("\n");
    return { ok: true as const, answers, trust: "trusted" as const, text };
  },
});
