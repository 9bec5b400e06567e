/**
 * Has a module's functions compiled together with it.
 *
 * A function in parentheses counts as one that is about to be called: V8 compiles it with its module, and Deno keeps what
 * was compiled. Any other function is compiled at its first call, at every start again, which is most of what a short
 * command costs.
 *
 * @module
 */
import type { AnyNode, FunctionDeclaration, Node } from "acorn";

/** A text that goes into the code. */
interface Insertion {
  readonly at: number;
  readonly text: "(" | ")";
}

/**
 * Puts functions in parentheses. Functions declared at the top become variables in front of everything else, where calls
 * at any place of the module find them as before. Methods and declarations inside of functions stay as they are.
 *
 * @param code A module without imports that need to be evaluated in between: a bundle.
 */
export async function makeEager(code: string): Promise<string> {
  const { parse } = await import("acorn");
  const { body } = parse(code, { ecmaVersion: "latest", sourceType: "module" });
  const insertions: Insertion[] = [];
  for (const node of body) collect(node, insertions);
  insertions.sort((a, b) => a.at - b.at);
  const texts = new Texts(code, insertions);
  const declared = body.filter((node) => node.type === "FunctionDeclaration") as FunctionDeclaration[];
  const front: string[] = [];
  const rest: string[] = [];
  let at = 0;
  for (const { start, end, id } of declared) {
    rest.push(texts.take(at, start));
    front.push(`var ${id.name}=(${texts.take(start, end)});`);
    at = end;
  }
  rest.push(texts.take(at, code.length));
  return front.concat(rest).join("");
}

/** Gives the code piece by piece, in order, with what goes into it. */
class Texts {
  readonly #code: string;
  readonly #insertions: readonly Insertion[];
  #next = 0;

  constructor(code: string, insertions: readonly Insertion[]) {
    this.#code = code;
    this.#insertions = insertions;
  }

  take(start: number, end: number): string {
    let text = "";
    let from = start;
    for (let next = this.#insertions[this.#next]; next !== undefined; next = this.#insertions[++this.#next]) {
      if (next.at > end || (next.at === end && next.text === "(")) break;
      text += this.#code.slice(from, next.at) + next.text;
      from = next.at;
    }
    return text + this.#code.slice(from, end);
  }
}

/** Collects the places around functions that are values. */
function collect(node: AnyNode, found: Insertion[]): void {
  for (const [key, value] of Object.entries(node)) {
    for (const inner of Array.isArray(value) ? value : [value]) {
      if (!isNode(inner)) continue;
      const isMethod = key === "value" && isMethodOf(node);
      const isValue = inner.type === "ArrowFunctionExpression" || (inner.type === "FunctionExpression" && !isMethod);
      if (isValue) found.push({ at: inner.start, text: "(" }, { at: inner.end, text: ")" });
      collect(inner, found);
    }
  }
}

function isMethodOf(node: AnyNode): boolean {
  return node.type === "MethodDefinition" || (node.type === "Property" && (node.method || node.kind !== "init"));
}

function isNode(value: unknown): value is AnyNode {
  return typeof value === "object" && value !== null && typeof (value as Node).type === "string";
}
