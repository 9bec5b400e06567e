/**
 * The host's side of the copy: JSON text from the agent becomes plain data, or is refused with the path of the value.
 *
 * @module
 */
import { type Json, pointerPart } from "../json.ts";

/** Deepest nesting of a value that crosses, the root being level 1. */
export const MAX_DEPTH = 64;

/** Why a text is not plain data, and where. */
export interface CopyRefusal {
  /** JSON Pointer from the value's root. */
  readonly path: string;
  readonly reason: string;
}

/** A value that crossed, or the reason why it did not. */
export type Copied = { readonly ok: true; readonly value: Json } | {
  readonly ok: false;
  readonly refusal: CopyRefusal;
};

/**
 * Parses a hostile JSON text into plain data.
 *
 * Refused: a text that is not JSON, a number that is not finite, a lone surrogate in a string or key, a key named
 * `__proto__`, nesting deeper than {@linkcode MAX_DEPTH}. The walk does not recurse.
 */
export function copyIn(text: string): Copied {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return refuse("", "not JSON");
  }
  const refusal = isPlain(value, 1) ? undefined : checkPlain(value);
  return refusal === undefined ? { ok: true, value: value as Json } : { ok: false, refusal };
}

/**
 * Whether parsed JSON may cross, for the many values that may: no paths are made, and the recursion ends where values
 * may not be deeper. What does not pass goes through {@linkcode checkPlain}, which says why.
 */
function isPlain(value: unknown, depth: number): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return true;
  if (depth > MAX_DEPTH) return false;
  if (Array.isArray(value)) return value.every((item) => isPlain(item, depth + 1));
  for (const key of Object.keys(value)) {
    if (key === "__proto__" || !key.isWellFormed()) return false;
    if (!isPlain((value as Record<string, unknown>)[key], depth + 1)) return false;
  }
  return true;
}

/**
 * Checks parsed JSON. Only what `JSON.parse` can return is expected: no getters, no prototypes of others, no cycles.
 *
 * @returns `undefined` when the value may cross.
 */
export function checkPlain(value: unknown): CopyRefusal | undefined {
  const stack: { readonly value: unknown; readonly path: string; readonly depth: number }[] = [
    { value, path: "", depth: 1 },
  ];
  for (let item = stack.pop(); item !== undefined; item = stack.pop()) {
    const { value: current, path, depth } = item;
    if (typeof current === "string") {
      if (!current.isWellFormed()) return { path, reason: "a lone surrogate" };
    } else if (typeof current === "number") {
      if (!Number.isFinite(current)) return { path, reason: String(current) };
    } else if (typeof current === "object" && current !== null) {
      if (depth > MAX_DEPTH) return { path, reason: `nested deeper than ${MAX_DEPTH}` };
      if (Array.isArray(current)) {
        for (let i = current.length - 1; i >= 0; i--) {
          stack.push({ value: current[i], path: `${path}/${i}`, depth: depth + 1 });
        }
        continue;
      }
      for (const [key, inner] of Object.entries(current)) {
        const at = path + pointerPart(key);
        if (key === "__proto__") return { path: at, reason: "a key named __proto__" };
        if (!key.isWellFormed()) return { path, reason: "a key with a lone surrogate" };
        stack.push({ value: inner, path: at, depth: depth + 1 });
      }
    }
  }
  return undefined;
}

function refuse(path: string, reason: string): Copied {
  return { ok: false, refusal: { path, reason } };
}
