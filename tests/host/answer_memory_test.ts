import assert from "node:assert/strict";
import { AnswerMemory, type KeptAnswer } from "../../src/host/answer_memory.ts";

function answer(bytes: number): KeptAnswer {
  return { raw: { status: 200, headers: {}, text: "", bytes }, origin: "pinned_https", storedMs: 0 };
}

Deno.test("AnswerMemory drops what was used longest ago when its bytes run out", () => {
  const memory = new AnswerMemory(100);
  memory.set("a", answer(40));
  memory.set("b", answer(40));
  memory.get("a");
  memory.set("c", answer(40));
  assert.equal(memory.get("b"), undefined);
  assert.ok(memory.get("a") !== undefined && memory.get("c") !== undefined);
});

Deno.test("AnswerMemory counts a replaced answer once and keeps none that is larger than itself", () => {
  const memory = new AnswerMemory(100);
  for (let i = 0; i < 10; i++) memory.set("a", answer(60));
  memory.set("b", answer(40));
  memory.set("c", answer(101));
  assert.ok(memory.get("a") !== undefined && memory.get("b") !== undefined);
  assert.equal(memory.get("c"), undefined);
});
