import assert from "node:assert/strict";
import { compileLoaded } from "../../src/policy/compile_loaded.ts";
import { type PolicyFlags, policyFromFlags, withFlags } from "../../src/policy/from_flags.ts";
import { loadPolicy } from "../../src/policy/load.ts";
import { PolicyError } from "../../src/policy/policy_error.ts";
import { MANIFESTS, NOW_MS, withProject } from "./project.ts";

const OPTIONS = { manifests: MANIFESTS, nowMs: NOW_MS };

Deno.test("policyFromFlags() makes a policy of the seed's flags", async () => {
  await withProject({ files: { "docs/a.md": "", "fx.json": "{}" } }, async (dir) => {
    const loaded = await policyFromFlags({
      tool: ["readFile", "writeArtifact", "osv.query", "readFile"],
      fsRead: ["docs"],
      fsReadInclude: ["*.md"],
      fsReadExclude: ["x.md"],
      fsWrite: ["out"],
      osvFixture: ["fx.json"],
      namedNetworkRetryAttempts: 2,
      maxToolArgBytes: 10,
      toolTimeoutMs: 5,
      worker: true,
    }, dir);
    assert.equal(loaded.file, null);
    assert.deepEqual(loaded.policy, {
      version: 1,
      tools: ["readFile", "writeArtifact", "osv.query"],
      fs: { read: [{ root: "docs", include: ["*.md"], exclude: ["x.md"] }], write: [{ root: "out" }] },
      network: { fixtures: ["fx.json"], retry: { attempts: 2 } },
      budgets: { toolArgBytes: 10, toolTimeoutMs: 5 },
      isolation: "worker",
    });
    const { plan } = await compileLoaded(loaded, OPTIONS);
    assert.equal(plan.fs.read[0]?.root, "${project}/docs");
    assert.equal(plan.policy.path, null);
    assert.equal(plan.name, "flags");
    assert.equal(plan.tools["readFile"]?.timeoutMs, 5);
  });
});

Deno.test("policyFromFlags() lets the operator name a root outside the project or behind a link, and the plan says so", async () => {
  const outside = await Deno.realPath(await Deno.makeTempDir());
  try {
    await withProject({ links: { link: outside } }, async (dir) => {
      const loaded = await policyFromFlags({ tool: ["readFile"], fsRead: ["link"] }, dir);
      const { plan } = await compileLoaded(loaded, OPTIONS);
      assert.equal(plan.fs.read[0]?.root, outside);
      assert.deepEqual(plan.unsafe, [
        { key: "outside", path: outside, reason: "named on the command line", expires: null },
      ]);
    });
  } finally {
    await Deno.remove(outside);
  }
});

Deno.test("compileLoaded() names the flags that would use what other flags grant for nothing", () =>
  withProject({}, async (dir) => {
    const users = (flag: string): Readonly<Record<string, readonly string[]>> => ({ [flag]: ["."] });
    for (const [flag, family] of Object.entries({ fsRead: "--tool=readFile", fsWrite: "--tool=writeArtifact" })) {
      await assert.rejects(
        policyFromFlags(users(flag), dir).then((loaded) => compileLoaded(loaded, OPTIONS)),
        (error: Error) => {
          assert.ok(error instanceof PolicyError);
          const [issue] = error.issues;
          assert.equal(issue?.code, "policy_unused_authority");
          assert.match(issue.fix, new RegExp(`^Add (--tool=\\w+ or )*${family}$`));
          return true;
        },
      );
    }
  }));

Deno.test("policyFromFlags() grants nothing without flags", async () => {
  await withProject({}, async (dir) => {
    const { plan } = await compileLoaded(await policyFromFlags({}, dir), OPTIONS);
    assert.deepEqual([plan.tools, plan.fs.read, plan.fs.write], [{}, [], []]);
  });
});

const WRONG: readonly (readonly [string, PolicyFlags, RegExp])[] = [
  ["an unknown tool", { tool: ["raedFile"] }, /no such tool/],
  ["a value out of bounds", { namedNetworkRetryAttempts: 4 }, /"--named-network-retry-attempts": it is 4/],
  ["a mode that does not exist", { namedNetworkCacheMode: "onlin" }, /"--named-network-cache-mode": it is "onlin"/],
  ["a comma in a root", { tool: ["readFile"], fsRead: ["a,b"] }, /"--fs-read" "a,b": .*comma/],
  ["an absolute pattern", { tool: ["readFile"], fsRead: ["."], fsReadInclude: ["/etc/**"] }, /"--fs-read-include"/],
  ["a write root that is protected", { tool: ["writeArtifact"], fsWrite: [".git"] }, /"--fs-write".*protected/],
  ["an empty root", { tool: ["readFile"], fsRead: [""] }, /"--fs-read"/],
];

