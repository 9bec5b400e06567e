/**
 * A question in the one form that every provider is asked with: text alone, so that no part of it makes a provider fetch,
 * run or look up something.
 *
 * @module
 */
import { ToolInputError } from "../errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import type { ModelWish } from "../tool/powers.ts";

/** One message. */
export interface PromptMessage {
  readonly role: "system" | "user" | "assistant";
  /** Its parts, at least one. */
  readonly texts: readonly string[];
}

/** Who may speak, and what that is called here. */
const ROLES: ReadonlyMap<string, PromptMessage["role"]> = new Map([
  ["system", "system"],
  ["developer", "system"],
  ["user", "user"],
  ["assistant", "assistant"],
]);

/** What the types of a text are called. */
const TEXT_TYPES: ReadonlySet<string> = new Set(["text", "input_text", "output_text"]);

/**
 * Reads a question. A text is one message of the user; a list with a `role` in it is a conversation; any other JSON is
 * the text of that JSON.
 *
 * @throws {ToolInputError} If a conversation holds anything but messages of texts, its system messages do not come first,
 *   or nobody asks.
 */
export function readPrompt(tool: string, { id, input = null }: ModelWish): readonly PromptMessage[] {
  const asked = input ?? id;
  if (typeof asked === "string") return [{ role: "user", texts: [asked] }];
  if (!isConversation(asked)) return [{ role: "user", texts: [JSON.stringify(asked)] }];
  const refuse = (what: string): ToolInputError =>
    new ToolInputError("tool_invalid_args", `Cannot call "${tool}": ${what}`);
  const messages = asked.map((message, index) => {
    const read = readMessage(message);
    if (typeof read === "string") throw refuse(`"input.${index}" ${read}`);
    return read;
  });
  const first = messages.findIndex(({ role }) => role !== "system");
  if (messages.some(({ role }, index) => role === "system" && index > first && first >= 0)) {
    throw refuse('"input" must begin with its system messages');
  }
  if (!messages.some(({ role }) => role === "user")) throw refuse('"input" must hold a message of the user');
  return messages;
}

function isConversation(input: Json): input is readonly Json[] {
  return Array.isArray(input) && input.some((item) => isJsonObject(item) && Object.hasOwn(item, "role"));
}

/** A message, or what is wrong with it. */
function readMessage(message: Json): PromptMessage | string {
  if (!isJsonObject(message)) return "must be a message { role, content }";
  const strange = Object.keys(message).find((key) => !["role", "content", "type"].includes(key));
  if (strange !== undefined || (message.type !== undefined && message.type !== "message")) {
    return "must be a message { role, content } and nothing more";
  }
  const role = typeof message.role === "string" ? ROLES.get(message.role) : undefined;
  if (role === undefined) return 'must have the role "system", "developer", "user" or "assistant"';
  const { content } = message;
  if (typeof content === "string") return { role, texts: [content] };
  if (!Array.isArray(content) || content.length === 0) return 'must have a "content": a text, or a list of texts';
  const texts: string[] = [];
  for (const part of content as readonly Json[]) {
    const text = typeof part === "string" ? part : isTextPart(part) ? part.text : undefined;
    if (typeof text !== "string") return "must hold text alone: no image, file, link, reference or tool";
    texts.push(text);
  }
  return { role, texts };
}

function isTextPart(part: Json): part is JsonObject {
  return isJsonObject(part) && typeof part.type === "string" && TEXT_TYPES.has(part.type) &&
    Object.keys(part).length === 2;
}
