import assert from "node:assert/strict";
import { escapeJson, escapeText, shellWord } from "../../src/report/escape.ts";

Deno.test("escapeText() leaves ordinary text of any script alone", () => {
  for (const text of ["", "a b-c_d/e.ts", "äöü € 中文 עברית العربية", "😀"]) assert.equal(escapeText(text), text);
});

Deno.test("escapeText() escapes what moves, colours, reorders or hides", () => {
  assert.equal(escapeText("a\x1b[31mb\x07\x9b\x7f"), "a\\u{1b}[31mb\\u{7}\\u{9b}\\u{7f}");
  assert.equal(escapeText("a\r\n\tb"), "a\\r\\n\\tb");
  assert.equal(escapeText("\u202egpj.exe\u2066\u200f\u061c"), "\\u{202e}gpj.exe\\u{2066}\\u{200f}\\u{61c}");
  assert.equal(
    escapeText("a\u200bb\ufeff\u00ad\u2028\u2029\u3164"),
    "a\\u{200b}b\\u{feff}\\u{ad}\\u{2028}\\u{2029}\\u{3164}",
  );
  assert.equal(escapeText("\u{e0041}\u{f0000}\ud800"), "\\u{e0041}\\u{f0000}\\u{d800}");
});

Deno.test("escapeText() keeps different texts different, and cuts long ones", () => {
  assert.notEqual(escapeText("a\\n"), escapeText("a\n"));
  assert.equal(escapeText("a\\n"), "a\\\\n");
  assert.equal(escapeText("abcdef", { max: 3 }), "abc…");
  assert.equal(escapeText("abc", { max: 3 }), "abc");
  assert.equal(escapeText("ab😀", { max: 3 }), "ab\\u{d83d}…");
});

Deno.test("shellWord() quotes what a shell would take apart", () => {
  assert.equal(shellWord("../twokey/src/cli/main.ts"), "../twokey/src/cli/main.ts");
  assert.equal(shellWord("it's $HOME"), "'it'\\''s $HOME'");
  assert.equal(shellWord(""), "''");
});

Deno.test("escapeJson() leaves nothing that a terminal obeys or hides, and the same value", () => {
  const value = {
    "a\u009b2J": "\u001b[2J\u007f\u0085\u202e\u2066\u200b\u2028\ufeff\u{e0041}",
    b: ["ü", "\u{1f600}", "\\u202e"],
  };
  const json = escapeJson(JSON.stringify(value));
  // deno-lint-ignore no-control-regex
  assert.doesNotMatch(json, /[\u0000-\u001f\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/u);
  assert.ok(json.includes("ü"));
  assert.deepEqual(JSON.parse(json), value);
});
