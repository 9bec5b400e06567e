import assert from "node:assert/strict";
import { decideCalls } from "../../src/launch/decisions.ts";
import { compilePolicy } from "../../src/launch/compile_policy.ts";
import { loadPolicy } from "../../src/policy/load.ts";
import { withProject } from "../e2e/run_project.ts";

const POLICY = {
  tools: ["echo", "readFile", "writeArtifact"],
  fs: { read: [{ root: "docs", include: ["*.md"] }], write: [{ root: "out" }] },
  gate: { ask: [{ kind: "filesystem.read", match: "asked.md" }] },
  budgets: { toolCalls: 2 },
  expectEvents: { never: 1 },
};
const FILES = { "docs/a.md": "a", "docs/b.txt": "b", "docs/asked.md": "c" };

async function compiledIn(dir: string): ReturnType<typeof compilePolicy> {
  return await compilePolicy(await loadPolicy(`${dir}/agent.policy.jsonc`));
}

Deno.test("decideCalls() decides each call by the run's own evaluator, in order, and does none", () =>
  withProject({ policy: POLICY, agent: "", files: FILES }, async ({ dir }) => {
    const decisions = await decideCalls(await compiledIn(dir), [
      { tool: "readFile", args: { path: "a.md" } },
      { tool: "readFile", args: { path: "b.txt" } },
      { tool: "readFile", args: { path: "asked.md" } },
      { tool: "readFile", args: { path: 7 } },
      { tool: "listFiles", args: {} },
      { tool: "writeArtifact", args: { path: "new.md", content: "x" } },
      { tool: "echo", args: { quote: "'\"`\n</script>${x}\u2028" } },
    ]);
    assert.deepEqual(decisions.map(({ decision, code }) => [decision, code]), [
      ["allow", null],
      ["deny", "include_pattern"],
      ["ask", "approval_required"],
      ["invalid", "tool_invalid_args"],
      ["deny", "tool_not_granted"],
      ["allow", null],
      ["allow", null],
    ]);
    assert.deepEqual(decisions[0]?.rules, ["/tools/1", "/fs/read/0"]);
    assert.equal(decisions[0]?.target, `${dir}/docs/a.md`);
    assert.deepEqual(decisions[1]?.rules, ["/fs/read/0/include"]);
    assert.deepEqual(decisions[2]?.rules, ["/gate/ask/0"]);
    assert.match(decisions[3]?.message ?? "", /path/);
    const left = (await Array.fromAsync(Deno.readDir(`${dir}/out`)).catch(() => [])).map(({ name }) => name);
    assert.deepEqual(left, [], "nothing was written");
    await assert.rejects(Deno.stat(`${dir}/.twokey`), Deno.errors.NotFound, "and no log is kept");
  }));

Deno.test("decideCalls() needs neither an agent nor a call, and reports what a budget refuses", () =>
  withProject({ policy: { ...POLICY, budgets: { toolArgBytes: 1024 } }, agent: "", files: FILES }, async ({ dir }) => {
    const compiled = await compiledIn(dir);
    assert.deepEqual(await decideCalls(compiled, []), []);
    const [big, small] = await decideCalls(compiled, [
      { tool: "echo", args: { text: "x".repeat(2000) } },
      { tool: "echo", args: {} },
    ]);
    assert.deepEqual([big?.decision, big?.code], ["budget", "tool_arg_bytes"]);
    assert.equal(small?.decision, "allow");
  }));
