import assert from "node:assert/strict";
import { type LockedPackages, lockedPackages, type PackageLockName } from "../../src/policy/package_lock.ts";

const INTEGRITY = `sha512-${"A".repeat(86)}==`;

function denoLock(npm: Record<string, unknown>, asked: Record<string, string>, more: Record<string, unknown> = {}) {
  return JSON.stringify({
    version: "5",
    specifiers: asked,
    npm: Object.fromEntries(
      Object.entries(npm).map(([id, entry]) => [id, { integrity: INTEGRITY, ...entry as object }]),
    ),
    workspace: { dependencies: Object.keys(asked) },
    ...more,
  });
}

function npmLock(packages: Record<string, unknown>, dependencies: Record<string, string>, version = 3) {
  return JSON.stringify({ lockfileVersion: version, packages: { "": { dependencies }, ...packages } });
}

function read(lock: PackageLockName, text: string, names: readonly string[]): LockedPackages {
  const found = lockedPackages(lock, text, names);
  if ("problem" in found) throw new Error(found.problem);
  return found;
}

function problem(lock: PackageLockName, text: string, name: string): string {
  const found = lockedPackages(lock, text, [name]);
  const listed = "problem" in found ? found : found.listed.get(name);
  if (listed === undefined || typeof listed === "string") throw new Error(`no problem: ${listed}`);
  assert.ok(listed.fix.length > 5);
  return listed.problem;
}

Deno.test("lockedPackages() reads a deno.lock: versions, peers, aliases and what each package brings", () => {
  const text = denoLock({
    "@s/a@1.2.3_b@2.0.0": { dependencies: ["b", "old@npm:b@1.0.0", "c@3.0.0"] },
    "b@2.0.0": {},
    "b@1.0.0": { dependencies: ["c"] },
    "c@3.0.0": { optionalDependencies: ["@s/a"] },
    "unused@9.0.0": {},
  }, { "npm:@s/a@^1": "1.2.3_b@2.0.0", "npm:unused@9": "9.0.0" });
  const { listed, packages, direct } = read("deno.lock", text, ["@s/a"]);
  assert.deepEqual([...listed], [["@s/a", "@s/a@1.2.3"]]);
  assert.deepEqual([...packages.keys()], ["@s/a@1.2.3", "b@1.0.0", "c@3.0.0"]);
  assert.deepEqual(direct, ["@s/a", "unused"]);
  const a = packages.get("@s/a@1.2.3");
  assert.deepEqual([a?.name, a?.version, a?.integrity, a?.listed], ["@s/a", "1.2.3", INTEGRITY, 0]);
  // "b" alone could be either: the lock must say which
  assert.equal(typeof a?.dependencies.get("b"), "object");
  assert.equal(a?.dependencies.get("old"), "b@1.0.0");
  assert.equal(a?.dependencies.get("c"), "c@3.0.0");
  assert.equal(packages.get("c@3.0.0")?.dependencies.get("@s/a"), "@s/a@1.2.3");
});

Deno.test("lockedPackages() reads the dependencies of a package.json in a deno.lock, and a lock without a workspace", () => {
  const npm = { "b@2.0.0": {} };
  const workspace = { packageJson: { dependencies: ["npm:b@2"] } };
  assert.deepEqual(read("deno.lock", denoLock(npm, { "npm:b@2": "2.0.0" }, { workspace }), ["b"]).direct, ["b"]);
  const text = denoLock(npm, { "npm:b@2": "2.0.0", "jsr:@std/x@1": "1.0.0" }, { workspace: {} });
  assert.equal(read("deno.lock", text, ["b"]).listed.get("b"), "b@2.0.0");
});

Deno.test("lockedPackages() reads a package-lock.json: nested versions win, an alias has its real name", () => {
  const text = npmLock({
    "node_modules/a": { version: "1.0.0", integrity: INTEGRITY, dependencies: { b: "1", c: "1" } },
    "node_modules/a/node_modules/b": { version: "1.5.0", integrity: INTEGRITY, peerDependencies: { c: "1" } },
    "node_modules/b": { version: "2.0.0", integrity: INTEGRITY },
    "node_modules/c": { name: "@s/real", version: "1.0.0", integrity: INTEGRITY },
  }, { a: "1", c: "npm:@s/real@1" });
  const { listed, packages } = read("package-lock.json", text, ["a", "c"]);
  assert.deepEqual([...listed], [["a", "a@1.0.0"], ["c", "@s/real@1.0.0"]]);
  assert.equal(packages.get("a@1.0.0")?.dependencies.get("b"), "b@1.5.0");
  assert.equal(packages.get("b@1.5.0")?.dependencies.get("c"), "@s/real@1.0.0");
  assert.equal(packages.has("b@2.0.0"), false);
});

