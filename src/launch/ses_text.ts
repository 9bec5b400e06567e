/**
 * Makes a bundle one that SES evaluates: SES refuses some spellings wherever they stand, also inside of strings.
 *
 * The rewritten text is what every isolation runs, so that a bundle has the same outcome in all of them.
 *
 * @module
 */
import type { Node, Token } from "acorn";
import { BugError, DataError } from "../errors.ts";
import {
  decodeMappings,
  encodeMappings,
  lastAtOrBefore,
  lineStarts,
  type SourceMap,
  sourcePosition,
  splitInlineMap,
  withInlineMap,
} from "./source_map.ts";

/** One spelling that SES refuses, where it stands and how to write it otherwise. */
interface Spelling {
  /** Matches where SES matches, but consumes no neighbour, so that two in a row are both found. */
  readonly pattern: RegExp;
  readonly shown: string;
  /** Same meaning inside of string, template and regular-expression literals, whatever stands before or after. */
  readonly inLiteral: string;
  readonly inComment: string;
  /** Same meaning as code; `undefined` where code of this spelling must be refused. */
  readonly inCode: string | undefined;
}

// Only the last character (of `<!--`: the second dash) is escaped: none of these can follow a backslash, and none is
// syntax of a regular expression there, inside or outside of a class (`(?<!--x)`, `[<!--x]`, `[+-->]`).
const SPELLINGS: readonly Spelling[] = [
  { pattern: /<!--/g, shown: "<!--", inLiteral: "<!-\\u002d", inComment: "<!- -", inCode: "< !--" },
  { pattern: /-->/g, shown: "-->", inLiteral: "--\\u003e", inComment: "-- >", inCode: "-- >" },
  {
    pattern: /(?<=^|[^.]|\.\.\.)\bimport(?=\s*(?:\(|\/[/*]))/g,
    shown: "import(",
    inLiteral: "impor\\u0074",
    inComment: "import_",
    inCode: undefined,
  },
  {
    pattern: /(?<=^|[^.])\beval(?=\s*\()/g,
    shown: "eval(",
    inLiteral: "eva\\u006c",
    inComment: "eval_",
    inCode: undefined,
  },
];

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** A stretch of the text that is one literal or comment. */
interface Stretch {
  readonly start: number;
  readonly end: number;
  readonly kind: "literal" | "tagged" | "comment";
}

/**
 * Rewrites what SES refuses: escapes inside of string, template and regular-expression literals, a space inside of
 * `x-->0` and `x<!--y`. An inline source map at the end is kept right. A text without such a spelling comes back as it
 * is, at the cost of four searches.
 *
 * What stays visible to the program is the text itself: `RegExp.prototype.source` of a rewritten literal and
 * `Function.prototype.toString` show the escape.
 *
 * @param code One module without imports, as esbuild prints it.
 * @throws {DataError} `agent_text_refused`, where no other spelling means the same: `import(` or `eval(` as code, also
 * as the name of a method, and all four inside of a tagged template, whose tag sees the raw text.
 */
export async function sesSafe(code: string): Promise<string> {
  const { body, map } = splitInlineMap(code);
  if (!SPELLINGS.some(({ pattern }) => body.search(pattern) >= 0)) return code;
  const stretches = await readStretches(body, map);
  const edits: Edit[] = [];
  for (const spelling of SPELLINGS) {
    for (const { 0: found, index } of body.matchAll(spelling.pattern)) {
      edits.push(rewrite(spelling, { start: index, end: index + found.length }, stretches, { body, map }));
    }
  }
  edits.sort((a, b) => a.start - b.start);
  const rewritten = apply(body, edits);
  if (SPELLINGS.some(({ pattern }) => rewritten.search(pattern) >= 0)) {
    throw new BugError("bug_ses_text", "Cannot rewrite the agent for SES: a refused spelling is left");
  }
  return map === undefined ? rewritten : withInlineMap(rewritten, moved(map, body, edits));
}

function rewrite(
  spelling: Spelling,
  { start, end }: { start: number; end: number },
  stretches: readonly Stretch[],
  context: { body: string; map: SourceMap | undefined },
): Edit {
  const nearest = stretches[lastAtOrBefore(stretches, start, (item) => item.start)];
  const stretch = nearest !== undefined && end <= nearest.end ? nearest : undefined;
  if (stretch?.kind === "literal") return { start, end, text: spelling.inLiteral };
  if (stretch?.kind === "comment") return { start, end, text: spelling.inComment };
  if (stretch === undefined && spelling.inCode !== undefined) return { start, end, text: spelling.inCode };
  const position = sourcePosition(context, start);
  if (stretch?.kind === "tagged") {
    throw new DataError(
      "agent_text_refused",
      `Cannot run the agent in every isolation: a tagged template contains "${spelling.shown}"`,
      { position, fix: "use a plain string or template, or put the parts together with +" },
    );
  }
  const name = spelling.shown.slice(0, -1);
  throw new DataError(
    "agent_text_refused",
    `Cannot run the agent in every isolation: "${spelling.shown}" stands in its code`,
    { position, fix: `agents have no ${name}; give a method of this name another one` },
  );
}

/** Reads the text's literals and comments, in order, with a parser: only a parser knows a regular expression from a division. */
async function readStretches(body: string, map: SourceMap | undefined): Promise<Stretch[]> {
  const { parse, tokTypes } = await import("acorn"); // seldom needed, so it costs nothing at the usual start
  const tokens: Token[] = [];
  const stretches: Stretch[] = [];
  let tree: Node;
  try {
    tree = parse(body, {
      ecmaVersion: "latest",
      sourceType: "module",
      onToken: tokens,
      onComment: (_isBlock, _text, start, end) => stretches.push({ start, end, kind: "comment" }),
    });
  } catch (cause) {
    const at = cause instanceof SyntaxError && "pos" in cause && typeof cause.pos === "number" ? cause.pos : 0;
    throw new DataError("agent_text_refused", "Cannot read the bundled agent as a JavaScript module", {
      position: sourcePosition({ body, map }, at),
      fix: "avoid the syntax at this place, or the spellings <!--, -->, import( and eval( in the agent",
      cause,
    });
  }
  const tagged = taggedTemplates(tree);
  const literals = new Set([tokTypes.string, tokTypes.template, tokTypes.invalidTemplate, tokTypes.regexp]);
  for (const { type, start, end } of tokens) {
    if (!literals.has(type)) continue;
    const isTagged = type !== tokTypes.string && type !== tokTypes.regexp && tagged.has(start);
    stretches.push({ start, end, kind: isTagged ? "tagged" : "literal" });
  }
  return stretches.sort((a, b) => a.start - b.start);
}

/** Where the raw parts of tagged templates start. */
function taggedTemplates(tree: Node): Set<number> {
  const starts = new Set<number>();
  const pending: unknown[] = [tree];
  while (pending.length > 0) {
    const node = pending.pop();
    if (typeof node !== "object" || node === null || node instanceof RegExp) continue;
    if ("type" in node && node.type === "TaggedTemplateExpression" && "quasi" in node) {
      for (const element of (node.quasi as { quasis: Node[] }).quasis) starts.add(element.start);
    }
    for (const inner of Object.values(node)) pending.push(inner);
  }
  return starts;
}

function apply(body: string, edits: readonly Edit[]): string {
  let text = "";
  let at = 0;
  for (const { start, end, text: replacement } of disjoint(edits)) {
    text += body.slice(at, start) + replacement;
    at = end;
  }
  return text + body.slice(at);
}

/** `<!-->` is two spellings that share the dashes: the later one gives up what the earlier one has taken. */
function* disjoint(edits: readonly Edit[]): Generator<Edit> {
  let last: Edit | undefined;
  for (const edit of edits) {
    if (last !== undefined && edit.start < last.end) {
      yield { start: last.end, end: edit.end, text: edit.text.slice(last.end - edit.start) };
    } else yield edit;
    last = edit;
  }
}

/** Moves the columns of a map behind each edit; no edit adds or takes a line. */
function moved(map: SourceMap, body: string, edits: readonly Edit[]): SourceMap {
  const lines = decodeMappings(map.mappings);
  const starts = lineStarts(body);
  // From the last edit to the first, so that the columns of the earlier ones are still those of `body`.
  for (const { start, end, text } of [...disjoint(edits)].reverse()) {
    const line = lastAtOrBefore(starts, start, Number);
    const column = start - (starts[line] ?? 0);
    for (const segment of lines[line] ?? []) if (segment[0] > column) segment[0] += text.length - (end - start);
  }
  return { ...map, mappings: encodeMappings(lines) };
}
