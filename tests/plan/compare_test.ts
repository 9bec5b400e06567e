import assert from "node:assert/strict";
import { comparePlans, covers } from "../../src/plan/compare.ts";
import type { Plan, UnsafeGrant } from "../../src/plan/plan.ts";
import { MANIFESTS } from "../policy/project.ts";
import { linesOf, type Text, withComparer } from "./comparison.ts";

const READER: Text = { tools: ["readFile"], fs: { read: [{ root: "src" }] } };
const OSV: Text = { tools: ["osv.query"] };
const HARNESS: Text = { tools: ["echo"] };

function reading(...read: readonly Text[]): Text {
  return { tools: ["readFile"], fs: { read } };
}

function writing(...roots: readonly string[]): Text {
  return { tools: ["writeArtifact"], fs: { write: roots.map((root) => ({ root })) } };
}

function ruled(...deny: readonly Text[]): Text {
  return { ...READER, gate: { deny } };
}

/** Base, head, and every change in words. */
const CASES: Readonly<Record<string, readonly [base: Text, head: Text, expected: readonly string[]]>> = {
  "the same policy": [READER, READER, []],
  "a name and a schema": [{ ...READER, name: "one" }, { ...READER, name: "two", $schema: "x" }, []],
  "a tool": [HARNESS, { tools: ["echo", "slow"] }, ["gained tool: the tool slow"]],
  "a tool less": [{ tools: ["echo", "slow"] }, HARNESS, ["lost tool: the tool slow"]],
  "a folder inside": [
    reading({ root: "src" }),
    reading({ root: "src/lib" }),
    ["narrowed read: may read src/lib/** instead of src/** | src/example"],
  ],
  "a folder around": [
    reading({ root: "src/lib" }),
    reading({ root: "src" }),
    ["gained read: may now read src/** instead of src/lib/** | src/example"],
  ],
  "a pattern inside": [
    reading({ root: ".", include: ["src/**"] }),
    reading({ root: ".", include: ["src/lib/**"] }),
    ["narrowed read: may read src/lib/** instead of src/** | src/example"],
  ],
  "the same files in other words": [
    reading({ root: ".", include: ["src/**", "docs/**"] }),
    reading({ root: "docs" }, { root: "src" }),
    [],
  ],
  "a folder as a root in place of its pattern": [
    reading({ root: ".", include: ["docs/**"] }),
    reading({ root: "docs" }),
    [],
  ],
  "patterns in another order": [
    reading({ root: ".", include: ["*.md", "*.txt"], exclude: ["a/", "b/"] }),
    reading({ root: ".", include: ["*.txt", "*.md"], exclude: ["b/", "a/"] }),
    [],
  ],
  "another folder": [
    reading({ root: "src" }),
    reading({ root: "docs" }),
    ["gained read: may now read docs/** | docs/example", "narrowed read: may no longer read src/** | src/example"],
  ],
  "a file beside": [
    reading({ root: "src" }),
    reading({ root: "src" }, { root: "notes.md" }),
    ["gained read: may now read notes.md | notes.md"],
  ],
  "an include pattern more": [
    reading({ root: "src", include: ["*.ts"] }),
    reading({ root: "src", include: ["*.ts", "*.json"] }),
    ["gained read: may now read src/**/*.json | src/example.json"],
  ],
  "an exclude pattern less": [
    reading({ root: "src", exclude: ["*.priv", "/gen/"] }),
    reading({ root: "src", exclude: ["/gen/"] }),
    ['gained read: may now read what "src/**/*.priv" excluded | src/example.priv'],
  ],
  "an exclude pattern more": [
    reading({ root: "src" }),
    reading({ root: "src", exclude: ["gen/"] }),
    ['narrowed read: may no longer read what "src/**/gen/" excludes | src/gen/example'],
  ],
  "reading altogether": [
    { tools: ["echo", "readFile"], fs: { read: [{ root: "src" }] } },
    HARNESS,
    ["lost tool: the tool readFile", "lost read: may no longer read src/** | src/example"],
  ],
  "a pattern of the top that loses its slash": [
    reading({ root: ".", include: ["/*.md"] }),
    reading({ root: ".", include: ["*.md"] }),
    ["gained read: may now read *.md instead of /*.md | x/example.md"],
  ],
  "a secret name spelled out": [
    reading({ root: ".", include: ["*.md"] }),
    reading({ root: ".", include: ["*.md", "/.env"] }),
    ["gained read: may now read .env | .env"],
  ],
  "a secret name in capitals": [
    reading({ root: "src" }),
    reading({ root: "src", include: ["**", "/.ENV.prod"] }),
    ["gained read: may now read src/.ENV.prod | src/.ENV.prod"],
  ],
  "a secret file as a root": [
    reading({ root: "src" }),
    reading({ root: "src" }, { root: ".env" }),
    ["gained read: may now read .env | .env"],
  ],
  "another folder to write": [
    writing("out"),
    writing("gen"),
    [
      "gained write: may now create gen/** | gen/example",
      "narrowed write: may no longer create out/** | out/example",
    ],
  ],
  "a smaller folder to write": [
    writing("out"),
    writing("out/reports"),
    ["narrowed write: may create out/reports/** instead of out/** | out/example"],
  ],
  "a rule dropped": [
    ruled({ kind: "filesystem.read", match: "/src/private/" }),
    READER,
    ['gained read: may now read what the rule "deny /src/private/" took away | src/private/example'],
  ],
  "a rule added": [
    READER,
    ruled({ kind: "filesystem.read", match: "*.priv" }),
    ['narrowed read: may no longer read what the rule "deny *.priv" takes away | src/example.priv'],
  ],
  "a rule that does the same as an exclude": [
    reading({ root: "src", exclude: ["/gen/"] }),
    ruled({ kind: "filesystem.read", match: "/src/gen/" }),
    [],
  ],
  "a question dropped": [
    { ...READER, gate: { ask: [{ kind: "filesystem.read", match: "*.priv" }] } },
    READER,
    ['gained read: may now read what the rule "ask *.priv" took away | src/example.priv'],
  ],
  "a question added": [
    READER,
    { ...READER, gate: { ask: [{ kind: "filesystem.read", match: "*.priv" }] } },
    ['narrowed read: may read what the rule "ask *.priv" names only once approved | src/example.priv'],
  ],
  "a denial that becomes a question": [
    ruled({ kind: "filesystem.read", match: "*.priv" }),
    { ...READER, gate: { ask: [{ kind: "filesystem.read", match: "*.priv" }] } },
    ['gained read: may now once approved, read what the rule "deny *.priv" took away | src/example.priv'],
  ],
  "a root more behind a question for everything": [
    reading({ root: "src" }),
    {
      ...reading({ root: "src" }, { root: "docs" }),
      gate: { ask: [{ kind: "filesystem.read", match: "src/" }, { kind: "filesystem.read", match: "docs/" }] },
    },
    [
      "gained read: may now once approved, read docs/** | docs/example",
      'narrowed read: may read what the rule "ask src/" names only once approved | src/example',
    ],
  ],
  "a rule for one tool dropped": [
    ruled({ kind: "filesystem.read", tools: ["readFile"], match: "*.priv" }),
    READER,
    ['gained gate: what the rule "deny filesystem.read *.priv by readFile" took away'],
  ],
  "a rule for one tool that becomes one for all": [
    ruled({ kind: "filesystem.read", tools: ["readFile"], match: "*.priv" }),
    ruled({ kind: "filesystem.read", match: "*.priv" }),
    ['narrowed read: may no longer read what the rule "deny *.priv" takes away | src/example.priv'],
  ],
  "a rule on the network dropped": [
    { ...OSV, gate: { deny: [{ kind: "network", match: "api.osv.dev/v1/query" }] } },
    OSV,
    ['gained gate: what the rule "deny network api.osv.dev/v1/query" took away'],
  ],
  "an endpoint": [
    HARNESS,
    { tools: ["echo", "osv.query"] },
    [
      "gained tool: the tool osv.query",
      "gained reach: the network: POST https://api.osv.dev/v1/query by osv.query",
    ],
  ],
  "recorded answers that go": [
    { ...OSV, network: { fixtures: ["one.json"] } },
    OSV,
    [
      "gained reach: the network: POST https://api.osv.dev/v1/query by osv.query",
      "lost fixture: the recorded answers ${project}/one.json (sha256 44136fa355b3)",
    ],
  ],
  "other recorded answers": [
    { ...OSV, network: { fixtures: ["one.json"] } },
    { ...OSV, network: { fixtures: ["two.json"] } },
    [
      "gained fixture: the recorded answers ${project}/two.json (sha256 257c1be96ae6)",
      "lost fixture: the recorded answers ${project}/one.json (sha256 44136fa355b3)",
    ],
  ],
  "an offline cache that goes online": [
    { ...OSV, network: { cache: { mode: "offline" } } },
    { ...OSV, network: { cache: {} } },
    [
      "gained reach: the network: POST https://api.osv.dev/v1/query by osv.query",
      "gained cache: the cache ${state}/cache, read-through",
      "lost cache: the cache ${state}/cache, offline",
    ],
  ],
  "older answers": [
    { ...OSV, network: { cache: { maxAgeMs: 10 } } },
    { ...OSV, network: { cache: { maxEntries: 5 } } },
    [
      "gained cache: the age of a kept answer in ms: without bound instead of 10",
      "narrowed cache: kept answers: 5 instead of without bound",
    ],
  ],
  "a proxy": [
    OSV,
    { ...OSV, network: { proxy: { fromEnv: "THE_PROXY" } } },
    ["gained proxy: the proxy in THE_PROXY", "gained variable: the variable THE_PROXY"],
  ],
  "a certificate authority": [
    { ...OSV, network: { ca: { file: "ca.pem" } } },
    { ...OSV, network: { ca: { file: "more_ca.pem" } } },
    [
      "gained ca: the certificate authority in ${project}/more_ca.pem (sha256 e3b0c44298fc)",
      "lost ca: the certificate authority in ${project}/ca.pem (sha256 e3b0c44298fc)",
    ],
  ],
  "IPv6": [OSV, { ...OSV, network: { ipv6: true } }, ["gained ipv6: IPv6 addresses, unchecked"]],
  "retries": [
    { ...OSV, network: { retry: { attempts: 2 } } },
    { ...OSV, network: { retry: { attempts: 1 } } },
    ["narrowed budget: retries of a request: 1 instead of 2"],
  ],
  "budgets": [
    { ...HARNESS, budgets: { toolCalls: 10, events: 10 } },
    { ...HARNESS, budgets: { toolCalls: 20, events: 5 } },
    ["gained budget: toolCalls: 20 instead of 10", "narrowed budget: events: 5 instead of 10"],
  ],
  "a looser isolation": [
    HARNESS,
    { ...HARNESS, isolation: "compartment" },
    ["gained isolation: isolation compartment instead of process"],
  ],
  "a tighter isolation": [
    { ...HARNESS, isolation: "compartment" },
    { ...HARNESS, isolation: "worker" },
    ["narrowed isolation: isolation worker instead of compartment"],
  ],
  "redaction": [
    { ...HARNESS, redact: ["a", "b"] },
    { ...HARNESS, redact: ["b", "c"] },
    ['gained redact: the field "a" in the log', 'narrowed redact: the field "c" is redacted'],
  ],
  "what is expected, and the context": [
    HARNESS,
    { ...HARNESS, expectEvents: { done: 1 }, expectDenials: [{ tool: "slow" }], context: { n: 1 } },
    ["changed expectation: what is expected of a run", "changed context: the context handed to the agent"],
  ],
  "a session": [
    HARNESS,
    { ...HARNESS, session: true },
    ["gained session: state kept between runs in ${state}/sessions/agent.policy.jsonc.session.json"],
  ],
  "no session any more": [
    { ...HARNESS, session: { file: "s.json" } },
    HARNESS,
    ["lost session: state kept between runs in ${project}/s.json"],
  ],
  "the schema of an event": [
    { ...HARNESS, expectEvents: { k: { schema: { type: "object" } } } },
    { ...HARNESS, expectEvents: { k: { schema: {} } } },
    ["changed expectation: what is expected of a run"],
  ],
  "tests of the policy": [HARNESS, { ...HARNESS, tests: [{ tool: "echo", expect: "allow" }] }, []],
};

