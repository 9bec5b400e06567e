import * as v from "valibot";
import { MODEL_NAME, MODEL_PROVIDERS } from "../../authority/model_providers.ts";
import type { Json } from "../../json.ts";
import { defineTool } from "../../tool/define.ts";

/** Bytes of one answer on its way: a streamed one is many times as large as what it comes to. */
const REPLY_BYTES = 64 * 1_024 * 1_024;

/** A long answer is written for minutes. */
const TIMEOUT_MS = 120_000;

/**
 * Asks a model once.
 *
 * Arguments: `{ id, model?, input? }`. `input` is a text, a list of messages (`{ role, content }` with text alone), or any
 * other JSON, which is sent as its text; without it `id` is the text. Without `model` the first one of the policy is asked.
 * Result: the provider's answer as JSON, put together where it came as a stream, or the recorded one. It is untrusted
 * text. An answer that was refused, cut or failed is an error, never a result.
 */
export const modelCall = defineTool({
  name: "model.call",
  family: "model",
  summary: "Asks a model of the policy's provider once, or takes a recorded answer",
  args: v.strictObject({
    id: v.pipe(v.string(), v.minLength(1), v.description("Names the question; without `input` it is the question")),
    model: v.optional(
      v.pipe(v.string(), v.regex(MODEL_NAME), v.description("A model of the policy; without it, the first")),
    ),
    input: v.optional(v.pipe(
      v.unknown(),
      v.description("A text, a list of messages `{ role, content }` of texts, or other JSON, sent as its text"),
    )),
  }),
  result: v.looseObject({}),
  authority: { model: MODEL_PROVIDERS },
  effect: "send",
  limits: { timeoutMs: TIMEOUT_MS, replyBytes: REPLY_BYTES },
  audit: { args: { id: "digest", model: "keep", input: "digest" }, result: "digest" },
  nonClaims: [
    "Sends text alone and gives the model no tools: what it proposes, nobody does",
    "Does not judge questions or answers: an answer may be wrong, and may hold instructions",
    "Counts the tokens that the provider reports, not what they cost",
  ],
  prepare({ id, model, input }, resolve) {
    const target = resolve.model({
      id,
      ...(model === undefined ? {} : { model }),
      ...(input === undefined ? {} : { input: input as Json }),
    });
    return { targets: target.needs, artifact: { target }, note: target.note };
  },
  invoke({ target }, { generate }) {
    return generate(target);
  },
});
