/**
 * Questions of tools to a person. The host has no terminal: the launcher asks, and says what became of it.
 *
 * @module
 */
import { ToolError } from "../errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import type { AskPower, UserAnswer, UserQuestion } from "../tool/context_powers.ts";
import type { CallContext } from "./context.ts";

/** Hands a question of a call to the launcher, and gives back what it says. */
export type HandQuestion = (callId: string, question: JsonObject) => Promise<JsonObject>;

/** The power to ask for one call. */
export function askPower(hand: HandQuestion, call: CallContext): AskPower {
  return {
    async askUser({ question, choices, several, timeoutMs }: UserQuestion): Promise<readonly UserAnswer[]> {
      const asked: JsonObject = {
        tool: call.tool,
        question,
        several,
        ...(choices === undefined ? {} : { choices }),
        ...(timeoutMs === undefined ? {} : { timeout_ms: timeoutMs }),
      };
      const wait = () => hand(call.callId, asked);
      const reply = await (call.personsTime?.(wait) ?? wait());
      if (typeof reply.via === "string") call.note({ asked_via: reply.via });
      if (reply.status === "answered") return answersOf(reply.answers);
      throw failureOf(call.tool, reply.status, timeoutMs);
    },
  };
}

function answersOf(value: Json | undefined): readonly UserAnswer[] {
  if (!Array.isArray(value)) return [];
  return (value as readonly Json[]).flatMap((answer): readonly UserAnswer[] => {
    if (!isJsonObject(answer)) return [];
    if (typeof answer.choice === "string") return [{ choice: answer.choice }];
    return typeof answer.text === "string" ? [{ text: answer.text }] : [];
  });
}

function failureOf(tool: string, status: Json | undefined, timeoutMs: number | undefined): ToolError {
  switch (status) {
    case "no_human":
      return new ToolError("no_human", `Cannot ask for "${tool}": nobody is there who could answer`);
    case "declined":
      return new ToolError("no_answer", `Cannot ask for "${tool}": the person gave no answer`);
    case "timeout":
      return new ToolError("answer_timeout", `Cannot ask for "${tool}": nobody answered within ${timeoutMs}ms`, {
        retryable: true,
      });
    default:
      return new ToolError("answer_failed", `Cannot ask for "${tool}": what was answered fits the question in no way`);
  }
}