for (const [what, [base, head, expected]] of Object.entries(CASES)) {
  Deno.test(`comparePlans() says what changed: ${what}`, () =>
    withComparer(async ({ compare, plan }) => {
      assert.deepEqual(linesOf(await compare(base, head)), expected);
      const gained = expected.some((line) => line.startsWith("gained"));
      assert.equal(covers((await plan(base)).plan, (await plan(head)).plan), !gained);
    }));
}

Deno.test("comparePlans() takes a changed definition of a tool for authority", () =>
  withComparer(async ({ plan }) => {
    const { echo } = MANIFESTS;
    assert.ok(echo !== undefined);
    const changed = { ...MANIFESTS, echo: { ...echo, digest: "1".repeat(64) } };
    const [{ plan: base }, { plan: head }] = [await plan(HARNESS), await plan(HARNESS, { manifests: changed })];
    assert.deepEqual(linesOf(comparePlans(base, head)), ["gained tool: another definition of the tool echo"]);
    assert.equal(covers(base, head), false);
  }));

Deno.test("comparePlans() weighs what is accepted outside the project, and until when", () =>
  withComparer(async ({ compare, dir }) => {
    const outside = `${dir}-outside`;
    await Deno.mkdir(outside);
    try {
      const accepted = (expires: string, more: Text = {}): Text => ({
        tools: ["readFile"],
        fs: { read: [{ root: outside, ...more }] },
        unsafe: { outside: [{ root: outside, reason: "kept beside the project", expires }] },
      });
      const early = accepted("2031-01-01");
      const late = accepted("2032-01-01");
      const text = `the accepted root ${outside} outside the project, until`;
      assert.deepEqual(linesOf(await compare(early, late)), [`gained unsafe: ${text} 2032-01-01`]);
      assert.deepEqual(linesOf(await compare(late, early)), [
        `narrowed unsafe: ${text} 2031-01-01 instead of 2032-01-01`,
      ]);
      assert.deepEqual(linesOf(await compare(READER, { ...READER, ...early })), [
        `gained read: may now read ${outside}/** | ${outside.slice(1)}/example`,
        `gained unsafe: ${text} 2031-01-01`,
        "narrowed read: may no longer read src/** | src/example",
      ]);
      // a rule on files outside the project is compared as a rule, because it speaks of labels
      const label = outside.slice(outside.lastIndexOf("/") + 1);
      const guarded = { ...early, gate: { deny: [{ kind: "filesystem.read", match: `${label}/private/` }] } };
      assert.deepEqual(linesOf(await compare(guarded, early)), [
        `gained gate: what the rule "deny filesystem.read ${label}/private/" took away`,
      ]);
      // and an exclude pattern out there may have taken from the project itself
      const outer = accepted("2031-01-01", { exclude: ["*.priv"] });
      const both = { ...outer, fs: { read: [{ root: outside, exclude: ["*.priv"] }, { root: "src" }] } };
      assert.match(
        linesOf(await compare(both, READER)).join("\n"),
        /^gained read: may now read what "\*\.priv" took away/,
      );
    } finally {
      await Deno.remove(outside);
    }
  }));

