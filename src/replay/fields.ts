/**
 * Reads fields of parsed records without trusting their types.
 *
 * @module
 */
import { isJsonObject, type Json, type JsonObject } from "../json.ts";

/** The field if it is a text, else `null`. */
export function textField(object: JsonObject, name: string): string | null {
  const value = own(object, name);
  return typeof value === "string" ? value : null;
}

/** The field if it is a number, else `null`. */
export function numberField(object: JsonObject, name: string): number | null {
  const value = own(object, name);
  return typeof value === "number" ? value : null;
}

/** The field if it is an object, else an empty one. */
export function objectField(object: JsonObject, name: string): JsonObject {
  const value = own(object, name);
  return isJsonObject(value) ? value : {};
}

/** The field, `null` where there is none. */
export function own(object: JsonObject, name: string): Json {
  return Object.hasOwn(object, name) ? object[name] ?? null : null;
}
