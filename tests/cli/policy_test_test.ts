import assert from "node:assert/strict";
import { type Project, withProject } from "../e2e/run_project.ts";

const FILES = {
  "docs/a.md": "a",
  "docs/b.txt": "b",
  "docs/private/p.md": "p",
  "docs/k.key.md": "k",
  "top.md": "t",
};

const POLICY = {
  tools: ["readFile", "writeArtifact"],
  fs: { read: [{ root: "docs", include: ["*.md"], exclude: ["/private/"] }], write: [{ root: "out/reports" }] },
  gate: { deny: [{ kind: "filesystem.read", match: "*.key.md" }] },
};

interface PolicyTest {
  readonly name?: string;
  readonly tool: string;
  readonly args?: unknown;
  readonly expect: string;
  readonly code?: string;
  readonly target?: string;
}

/** Together they notice every line of the policy. */
const TESTS: Readonly<Record<string, PolicyTest>> = {
  read: { name: "notes are read", tool: "readFile", args: { path: "a.md" }, expect: "allow" },
  include: { tool: "readFile", args: { path: "b.txt" }, expect: "deny", code: "include_pattern" },
  exclude: { tool: "readFile", args: { path: "private/p.md" }, expect: "deny", code: "exclude_pattern" },
  rule: { tool: "readFile", args: { path: "k.key.md" }, expect: "deny", code: "gate_deny_rule" },
  around: { tool: "readFile", args: { path: "top.md" }, expect: "deny" },
  write: {
    tool: "writeArtifact",
    args: { path: "new.md", content: "x" },
    expect: "allow",
    target: "out/reports/new.md",
  },
  list: { tool: "listFiles", expect: "deny", code: "tool_not_granted" },
};

interface Report {
  readonly passed: number;
  readonly failed: number;
  readonly tests: readonly {
    readonly passed: boolean;
    readonly at: string;
    readonly got: { readonly code: string | null };
  }[];
  readonly untested?: readonly { readonly what: string; readonly kind: string; readonly at: string }[];
}

async function test(project: Project, ...flags: string[]): Promise<{ code: number; report: Report }> {
  const { code, stdout, stderr } = await project.run({ args: ["policy", "test", "--json", ...flags] });
  assert.equal(stderr, "", stderr);
  return { code, report: JSON.parse(stdout) };
}

function withTests(tests: readonly PolicyTest[], body: (project: Project) => Promise<void>): Promise<void> {
  return withProject({ agent: "", policy: { ...POLICY, tests }, files: FILES }, body);
}

Deno.test("testPolicy() passes where every decision is as expected, and does nothing", () =>
  withTests(Object.values(TESTS), async (project) => {
    const { code, report } = await test(project);
    assert.deepEqual([code, report.passed, report.failed], [0, 7, 0]);
    const { stdout } = await project.run({ args: ["policy", "test"] });
    assert.match(stdout, /^ok {6}notes are read: allow {3}\[.*agent\.policy\.jsonc:\d+\]$/m);
    assert.match(stdout, /^7 passed, 0 failed$/m);
    await assert.rejects(Deno.stat(`${project.dir}/.twokey`), Deno.errors.NotFound);
    for await (const { name } of Deno.readDir(`${project.dir}/out/reports`)) assert.fail(name);
  }));

Deno.test("testPolicy() ends with 1 where one decision differs, in its kind or its code", () =>
  withTests([
    { name: "x\x1b[2J\nok", tool: "readFile", args: { path: "a.md" }, expect: "deny" },
    { tool: "readFile", args: { path: "b.txt" }, expect: "deny", code: "secret_name" },
    { tool: "readFile", args: { path: 1 }, expect: "invalid" },
    { tool: "readFile", args: { path: "a.md" }, expect: "allow", target: "docs/b.md" },
  ], async (project) => {
    const { code, report } = await test(project, "--mutate");
    assert.deepEqual([code, report.passed, report.failed, report.untested], [1, 1, 3, []]);
    assert.deepEqual(report.tests.map(({ passed }) => passed), [false, false, true, false]);
    const { stdout } = await project.run({ args: ["policy", "test", "--mutate"] });
    assert.match(stdout, /^FAILED {2}x\\u\{1b\}\[2J\\nok: expected deny, got allow {3}\[/m);
    assert.match(stdout, /expected deny \(secret_name\), got deny \(include_pattern\)/);
    assert.match(stdout, /expected allow of docs\/b\.md, got allow of docs\/a\.md/);
    assert.match(stdout, /mutants are not tried while a test fails/);
  }));

Deno.test("testPolicy() asks for tests where there are none", () =>
  withProject({ agent: "", policy: { tools: ["echo"] } }, async (project) => {
    const { code, stderr } = await project.run({ args: ["policy", "test"] });
    assert.equal(code, 65);
    assert.match(stderr, /it has no tests[^]*fix: Add "tests":/);
  }));

Deno.test("testPolicy() with --mutate finds nothing untested where the tests cover every line", () =>
  withTests(Object.values(TESTS), async (project) => {
    const { code, report } = await test(project, "--mutate");
    assert.deepEqual([code, report.untested], [0, []]);
    const { stdout } = await project.run({ args: ["policy", "test", "--mutate"] });
    assert.match(stdout, /every mutant is noticed by a test\n$/);
  }));

/** Without each of the tests, what it alone noticed survives. */
const SURVIVORS: Readonly<Record<string, readonly string[]>> = {
  include: ['widened: "include" of the read root "docs"'],
  exclude: ['dropped: the exclude pattern "/private/"'],
  rule: ['dropped: the deny rule for filesystem.read "*.key.md"'],
  write: ['dropped: the tool "writeArtifact"', 'widened: the write root "out/reports" to "out"'],
  list: ["widened: the list of tools, by"],
};

for (const [left, expected] of Object.entries(SURVIVORS)) {
  Deno.test(`testPolicy() with --mutate tells what no test notices without the test for: ${left}`, () => {
    const tests = Object.entries(TESTS).filter(([name]) => name !== left).map(([, test]) => test);
    return withTests(tests, async (project) => {
      const { code, report } = await test(project, "--mutate");
      assert.equal(code, 1);
      const found = (report.untested ?? []).map(({ kind, what }) => `${kind}: ${what}`);
      for (const line of expected) {
        assert.ok(found.some((one) => one.startsWith(line)), `${line} in ${found.join("\n")}`);
      }
      for (const { at } of report.untested ?? []) assert.match(at, /agent\.policy\.jsonc:\d+$/);
    });
  });
}
