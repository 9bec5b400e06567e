import assert from "node:assert/strict";
import { comparePlans } from "../../src/plan/compare.ts";
import { compile } from "../../src/policy/compile.ts";
import { driftOf, lockOf } from "../../src/policy/lock.ts";
import { explainPlan } from "../../src/report/explain.ts";
import { authorityText } from "../../src/report/authority_manifest.ts";
import { compileIn, MANIFESTS, refusalsIn, withProject } from "./project.ts";

const integrity = (letter: string) => `sha512-${letter.repeat(86)}==`;

function lock(versions: Record<string, string>, letter = "A"): string {
  const npm = Object.entries(versions).map((
    [name, version],
  ) => [`${name}@${version}`, { integrity: integrity(letter) }]);
  const asked = Object.entries(versions).map(([name, version]) => [`npm:${name}@${version}`, version]);
  return JSON.stringify({
    version: "5",
    specifiers: Object.fromEntries(asked),
    npm: Object.fromEntries(npm),
    workspace: { dependencies: asked.map(([specifier]) => specifier) },
  });
}

const POLICY = { version: 1, agent: "agent.ts", packages: ["canon", "@s/b"] };

Deno.test("planPackages() takes version and integrity from the lock, and the plan says nothing where none is listed", async () => {
  await withProject({ files: { "deno.lock": lock({ canon: "1.0.0", "@s/b": "2.0.0" }) } }, async (dir) => {
    const { plan, loaded } = await compileIn(dir, POLICY);
    assert.deepEqual(plan.packages, [
      { name: "@s/b", version: "2.0.0", integrity: integrity("A"), rule: "/packages/1" },
      { name: "canon", version: "1.0.0", integrity: integrity("A"), rule: "/packages/0" },
    ]);
    const text = explainPlan(plan, loaded.positionOf);
    assert.match(text, /May be imported:\n {2}@s\/b 2\.0\.0 \(sha512-A+…\) {3}\[.*:\d+\]/);
    assert.match(authorityText(plan), /^packages canon 1\.0\.0 sha512-A+==$/m);
    const { plan: without, loaded: other } = await compileIn(dir, { version: 1, agent: "agent.ts", packages: [] });
    assert.equal("packages" in without, false);
    assert.doesNotMatch(explainPlan(without, other.positionOf), /imported/);
  });
});

Deno.test("planPackages() refuses with the place and the fix", async () => {
  const cases: [string, Record<string, string>, unknown, string, RegExp, RegExp][] = [
    ["no lock", {}, POLICY, "policy_package_lock", /neither deno\.lock nor package-lock\.json/, /deno add npm:canon/],
    ["a broken lock", { "deno.lock": "{" }, POLICY, "policy_package_lock", /not a JSON object/, /again/],
    [
      "a near name",
      { "deno.lock": lock({ canon: "1.0.0" }) },
      { ...POLICY, packages: ["canno"] },
      "policy_package",
      /"canno": deno\.lock has no such package/,
      /^Write "canon"$/,
    ],
    [
      "another name",
      { "package-lock.json": '{"lockfileVersion":3,"packages":{}}' },
      { ...POLICY, packages: ["x"] },
      "policy_package",
      /package-lock\.json has no such package/,
      /npm install --ignore-scripts x/,
    ],
    [
      "twice",
      { "deno.lock": lock({ canon: "1.0.0" }) },
      { ...POLICY, packages: ["canon", "canon"] },
      "policy_duplicate_package",
      /listed twice/,
      /one of the two/,
    ],
    [
      "no agent",
      { "deno.lock": lock({ canon: "1.0.0" }) },
      { version: 1, packages: ["canon"] },
      "policy_dead_rule",
      /names no agent/,
      /add an agent/,
    ],
    ["a version", {}, { ...POLICY, packages: ["canon@1"] }, "policy_wrong_value", /name of an npm package/, /Write/],
    ["a path", {}, { ...POLICY, packages: ["../x"] }, "policy_wrong_value", /name of an npm package/, /Write/],
    ["a subpath", {}, { ...POLICY, packages: ["@s/b/c"] }, "policy_wrong_value", /name of an npm package/, /Write/],
  ];
  for (const [name, files, policy, code, message, fix] of cases) {
    await withProject({ files }, async (dir) => {
      const [first] = await refusalsIn(dir, policy);
      assert.equal(first?.code, code, name);
      assert.match(first?.message ?? "", message, name);
      assert.match(first?.fix ?? "", fix, name);
    });
  }
});

