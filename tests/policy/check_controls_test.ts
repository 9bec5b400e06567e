import assert from "node:assert/strict";
import { sha256 } from "../../src/json.ts";
import { compileIn, refusalsIn, withProject } from "./project.ts";

const expecting = (k: unknown) => ({ version: 1, expectEvents: { k } });

Deno.test("compile() plans expected events of every form, a schema file by its text and digest", async () => {
  const text = '// of the finding\n{ "type": "object", }';
  await withProject({ files: { "s/k.json": text } }, async (dir) => {
    const { plan } = await compileIn(dir, {
      version: 1,
      expectEvents: {
        a: 2,
        b: {},
        c: { min: 0, max: 3 },
        d: { schema: { pattern: "^x" } },
        e: { schema: "s/k.json", min: 4 },
      },
    });
    assert.deepEqual(plan.expectEvents, {
      a: { min: 2 },
      b: { min: 1 },
      c: { min: 0, max: 3 },
      d: { min: 1, schema: { value: { pattern: "^x" } } },
      e: {
        min: 4,
        schema: { value: { type: "object" }, file: { path: "${project}/s/k.json", sha256: await sha256(text) } },
      },
    });
  });
});

Deno.test("compile() keeps schema files and session files from tools", async () => {
  await withProject({ files: { "out/k.json": "{}" } }, async (dir) => {
    const { plan } = await compileIn(dir, {
      version: 1,
      tools: ["readFile", "writeArtifact"],
      fs: { read: [{ root: "." }], write: [{ root: "out" }] },
      expectEvents: { k: { schema: "out/k.json" } },
      session: { file: "kept/session.json" },
    });
    assert.ok(plan.fs.protected.includes("${project}/out/k.json"));
    assert.ok(plan.fs.secret.includes("${project}/kept/session.json"));
    assert.deepEqual(plan.session, { file: "${project}/kept/session.json", rule: "/session/file" });
  });
});

Deno.test("compile() refuses expectations that contradict themselves or expect nothing", async () => {
  await withProject({}, async (dir) => {
    const codes = async (k: unknown) => (await refusalsIn(dir, expecting(k))).map(({ code }) => code);
    assert.deepEqual(await codes({ min: 3, max: 2 }), ["policy_bad_count"]);
    assert.deepEqual(await codes({ min: 0 }), ["policy_dead_rule"]);
    assert.deepEqual(await codes(0), ["policy_wrong_value"]);
    assert.deepEqual(await codes("often"), ["policy_wrong_value"]);
    assert.deepEqual(await codes({ mim: 1 }), ["policy_unknown_key"]);
    assert.deepEqual(await codes({ min: -1 }), ["policy_wrong_value"]);
    assert.deepEqual(await codes({ schema: 5 }), ["policy_wrong_value"]);
    assert.deepEqual(await codes({ schema: "../k.json" }), ["policy_outside_project"]);
    assert.deepEqual(await codes({ schema: "k.json" }), ["policy_schema_missing"]);
    assert.deepEqual(await codes({ schema: "." }), ["policy_schema_missing"]);
    for (const k of [3, { min: 3 }]) {
      const few = { ...expecting(k), budgets: { events: 2 } };
      assert.deepEqual((await refusalsIn(dir, few)).map(({ code }) => code), ["policy_budget_order"]);
    }
  });
});

