import assert from "node:assert/strict";
import fc from "fast-check";
import { DataError } from "../../src/errors.ts";
import { sesSafe } from "../../src/launch/ses_text.ts";
import { originalPosition, splitInlineMap, withInlineMap } from "../../src/launch/source_map.ts";
import { evaluateText } from "./evaluate.ts";

/** The constructor as it was: locking down puts one in its place that checks its text as well. */
const PlainFunction = Function;

/** Evaluates an expression as plain JavaScript of this realm. */
function evaluatePlain(expression: string): unknown {
  return new PlainFunction(`"use strict";return (${expression}\n)`)();
}

async function refusal(code: string): Promise<DataError> {
  try {
    await sesSafe(code);
  } catch (error) {
    if (error instanceof DataError) return error;
    throw error;
  }
  throw new Error("it was accepted");
}

Deno.test("sesSafe() returns a text that needs nothing as it is", async () => {
  for (
    const code of ["", "a.import(1)", "a.eval(1)", "importx(1)", "x_import(1)", "a.b - -1 > 2", "const evaluate = 1;"]
  ) {
    assert.equal(await sesSafe(code), code);
  }
});

Deno.test("sesSafe() rewrites literals, comments and operators", async () => {
  const cases: readonly [string, string][] = [
    ['"import(x)"', '"impor\\u0074(x)"'],
    ["'import /* x'", "'impor\\u0074 /* x'"],
    ["'import\\u0020(import\\u2028(x)' + \"eval\t(\"", "'import\\u0020(import\\u2028(x)' + \"eva\\u006c\t(\""],
    ["`eval(${eva(1)}eval (`", "`eva\\u006c(${eva(1)}eva\\u006c (`"],
    ['"<!-->"', '"<!-\\u002d\\u003e"'],
    ['"<!--->"', '"<!-\\u002d-\\u003e"'],
    ["x-->0", "x-- >0"],
    ["x<!--y", "x< !--y"],
    ["1 // <!--> import(x) eval(y)", "1 // <!- - > import_(x) eval_(y)"],
    ["/* --> */ 1", "/* -- > */ 1"],
    ["x = 4 / 2; y = /import(z)/g", "x = 4 / 2; y = /impor\\u0074(z)/g"],
    ["o = { 'eval(': 1, \"-->\": 2 }", "o = { 'eva\\u006c(': 1, \"--\\u003e\": 2 }"],
  ];
  for (const [code, expected] of cases) assert.equal(await sesSafe(code), expected);
});

Deno.test("sesSafe() refuses what has no other spelling, with its position", async () => {
  const cases: readonly [code: string, line: number, column: number][] = [
    ["let a;\n  import('x');", 2, 3],
    ["f(...import('x'))", 1, 6],
    ["eval('1')", 1, 1],
    ["let a = { eval() {} }", 1, 11],
    ["let a = { import\n() {} }", 1, 11],
    ["let a = { import/**/() {} }", 1, 11],
    ["class A { static import() {} }", 1, 18],
    ["class A { #eval() {} }", 1, 12],
    ["String.raw`\nimport(`", 2, 1],
    ["tag`a${1}-->`", 1, 10],
    ["a.b.c`<!--`", 1, 7],
    ["f`${`x`}`; f(`${g`eval(`}`)", 1, 19],
    ["let a = '-->'; let a;", 1, 20],
  ];
  for (const [code, line, column] of cases) {
    const error = await refusal(code);
    assert.equal(error.code, "agent_text_refused");
    assert.deepEqual(error.position, { file: "agent bundle", line, column }, code);
    assert.ok(error.fix);
  }
});

Deno.test("sesSafe() reads untagged templates within tagged ones", async () => {
  assert.equal(await sesSafe("f`${`-->`}`"), "f`${`--\\u003e`}`");
});

Deno.test("sesSafe() survives deep nesting", async () => {
  const error = await refusal(`x = ${"[".repeat(100_000)}"-->"${"]".repeat(100_000)}`);
  assert.equal(error.code, "agent_text_refused");
});

Deno.test("sesSafe() keeps the source map right and tells positions by it", async () => {
  const map = { version: 3, sourceRoot: "agent:///", names: [], mappings: "AAEE,kBAAiB;AACf" } as const;
  const sources = ["a%20b.ts"];
  const error = await refusal(withInlineMap("f('x');eval('1');g()\n", { ...map, sources }));
  assert.deepEqual(error.position, { file: "a b.ts", line: 3, column: 10 });
  const { body, map: moved } = splitInlineMap(
    await sesSafe(withInlineMap("f('-->','<!--'); g();\nh();\n", { ...map, sources })),
  );
  assert.equal(body, "f('--\\u003e','<!-\\u002d'); g();\nh();\n");
  assert.ok(moved);
  const g = body.indexOf(" g");
  assert.deepEqual(originalPosition(moved, { line: 0, column: g + 2 }), { source: "a%20b.ts", line: 2, column: 19 });
  assert.deepEqual(originalPosition(moved, { line: 1, column: 0 }), { source: "a%20b.ts", line: 3, column: 4 });
});

