/**
 * JSON with comments and trailing commas, read strictly and with the position of every value.
 *
 * @module
 */
import { type AnyNode, parse } from "@humanwhocodes/momoa";
import type { Position } from "../errors.ts";
import { type Json, pointerPart } from "../json.ts";
import { type Offsets, readPlainJsonc } from "./plain_jsonc.ts";
import { type PolicyIssue, refuse } from "./policy_error.ts";

/** Deepest nesting; the parser below calls itself once for each level. */
const MAX_DEPTH = 64;

/** Keys that reach a prototype when somebody copies the object carelessly. */
const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

/** A text that was read. */
export interface Jsonc {
  readonly value: Json;
  /** Where the value at a JSON Pointer (RFC 6901) starts; that of the nearest value around it for an unknown one. */
  positionOf(pointer: string): Position;
  /** Where the key of the member at a JSON Pointer starts; as `positionOf` for an element of a list. */
  keyPositionOf(pointer: string): Position;
}

/**
 * Reads a text. Refused are: nesting over 64, control characters in strings, duplicate keys, keys named `__proto__`,
 * `constructor` or `prototype`, lone surrogates, numbers that a double cannot hold exactly or at all.
 *
 * @param file Name for the positions.
 * @param what What messages call the text.
 * @throws {PolicyError} With every duplicate or forbidden key, or the first thing that does not parse.
 */
export function readJsonc(text: string, file: string, what = "the policy"): Jsonc {
  const at = makeAt(text, file);
  const plain = readPlainJsonc(text, { depth: MAX_DEPTH, forbiddenKeys: FORBIDDEN_KEYS });
  if (plain === undefined) return readClosely(text, { at, what });
  let offsets: Offsets | undefined;
  return { value: plain.value, ...positionsIn(() => offsets ??= plain.locate(), at) };
}

/** Reads a text with the parser that says what is wrong with it. */
function readClosely(text: string, source: Source): Jsonc {
  const { at } = source;
  refuse(scan(text, source));
  const values = new Map<string, number>();
  const keys = new Map<string, number>();
  const issues: PolicyIssue[] = [];
  const value = toValue(parseText(text, source), "", { values, keys, issues, at });
  refuse(issues);
  return { value, ...positionsIn(() => ({ values, keys }), at) };
}

function positionsIn(offsets: () => Offsets, at: (offset: number) => Position): Omit<Jsonc, "value"> {
  const positionOf = (pointer: string): Position => {
    const { values } = offsets();
    for (let known = pointer;; known = known.slice(0, known.lastIndexOf("/"))) {
      const offset = values.get(known);
      if (offset !== undefined) return at(offset);
      if (known === "") return at(0);
    }
  };
  return {
    positionOf,
    keyPositionOf(pointer) {
      const offset = offsets().keys.get(pointer);
      return offset === undefined ? positionOf(pointer) : at(offset);
    },
  };
}

/** Turns offsets into positions. */
function makeAt(text: string, file: string): (offset: number) => Position {
  let lines: readonly number[] | undefined;
  return (offset) => {
    lines ??= lineStarts(text);
    let low = 0;
    let high = lines.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((lines[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { file, line: low + 1, column: offset - (lines[low] ?? 0) + 1 };
  };
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === 10 || (unit === 13 && text.charCodeAt(i + 1) !== 10)) starts.push(i + 1);
  }
  return starts;
}

/** Where a text came from. */
interface Source {
  readonly what: string;
  at(offset: number): Position;
}

/** One pass that knows strings and comments: bounds the depth before the recursive parser sees the text. */
function scan(text: string, { at, what }: Source): PolicyIssue[] {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (char === '"') {
      for (i++; i < text.length && text[i] !== '"'; i++) {
        if (text.charCodeAt(i) < 0x20) {
          return [{
            code: "policy_syntax",
            message: `Cannot read ${what}: a string holds a control character or does not end on its line`,
            position: at(i),
            fix: 'End the string with ", or write the character as \\u00XX',
          }];
        }
        if (text[i] === "\\") i++;
      }
    } else if (char === "/" && text[i + 1] === "/") {
      while (i + 1 < text.length && text[i + 1] !== "\n" && text[i + 1] !== "\r") i++;
    } else if (char === "/" && text[i + 1] === "*") {
      const end = text.indexOf("*/", i + 2);
      i = end < 0 ? text.length : end + 1;
    } else if (char === "{" || char === "[") {
      if (++depth > MAX_DEPTH) {
        return [{
          code: "policy_too_deep",
          message: `Cannot read ${what}: it is nested deeper than ${MAX_DEPTH} levels`,
          position: at(i),
          fix: "Flatten this value",
        }];
      }
    } else if (char === "}" || char === "]") {
      depth--;
    }
  }
  return [];
}

