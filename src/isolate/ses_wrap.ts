/**
 * Turns a bundle into a text that a SES compartment evaluates.
 *
 * @module
 */
const IDENTIFIER = String.raw`(?:[\w$\x80-\u{10ffff}]|\\u\{[0-9a-fA-F]+\}|\\u[0-9a-fA-F]{4})+`;
const NAME = String.raw`${IDENTIFIER}|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'`;
const ITEM = String.raw`\s*(${IDENTIFIER})(?:\s+as\s+(${NAME}))?\s*`;
/** The inline source map that a bundle ends with. */
const INLINE_MAP = /^\/\/# sourceMappingURL=data:application\/json;base64,[A-Za-z0-9+/]+=*\s*$/;
/** The whole export declaration: no string, template or comment that began before it can end in such a text. */
const CLAUSE = new RegExp(String.raw`^export \{(?:${ITEM}(?:,|(?=\})))*\};$`, "u");

/**
 * Wraps a bundle as an expression: a promise of its exports, once its top level has run. Line numbers stay as they are;
 * the source map goes, since SES shows no stack.
 *
 * @param code One module without imports, made by `bundleAgent`; its only export declaration stands at its end.
 */
export function sesWrap(code: string): string {
  const lastLine = code.trimEnd().lastIndexOf("\n") + 1;
  const body = (INLINE_MAP.test(code.slice(lastLine)) ? code.slice(0, lastLine) : code).trimEnd();
  const at = body.startsWith("export {") ? 0 : body.lastIndexOf("\nexport {") + 1;
  const clause = body.slice(at);
  const isExporting = CLAUSE.test(clause);
  const fields = isExporting ? exportFields(clause.slice("export {".length, -"};".length)) : [];
  const statements = isExporting ? body.slice(0, at) : body;
  return `(async()=>{"use strict";${statements}\n;return {${["__proto__:null", ...fields].join(",")}}})()`;
}

/** Reads `a, b as c, d as "e f"`. Computed keys, so that an export may have any name. */
function exportFields(items: string): string[] {
  return Array.from(items.matchAll(new RegExp(`${ITEM}(?:,|$)`, "gu")), ([, local = "", exported]) => {
    const name = exported ?? local;
    // Inside quotes a name with an escape (`\u{e9}`) means the same.
    return `[${/^["']/.test(name) ? name : `"${name}"`}]:${local}`;
  });
}
