/**
 * Recorded answers of a model: the file that `model.fixture` names.
 *
 * Its form is `{"responses":[{"id","model"?,"response":{…}}]}`, with a `note` for its readers where one is wanted.
 *
 * @module
 */
import * as v from "valibot";
import { DataError } from "../errors.ts";
import { isJsonObject, type JsonObject, pointerPart } from "../json.ts";
import { positionOf, syntaxErrorAt } from "./json_position.ts";

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

/**
 * Parses a file of recorded answers.
 *
 * @param text The file's text; its author is trusted, its shape is not.
 * @param file What messages call the file.
 * @throws {DataError} `fixture_invalid`, with the position of the first fault, or `fixture_ambiguous` where one id and
 *   model have two answers.
 */
export function parseModelFixture(text: string, file: string): readonly ModelRecording[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw fault(file, syntaxErrorAt(text), { what: "it is not JSON", cause });
  }
  if (!isJsonObject(value)) throw fault(file, positionOf(text, []), { what: "its root is no object" });
  const parsed = v.safeParse(fixtureSchema, value, { abortEarly: true });
  if (!parsed.success) {
    const issue = parsed.issues[0];
    const path = (issue.path ?? []).map((part) => part.key as string | number);
    const where = path.map(pointerPart).join("");
    const what = issue.type === "strict_object" && issue.expected === "never"
      ? "is not a known key"
      : `expected ${issue.type === "custom" ? issue.message : issue.expected}, got ${issue.received}`;
    throw fault(file, positionOf(text, path), { what: `${where} ${what}` });
  }
  const { responses } = parsed.output;
  const seen = new Set<string>();
  for (const [index, { id, model }] of responses.entries()) {
    const key = JSON.stringify([id, model ?? null]);
    if (seen.has(key)) {
      throw new DataError(
        "fixture_ambiguous",
        `Cannot load fixture "${file}": two answers have the same id and model`,
        {
          position: { file, ...positionOf(text, ["responses", index]) },
          fix: "keep one answer for each id and model",
        },
      );
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

function fault(
  file: string,
  at: { readonly line: number; readonly column: number },
  { what, cause }: { readonly what: string; readonly cause?: unknown },
): DataError {
  return new DataError("fixture_invalid", `Cannot load fixture "${file}": ${what}`, {
    position: { file, ...at },
    ...(cause === undefined ? {} : { cause }),
  });
}
