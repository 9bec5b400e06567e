import assert from "node:assert/strict";
import { parseRunInput } from "../../src/launch/run_input.ts";

Deno.test("parseRunInput() takes a plain object and nothing else, and never shows what it refused", () => {
  assert.deepEqual(parseRunInput('{"a":[1,null,{"b":"c"}]}', "--x"), { a: [1, null, { b: "c" }] });
  const wrong = [
    "",
    "hunter2",
    "[1]",
    "null",
    '{"a":1e999}',
    '{"a":{"__proto__":1}}',
    '{"a":"\\ud800"}',
    '{"\\ud800":1}',
    `{"a":${"[".repeat(61)}${"]".repeat(61)}}`,
    `{"hunter2":"${"x".repeat(1_048_576)}"}`,
  ];
  for (const text of wrong) {
    assert.throws(() => parseRunInput(text, "--x"), (error: Error & { code?: string }) => {
      assert.equal(error.code, "usage_json");
      assert.match(error.message, /^Cannot use --x: /);
      assert.ok(!error.message.includes("hunter2"));
      return true;
    });
  }
});