for (const [name, flags, says] of WRONG) {
  Deno.test(`policyFromFlags() names the flag that has ${name}`, async () => {
    await withProject({}, async (dir) => {
      await assert.rejects(async () => await compileLoaded(await policyFromFlags(flags, dir), OPTIONS), (error) => {
        assert.ok(error instanceof PolicyError, String(error));
        const issue = error.issues.find(({ message }) => says.test(message));
        assert.ok(issue, error.message);
        assert.equal(issue.position.file, "command line");
        return true;
      });
    });
  });
}

Deno.test("policyFromFlags() refuses flags that need or contradict another one", async () => {
  await withProject({}, async (dir) => {
    await assert.rejects(policyFromFlags({ fsReadInclude: ["*"] }, dir), { code: "usage_needs_flag" });
    await assert.rejects(policyFromFlags({ fsReadExclude: ["*"] }, dir), { code: "usage_needs_flag" });
    await assert.rejects(policyFromFlags({ worker: true, isolation: "process" }, dir), { code: "usage_conflict" });
  });
});

Deno.test("withFlags() appends lists, replaces values and says which flags add authority", async () => {
  const text = JSON.stringify({
    version: 1,
    isolation: "worker",
    tools: ["readFile"],
    fs: { read: [{ root: "." }] },
    budgets: { toolTimeoutMs: 100 },
  });
  await withProject({ files: { "p/a.policy.jsonc": text, "p/x": "", "other/y": "" } }, async (dir) => {
    const file = await loadPolicy(`${dir}/p/a.policy.jsonc`);
    const { loaded, added } = await withFlags(file, {
      tool: ["readFile", "echo"],
      fsRead: ["other"],
      toolTimeoutMs: 200,
      isolation: "process",
    }, { cwd: dir });
    assert.deepEqual(added, ["--tool", "--fs-read", "--tool-timeout-ms"]);
    assert.deepEqual(loaded.policy.tools, ["readFile", "echo"]);
    assert.deepEqual(loaded.policy.fs?.read, [{ root: "." }, { root: `${dir}/other` }]);
    assert.notEqual(loaded.sha256, file.sha256);
    assert.equal(loaded.nameOf("/fs/read/1/root"), "--fs-read");
    assert.equal(loaded.nameOf("/fs/read/0/root"), "fs.read[0].root");
    assert.ok(!loaded.isOperators("/fs/read/0/root"));
    const { plan } = await compileLoaded(loaded, OPTIONS);
    assert.deepEqual(plan.fs.read.map(({ root }) => root), ["${project}/p", "${project}/other"]);
  });
});

Deno.test("withFlags() finds no added authority in flags that narrow", async () => {
  const text = JSON.stringify({
    version: 1,
    tools: ["readFile", "osv.query"],
    fs: { read: [{ root: "." }] },
    network: { cache: { mode: "read-through" } },
  });
  await withProject({ files: { "a.policy.jsonc": text } }, async (dir) => {
    const file = await loadPolicy(`${dir}/a.policy.jsonc`);
    const { loaded, added } = await withFlags(file, {
      tool: ["readFile"],
      fsReadExclude: ["*.key"],
      namedNetworkCacheMode: "offline",
      maxToolArgBytes: 100,
    }, { cwd: dir });
    assert.deepEqual(added, []);
    assert.deepEqual(loaded.policy.fs?.read?.[0]?.exclude, ["*.key"]);
    const none = await withFlags(file, {}, { cwd: dir });
    assert.deepEqual([none.added, none.loaded.sha256], [[], file.sha256]);
  });
});

Deno.test("withFlags() adds what is expected of events, redacted fields, budgets and a session", async () => {
  const files = {
    "k.json": "{}",
    "p/agent.policy.jsonc": '{ "version": 1, "expectEvents": { "k": 3, "l": 1 }, "redact": ["pin"] }',
  };
  await withProject({ files }, async (dir) => {
    const loaded = await loadPolicy(`${dir}/p/agent.policy.jsonc`);
    const flags: PolicyFlags = {
      expectEvent: ["k=k.json", "a.b:c=k.json"],
      redactField: ["pin", "puk"],
      maxEvents: 5,
      maxEventBytes: 100,
      maxStateBytes: 200,
      sessionFile: "s.json",
    };
    const merged = await withFlags(loaded, flags, { cwd: dir });
    assert.deepEqual(merged.loaded.policy.expectEvents, {
      k: { min: 3, schema: `${dir}/k.json` },
      l: 1,
      "a.b:c": { schema: `${dir}/k.json` },
    });
    assert.deepEqual(merged.loaded.policy.redact, ["pin", "puk"]);
    assert.deepEqual(merged.loaded.policy.session, { file: `${dir}/s.json` });
    assert.deepEqual(merged.loaded.policy.budgets, { events: 5, eventBytes: 100, stateBytes: 200 });
    // only the session is more than the file grants: it lets a run speak to the next one
    assert.deepEqual(merged.added, ["--session-file"]);
    for (const expectEvent of ["k", "=k.json", "k=", "a b=k.json"]) {
      await assert.rejects(withFlags(loaded, { expectEvent: [expectEvent] }, { cwd: dir }), {
        code: "usage_expect_event",
      });
    }
  });
});
