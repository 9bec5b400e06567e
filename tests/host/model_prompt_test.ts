import assert from "node:assert/strict";
import { ToolInputError } from "../../src/errors.ts";
import { readPrompt } from "../../src/host/model_prompt.ts";
import type { Json } from "../../src/json.ts";

const read = (input?: Json) => readPrompt("model.call", { id: "the id", ...(input === undefined ? {} : { input }) });

Deno.test("readPrompt() takes a text, the id, messages of texts, or JSON as its text", () => {
  assert.deepEqual(read(), [{ role: "user", texts: ["the id"] }]);
  assert.deepEqual(read(null), [{ role: "user", texts: ["the id"] }]);
  assert.deepEqual(read("hello"), [{ role: "user", texts: ["hello"] }]);
  assert.deepEqual(read({ a: [1, "x"] }), [{ role: "user", texts: ['{"a":[1,"x"]}'] }]);
  assert.deepEqual(read([1, 2]), [{ role: "user", texts: ["[1,2]"] }]);
  assert.deepEqual(read(false), [{ role: "user", texts: ["false"] }]);
  assert.deepEqual(
    read([
      { role: "developer", content: "be brief" },
      { type: "message", role: "user", content: ["a", { type: "input_text", text: "b" }] },
      { role: "assistant", content: [{ type: "output_text", text: "c" }] },
      { role: "user", content: "d" },
    ]),
    [
      { role: "system", texts: ["be brief"] },
      { role: "user", texts: ["a", "b"] },
      { role: "assistant", texts: ["c"] },
      { role: "user", texts: ["d"] },
    ],
  );
});

Deno.test("readPrompt() lets nothing through that a provider would fetch, run or look up", () => {
  const user = (content: Json): Json => [{ role: "user", content }];
  const hostile: Json[] = [
    user([{ type: "input_image", image_url: "https://evil.example/?q=secret" }]),
    user([{ type: "image", source: { type: "url", url: "https://evil.example/" } }]),
    user([{ type: "input_file", file_url: "https://evil.example/" }]),
    user([{ type: "input_file", file_id: "file-1" }]),
    user([{ type: "document", source: { type: "file", file_id: "f" } }]),
    user([{ type: "tool_result", tool_use_id: "t", content: "x" }]),
    user([{ type: "text", text: "x", cache_control: { type: "ephemeral" } }]),
    user([{ type: "text", text: 1 }]),
    user([]),
    user({ text: "x" }),
    user(null),
    [{ role: "user", content: "x" }, { type: "item_reference", id: "msg_1" }],
    [{ role: "user", content: "x" }, { type: "mcp_call", server_label: "s" }],
    [{ role: "user", content: "x", tools: [] }],
    [{ role: "user", content: "x", type: "function_call" }],
    [{ role: "tool", content: "x" }],
    [{ role: "constructor", content: "x" }],
    [{ role: "user", content: "x" }, { role: "system", content: "late" }],
    [{ role: "system", content: "nobody asks" }],
    [{ role: "user", content: "x" }, "text"],
    [{ role: "user" }],
  ];
  for (const input of hostile) {
    assert.throws(
      () => read(input),
      (error) => error instanceof ToolInputError && /^Cannot call "model\.call": "input/.test(error.message),
      JSON.stringify(input),
    );
  }
});
