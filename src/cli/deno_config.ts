/**
 * Adds entries to a `deno.json` that somebody else wrote, and leaves every other character of it alone.
 *
 * @module
 */
import { type MemberNode, type ObjectNode, parse, type ValueNode } from "@humanwhocodes/momoa";

/** One entry: `block` is a key of the root whose value is an object, `key` and `value` what it should hold. */
export interface ConfigEntry {
  readonly block: "tasks" | "imports";
  readonly key: string;
  readonly value: string;
}

/** What became of the entries. */
export interface ConfigEdit {
  readonly text: string;
  readonly added: readonly ConfigEntry[];
  /** Entries whose key is there already: what it holds stays. */
  readonly kept: readonly ConfigEntry[];
  /** Entries that cannot be added by inserting a line. */
  readonly refused: readonly ConfigEntry[];
}

const BYTE_ORDER_MARK = "\ufeff";

/** One text to insert. */
interface Insertion {
  readonly at: number;
  readonly text: string;
}

/**
 * Adds entries to the text of a `deno.json`. Comments, order, spelling and line ends stay. Nothing is added to a text
 * that is not an object, and no import beside an `importMap`, which would hide it.
 */
export function addToConfig(text: string, entries: readonly ConfigEntry[]): ConfigEdit {
  if (text.startsWith(BYTE_ORDER_MARK)) {
    const edit = addToConfig(text.slice(1), entries);
    return { ...edit, text: BYTE_ORDER_MARK + edit.text };
  }
  const root = maybeObject(text);
  if (root === undefined) return { text, added: [], kept: [], refused: entries };
  const added: ConfigEntry[] = [];
  const kept: ConfigEntry[] = [];
  const refused: ConfigEntry[] = [];
  const insertions: Insertion[] = [];
  const blocks: string[] = [];
  for (const [block, group] of Map.groupBy(entries, (entry) => entry.block)) {
    const object = memberOf(root, block)?.value;
    if (object?.type === "Object") {
      const missing = group.filter(({ key }) => memberOf(object, key) === undefined);
      kept.push(...group.filter((entry) => !missing.includes(entry)));
      added.push(...missing);
      if (missing.length > 0) insertions.push(insertMembers(text, object, missing.map(memberText)));
    } else if (object === undefined && !(block === "imports" && memberOf(root, "importMap") !== undefined)) {
      added.push(...group);
      blocks.push(`${JSON.stringify(block)}: { ${group.map(memberText).join(", ")} }`);
    } else refused.push(...group);
  }
  if (blocks.length > 0) insertions.push(insertMembers(text, root, blocks));
  // From the end, so that the places of the others stay true.
  const edited = insertions.toSorted((a, b) => b.at - a.at)
    .reduce((before, { at, text }) => before.slice(0, at) + text + before.slice(at), text);
  return { text: edited, added, kept, refused };
}

function memberText({ key, value }: ConfigEntry): string {
  return `${JSON.stringify(key)}: ${JSON.stringify(value)}`;
}

/** Members go behind the opening brace: there no comma and no comment is in the way. */
function insertMembers(text: string, object: ObjectNode, members: readonly string[]): Insertion {
  const at = startOf(object) + 1;
  const first = object.members[0];
  if (first !== undefined) {
    const indent = /\n[ \t]*$/.exec(text.slice(at, startOf(first)))?.[0].slice(1);
    const lead = indent === undefined ? " " : `${lineEnd(text)}${indent}`;
    return { at, text: members.map((member) => `${lead}${member},`).join("") };
  }
  const outer = indentAt(text, at);
  const lead = `${lineEnd(text)}${outer}${outer.includes("\t") ? "\t" : "  "}`;
  const isOneLine = !text.slice(at, endOf(object)).includes("\n");
  const close = isOneLine ? `${lineEnd(text)}${outer}` : "";
  return { at, text: members.map((member) => `${lead}${member}`).join(",") + close };
}

/** White space at the start of the line that a place is on. */
function indentAt(text: string, at: number): string {
  const line = text.slice(text.lastIndexOf("\n", at - 1) + 1, at);
  return /^[ \t]*/.exec(line)?.[0] ?? "";
}

function lineEnd(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

function maybeObject(text: string): ObjectNode | undefined {
  try {
    const { body } = parse(text, { mode: "jsonc", ranges: true, allowTrailingCommas: true });
    return body.type === "Object" ? body : undefined;
  } catch {
    return undefined;
  }
}

function memberOf(object: ObjectNode, key: string): MemberNode | undefined {
  return object.members.find(({ name }) => (name.type === "String" ? name.value : name.name) === key);
}

function startOf(node: ValueNode | MemberNode): number {
  return node.range?.[0] ?? 0;
}

function endOf(node: ValueNode | MemberNode): number {
  return node.range?.[1] ?? 0;
}
