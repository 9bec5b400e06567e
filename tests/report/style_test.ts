import assert from "node:assert/strict";
import { PLAIN } from "../../src/report/style.ts";

Deno.test("PLAIN marks nothing", () => {
  for (const mark of Object.values(PLAIN)) assert.equal(mark("text"), "text");
  assert.ok(Object.isFrozen(PLAIN));
});
