import assert from "node:assert/strict";
import { authorityManifest, authorityText } from "../../src/report/authority_manifest.ts";
import { type Text, withComparer } from "../plan/comparison.ts";

const POLICY: Text = {
  agent: "agent.ts",
  tools: ["readFile", "osv.query", "echo", "writeArtifact"],
  fs: {
    read: [{ root: "src", include: ["*.ts", "*.md"], exclude: ["z/", "a/"] }, { root: "docs" }],
    write: [{ root: "out" }],
  },
  network: { fixtures: ["two.json", "one.json"], proxy: { fromEnv: "THE_PROXY" } },
  gate: { deny: [{ kind: "filesystem.read", match: "*.key", tools: ["readFile"] }] },
  budgets: { toolCalls: 7 },
};

Deno.test("authorityManifest() lists what a plan may touch, sorted, with digests", () =>
  withComparer(async ({ plan }) => {
    const manifest = authorityManifest((await plan(POLICY)).plan);
    const { paths, endpoints, tools, variables, budgets, rules, recorded_answers: recorded } = manifest;
    assert.deepEqual(Object.keys(tools as object), ["echo", "osv.query", "readFile", "writeArtifact"]);
    assert.deepEqual((paths as { read: unknown }).read, [
      { root: "${project}/docs", include: [], exclude: [] },
      { root: "${project}/src", include: ["*.md", "*.ts"], exclude: ["a/", "z/"] },
    ]);
    assert.deepEqual((paths as { write: unknown }).write, ["${project}/out"]);
    assert.deepEqual(endpoints, [
      { tool: "osv.query", method: "POST", url: "https://api.osv.dev/v1/query", live: false },
    ]);
    assert.deepEqual(variables, ["THE_PROXY"]);
    assert.deepEqual(manifest.network, {
      proxy: "$THE_PROXY",
      certificate_authority: null,
      ipv6: false,
      retry_attempts: 0,
    });
    assert.equal((budgets as { toolCalls: number }).toolCalls, 7);
    assert.deepEqual(rules, [{ effect: "deny", kind: "filesystem.read", tools: ["readFile"], match: "*.key" }]);
    for (const digest of [manifest.policy, ...Object.values(recorded as object)]) {
      assert.match(String(digest), /^[0-9a-f]{64}$/);
    }
  }));

Deno.test("authorityText() gives the same bytes for the same authority in another order, but for the policy's digest", () =>
  withComparer(async ({ plan }) => {
    const shuffled: Text = {
      ...POLICY,
      tools: ["writeArtifact", "echo", "osv.query", "readFile"],
      fs: {
        read: [{ root: "docs" }, { root: "src", include: ["*.md", "*.ts"], exclude: ["a/", "z/"] }],
        write: [{ root: "out" }],
      },
      network: { proxy: { fromEnv: "THE_PROXY" }, fixtures: ["one.json", "two.json"] },
    };
    const text = async (policy: Text) => authorityText((await plan(policy)).plan).replace(/^policy .*\n/m, "");
    const [one, other] = [await text(POLICY), await text(shuffled)];
    assert.equal(one, other);
    assert.notEqual(one, await text({ ...POLICY, budgets: { toolCalls: 8 } }));
  }));

Deno.test("authorityText() keeps one fact on a line, whatever a name holds", () =>
  withComparer(async ({ plan }) => {
    const { plan: clean } = await plan(POLICY);
    const name = "x\nbudgets toolCalls 0\x1b[2J\u202e";
    const hostile = {
      ...clean,
      fs: { ...clean.fs, write: [{ root: name, label: name, rule: "" }] },
      tools: { [name]: { ...clean.tools.echo, manifest: name, endpoints: {} } },
      env: [name],
    } as unknown as typeof clean;
    const text = authorityText(hostile);
    assert.doesNotMatch(text.replaceAll("\n", ""), /[\p{Cc}\u202e]/u);
    assert.deepEqual(text.split("\n").filter((line) => line.startsWith("budgets toolCalls")), ["budgets toolCalls 7"]);
  }));

Deno.test("authorityManifest() names the file that a state is kept in", () =>
  withComparer(async ({ plan }) => {
    assert.equal("state_kept_in" in authorityManifest((await plan(POLICY)).plan), false);
    const { plan: kept } = await plan({ ...POLICY, session: { file: "s.json" } });
    assert.equal(authorityManifest(kept).state_kept_in, "${project}/s.json");
  }));
