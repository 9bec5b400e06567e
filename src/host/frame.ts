/**
 * Reading what an agent sends: the head of a line, an id, a refusal, an error. Everything here is hostile; what comes out
 * is bounded and well formed.
 *
 * @module
 */
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { copyIn, type CopyRefusal } from "../membrane/copy.ts";

/** Longest `outcome` of an agent's module, in UTF-8 bytes: the largest result of a tool under the default budgets fits. */
export const MAX_OUTCOME_BYTES = 16 * 1_048_576 + 65_536;

/** Head of a line: its operation and whatever else it may name, none of it checked. */
export interface Head {
  readonly op: unknown;
  readonly id?: unknown;
  readonly name?: unknown;
  readonly bad?: unknown;
  readonly key?: unknown;
  readonly do?: unknown;
  readonly surface?: unknown;
  readonly status?: unknown;
  readonly error?: unknown;
  readonly bytes?: unknown;
  readonly ms?: unknown;
}

/** Parses a head; `undefined` if it is no JSON object of plain data. */
export function parseHead(text: string): Head | undefined {
  const copied = copyIn(text);
  return copied.ok && isJsonObject(copied.value) ? copied.value as unknown as Head : undefined;
}

/** Whether an id is one: a positive safe integer. */
export function isId(id: unknown): id is number {
  return typeof id === "number" && Number.isSafeInteger(id) && id > 0;
}

/** Why the agent's side could not send a value, in at most 1,000 and 200 characters; `undefined` if it does not say. */
export function refusalOf(bad: unknown): CopyRefusal | undefined {
  if (typeof bad !== "object" || bad === null) return undefined;
  const { path, reason } = bad as Record<string, unknown>;
  if (typeof path !== "string" || typeof reason !== "string") return undefined;
  return { path: path.slice(0, 1000).toWellFormed(), reason: reason.slice(0, 200).toWellFormed() };
}

/** What an agent threw: `name`, `message` and `stack`, as far as they are text, each cut to a bound. */
export function errorOf(error: unknown): JsonObject {
  const kept: Record<string, Json> = {};
  if (typeof error !== "object" || error === null) return kept;
  const limits = { name: 200, message: 2001, stack: 8001 };
  for (const [key, max] of Object.entries(limits)) {
    const text = (error as Record<string, unknown>)[key];
    if (typeof text === "string") kept[key] = text.slice(0, max).toWellFormed();
  }
  return kept;
}