Deno.test("compile() names the place of a schema's fault in the policy and in its own file", async () => {
  const files = {
    "bad.json": '{\n  "type": "object",\n  "properties": { "a": { "pattern": "(?=x)" } }\n}',
    "twice.json": '{ "type": "object",\n  "type": "array" }',
    "torn.json": '{ "type": ',
    "bytes.json": "\ud800",
    "huge.json": JSON.stringify({ title: "x".repeat(300_000) }),
  };
  await withProject({ files }, async (dir) => {
    await Deno.writeFile(`${dir}/bytes.json`, new Uint8Array([0x22, 0xff, 0x22]));
    const one = async (schema: unknown) => {
      const issues = await refusalsIn(dir, expecting({ schema }));
      assert.equal(issues.length, 1, JSON.stringify(issues));
      return `${issues[0]?.code} ${issues[0]?.position.file.split("/").at(-1)}:${issues[0]?.position.line}`;
    };
    assert.equal(await one("bad.json"), "policy_bad_schema bad.json:3");
    assert.equal(await one("twice.json"), "policy_duplicate_key twice.json:2");
    assert.equal(await one("torn.json"), "policy_syntax torn.json:1");
    assert.equal(await one("bytes.json"), "policy_bad_schema bytes.json:1");
    assert.equal(await one("huge.json"), "policy_bad_schema huge.json:1");
    assert.equal(await one({ properties: { a: { format: "regex" } } }), "policy_bad_schema agent.policy.jsonc:1");
    const inline = '{ "version": 1,\n "expectEvents": { "k": { "schema": {\n "requred": ["a"] } } } }';
    const [issue] = await refusalsIn(dir, inline);
    assert.equal(issue?.position.line, 3);
    assert.equal(issue?.fix, 'Write "required"');
  });
});

Deno.test("compile() gives each policy of a project a session of its own in the user's state folder", async () => {
  await withProject({ files: { "a/x": "", "b/x": "" } }, async (dir) => {
    const file = async (name: string, session: unknown = true) =>
      (await compileIn(dir, { version: 1, session }, name)).plan.session?.file;
    assert.equal(await file("agent.policy.jsonc"), "${state}/sessions/agent.policy.jsonc.session.json");
    assert.equal(await file("a/agent.policy.jsonc"), "${state}/sessions/a/agent.policy.jsonc.session.json");
    assert.equal(await file("b/agent.policy.jsonc", {}), "${state}/sessions/b/agent.policy.jsonc.session.json");
    assert.equal(await file("b/agent.policy.jsonc", { file: "s.json" }), "${project}/b/s.json");
    assert.equal((await compileIn(dir, { version: 1 })).plan.session, undefined);
  });
});

Deno.test("compile() refuses a session where it could be forged, read, committed or mistaken", async () => {
  const files = { "out/x": "", "tracked/s.json": "{}", "dir.json/x": "", "agent.policy.json": "" };
  await withProject({ files, links: { "link.json": "out/x" } }, async (dir) => {
    const codes = async (session: unknown, more: Record<string, unknown> = {}) =>
      (await refusalsIn(dir, { version: 1, session, ...more })).map(({ code }) => code);
    assert.deepEqual(await codes(false), ["policy_wrong_value"]);
    assert.deepEqual(await codes({ path: "x" }), ["policy_unknown_key"]);
    assert.deepEqual(await codes({ file: "../s.json" }), ["policy_outside_project"]);
    assert.deepEqual(await codes({ file: "link.json" }), ["policy_link"]);
    assert.deepEqual(await codes({ file: "dir.json" }), ["policy_session_kind"]);
    assert.deepEqual(await codes({ file: "s.txt" }), ["policy_session_kind"]);
    assert.deepEqual(await codes({ file: "deno.json" }), ["policy_protected"]);
    assert.deepEqual(await codes({ file: ".git/s.json" }), ["policy_protected"]);
    assert.deepEqual(await codes({ file: "agent.lock.json" }), ["policy_protected"]);
    assert.deepEqual(await codes({ file: ".twokey/runs/x/s.json" }), ["policy_protected"]);
    assert.deepEqual(await codes({ file: ".twokey/s.json" }), []);
    const write = { tools: ["writeArtifact"], fs: { write: [{ root: "out" }] } };
    assert.deepEqual(await codes({ file: "out/s.json" }, write), ["policy_protected"]);
    const read = { tools: ["readFile"], fs: { read: [{ root: "tracked/s.json" }] } };
    assert.deepEqual(await codes({ file: "tracked/s.json" }, read), ["policy_protected"]);
    assert.deepEqual(await codes(true, { budgets: { stateBytes: 16 * 1024 * 1024 + 1 } }), ["policy_session_size"]);
    const git = async (...args: string[]) =>
      await new Deno.Command("git", { args: ["-C", dir, ...args], stderr: "null" }).output();
    await git("init", "-q");
    await git("add", "tracked/s.json");
    assert.deepEqual(await codes({ file: "tracked/s.json" }), ["policy_tracked"]);
  });
});
