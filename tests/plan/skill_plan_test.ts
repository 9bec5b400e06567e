import assert from "node:assert/strict";
import fc from "fast-check";
import { splitSkill } from "../../src/plan/skill_plan.ts";

Deno.test("splitSkill() takes front matter and text apart, whatever the ends of lines are", () => {
  assert.deepEqual(splitSkill("---\na: b\n---\ntext\n"), { front: "a: b\n", body: "text\n" });
  assert.deepEqual(splitSkill("---\r\na: b\r\n---\r\ntext\r\n"), { front: "a: b\r\n", body: "text\r\n" });
  assert.deepEqual(splitSkill("\uFEFF--- \na: b\n---\t"), { front: "a: b\n", body: "" });
  assert.deepEqual(splitSkill("---\n---\n---\nx"), { front: "", body: "---\nx" });
  // A longer line, or one that is set in, ends nothing
  assert.deepEqual(splitSkill("---\na: |\n  ---\n----\n---\nx"), { front: "a: |\n  ---\n----\n", body: "x" });
});

Deno.test("splitSkill() says what is missing", () => {
  for (const text of ["", "a", "--\n", "---", "--- a\n---\n", " ---\n---\n", "\n---\n---\n"]) {
    assert.equal(splitSkill(text), "its first line is not ---, with which front matter begins", JSON.stringify(text));
  }
  assert.equal(splitSkill("---\na: b\n"), "no line --- ends its front matter");
  assert.equal(splitSkill(`---\n${"x".repeat(8193)}\n---\n`), "its front matter is over 8192 bytes");
});

Deno.test("splitSkill() loses nothing of any text that it takes", () => {
  const line = fc.oneof(fc.string(), fc.constantFrom("---", "--- ", "a: b", "\r", "\uFEFF"));
  fc.assert(fc.property(fc.array(line, { maxLength: 12 }), (lines) => {
    const text = lines.join("\n");
    const parts = splitSkill(text);
    if (typeof parts === "string") return;
    assert.ok(text.endsWith(parts.body) && text.includes(parts.front));
    assert.match(text.slice(0, text.length - parts.front.length - parts.body.length), /^\uFEFF?---/);
  }));
});
