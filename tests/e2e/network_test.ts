/** Whole runs that ask the real pinned URLs through real TLS: a proxy and a certificate authority that the policy names. */
import assert from "node:assert/strict";
import { withRegistry } from "../../src/tools/supply_chain/npm_registry.ts";
import { startTlsWorld, type TlsWorld } from "../net/tls_world.ts";
import { type Project, type RunResult, withProject } from "./run_project.ts";

const AGENT = `
const all = [
  () => callTool("osv.query", { package: { ecosystem: "npm", name: "minimist" }, version: "0.0.8" }),
  () => callTool("npm.metadata", { package: "@scope/name" }),
  () => callTool("npm.metadata", { package: "gone" }),
];
for (const one of all) {
  try {
    emit({ kind: "answer", answer: await one() });
  } catch ({ outcome, code, message }) {
    emit({ kind: "answer", outcome, code, message });
  }
}`;

const POLICY = {
  tools: ["osv.query", "npm.metadata"],
  network: { proxy: { fromEnv: "TEST_PROXY" }, ca: { fromEnv: "TEST_CA" } },
};

async function withWorld(body: (world: TlsWorld) => Promise<void>): Promise<void> {
  const packument = {
    name: "@scope/name",
    "dist-tags": { latest: "1.0.0" },
    versions: { "1.0.0": { name: "@scope/name" } },
  };
  const world = await startTlsWorld({
    "POST https://api.osv.dev/v1/query": { body: { vulns: [{ id: "GHSA-xvch-5gv4-984h" }] } },
    [withRegistry("GET https://<npm-registry>/@scope%2fname")]: { body: packument },
    [withRegistry("GET https://<npm-registry>/gone")]: { status: 404, body: { error: "Not found" } },
  });
  try {
    await body(world);
  } finally {
    await world.close();
  }
}

/** The records of a run without what differs from run to run. */
function steady({ records }: RunResult): unknown[] {
  return records
    .filter(({ type }) => type !== "run_start" && type !== "run_artifact_manifest" && type !== "worker_host_call")
    .map(({ seq: _s, at_ms: _a, run_id: _r, prev: _p, hash: _h, duration_ms: _d, ...rest }) => rest);
}

async function runIn(project: Project, world: TlsWorld, isolation: string): Promise<RunResult> {
  return await project.run({
    args: ["run", "--json", `--isolation=${isolation}`],
    env: { TEST_PROXY: world.proxyUrl, TEST_CA: world.caFile },
  });
}

Deno.test("run asks the pinned endpoints through the proxy and the authority of the policy, alike in every isolation", () =>
  withWorld((world) =>
    withProject({ policy: POLICY, agent: AGENT }, async (project) => {
      const runs = [];
      for (const isolation of ["process", "worker", "compartment"]) runs.push(await runIn(project, world, isolation));
      for (const run of runs) assert.equal(run.code, 0, run.stderr);
      const [first, ...others] = runs.map(steady);
      for (const other of others) assert.deepEqual(other, first);

      const events = runs[0]?.records.filter(({ type }) => type === "event").map(({ event }) => event) ?? [];
      assert.equal(events.length, 3);
      assert.deepEqual(events[0], { kind: "answer", answer: { vulns: [{ id: "GHSA-xvch-5gv4-984h" }] } });
      assert.match(JSON.stringify(events[2]), /"outcome":"error","code":"http_nonretryable"/);
      const results = runs[0]?.records.filter(({ type }) => type === "tool_result") ?? [];
      assert.deepEqual(results.map(({ transport, freshness }) => ({ transport, freshness })), [
        { transport: "pinned_https", freshness: "live" },
        { transport: "pinned_https", freshness: "live" },
      ]);
      assert.deepEqual(new Set(world.connects), new Set(["api.osv.dev:443", withRegistry("<npm-registry>:443")]));
      assert.equal(world.requests.length, 9);
    })
  ));

Deno.test("run takes no proxy and no authority from the caller's environment that the policy does not name", () =>
  withWorld((world) =>
    withProject({ policy: { tools: ["osv.query"] }, agent: AGENT }, async (project) => {
      const proxies = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
      const env = Object.fromEntries(proxies.map((name) => [name, world.proxyUrl]));
      const run = await project.run({ env: { ...env, DENO_CERT: world.caFile, SSL_CERT_FILE: world.caFile } });
      assert.equal(run.code, 0, run.stderr);
      assert.deepEqual(world.connects, []);
      assert.match(JSON.stringify(run.records), /"code":"transport_error"/);
    })
  ));

Deno.test("run stops before it starts where a variable that the policy names is not set", () =>
  withProject({ policy: POLICY, agent: AGENT }, async (project) => {
    const run = await project.run();
    assert.equal(run.code, 66);
    assert.match(run.stdout, /TEST_(PROXY|CA)/);
    assert.deepEqual(run.records, []);
  }));

Deno.test("run trusts only the authority that the policy names", () =>
  withWorld((world) =>
    withProject(
      { policy: { ...POLICY, network: { proxy: { fromEnv: "TEST_PROXY" } } }, agent: AGENT },
      async (project) => {
        const run = await project.run({ env: { TEST_PROXY: world.proxyUrl } });
        assert.equal(run.code, 0, run.stderr);
        assert.deepEqual(world.requests, []);
      },
    )
  ));