Deno.test("a lock that is a link is none: it could be anybody's", async () => {
  const options = { files: { "else/deno.lock": lock({ canon: "1.0.0" }) }, links: { "deno.lock": "else/deno.lock" } };
  await withProject(options, async (dir) => {
    const [first] = await refusalsIn(dir, { ...POLICY, packages: ["canon"] });
    assert.match(first?.message ?? "", /neither/);
  });
});

Deno.test("comparePlans() names a new package, another version and another archive of the same version", async () => {
  const planOf = async (text: string, packages: readonly string[]) => {
    let plan;
    await withProject({ files: { "deno.lock": text } }, async (dir) => {
      plan = (await compileIn(dir, { ...POLICY, packages })).plan;
    });
    if (plan === undefined) throw new Error("no plan");
    return plan;
  };
  const none = await planOf("{}", []);
  const first = await planOf(lock({ canon: "1.0.0" }), ["canon"]);
  const second = await planOf(lock({ canon: "1.1.0" }), ["canon"]);
  const forged = await planOf(lock({ canon: "1.0.0" }, "B"), ["canon"]);
  const texts = (base: typeof none, head: typeof none) =>
    comparePlans(base, head).map(({ kind, text, rule }) => `${kind} ${text} ${rule}`);
  assert.deepEqual(texts(none, first), ["gained the package canon 1.0.0 (sha512-AAAAAAAAAAAA…) /packages/0"]);
  assert.deepEqual(texts(first, second), [
    "gained the package canon 1.1.0 instead of 1.0.0 (sha512-AAAAAAAAAAAA…) /packages/0",
    "lost the package canon 1.0.0 instead of 1.1.0 (sha512-AAAAAAAAAAAA…) /packages/0",
  ]);
  assert.equal(texts(first, forged)[0], "gained the package canon 1.0.0 (sha512-BBBBBBBBBBBB…) /packages/0");
  assert.deepEqual(texts(first, first), []);
});

Deno.test("compile() keeps node_modules from being written where packages are used, and takes no module of another package", async () => {
  const files = { "deno.lock": lock({ canon: "1.0.0" }), "node_modules/canon/": "" };
  await withProject({ files }, async (dir) => {
    const write = (root: string) => ({
      version: 1,
      agent: "agent.ts",
      packages: ["canon"],
      tools: ["writeArtifact"],
      fs: { write: [{ root }] },
    });
    const compiled = await compileIn(dir, write("."));
    assert.ok(compiled.plan.fs.protected.includes("${project}/node_modules"));
    for (const root of ["node_modules", "node_modules/canon", "node_modules/canon/new"]) {
      assert.deepEqual((await refusalsIn(dir, write(root))).map(({ code }) => code), ["policy_protected"], root);
    }
    const { loaded, facts } = compiled;
    const module = (packaged: string) => ({ path: `${dir}/x.js`, sha256: "1".repeat(64), packaged });
    const modules = [module("${npm}/canon@1.0.0/lib/x.js")];
    const plan = compile({ loaded, manifests: MANIFESTS, facts, modules });
    assert.equal(plan.agent?.modules[0]?.path, "${npm}/canon@1.0.0/lib/x.js");
    assert.throws(
      () => compile({ loaded, manifests: MANIFESTS, facts, modules: [module("${npm}/canon@1.0.1/lib/x.js")] }),
      /is of no package that the policy lists/,
    );
    // a file of a package that changes is named by the lock
    const locked = await lockOf({ plan });
    const changed = compile({
      loaded,
      manifests: MANIFESTS,
      facts,
      modules: [{ ...module("${npm}/canon@1.0.0/lib/x.js"), sha256: "2".repeat(64) }],
    });
    assert.deepEqual(await driftOf({ plan: changed }, locked, "2.9.6"), [
      { what: "agent module ${npm}/canon@1.0.0/lib/x.js", change: "changed" },
    ]);
  });
});
