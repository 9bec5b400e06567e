import assert from "node:assert/strict";
import type { Plan } from "../../src/plan/plan.ts";
import { grantLines } from "../../src/report/grants.ts";
import { withRegistry } from "../../src/tools/supply_chain/npm_registry.ts";
import { makePlan } from "../gate/plan_maker.ts";

function read(parts: Partial<Plan["fs"]["read"][number]>): Plan["fs"]["read"][number] {
  return { root: "${project}", label: ".", include: [], exclude: [], rule: "/fs/read/0", ...parts };
}

Deno.test("grantLines() says who may do what in a few lines", () => {
  const plan = makePlan({
    fs: {
      read: [read({ root: "${project}/docs", include: ["*.md"], exclude: ["old/"] }), read({})],
      write: [{ root: "${project}/out", label: "out", rule: "/fs/write/0" }],
    },
  });
  const lines = grantLines({
    ...plan,
    unsafe: [{ key: "outside", path: "/srv/data", reason: "it is", expires: null }],
  });
  assert.deepEqual(lines, [
    "policy    test (agent.policy.jsonc, sha256 000000000000…), isolation process",
    "tools     echo, readFile, writeArtifact, osv.query, Grep, npm.metadata",
    "may read  docs only *.md never old/, .",
    "may write new files below out",
    `may reach POST https://api.osv.dev/v1/query, ${withRegistry("GET https://<npm-registry>/{package}")}`,
    "may spend 10000 calls, 10 min 0 s, 16 MiB of files, 1024 MiB of memory",
    "accepted  outside the project: /srv/data",
  ]);
});

Deno.test("grantLines() says that recorded answers and an offline cache reach no host", () => {
  const plan = makePlan();
  const reach = (network: Partial<Plan["network"]>, tools = plan.tools): string | undefined =>
    grantLines({ ...plan, tools, network: { ...plan.network, ...network } }).find((line) =>
      line.startsWith("may reach")
    );
  const fixtures = [{ path: "${project}/a.json", sha256: "0".repeat(64) }];
  assert.equal(reach({ fixtures }), "may reach no host: recorded answers from a.json");
  const cache = { dir: "${state}/cache", mode: "offline" as const, maxAgeMs: null, maxEntries: null };
  assert.equal(reach({ cache }), "may reach no host: kept answers only");
  assert.equal(reach({}, {}), "may reach no host");
  assert.match(reach({ proxy: { fromEnv: "HTTPS_PROXY" } }) ?? "", / through the proxy in HTTPS_PROXY$/);
});

Deno.test("grantLines() says that no tool is granted", () => {
  assert.ok(grantLines({ ...makePlan(), tools: {} }).includes("tools     none: every call is denied"));
});

Deno.test("grantLines() escapes names and counts those of a long list", () => {
  const plan = makePlan();
  const many = Array.from({ length: 20 }, (_, i) => read({ root: `\${project}/d${i}\u202e\x1b[2J` }));
  const lines = grantLines({ ...plan, name: "a\u202eb", fs: { ...plan.fs, read: many } });
  assert.ok(lines.every((line) => !/[\p{Cc}\p{Cf}]/u.test(line)));
  assert.match(lines[2] ?? "", /d7\\u\{202e\}.* and 12 more$/);
});

Deno.test("grantLines() prints budgets in units of their size", () => {
  const plan = makePlan();
  const spend = (artifactBytes: number): string | undefined =>
    grantLines({ ...plan, budgets: { ...plan.budgets, artifactBytes } }).find((line) => line.startsWith("may spend"));
  assert.match(spend(1000) ?? "", / 1000 bytes of files/);
  assert.match(spend(2048) ?? "", / 2 KiB of files/);
});

Deno.test("grantLines() says where a state is kept", () => {
  const lines = grantLines({ ...makePlan(), session: { file: "${project}/.twokey/s.json", rule: "/session" } });
  assert.ok(lines.includes("may keep  its state in .twokey/s.json"), lines.join("\n"));
});
