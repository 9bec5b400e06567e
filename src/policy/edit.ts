/**
 * Changes the text of a policy and leaves every other character of it alone: comments, order, spelling, line ends.
 *
 * @module
 */
import { type AnyNode, type ElementNode, type MemberNode, parse } from "@humanwhocodes/momoa";
import { BugError } from "../errors.ts";
import { canonical, type Json, type JsonObject } from "../json.ts";
import { readJsonc } from "./jsonc.ts";

/** A place in the policy: keys and indexes from the root. */
export type EditPath = readonly (string | number)[];

/** One change. */
export type PolicyEdit =
  /** Sets a member; objects that are missing around it are made. */
  | { readonly act: "set"; readonly path: EditPath; readonly value: Json }
  /** Adds an item to the end of a list, which is made where it is missing. */
  | { readonly act: "append"; readonly path: EditPath; readonly value: Json }
  /** Removes a member or an item that is there. */
  | { readonly act: "remove"; readonly path: EditPath };

/** An object or a list, and what is in it. */
interface Container {
  readonly node: AnyNode;
  readonly parts: readonly (MemberNode | ElementNode)[];
}

/** One replacement of a stretch of the text. */
interface Splice {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

const BYTE_ORDER_MARK = "\ufeff";

/**
 * Applies changes in their order.
 *
 * @param text A policy that parses.
 * @throws {PolicyError} If the text does not parse. @throws {BugError} If the result would not say what was asked.
 */
export function editPolicy(text: string, edits: readonly PolicyEdit[]): string {
  if (text.startsWith(BYTE_ORDER_MARK)) return BYTE_ORDER_MARK + editPolicy(text.slice(1), edits);
  return edits.reduce((before, edit) => {
    const expected = applyTo(readJsonc(before, "policy").value, edit);
    const after = applySplices(before, splicesFor(before, edit));
    if (canonical(readJsonc(after, "policy").value) !== canonical(expected)) {
      throw new BugError("edit_wrong", "Cannot edit the policy: the text would not say what was asked for");
    }
    return after;
  }, text);
}

/** What an edit means, on the value alone. */
function applyTo(value: Json, { act, path, ...rest }: PolicyEdit): Json {
  const copy = structuredClone(value);
  const given = "value" in rest ? rest.value : null;
  let at = copy as JsonObject | Json[];
  for (const [depth, key] of path.slice(0, -1).entries()) {
    const inner = (at as Record<string | number, Json>)[key];
    if (inner === undefined) (at as Record<string | number, Json>)[key] = typeof path[depth + 1] === "number" ? [] : {};
    at = (at as Record<string | number, Json>)[key] as JsonObject | Json[];
  }
  const last = path.at(-1) ?? "";
  if (act === "remove") {
    if (Array.isArray(at)) at.splice(Number(last), 1);
    else delete (at as Record<string, Json>)[last];
  } else if (act === "append") {
    const list = (at as Record<string | number, Json>)[last];
    if (Array.isArray(list)) list.push(given);
    else (at as Record<string | number, Json>)[last] = [given];
  } else (at as Record<string | number, Json>)[last] = given;
  return copy;
}

function splicesFor(text: string, edit: PolicyEdit): Splice[] {
  const { body: root } = parse(text, { mode: "jsonc", ranges: true, allowTrailingCommas: true });
  if (edit.act === "remove") return removal(text, root, edit.path);
  const { node, rest } = descend(root, edit.path);
  const print = (value: Json): string => printInline(value);
  if (rest.length > 0) {
    const value = edit.act === "append" ? [edit.value] : edit.value;
    const [key = "", ...inner] = rest;
    const nested = inner.toReversed().reduce<Json>((held, name) => ({ [name]: held }), value);
    return insertion(text, containerOf(node), `${JSON.stringify(key)}: ${print(nested)}`);
  }
  if (edit.act === "append") return insertion(text, containerOf(node), print(edit.value));
  return [{ from: startOf(node), to: endOf(node), text: print(edit.value) }];
}

/** The deepest node on a path that is there, and the part of the path that is not. */
function descend(root: AnyNode, path: EditPath): { readonly node: AnyNode; readonly rest: EditPath } {
  let node = root;
  for (const [depth, key] of path.entries()) {
    const part = partOf(containerOf(node), key);
    if (part === undefined) return { node, rest: path.slice(depth) };
    node = part.value;
  }
  return { node, rest: [] };
}

function containerOf(node: AnyNode): Container {
  if (node.type === "Object") return { node, parts: node.members };
  if (node.type === "Array") return { node, parts: node.elements };
  throw new BugError("edit_no_container", "Cannot edit the policy: there is no object or list at that place");
}

function partOf({ parts }: Container, key: string | number): MemberNode | ElementNode | undefined {
  if (typeof key === "number") return parts[key];
  return parts.find((part) =>
    part.type === "Member" && (part.name.type === "String" ? part.name.value : part.name.name) === key
  );
}

/** Adds a part to the end of a container, on a line of its own where the others have one. */
function insertion(text: string, { node, parts }: Container, part: string): Splice[] {
  const eol = lineEnd(text);
  const close = endOf(node) - 1;
  const last = parts.at(-1);
  if (last === undefined) {
    const inner = text.slice(startOf(node) + 1, close);
    if (inner.includes("\n")) {
      // a comment may stand inside: the part goes on a line before the closing bracket
      const line = text.lastIndexOf("\n", close - 1) + 1;
      const at = text.slice(line, close).trim() === "" ? line : close;
      const indent = indentAt(text, startOf(node)) + unitOf(text);
      return [{ from: at, to: at, text: at === line ? `${indent}${part}${eol}` : `${eol}${indent}${part}${eol}` }];
    }
    if (inner.trim() !== "") return [{ from: close, to: close, text: ` ${part} ` }];
    return [{ from: startOf(node) + 1, to: close, text: node.type === "Object" ? ` ${part} ` : part }];
  }
  const end = endOf(last);
  const after = skipTrivia(text, end);
  const hasComma = text[after] === ",";
  const behind = hasComma ? after + 1 : end;
  const comma: Splice[] = hasComma ? [] : [{ from: end, to: end, text: "," }];
  if (!startsLine(text, startOf(last)) || !startsLine(text, startOf(parts[0] ?? last))) {
    const inline = hasComma ? ` ${part},` : ` ${part}`;
    return [...comma, { from: behind, to: behind, text: inline }];
  }
  const indent = indentAt(text, startOf(last));
  const at = endOfLine(text, behind, close);
  return [...comma, { from: at, to: at, text: `${eol}${indent}${part}${hasComma ? "," : ""}` }];
}

function removal(text: string, root: AnyNode, path: EditPath): Splice[] {
  const { node, rest } = descend(root, path.slice(0, -1));
  const container = containerOf(node);
  const key = path.at(-1);
  const part = rest.length > 0 || key === undefined ? undefined : partOf(container, key);
  if (part === undefined) {
    throw new BugError("edit_nothing_there", "Cannot edit the policy: nothing is there to remove");
  }
  const index = container.parts.indexOf(part);
  const before = container.parts[index - 1];
  const [start, end] = [startOf(part), endOf(part)];
  const after = skipTrivia(text, end);
  const hasComma = text[after] === ",";
  const behind = hasComma ? after + 1 : end;
  // Without a comma of its own the last part leaves the one of the part before it.
  const orphan = !hasComma && before !== undefined ? skipTrivia(text, endOf(before)) : -1;
  const comma: Splice[] = orphan >= 0 ? [{ from: orphan, to: orphan + 1, text: "" }] : [];
  const close = endOf(node) - 1;
  const lineAfter = endOfLine(text, behind, close);
  const line = text.lastIndexOf("\n", start - 1) + 1;
  if (startsLine(text, start) && (lineAfter >= text.length || /[\r\n]/.test(text[lineAfter] ?? ""))) {
    const next = text.indexOf("\n", lineAfter);
    return [...comma, { from: line, to: next < 0 ? text.length : next + 1, text: "" }];
  }
  if (hasComma) {
    const space = /^[ \t]*/.exec(text.slice(behind))?.[0].length ?? 0;
    return [{ from: start, to: end, text: "" }, { from: after, to: behind + space, text: "" }];
  }
  const lead = before === undefined ? 0 : /[ \t]*$/.exec(text.slice(endOf(before), start))?.[0].length ?? 0;
  const from = orphan >= 0 ? Math.max(start - lead, orphan + 1) : start;
  return [...comma, { from, to: end, text: "" }];
}

/** Applies splices that do not overlap, from the end, so that the places of the others stay true. */
function applySplices(text: string, splices: readonly Splice[]): string {
  return splices.map((splice, order) => ({ ...splice, order }))
    .toSorted((a, b) => b.from - a.from || b.order - a.order)
    .reduce((before, { from, to, text: put }) => before.slice(0, from) + put + before.slice(to), text);
}

/** The first place at or behind `at` that is neither white space nor comment. */
function skipTrivia(text: string, at: number): number {
  for (let i = at; i < text.length;) {
    if (/\s/.test(text[i] ?? "")) i++;
    else if (text.startsWith("//", i)) i = lineBreak(text, i);
    else if (text.startsWith("/*", i)) i = text.indexOf("*/", i + 2) + 2;
    else return i;
  }
  return text.length;
}

/** The end of the line behind what is written there: past blanks and comments that belong to it, never past `limit`. */
function endOfLine(text: string, at: number, limit: number): number {
  let end = at;
  for (let i = at; i < limit;) {
    const char = text[i] ?? "";
    if (char === " " || char === "\t") i++;
    else if (text.startsWith("//", i)) return lineBreak(text, i);
    else if (text.startsWith("/*", i)) {
      const close = text.indexOf("*/", i + 2) + 2;
      if (text.slice(i, close).includes("\n")) return end;
      end = i = close;
    } else if (char === "\r" || char === "\n") return i;
    else return end;
  }
  return end;
}

function lineBreak(text: string, at: number): number {
  const found = /[\r\n]/.exec(text.slice(at));
  return found === null ? text.length : at + found.index;
}

function startsLine(text: string, at: number): boolean {
  const line = Math.max(text.lastIndexOf("\n", at - 1), text.lastIndexOf("\r", at - 1)) + 1;
  return line > 0 && text.slice(line, at).trim() === "";
}

function indentAt(text: string, at: number): string {
  const line = Math.max(text.lastIndexOf("\n", at - 1), text.lastIndexOf("\r", at - 1)) + 1;
  return /^[ \t]*/.exec(text.slice(line, at))?.[0] ?? "";
}

function unitOf(text: string): string {
  return /^([ \t]+)\S/m.exec(text)?.[1] ?? "  ";
}

function lineEnd(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

/** JSON on one line, spaced the way policies are written. */
function printInline(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(printInline).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value as JsonObject).map(([key, held]) =>
    `${JSON.stringify(key)}: ${printInline(held)}`
  );
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
}

function startOf(node: AnyNode): number {
  return rangeOf(node)[0];
}

function endOf(node: AnyNode): number {
  return rangeOf(node)[1];
}

/** The parser gives an item of a list no range of its own. */
function rangeOf(node: AnyNode): readonly [number, number] {
  const [start, end] = (node.type === "Element" ? node.value.range : node.range) ?? [];
  if (start === undefined || end === undefined) throw new BugError("edit_no_place", "Cannot edit the policy: no place");
  return [start, end];
}
