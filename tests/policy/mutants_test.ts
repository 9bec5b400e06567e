import assert from "node:assert/strict";
import { mutantsOf } from "../../src/policy/mutants.ts";
import type { MutantTools } from "../../src/policy/mutants.ts";
import type { Policy } from "../../src/policy/schema.ts";

const POLICY: Policy = {
  version: 1,
  tools: ["readFile", "writeArtifact"],
  fs: {
    read: [{ root: "docs/guide", include: ["*.md", "*.txt"], exclude: ["private/"] }, { root: "." }],
    write: [{ root: "out/reports" }],
  },
  gate: {
    deny: [{ kind: "filesystem.read", match: "*.key" }, { kind: "filesystem.write", match: "*.sh" }],
    ask: [{ kind: "filesystem.read", match: "x" }],
  },
};

const NO_OTHERS: MutantTools = {
  others: [],
  fsOf: (tool) =>
    ({ readFile: "read", listFiles: "read", writeArtifact: "write" } as Record<string, "read" | "write">)[tool],
};

Deno.test("mutantsOf() drops and widens each line once, in the order of the file", () => {
  const lines = mutantsOf(POLICY, { ...NO_OTHERS, others: ["listFiles", "echo"] }).map(({ kind, rule, what }) =>
    `${kind} ${rule} ${what}`
  );
  assert.deepEqual(lines, [
    'dropped /tools/0 the tool "readFile"',
    'dropped /tools/1 the tool "writeArtifact"',
    'widened /tools the list of tools, by "listFiles", "echo"',
    'dropped /fs/read/0 the read root "docs/guide"',
    'widened /fs/read/0/include "include" of the read root "docs/guide"',
    'dropped /fs/read/0/include/0 the include pattern "*.md"',
    'dropped /fs/read/0/include/1 the include pattern "*.txt"',
    'dropped /fs/read/0/exclude/0 the exclude pattern "private/"',
    'widened /fs/read/0/root the read root "docs/guide" to "docs"',
    'dropped /fs/read/1 the read root "."',
    'dropped /fs/write/0 the write root "out/reports"',
    'widened /fs/write/0/root the write root "out/reports" to "out"',
    'dropped /gate/deny/0 the deny rule for filesystem.read "*.key"',
    'dropped /gate/deny/1 the deny rule for filesystem.write "*.sh"',
    'dropped /gate/ask/0 the ask rule for filesystem.read "x"',
  ]);
});

Deno.test("mutantsOf() changes what it says and nothing else, and never the policy it is given", () => {
  const before = structuredClone(POLICY);
  const of = (rule: string, kind: string) => {
    const found = mutantsOf(POLICY, NO_OTHERS).find((mutant) => mutant.rule === rule && mutant.kind === kind);
    assert.ok(found !== undefined, rule);
    return found.policy;
  };
  // a tool goes with what it alone could use
  assert.deepEqual(of("/tools/0", "dropped"), {
    version: 1,
    tools: ["writeArtifact"],
    fs: { write: POLICY.fs?.write },
    gate: { deny: [POLICY.gate?.deny?.[1]], ask: [] },
  });
  const { policy: shared } = mutantsOf({ ...POLICY, tools: ["readFile", "listFiles"] }, NO_OTHERS)[0] ?? {};
  assert.deepEqual([shared?.tools, shared?.fs], [["listFiles"], POLICY.fs]);
  assert.deepEqual(of("/fs/read/0/include", "widened").fs?.read?.[0], { root: "docs/guide", exclude: ["private/"] });
  assert.deepEqual(of("/fs/read/0/exclude/0", "dropped").fs?.read?.[0], {
    root: "docs/guide",
    include: ["*.md", "*.txt"],
  });
  assert.deepEqual(of("/fs/read/0/root", "widened").fs?.read?.[0], { ...POLICY.fs?.read?.[0], root: "docs" });
  assert.deepEqual(of("/gate/ask/0", "dropped").gate, { deny: POLICY.gate?.deny });
  assert.deepEqual(of("/gate/deny/1", "dropped").gate?.deny, [POLICY.gate?.deny?.[0]]);
  assert.deepEqual(POLICY, before);
});

Deno.test("mutantsOf() widens no root beyond the project, and finds nothing to change in an empty policy", () => {
  assert.deepEqual(mutantsOf({ version: 1 }, NO_OTHERS), []);
  for (const root of [".", "../x", "/etc", "./"]) {
    const policy: Policy = { version: 1, fs: { read: [{ root }], write: [{ root }] } };
    assert.deepEqual(mutantsOf(policy, NO_OTHERS).map(({ kind }) => kind), ["dropped", "dropped"], root);
  }
  const top: Policy = { version: 1, fs: { read: [{ root: "docs" }] } };
  assert.equal(mutantsOf(top, NO_OTHERS).at(-1)?.policy.fs?.read?.[0]?.root, ".");
});