Deno.test("comparePlans() tells accepted risks apart by their kind, also where they name the same", () =>
  withComparer(async ({ plan }) => {
    const { plan: bare } = await plan(HARNESS);
    const accepting = (...keys: UnsafeGrant["key"][]): Plan => ({
      ...bare,
      unsafe: keys.map((key) => ({ key, path: "node", reason: "needed for the build", expires: "2031-01-01" })),
    });
    assert.deepEqual(linesOf(comparePlans(accepting("outside"), accepting("outside", "interpreter"))), [
      "gained unsafe: the accepted command node, which runs what it is told to, until 2031-01-01",
    ]);
    assert.deepEqual(linesOf(comparePlans(accepting("interpreter", "environment"), accepting("environment"))), [
      "lost unsafe: the accepted command node, which runs what it is told to, until 2031-01-01",
    ]);
    const [change] = comparePlans(bare, accepting("unconfined"));
    assert.equal(change?.text, "programs without confinement, until 2031-01-01");
    assert.equal(change?.rule, "/unsafe/unconfined");
  }));

Deno.test("comparePlans() never takes the agent's code for authority", () =>
  withComparer(async ({ plan }) => {
    const { plan: base } = await plan({ ...HARNESS, agent: "agent.ts" });
    const withModules = (...modules: { path: string; sha256: string }[]) => ({
      ...base,
      agent: { entry: "${project}/agent.ts", modules },
    });
    const one = withModules({ path: "${project}/agent.ts", sha256: "a" });
    const other = withModules({ path: "${project}/agent.ts", sha256: "b" }, { path: "${project}/x.ts", sha256: "c" });
    assert.deepEqual(linesOf(comparePlans(one, other)), ["changed agent: the agent's code"]);
    assert.equal(covers(one, other) && covers(other, one), true);
    assert.deepEqual(comparePlans(base, one), [], "a plan that was made without the agent says nothing of its code");
  }));