Deno.test("lockedPackages() says why a package cannot be used", () => {
  const deno = (entry: object) => denoLock({ "a@1.0.0": entry }, { "npm:a@1": "1.0.0" });
  const npm = (entry: object) => npmLock({ "node_modules/a": { version: "1.0.0", ...entry } }, { a: "1" });
  const cases: [string, PackageLockName, string, RegExp][] = [
    ["not JSON", "deno.lock", "{", /not a JSON object/],
    ["no object", "package-lock.json", "[]", /not a JSON object/],
    ["an old form", "deno.lock", '{"version":"3"}', /another form/],
    ["an old form of npm", "package-lock.json", '{"lockfileVersion":1}', /another form/],
    ["not there", "deno.lock", denoLock({}, {}), /has no such package/],
    ["there, but not asked for", "deno.lock", denoLock({ "a@1.0.0": {} }, { "npm:b@1": "1.0.0" }), /no such package/],
    ["asked for, but not there", "deno.lock", denoLock({}, { "npm:a@1": "1.0.0" }), /does not say which version/],
    ["a script", "deno.lock", deno({ scripts: true }), /runs a script/],
    ["a script of npm", "package-lock.json", npm({ integrity: INTEGRITY, hasInstallScript: true }), /runs a script/],
    ["no integrity", "deno.lock", deno({ integrity: undefined }), /has no integrity/],
    ["a weak integrity", "deno.lock", deno({ integrity: "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=" }), /has no integrity/],
    ["a git repository", "package-lock.json", npm({ resolved: "git+ssh://x" }), /has no integrity/],
    ["a folder of the project", "package-lock.json", npm({ link: true, resolved: "packages/a" }), /a folder of this/],
    [
      "a version with a path in it",
      "package-lock.json",
      npm({ version: "1.0.0/../../x", integrity: INTEGRITY }),
      /no registry does/,
    ],
    [
      "two versions",
      "deno.lock",
      denoLock({ "a@1.0.0": {}, "a@2.0.0": {} }, { "npm:a@1": "1.0.0", "npm:a@2": "2.0.0" }),
      /more than one version/,
    ],
  ];
  for (const [name, lock, text, expected] of cases) assert.match(problem(lock, text, "a"), expected, name);
});

Deno.test("lockedPackages() takes two places of one package for one, unless their dependencies differ", () => {
  const two = (inner: string) =>
    npmLock({
      "node_modules/a": { version: "1.0.0", integrity: INTEGRITY, dependencies: { c: "1" } },
      "node_modules/a/node_modules/c": { version: "1.0.0", integrity: INTEGRITY, dependencies: { d: "1" } },
      "node_modules/a/node_modules/d": { version: inner, integrity: INTEGRITY },
      "node_modules/c": { version: "1.0.0", integrity: INTEGRITY, dependencies: { d: "1" } },
      "node_modules/d": { version: "1.0.0", integrity: INTEGRITY },
    }, { a: "1", c: "1" });
  assert.equal(read("package-lock.json", two("1.0.0"), ["a", "c"]).listed.get("c"), "c@1.0.0");
  const other = read("package-lock.json", two("1.1.0"), ["a", "c"]).listed.get("c");
  assert.match(JSON.stringify(other), /more than once, each with other dependencies/);
});

Deno.test("lockedPackages() is not misled by keys that objects have by themselves", () => {
  const text = '{"version":"5","specifiers":{"npm:__proto__@1":"1.0.0"},"npm":{"__proto__@1.0.0":{}},"workspace":{}}';
  assert.match(problem("deno.lock", text, "constructor"), /no such package/);
  assert.match(problem("package-lock.json", npmLock({}, {}), "toString"), /no such package/);
  assert.match(problem("deno.lock", text, "__proto__"), /no registry does/);
});

Deno.test("lockedPackages() reads a lock of many versions of one package in time that grows with their number alone", () => {
  const npm = Object.fromEntries(Array.from({ length: 40_000 }, (_, i) => [`many@1.0.${i}`, {}]));
  const lock = denoLock({ ...npm, "one@1.0.0": {} }, { "npm:one@1": "1.0.0" });
  const start = performance.now();
  assert.equal(read("deno.lock", lock, ["one"]).listed.size, 1);
  assert.ok(performance.now() - start < 5000);
});
