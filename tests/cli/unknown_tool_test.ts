import assert from "node:assert/strict";
import { unknownTool } from "../../src/cli/unknown_tool.ts";

Deno.test("unknownTool() names the tool that may be meant, and says nothing of one that exists", () => {
  assert.equal(unknownTool("readFile"), undefined);
  assert.equal(unknownTool("raedFile"), 'there is no tool "raedFile"; did you mean readFile?');
  assert.equal(unknownTool("constructor"), 'there is no tool "constructor"; `twokey tool list` names them all');
  assert.ok(!unknownTool("\u001b[2J")?.includes("\u001b"));
});
