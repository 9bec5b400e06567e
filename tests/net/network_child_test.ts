import assert from "node:assert/strict";
import { IPV6_CANARY_ADDRESS } from "../../src/plan/key1.ts";
import { hostFlags } from "../../src/plan/flags.ts";
import type { Plan } from "../../src/plan/plan.ts";
import { withRegistry } from "../../src/tools/supply_chain/npm_registry.ts";
import type { ChildReport, ChildTask } from "./network_child.ts";
import { makeRun } from "./network_run.ts";
import { startTlsWorld, type TlsWorld } from "./tls_world.ts";

const ROOT = new URL("../..", import.meta.url).pathname.replace(/\/$/, "");
const NETWORK = { proxy: { fromEnv: "TEST_PROXY" }, ca: { fromEnv: "TEST_CA" } } as const;
const QUERY = { package: { ecosystem: "npm", name: "lodash" } };

/** Runs the child under the very flags that a host of this plan gets, `grants` beside them. */
async function runChild(
  world: TlsWorld,
  options: { fetches?: readonly string[]; grants?: readonly string[] } = {},
): Promise<ChildReport> {
  const { plan, places } = makeRun({ network: NETWORK });
  const full = {
    ...plan,
    fs: { read: [], write: [], protected: [], secret: [] },
    env: ["TEST_PROXY"],
    budgets: { ...plan.budgets, heapMb: 256 },
  } as unknown as Plan;
  const flags = hostFlags(full, { ...places, twokey: ROOT }, { proxyAddress: world.proxyAddress })
    .map((flag) => flag.startsWith("--allow-net=") ? [flag, ...options.grants ?? []].join(",") : flag);
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", ...flags, `${ROOT}/tests/net/network_child.ts`],
    clearEnv: true,
    env: { TEST_PROXY: world.proxyUrl, HOME: Deno.env.get("HOME") ?? "/", ...denoDir() },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const task: ChildTask = {
    network: NETWORK,
    caPem: world.caPem,
    calls: [{ tool: "osv.query", args: QUERY }, { tool: "npm.metadata", args: { package: "@types/node" } }],
    fetches: options.fetches ?? [],
  };
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(JSON.stringify(task)));
  await writer.close();
  const { code, stdout, stderr } = await child.output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout)) as ChildReport;
}

function denoDir(): Record<string, string> {
  const value = Deno.env.get("DENO_DIR");
  return value === undefined ? {} : { DENO_DIR: value };
}

async function withWorld(body: (world: TlsWorld) => Promise<void>): Promise<void> {
  const world = await startTlsWorld({
    "POST https://api.osv.dev/v1/query": { body: { vulns: [{ id: "A" }] } },
    [withRegistry("GET https://<npm-registry>/@types%2fnode")]: { body: { name: "@types/node" } },
  });
  try {
    await body(world);
  } finally {
    await world.close();
  }
}

Deno.test("a host's flags let the tools reach their pinned hosts through the proxy, and nothing else", async () => {
  await withWorld(async (world) => {
    const fetches = [
      "https://evil.test/",
      "https://api.github.com/",
      "https://api.osv.dev:8443/",
      "http://169.254.169.254/latest/meta-data",
      "http://127.0.0.1:8080/",
      "http://[::1]:8080/",
      "https://[100::1]/",
    ];
    const report = await runChild(world, { fetches });
    assert.deepEqual(report.outcomes, [
      { result: { vulns: [{ id: "A" }] }, transport: "pinned_https" },
      { result: { name: "@types/node" }, transport: "pinned_https" },
    ]);
    assert.deepEqual(report.fetches, fetches.map(() => "NotCapable"));
    assert.deepEqual(world.connects, ["api.osv.dev:443", withRegistry("<npm-registry>:443")]);
    assert.deepEqual(report.canary, { held: true, by: "refused" });
  });
});

Deno.test("ipv4Canary() proves the binding in a process that is granted the canary's address", async () => {
  await withWorld(async (world) => {
    const report = await runChild(world, { grants: [IPV6_CANARY_ADDRESS] });
    assert.deepEqual(report.canary, { held: true, by: "bound" });
  });
});
