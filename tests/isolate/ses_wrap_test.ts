import assert from "node:assert/strict";
import { sesWrap } from "../../src/isolate/ses_wrap.ts";
import { evaluateInCompartment, evaluateText } from "../launch/evaluate.ts";

Deno.test("sesWrap() gives the exports by name, and none when there are none", async () => {
  const code =
    'var main = () => [1];\nvar \\u{e9}t = 2;\nvar __proto__x = 3;\nexport {\n  __proto__x as __proto__,\n  __proto__x as "a } \\" b",\n' +
    "  main as default,\n  \\u{e9}t\n};\n";
  assert.deepEqual(await evaluateInCompartment(code), { result: [1], exports: ["__proto__", 'a } " b', "ét"] });
  assert.deepEqual(Object.keys(await evaluateText(sesWrap("var a = 1;")) as object), []);
  assert.deepEqual(Object.keys(await evaluateText(sesWrap("var a = 1;\nexport {};\n")) as object), []);
});

Deno.test("sesWrap() takes no literal for the export declaration", async () => {
  for (const tail of ["`", "`;\nvar o = { a: 1 };", "`;\n{ a; };"]) {
    const text = `var a = \`\nexport {\n  a\n};\n${tail}`;
    assert.ok(sesWrap(text).includes(text.trimEnd()), tail);
  }
  await Promise.resolve();
});

Deno.test("sesWrap() waits for the top level and passes its failure on", async () => {
  await assert.rejects(async () => await evaluateText(sesWrap("await null;\nthrow new Error('top');\n")), /top/);
  const value = await evaluateText(sesWrap("var a = await Promise.resolve(5);\nexport {\n  a\n};\n")) as { a: number };
  assert.equal(value.a, 5);
});

Deno.test("sesWrap() drops the inline source map and nothing else", () => {
  const map = "//# sourceMappingURL=data:application/json;base64,e30=";
  assert.equal(sesWrap(`var a = 1;\nexport {\n  a\n};\n${map}\n`), sesWrap("var a = 1;\nexport {\n  a\n};\n"));
  assert.ok(sesWrap(`var a = 1; ${map}`).includes(map));
  assert.ok(sesWrap(`${map}\nvar a = 1;`).includes(map));
});
