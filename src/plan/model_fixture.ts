/**
 * Recorded answers of a model: the file that `model.fixture` names.
 *
 * Its form is `{"responses":[{"id","model"?,"response":{…}}]}`, with a `note` for its readers where one is wanted.
 *
 * @module
 */
import * as v from "valibot";
import { isJsonObject, type JsonObject } from "../json.ts";
import { fixtureFault, parseFixtureJson, shapeFault } from "./fixture_fault.ts";

/** One recorded answer. */
export interface ModelRecording {
  /** What a call's `id` must be. */
  readonly id: string;
  /** The model that is asked for: by the call, or by default; absent: any. */
  readonly model?: string | undefined;
  /** The answer, as the call gives it back. */
  readonly response: JsonObject;
}

const filled = v.pipe(v.string(), v.minLength(1));

const fixtureSchema = v.strictObject({
  note: v.optional(filled),
  responses: v.array(v.strictObject({
    id: filled,
    model: v.optional(filled),
    response: v.custom<JsonObject>(isJsonObject, "an object"),
  })),
});

/** Every key that has a place in a file. */
const KNOWN_KEYS = [
  ...Object.keys(fixtureSchema.entries),
  ...Object.keys(fixtureSchema.entries.responses.item.entries),
];

/**
 * Parses a file of recorded answers.
 *
 * @param text The file's text; its author is trusted, its shape is not.
 * @param file What messages call the file.
 * @throws {DataError} `fixture_invalid`, with the position of the first fault, or `fixture_ambiguous` where one id and
 *   model have two answers.
 */
export function parseModelFixture(text: string, file: string): readonly ModelRecording[] {
  const source = { text, file };
  const value = parseFixtureJson(source);
  if (!isJsonObject(value)) {
    throw fixtureFault(source, [], { what: "its root is no object", fix: 'Write { "responses": [] } there' });
  }
  const parsed = v.safeParse(fixtureSchema, value);
  if (!parsed.success) throw shapeFault(source, parsed.issues, KNOWN_KEYS);
  const { responses } = parsed.output;
  const seen = new Set<string>();
  for (const [index, { id, model }] of responses.entries()) {
    const key = JSON.stringify([id, model ?? null]);
    if (seen.has(key)) {
      throw fixtureFault(source, ["responses", index], {
        code: "fixture_ambiguous",
        what: "two answers have the same id and model",
        fix: "Keep one answer for each id and model",
      });
    }
    seen.add(key);
  }
  return responses;
}

/**
 * Finds the first answer with that id and model. One that names no model answers for every one; without a model in
 * `wanted` every answer with the id counts.
 */
export function findRecording(
  recordings: readonly ModelRecording[],
  wanted: { readonly id: string; readonly model?: string | undefined },
): ModelRecording | undefined {
  return recordings.find(({ id, model }) =>
    id === wanted.id && (model === undefined || wanted.model === undefined || model === wanted.model)
  );
}
