/**
 * Holds what the tools find against the RE2 library alone, in a process in which V8 has its linear engine: prints how many
 * patterns ran in V8, and every difference.
 */
import { RE2JS } from "re2js";
import { readCommonPattern } from "../../../src/tools/workspace/common_syntax.ts";
import { makeLinePattern } from "../../../src/tools/workspace/line_pattern.ts";
import { PATTERNS, TEXTS } from "./pattern_corpus.ts";

const ATOMS = ["a", ".", "[^a]", "\\w", "(?:a|b)", "(b?)", "\\s", "\\b", "^", "$", "[a-f ]", "\\.", "\\W", "o"];
const ENDS = ["", "*", "+", "?", "*?", "|a"];
const MADE = ATOMS.flatMap((first) => ENDS.flatMap((end) => ATOMS.map((last) => `${first}${end}${last}`)));

const differences: string[] = [];
let fast = 0;
for (const ignoreCase of [false, true]) {
  for (const pattern of [...PATTERNS, ...MADE]) {
    const found = await makeLinePattern(pattern, { ignoreCase, multiline: false });
    const exact = compile(pattern, ignoreCase);
    if ("fault" in found || exact === undefined) {
      if ("fault" in found !== (exact === undefined)) differences.push(`${pattern}: only one refuses it`);
      continue;
    }
    if (readCommonPattern(pattern, ignoreCase) !== undefined) fast++;
    for (const text of TEXTS) {
      const isAscii = new TextEncoder().encode(text).length === text.length;
      const lines = [...found.find(text, isAscii) ?? []].map(({ start }) =>
        text.slice(0, start).split("\n").length - 1
      );
      const expected = text === ""
        ? []
        : text.replace(/\n$/, "").split("\n").flatMap((line, index) => exact.test(line) ? [index] : []);
      if (JSON.stringify(lines) !== JSON.stringify(expected)) {
        differences.push(`${pattern} ${ignoreCase} ${JSON.stringify(text.slice(0, 40))}: ${lines} but ${expected}`);
      }
    }
  }
}
const started = performance.now();
const bomb = await makeLinePattern("(a+)+$", { ignoreCase: false, multiline: false });
const isFound = !("fault" in bomb) && [...bomb.find(`${"a".repeat(5000)}!\n`, true) ?? []].length > 0;
const isLinear = !isFound && performance.now() - started < 2000;
// deno-lint-ignore no-console -- a program of its own
console.log(JSON.stringify({ fast, isLinear, knowsFlag: knowsFlag(), differences }));

function compile(pattern: string, ignoreCase: boolean): RE2JS | undefined {
  try {
    return RE2JS.compile(pattern, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
  } catch {
    return undefined;
  }
}

function knowsFlag(): boolean {
  try {
    return new RegExp("a", "l") !== undefined;
  } catch {
    return false;
  }
}