function parseText(text: string, { at, what: source }: Source): AnyNode {
  try {
    return parse(text, { mode: "jsonc", ranges: true, allowTrailingCommas: true }).body;
  } catch (error) {
    const { message, offset } = error as Error & { offset?: number };
    const what = message.replace(/\s*\(\d+:\d+\)\s*$/, "").replace(/\.$/, "");
    refuse([{
      code: "policy_syntax",
      message: `Cannot read ${source}: ${what.charAt(0).toLowerCase()}${what.slice(1)}`,
      position: at(offset ?? 0),
      fix: "Write JSON; comments and trailing commas are allowed",
    }]);
    throw error;
  }
}

interface Walk {
  readonly values: Map<string, number>;
  readonly keys: Map<string, number>;
  readonly issues: PolicyIssue[];
  at(offset: number): Position;
}

function toValue(node: AnyNode, pointer: string, walk: Walk): Json {
  const offset = node.range?.[0] ?? 0;
  walk.values.set(pointer, offset);
  switch (node.type) {
    case "Object": {
      const entries = new Map<string, Json>();
      for (const member of node.members) {
        const key = member.name.type === "String" ? member.name.value : member.name.name;
        const inner = pointer + pointerPart(key);
        const position = walk.at(member.range?.[0] ?? 0);
        const value = toValue(member.value, inner, walk);
        if (FORBIDDEN_KEYS.has(key)) {
          const message = `Cannot use the key ${JSON.stringify(key)}: the name is reserved by JavaScript`;
          walk.issues.push({ code: "policy_forbidden_key", message, position, fix: "Choose another name" });
        } else if (!key.isWellFormed()) {
          const message = `Cannot use the key ${JSON.stringify(key)}: it is not well-formed text`;
          walk.issues.push({ code: "policy_bad_text", message, position, fix: "Remove the lone surrogate" });
        } else if (entries.has(key)) {
          const message = `Cannot use the key ${JSON.stringify(key)}: it stands here twice`;
          walk.issues.push({ code: "policy_duplicate_key", message, position, fix: "Keep one of the two" });
        } else {
          walk.keys.set(inner, member.range?.[0] ?? 0);
          entries.set(key, value);
        }
      }
      return Object.fromEntries(entries);
    }
    case "Array":
      return node.elements.map((element, index) => toValue(element.value, pointer + pointerPart(index), walk));
    case "String":
      if (!node.value.isWellFormed()) {
        const message = `Cannot use ${JSON.stringify(node.value)}: it is not well-formed text`;
        const position = walk.at(offset);
        walk.issues.push({ code: "policy_bad_text", message, position, fix: "Remove the lone surrogate" });
      }
      return node.value;
    case "Number":
      if (!Number.isFinite(node.value) || (Number.isInteger(node.value) && !Number.isSafeInteger(node.value))) {
        walk.issues.push({
          code: "policy_bad_number",
          message: `Cannot use the number ${node.value}: it cannot be held exactly`,
          position: walk.at(offset),
          fix: "Write it as a string, or a smaller number",
        });
        return 0;
      }
      return node.value;
    case "Boolean":
      return node.value;
    default:
      return null;
  }
}
