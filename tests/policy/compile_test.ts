import assert from "node:assert/strict";
import { digest } from "../../src/json.ts";
import { compileIn, refusalsIn, withProject } from "./project.ts";

const READS = { version: 1, tools: ["readFile"] };
const WRITES = { version: 1, tools: ["writeArtifact"] };
const NETWORK = { version: 1, tools: ["osv.query"] };

/** Each refusal of the compiler: a policy, the code it must give, a word of the message and of the fix. */
const REFUSALS: readonly {
  readonly name: string;
  readonly policy: Record<string, unknown>;
  readonly code: string;
  readonly says: RegExp;
  readonly fix: RegExp;
  readonly files?: Record<string, string>;
  readonly links?: Record<string, string>;
}[] = [
  {
    name: "a comma in a path",
    policy: { ...READS, fs: { read: [{ root: "a,b" }] } },
    code: "policy_bad_path",
    says: /comma/,
    fix: /Rename/,
  },
  {
    name: "a control character in a path",
    policy: { ...READS, fs: { read: [{ root: "a\u0007b" }] } },
    code: "policy_bad_path",
    says: /control/,
    fix: /Rename/,
  },
  {
    name: "a NUL in a path",
    policy: { ...READS, fs: { read: [{ root: "a\0b" }] } },
    code: "policy_bad_path",
    says: /NUL/,
    fix: /Remove/,
  },
  {
    name: "a place mark in a path",
    policy: { ...READS, fs: { read: [{ root: "${state}" }] } },
    code: "policy_bad_path",
    says: /\$\{/,
    fix: /path itself/,
  },
  {
    name: "a pattern as a root",
    policy: { ...READS, fs: { read: [{ root: "docs/*" }] } },
    code: "policy_bad_path",
    says: /not a pattern/,
    fix: /include/,
  },
  {
    name: "a link as a read root",
    policy: { ...READS, fs: { read: [{ root: "link" }] } },
    links: { link: "/etc" },
    code: "policy_link",
    says: /link/,
    fix: /\/etc/,
  },
  {
    name: "a read root through a link",
    policy: { ...READS, fs: { read: [{ root: "link/inner" }] } },
    files: { "real/inner/a": "" },
    links: { link: "real" },
    code: "policy_link",
    says: /link/,
    fix: /real\/inner/,
  },
  {
    name: "a dangling link as a write root",
    policy: { ...WRITES, fs: { write: [{ root: "out" }] } },
    links: { out: "/nowhere/at/all" },
    code: "policy_link",
    says: /link/,
    fix: /exists/,
  },
  {
    name: "a missing write root behind a link",
    policy: { ...WRITES, fs: { write: [{ root: "link/new" }] } },
    links: { link: "/tmp" },
    code: "policy_link",
    says: /link/,
    fix: /Name what/,
  },
  {
    name: "a missing read root",
    policy: { ...READS, fs: { read: [{ root: "nothing" }] } },
    code: "policy_root_missing",
    says: /does not exist/,
    fix: /Create it/,
  },
  {
    name: "a device as a read root",
    policy: {
      ...READS,
      fs: { read: [{ root: "/dev/null" }] },
      unsafe: { outside: [{ root: "/dev/null", reason: "a test of devices", expires: "2030-12-31" }] },
    },
    code: "policy_root_kind",
    says: /neither/,
    fix: /regular file/,
  },
  {
    name: "a file as a write root",
    policy: { ...WRITES, fs: { write: [{ root: "agent.ts" }] } },
    code: "policy_root_kind",
    says: /not a folder/,
    fix: /folder/,
  },
  {
    name: "an allow nested in a deny",
    policy: { ...READS, fs: { read: [{ root: ".", exclude: ["secret/"] }, { root: "secret/open" }] } },
    files: { "secret/open/a": "" },
    code: "policy_allow_in_deny",
    says: /exclude pattern/,
    fix: /Remove/,
  },
  {
    name: "two equal roots",
    policy: { ...READS, fs: { read: [{ root: "." }, { root: "./" }] } },
    code: "policy_duplicate_root",
    says: /same place/,
    fix: /one entry/,
  },
  {
    name: "a read root outside the project",
    policy: { ...READS, fs: { read: [{ root: "/usr" }] } },
    code: "policy_outside_project",
    says: /outside the project/,
    fix: /"reason"/,
  },
  {
    name: "a read root above the project",
    policy: { ...READS, fs: { read: [{ root: ".." }] } },
    code: "policy_outside_project",
    says: /outside the project/,
    fix: /"expires"/,
  },
  {
    name: "a write root outside the project",
    policy: { ...WRITES, fs: { write: [{ root: "/var/tmp/out" }] } },
    code: "policy_outside_project",
    says: /outside the project/,
    fix: /unsafe/,
  },
  {
    name: "an unsafe entry that expired",
    policy: {
      ...READS,
      fs: { read: [{ root: "/usr" }] },
      unsafe: { outside: [{ root: "/usr", reason: "headers for a test", expires: "2030-06-14" }] },
    },
    code: "policy_unsafe_expired",
    says: /expired/,
    fix: /date/,
  },
  {
    name: "an unsafe entry with a day that does not exist",
    policy: {
      ...READS,
      fs: { read: [{ root: "/usr" }] },
      unsafe: { outside: [{ root: "/usr", reason: "headers for a test", expires: "2030-02-30" }] },
    },
    code: "policy_bad_date",
    says: /calendar/,
    fix: /YYYY/,
  },
  {
    name: "an unsafe entry that nothing uses",
    policy: {
      ...READS,
      fs: { read: [{ root: "." }] },
      unsafe: { outside: [{ root: "/usr", reason: "headers for a test", expires: "2030-12-31" }] },
    },
    code: "policy_unsafe_unused",
    says: /no root/,
    fix: /Remove/,
  },
  {
    name: "a write root that is .git",
    policy: { ...WRITES, fs: { write: [{ root: ".git" }] } },
    code: "policy_protected",
    says: /protected/,
    fix: /out/,
  },
  {
    name: "a write root in .git",
    policy: { ...WRITES, fs: { write: [{ root: ".git/hooks" }] } },
    code: "policy_protected",
    says: /protected/,
    fix: /out/,
  },
  {
    name: "a write root in the CI workflows",
    policy: { ...WRITES, fs: { write: [{ root: ".github/workflows/gen" }] } },
    code: "policy_protected",
    says: /protected/,
    fix: /out/,
  },
  {
    name: "a write root in a nested .git of other letter case",
    policy: { ...WRITES, fs: { write: [{ root: "vendor/.GIT/x" }] } },
    code: "policy_protected",
    says: /protected/,
    fix: /out/,
  },
  {
    name: "a write root in the runner's state",
    policy: { ...WRITES, fs: { write: [{ root: ".twokey/out" }] } },
    code: "policy_protected",
    says: /protected/,
    fix: /out/,
  },
  {
    name: "a read root in the runner's state",
    policy: { ...READS, fs: { read: [{ root: ".twokey" }] } },
    files: { ".twokey/runs/": "" },
    code: "policy_protected",
    says: /state/,
    fix: /Remove/,
  },
  {
    name: "a read grant that no tool can use",
    policy: { version: 1, tools: ["echo"], fs: { read: [{ root: "." }] } },
    code: "policy_unused_authority",
    says: /no granted tool reads/,
    fix: /readFile/,
  },
  {
    name: "a write grant that no tool can use",
    policy: { version: 1, tools: ["echo"], fs: { write: [{ root: "out" }] } },
    code: "policy_unused_authority",
    says: /no granted tool writes/,
    fix: /writeArtifact/,
  },
  {
    name: "a second write root that no tool can use",
    policy: { ...WRITES, fs: { write: [{ root: "out" }, { root: "more" }] } },
    code: "policy_unused_authority",
    says: /second root/,
    fix: /Remove/,
  },
  {
    name: "a network block that no tool can use",
    policy: { version: 1, tools: ["echo"], network: { retry: { attempts: 1 } } },
    code: "policy_unused_authority",
    says: /network/,
    fix: /osv.query/,
  },
  {
    name: "a reading tool without a root",
    policy: { version: 1, tools: ["readFile"] },
    code: "policy_tool_without_authority",
    says: /fs.read/,
    fix: /"root"/,
  },
  {
    name: "a reading tool with an empty list of roots",
    policy: { version: 1, tools: ["readFile"], fs: { read: [] } },
    code: "policy_tool_without_authority",
    says: /fs.read/,
    fix: /"root"/,
  },
  {
    name: "a writing tool without a root",
    policy: { version: 1, tools: ["writeArtifact"] },
    code: "policy_tool_without_authority",
    says: /fs.write/,
    fix: /"root"/,
  },
  {
    name: "an unknown tool",
    policy: { version: 1, tools: ["read_file"], fs: {} },
    code: "policy_unknown_tool",
    says: /no such tool/,
    fix: /"readFile"/,
  },
  {
    name: "a tool with a name of Object.prototype",
    policy: { version: 1, tools: ["toString"] },
    code: "policy_unknown_tool",
    says: /no such tool/,
    fix: /tool list/,
  },
  {
    name: "a tool that is deliberately absent",
    policy: { version: 1, tools: ["shell"] },
    code: "policy_absent_tool",
    says: /deliberately absent/,
    fix: /tool list/,
  },
  {
    name: "a tool listed twice",
    policy: { version: 1, tools: ["echo", "echo"] },
    code: "policy_duplicate_tool",
    says: /twice/,
    fix: /Keep one/,
  },
  {
    name: "an include pattern that looks absolute",
    policy: { ...READS, fs: { read: [{ root: ".", include: ["/etc/**"] }] } },
    code: "policy_bad_pattern",
    says: /absolute path/,
    fix: /relative/,
  },
  {
    name: "a pattern with braces",
    policy: { ...READS, fs: { read: [{ root: ".", include: ["*.{ts,js}"] }] } },
    code: "policy_bad_pattern",
    says: /braces/,
    fix: /one pattern/,
  },
  {
    name: "a pattern that climbs",
    policy: { ...READS, fs: { read: [{ root: ".", exclude: ["../x"] }] } },
    code: "policy_bad_pattern",
    says: /\.\./,
    fix: /relative/,
  },
  {
    name: "patterns on a file root",
    policy: { ...READS, fs: { read: [{ root: "agent.ts", include: ["*"] }] } },
    code: "policy_dead_rule",
    says: /it is a file/,
    fix: /Remove/,
  },
  {
    name: "a gate rule of a kind that no tool needs",
    policy: {
      ...READS,
      fs: { read: [{ root: "." }] },
      gate: { deny: [{ kind: "command.execute", match: "rm" }] },
    },
    code: "policy_dead_rule",
    says: /ever needs/,
    fix: /kind/,
  },
  {
    name: "a gate rule for a tool that is not granted",
    policy: {
      ...READS,
      fs: { read: [{ root: "." }] },
      gate: { ask: [{ kind: "filesystem.read", tools: ["writeArtifact"], match: "x" }] },
    },
    code: "policy_dead_rule",
    says: /not granted/,
    fix: /Remove/,
  },
  {
    name: "a gate rule with an absolute pattern",
    policy: {
      ...READS,
      fs: { read: [{ root: "." }] },
      gate: { deny: [{ kind: "filesystem.read", match: "/home/me/**" }] },
    },
    code: "policy_bad_pattern",
    says: /absolute path/,
    fix: /relative/,
  },
  {
    name: "a gate rule for a host that no tool talks to",
    policy: { ...NETWORK, gate: { deny: [{ kind: "network", match: "https://example.com/x" }] } },
    code: "policy_dead_rule",
    says: /no granted tool talks/,
    fix: /api\.osv\.dev/,
  },
  {
    name: "a deny rule that kills a grant",
    policy: { ...NETWORK, gate: { deny: [{ kind: "network", match: "**" }] } },
    code: "policy_dead_grant",
    says: /denies everything/,
    fix: /grant/,
  },
  {
    name: "an expected denial of an unknown tool",
    policy: { version: 1, expectDenials: [{ tool: "slwo" }] },
    code: "policy_unknown_tool",
    says: /no such tool/,
    fix: /"slow"/,
  },
  {
    name: "an expected denial with an unknown code",
    policy: { version: 1, expectDenials: [{ tool: "slow", code: "tool_not_grantd" }] },
    code: "policy_unknown_code",
    says: /no such code/,
    fix: /tool_not_granted/,
  },
  {
    name: "an expected denial that cannot come",
    policy: { version: 1, tools: ["echo"], expectDenials: [{ tool: "echo", code: "tool_not_granted" }] },
    code: "policy_dead_rule",
    says: /is granted/,
    fix: /Correct/,
  },
  {
    name: "a missing agent",
    policy: { version: 1, agent: "nobody.ts" },
    code: "policy_agent_missing",
    says: /does not exist/,
    fix: /entry module/,
  },
  {
    name: "an agent that is no module",
    policy: { version: 1, agent: "deno.json" },
    code: "policy_agent_kind",
    says: /no TypeScript/,
    fix: /\.ts/,
  },
  {
    name: "an agent outside the project",
    policy: { version: 1, agent: "/etc/agent.ts" },
    code: "policy_outside_project",
    says: /outside/,
    fix: /Move/,
  },
  {
    name: "a missing fixture",
    policy: { ...NETWORK, network: { fixtures: ["no.json"] } },
    code: "policy_fixture_missing",
    says: /does not exist/,
    fix: /JSON file/,
  },
  {
    name: "a missing certificate file",
    policy: { ...NETWORK, network: { ca: { file: "no.pem" } } },
    code: "policy_ca_missing",
    says: /does not exist/,
    fix: /PEM/,
  },
  {
    name: "a cache folder that agents write to",
    policy: {
      version: 1,
      tools: ["osv.query", "writeArtifact"],
      fs: { write: [{ root: "out" }] },
      network: { cache: { dir: "out/cache" } },
    },
    code: "policy_protected",
    says: /shares the folder/,
    fix: /outside of every write root/,
  },
  {
    name: "a cache folder that holds the project",
    policy: { ...NETWORK, network: { cache: { dir: "." } } },
    code: "policy_protected",
    says: /holds the project/,
    fix: /folder of its own/,
  },
  {
    name: "a tool deadline longer than the run",
    policy: { version: 1, budgets: { wallMs: 1000, toolTimeoutMs: 2000 } },
    code: "policy_budget_order",
    says: /toolTimeoutMs/,
    fix: /2000 or more/,
  },
];

for (const { name, policy, code, says, fix, files, links } of REFUSALS) {
  Deno.test(`compile() refuses ${name}`, async () => {
    await withProject({ files: files ?? {}, links: links ?? {} }, async (dir) => {
      const issues = await refusalsIn(dir, policy);
      const issue = issues.find((entry) => entry.code === code);
      assert.ok(issue, `no ${code} among ${JSON.stringify(issues)}`);
      assert.match(issue.message, says);
      assert.match(issue.fix, fix);
      assert.ok(issue.position.file.endsWith("agent.policy.jsonc"));
      assert.equal(issue.position.line, 1);
      assert.ok(issue.position.column > 1, "the position is that of the value, not of the file");
    });
  });
}

Deno.test("compile() reports every refusal at once, in the order of the file", async () => {
  await withProject({}, async (dir) => {
    const policy = '{ "version": 1,\n  "tools": ["shell", "readFile"],\n  "agent": "no.ts"\n}';
    const issues = await refusalsIn(dir, policy);
    assert.deepEqual(issues.map(({ code, position }) => [code, position.line]), [
      ["policy_absent_tool", 2],
      ["policy_tool_without_authority", 2],
      ["policy_agent_missing", 3],
    ]);
  });
});

Deno.test("compile() refuses an endpoint with a wildcard host", async () => {
  const { compile } = await import("../../src/policy/compile.ts");
  const { manifest } = await import("./project.ts");
  await withProject({}, async (dir) => {
    const { loaded, facts } = await compileIn(dir, { version: 1 });
    const wild = manifest("wild", "x", { endpoints: { a: { method: "GET", url: "https://*.example.com/" } } });
    const policy = { version: 1 as const, tools: ["wild"] };
    assert.throws(
      () => compile({ loaded: { ...loaded, policy }, manifests: { wild }, facts, modules: null }),
      { code: "policy_bad_host" },
    );
  });
});

Deno.test("compile() accepts a root outside the project with a reason and a date, and says so in the plan", async () => {
  await withProject({}, async (dir) => {
    const { plan } = await compileIn(dir, {
      ...READS,
      fs: { read: [{ root: "/usr" }] },
      unsafe: { outside: [{ root: "/usr", reason: "headers for a test", expires: "2030-06-15" }] },
    });
    assert.deepEqual(plan.unsafe, [
      { key: "outside", path: "/usr", reason: "headers for a test", expires: "2030-06-15" },
    ]);
    assert.equal(plan.fs.read[0]?.root, "/usr");
    assert.equal(plan.fs.read[0]?.label, "usr");
  });
});

Deno.test("compile() lists what is protected in a write root that contains it, whether it exists or not", async () => {
  await withProject({ files: { "fx.json": "{}" } }, async (dir) => {
    const { plan } = await compileIn(dir, {
      version: 1,
      agent: "agent.ts",
      tools: ["writeArtifact", "osv.query"],
      fs: { write: [{ root: "." }] },
      network: { fixtures: ["fx.json"] },
    });
    const places = [".git", ".github/workflows", ".gitlab-ci.yml", ".twokey", "agent.lock.json", "agent.policy.jsonc"]
      .concat("agent.ts", "deno.json", "deno.lock", "fx.json").map((path) => "${project}/" + path);
    for (const place of places) assert.ok(plan.fs.protected.includes(place), place);
    for (const name of [".git", "*.policy.jsonc", "deno.json"]) assert.ok(plan.fs.protected.includes(name), name);
  });
});

Deno.test("compile() denies likely secrets below a read root, a dozen places at most, unless the policy names them", async () => {
  await withProject({ files: { "a/x": "", "b/x": "", "c/x": "", "d/x": "", "e/x": "" } }, async (dir) => {
    const many = await compileIn(dir, {
      ...READS,
      fs: { read: [".", "a", "b", "c", "d", "e"].map((root) => ({ root })) },
    });
    const places = many.plan.fs.secret.filter((entry) => entry.startsWith("$"));
    assert.equal(places.length, 12);
    assert.equal(places[0], "${project}/.twokey");
    assert.ok(places.includes("${project}/.git/config"));
    const named = await compileIn(dir, { ...READS, fs: { read: [{ root: ".", include: ["*.ts", ".env"] }] } });
    assert.ok(!named.plan.fs.secret.includes("${project}/.env"));
    assert.ok(named.plan.fs.secret.includes("${project}/.env.local"));
  });
});

Deno.test("compile() gives the same bytes for the same project at another path", async () => {
  const policy = {
    version: 1,
    agent: "agent.ts",
    tools: ["readFile", "writeArtifact", "osv.query"],
    fs: { read: [{ root: "." }], write: [{ root: "out" }] },
    network: { cache: {} },
  };
  const digests: string[] = [];
  for (let i = 0; i < 2; i++) {
    await withProject({}, async (dir) => {
      const { plan } = await compileIn(dir, policy);
      assert.ok(!JSON.stringify(plan).includes(dir));
      digests.push(await digest(plan));
    });
  }
  assert.equal(digests[0], digests[1]);
});

Deno.test("compile() grants nothing where the policy says nothing", async () => {
  await withProject({}, async (dir) => {
    const { plan } = await compileIn(dir, { version: 1 });
    assert.deepEqual(plan.tools, {});
    assert.deepEqual(plan.fs, { read: [], write: [], protected: [], secret: [] });
    assert.deepEqual(plan.env, []);
    assert.equal(plan.agent, null);
    assert.ok(Object.isFrozen(plan.fs.read));
  });
});

Deno.test("compile() names the plan after the folder of a policy below the project", async () => {
  await withProject({ files: { "policies/demo/": "" } }, async (dir) => {
    const { plan } = await compileIn(dir, { version: 1 }, "policies/demo/agent.policy.jsonc");
    assert.equal(plan.name, "demo");
    assert.equal(plan.policy.path, "${project}/policies/demo/agent.policy.jsonc");
  });
});

Deno.test("compile() lets a default budget yield to the budget it is a part of", async () => {
  await withProject({}, async (dir) => {
    const { plan } = await compileIn(dir, { version: 1, tools: ["echo"], budgets: { wallMs: 1000 } });
    assert.equal(plan.budgets.toolTimeoutMs, 1000);
    assert.equal(plan.tools["echo"]?.timeoutMs, 1000);
  });
});
