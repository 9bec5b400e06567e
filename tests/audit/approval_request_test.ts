import assert from "node:assert/strict";
import { type ApprovalBinding, approvalId, keptArgs } from "../../src/audit/approval_request.ts";
import type { JsonObject } from "../../src/json.ts";

const BOUND: ApprovalBinding = {
  tool: "writeArtifact",
  args: { path: "a", content: "x" },
  requirements: [{ kind: "filesystem.write", target: "/p/a" }],
  policy: "p".repeat(64),
  agent: "a".repeat(64),
  plan: "b".repeat(64),
};

Deno.test("approvalId() is another one for another value of anything that it binds", async () => {
  const id = await approvalId(BOUND);
  assert.match(id, /^[0-9a-f]{64}$/);
  assert.equal(await approvalId({ ...BOUND, args: { content: "x", path: "a" } }), id, "the order of keys is none");
  const others: Partial<ApprovalBinding>[] = [
    { tool: "writeArtifac" },
    { args: { path: "a", content: "x", more: null } },
    { args: { path: "a" } },
    { requirements: [] },
    { requirements: [{ kind: "filesystem.read", target: "/p/a" }] },
    { requirements: [{ kind: "filesystem.write", target: "/p/a", folder: "/p" }] },
    { requirements: [{ kind: "filesystem.write", target: "/p/a", program: { path: "/b", sha256: "1" } }] },
    { requirements: [{ kind: "filesystem.write", target: "/p/a", program: { path: "/b", sha256: "2" } }] },
    { policy: "q".repeat(64) },
    { agent: "q".repeat(64) },
    { plan: "q".repeat(64) },
  ];
  for (const other of others) assert.notEqual(await approvalId({ ...BOUND, ...other }), id, JSON.stringify(other));
});

Deno.test("approvalId() tells texts apart that share the low bytes of their units, that look alike, or that normalize alike", async () => {
  const pairs = [["A", "\u0141"], ["a", "\u0430"], ["\u00e9", "e\u0301"], ["\ud83d\ude00", "\u003d\u0000"], [
    "",
    "\u200b",
  ]];
  for (const [left = "", right = ""] of pairs) {
    const ids = await Promise.all([left, right].map((content) => approvalId({ ...BOUND, args: { content } })));
    assert.notEqual(ids[0], ids[1], JSON.stringify([left, right]));
  }
});

Deno.test("keptArgs() keeps what fits, cuts long texts, and keeps the shape of what is still too large", async () => {
  const small: JsonObject = { a: "x".repeat(4_000) };
  assert.equal(await keptArgs(small), small);
  const long = await keptArgs({ path: "a", list: ["y".repeat(100_000)] });
  assert.equal(long.path, "a");
  assert.deepEqual(long.list, [`${"y".repeat(1000)}… [99000 more characters]`]);
  const many = await keptArgs({ list: Array.from({ length: 100_000 }, (_, i) => i) });
  assert.deepEqual([many.cut, many.shape], [true, { list: "array(100000)" }]);
  assert.match(String(many.sha256), /^[0-9a-f]{64}$/);
});
