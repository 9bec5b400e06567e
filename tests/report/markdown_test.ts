import assert from "node:assert/strict";
import fc from "fast-check";
import { markdownCode, markdownText } from "../../src/report/markdown.ts";

Deno.test("markdownText() leaves no punctuation that could start anything, and stays one line", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => {
    const shown = markdownText(text);
    assert.match(shown.replaceAll(/&#\d+;/g, ""), /^[^!-/:-@[-`{-~\n\r]*$/);
  }));
  assert.equal(markdownText("<b>@x"), "&#60;b&#62;&#64;x");
  assert.equal(markdownText("a\nb"), "a&#92;nb");
});

Deno.test("markdownCode() is empty for nothing, and cuts before it escapes", () => {
  assert.equal(markdownCode(""), "");
  assert.equal(markdownCode("</code>"), "<code>&#60;&#47;code&#62;</code>");
  assert.equal(markdownCode("&&&", { max: 1 }), "<code>&#38;…</code>");
});