const WORD = fc.constantFrom(
  ..."<!--|-->|<!-->|--|->|<|!|>|import|import(|import (|import/*|import//|eval|eval(|eval\t(|.|...|(|x|_|$ |\\u00e9|\\n|\\t|\\\\|\\x2d"
    .split("|"),
);
const TEXT = fc.array(WORD, { maxLength: 8 }).map((words) => words.join(""));

const LITERAL = fc.oneof(
  TEXT.map((text) => `"${text}"`),
  TEXT.map((text) => `'${text}'`),
  fc.tuple(TEXT, TEXT).map(([a, b]) => `\`${a.replaceAll("$ ", "$")}\${1}${b.replaceAll("$ ", "")}\``),
  TEXT.map((text) => `{"${text}":1}`).map((text) => `Object.keys(${text})[0]`),
  TEXT.map((text) => `/*${text.replaceAll("*/", "")}*/ 1`),
  TEXT.map((text) => `// ${text}\n 2`),
);

Deno.test("sesSafe() keeps the value of every literal, and SES takes it", async () => {
  const run = fc.asyncProperty(fc.array(LITERAL, { minLength: 1, maxLength: 4 }), async (literals) => {
    const code = `[${literals.join(", ")}]`;
    const expected = evaluatePlain(code);
    const safe = await sesSafe(code);
    assert.deepEqual(evaluatePlain(safe), expected);
    assert.deepEqual(JSON.parse(JSON.stringify(evaluateText(`(${safe}\n)`))), JSON.parse(JSON.stringify(expected)));
  });
  await fc.assert(run, { numRuns: 500 });
});

const CLASS_PART = fc.constantFrom(
  "<!--",
  "-->",
  "import/*",
  "import(",
  "eval(",
  "+",
  "a-",
  "-z",
  " ",
  "^",
  "\\w",
  "x",
);
const PATTERN_PART = fc.oneof(
  fc.constantFrom(
    "<!--",
    "-->",
    "(?<!--x)",
    "(?<=-->)",
    "(?!-->)",
    "import(a)",
    "import (a)",
    "eval(a)",
    "(?:eval(b|c))",
    "-->+",
    "x",
    ".",
  ),
  fc.array(CLASS_PART, { minLength: 1, maxLength: 4 }).map((parts) => `[${parts.join("")}]`),
);
const SUBJECT = fc.array(
  fc.constantFrom(
    "<!--",
    "-->",
    "importa",
    "import a",
    "evalb",
    "-",
    ">",
    "!",
    "<",
    "x",
    "t",
    "l",
    "z",
    "2",
    "0",
    "d",
    "u",
    "\\",
    "(",
  ),
  { maxLength: 8 },
).map((parts) => parts.join(""));

Deno.test("sesSafe() keeps what every regular expression matches, and SES takes it", async () => {
  const patterns = fc.array(PATTERN_PART, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(""));
  const flags = fc.constantFrom("g", "u", "v", "i", "");
  let compared = 0;
  const run = fc.asyncProperty(
    patterns,
    flags,
    fc.array(SUBJECT, { minLength: 5, maxLength: 9 }),
    async (source, flag, subjects) => {
      const code = `(${
        JSON.stringify(subjects).replaceAll("(", "\\x28").replaceAll("--", "-\\x2d")
      }).map((s) => s.match(/${source}/${flag}))`;
      let expected: unknown;
      try {
        expected = JSON.stringify(evaluatePlain(code));
      } catch {
        return; // not a regular expression
      }
      compared++;
      const safe = await sesSafe(code);
      assert.equal(JSON.stringify(evaluatePlain(safe)), expected, safe);
      assert.equal(JSON.stringify(evaluateText(safe)), expected, safe);
    },
  );
  await fc.assert(run, { numRuns: 1_000 });
  assert.ok(compared > 300);
});

Deno.test("sesSafe() keeps operators that look like comments", async () => {
  const code =
    "(() => { let x = 3, y = 1, n = 0; while (x-->0) n++; n += x<!--y ? 10 : 20; return [x, y, n, x-->-9]; })()";
  const safe = await sesSafe(`export default ${code};`);
  const value = evaluateText(safe.replace("export default ", ""));
  assert.deepEqual(JSON.parse(JSON.stringify(value)), [-1, 0, 13, true]);
});
