import assert from "node:assert/strict";
import { sha256 } from "../../src/json.ts";
import { inspect, lookAt } from "../../src/policy/inspect.ts";
import { loadPolicy } from "../../src/policy/load.ts";
import { NOW_MS, withProject } from "./project.ts";

Deno.test("lookAt() tells files, folders, devices, links and missing paths apart", async () => {
  await withProject({ files: { "d/f": "" }, links: { l: "d", dangling: "nowhere" } }, async (dir) => {
    const of = (path: string) => {
      const { kind, real } = lookAt(`${dir}/${path}`);
      return [kind, real.replace(dir, "")];
    };
    assert.deepEqual(of("d"), ["directory", "/d"]);
    assert.deepEqual(of("d/f"), ["file", "/d/f"]);
    assert.deepEqual(of("l/f"), ["file", "/d/f"]);
    assert.deepEqual(of("a/b/c"), ["missing", "/a/b/c"]);
    assert.deepEqual(of("l/new"), ["missing", "/d/new"]);
    assert.deepEqual(of("d/f/below-a-file")[0], "missing");
    const dangling = lookAt(`${dir}/dangling`);
    assert.equal(dangling.kind, "other");
    assert.notEqual(dangling.real, dangling.path);
    assert.equal(lookAt("/dev/null").kind, "other");
    await Promise.resolve();
  });
});

Deno.test("inspect() looks at every path of a policy and digests fixtures and certificates, but never at a malformed path", async () => {
  const text = JSON.stringify({
    version: 1,
    agent: "agent.ts",
    fs: { read: [{ root: "." }, { root: "a,b" }], write: [{ root: "out" }] },
    network: { fixtures: ["fx.json", "no.json"], cache: { dir: "c" }, ca: { file: "ca.pem" } },
  });
  await withProject({ files: { "a.policy.jsonc": text, "fx.json": "{}", "ca.pem": "PEM" } }, async (dir) => {
    const loaded = await loadPolicy(`${dir}/a.policy.jsonc`);
    const places = { project: dir, twokey: "/t", state: "/s" };
    const facts = await inspect(loaded, { places, nowMs: NOW_MS });
    assert.deepEqual([...facts.paths.keys()], [
      "/agent",
      "/fs/read/0/root",
      "/fs/write/0/root",
      "/network/fixtures/0",
      "/network/fixtures/1",
      "/network/cache/dir",
      "/network/ca/file",
    ]);
    assert.equal(facts.today, "2030-06-15");
    assert.deepEqual([...facts.inputs], [
      ["/network/fixtures/0", await sha256("{}")],
      ["/network/ca/file", await sha256("PEM")],
    ]);
  });
});