Deno.test("comparePlans() names the line of what was gained, and a dozen patterns in one short text", () =>
  withComparer(async ({ compare }) => {
    const many = Array.from({ length: 12 }, (_, i) => `/${i}.md`);
    const [change, ...others] = await compare(
      reading({ root: "src", include: ["*.ts"] }),
      reading({ root: "src", include: ["*.ts", ...many] }),
    );
    assert.deepEqual(others, []);
    assert.equal(change?.rule, "/fs/read/0/include/1");
    assert.equal(change?.text, "may now read src/0.md, src/1.md, src/2.md and 9 more");
  }));

Deno.test("comparePlans() does not get slower with what both sides share", () =>
  withComparer(async ({ plan }) => {
    const roots = Array.from(
      { length: 1000 },
      (_, i) => ({ root: `many/f${i}`, include: ["*.md"], exclude: ["gen/"] }),
    );
    const [{ plan: base }, { plan: head }] = [
      await plan(reading(...roots)),
      await plan(reading(...roots.slice(1), { root: "src", include: ["*.ts"] })),
    ];
    const start = performance.now();
    assert.deepEqual(linesOf(comparePlans(base, head)), [
      "gained read: may now read src/**/*.ts | src/example.ts",
      "narrowed read: may no longer read many/f0/**/*.md | many/f0/example.md",
    ]);
    assert.ok(performance.now() - start < 3000);
  }, { files: Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`many/f${i}/`, ""])) }));

Deno.test("comparePlans() counts what is too large to compare as gained, and says so", () =>
  withComparer(async ({ compare }) => {
    const globs = (from: number) => Array.from({ length: 14 }, (_, i) => `x/*${String.fromCharCode(from + i)}*/y`);
    const [change] = await compare(
      reading({ root: "src", include: globs(97) }),
      reading({ root: "src", include: [...globs(97).slice(1), "x/**/z", ...globs(65)] }),
    );
    assert.equal(change?.kind, "gained");
  }));
