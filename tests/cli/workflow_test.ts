import assert from "node:assert/strict";
import { workflowFor } from "../../src/cli/workflow.ts";
import { runBlocks } from "../ci/actions_world.ts";

Deno.test("workflowFor() runs the action of twokey, on the head, with the base as ceiling and the right to read", () => {
  for (
    const [twokey, action] of [["tools/twokey", "./tools/twokey/.github/actions/agent"], [
      "",
      "./.github/actions/agent",
    ]]
  ) {
    const { text, todo } = workflowFor({ policy: "agent.policy.jsonc", twokey: twokey ?? "" });
    assert.ok(text.includes(`      - uses: ${action}\n`), text);
    assert.deepEqual(todo, []);
    assert.equal(text.includes("submodules: true"), twokey !== "");
    assert.match(text, /^permissions:\n {2}contents: read\n\njobs:/m);
    assert.match(text, /fetch-depth: 0 /);
    assert.match(text, /base: \$\{\{ github\.event\.pull_request\.base\.sha \}\}/);
    assert.doesNotMatch(text, /pull_request_target|secrets\.|persist-credentials: true/);
    assert.deepEqual(runBlocks(text), []);
  }
});

Deno.test("workflowFor() checks twokey out where it is no part of the repository, and says what to fill in", () => {
  const { text, todo } = workflowFor({ policy: "agent.policy.jsonc", twokey: null });
  assert.match(
    text,
    /repository: OWNER\/twokey .*\n {10}ref: COMMIT .*\n {10}path: \.twokey\/runner\n {10}persist-credentials: false/,
  );
  assert.match(text, /uses: \.\/\.twokey\/runner\/\.github\/actions\/agent/);
  assert.equal(text.match(/persist-credentials: false/g)?.length, 2);
  assert.equal(todo.length, 1);
});

Deno.test("workflowFor() quotes what YAML would not read as text", () => {
  const { text } = workflowFor({ policy: "a: b #.policy.jsonc", twokey: "my tools/two#key" });
  assert.match(text, /policy: "a: b #\.policy\.jsonc"/);
  assert.match(text, /uses: "\.\/my tools\/two#key\/\.github\/actions\/agent"/);
});
