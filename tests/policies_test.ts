import assert from "node:assert/strict";
import { readDenoLock, readPackageLock } from "../policies/supply-chain-review/review/packages.ts";
import { markdownReport } from "../policies/supply-chain-review/review/markdown.ts";
import type { Review } from "../policies/supply-chain-review/review.ts";
import { canonical } from "../src/json.ts";
import { loadFixtures } from "../src/plan/fixtures.ts";
import { withRegistry } from "../src/tools/supply_chain/npm_registry.ts";
import { type Project, withProject } from "./e2e/run_project.ts";
import { lockedPackages, packumentUrl } from "./record.ts";

const ROOT = new URL("../", import.meta.url);
const FIXTURES = ["fixtures/supply_chain/osv.json", "fixtures/supply_chain/npm.json"];

/** The parts of this repository that the shipped policies are about, in a folder of their own. */
async function repository(body: (project: Project) => Promise<void>): Promise<void> {
  const files: Record<string, string> = {};
  const take = async (path: string): Promise<void> => {
    files[path] = await Deno.readTextFile(new URL(path, ROOT));
  };
  const takeBelow = async (folder: string): Promise<void> => {
    for await (const { name, isDirectory } of Deno.readDir(new URL(folder, ROOT))) {
      if (isDirectory) await takeBelow(`${folder}${name}/`);
      else await take(`${folder}${name}`);
    }
  };
  await Promise.all(["deno.json", "deno.lock", "src/errors.ts", ...FIXTURES].map(take));
  await takeBelow("policies/");
  await withProject({ files }, body);
}

async function reportOf(project: Project, folder: string): Promise<Review> {
  const names = (await Array.fromAsync(Deno.readDir(`${project.dir}/out/${folder}`))).map(({ name }) => name);
  const newest = names.toSorted().at(-1) ?? "";
  return JSON.parse(await Deno.readTextFile(`${project.dir}/out/${folder}/${newest}/report.json`));
}

Deno.test("policies/demo runs twice with the same result: a report, and two expected denials", async () => {
  await repository(async (project) => {
    const args = ["run", "--json", "--policy", "policies/demo/agent.policy.jsonc"];
    const packages = (await lockedPackages()).length;
    for (const round of [1, 2]) {
      const { code, stdout, stderr } = await project.run({ args });
      assert.equal(code, 0, stderr);
      const { summary, unexpected_denials, missing_denials } = JSON.parse(stdout);
      assert.equal(summary.tool_denials, 2);
      assert.deepEqual([unexpected_denials, missing_denials], [[], []]);
      assert.equal(summary.osv_queries, packages);
      assert.equal(summary.artifact_writes, 2);
      assert.deepEqual(summary.freshness, { fixture: summary.osv_queries + summary.npm_metadata_queries });
      assert.match(stderr, /tried a file that the policy leaves out: agent tool denied: readFile/);
      assert.match(stderr, /tried a tool that the policy does not grant: agent tool denied: slow/);
      assert.equal((await Array.fromAsync(Deno.readDir(`${project.dir}/out/demo`))).length, round);
    }
    const { summary, failures, packages: reviewed } = await reportOf(project, "demo");
    assert.deepEqual(failures, {});
    assert.deepEqual([summary.packages, summary.unknown], [packages, 0]);
    assert.ok(reviewed.every(({ metadata }) => metadata.status === "found" && metadata.integrity === "same"));
    assert.equal(reviewed.find(({ name }) => name === "valibot")?.direct, true);
  });
});

Deno.test("policies/blank runs twice", async () => {
  await repository(async (project) => {
    for (let round = 0; round < 2; round++) {
      const { code, stdout, stderr } = await project.run({
        args: ["run", "--json", "--policy", "policies/blank/agent.policy.jsonc"],
      });
      assert.equal(code, 0, stderr);
      assert.equal(JSON.parse(stdout).summary.events, 1);
    }
  });
});

Deno.test("policies/supply-chain-review runs without a denial in every isolation", async () => {
  await repository(async (project) => {
    for (const isolation of ["process", "worker", "compartment"]) {
      const { code, stdout, stderr } = await project.run({
        args: [
          "run",
          "--json",
          "--policy=policies/supply-chain-review/agent.policy.jsonc",
          `--isolation=${isolation}`,
          ...FIXTURES.map((path) => `--osv-fixture=${path}`),
        ],
      });
      assert.equal(code, 0, stderr);
      const { summary } = JSON.parse(stdout);
      assert.deepEqual([summary.tool_denials, summary.artifact_writes], [0, 2]);
      assert.equal((await reportOf(project, "supply-chain-review")).summary.unknown, 0);
    }
  });
});

Deno.test("the review reports what it was told, and calls nothing fine that nobody answered for", async () => {
  await repository(async (project) => {
    const npm = {
      "lodash@4.17.20": { integrity: "sha512-x" },
      "acorn@8.15.0": { integrity: "sha512-forged" },
      "nobody-knows@1.0.0": {},
    };
    await project.write("deno.lock", JSON.stringify({ version: "5", npm, jsr: { "@std/fs@1.0.0": {} } }));
    const osv = {
      queries: [
        {
          package: { ecosystem: "npm", name: "lodash" },
          version: "4.17.20",
          response: { vulns: [{ id: "GHSA-35jh-r3h4-6jhm", summary: "Command Injection | in lodash" }] },
        },
        { package: { ecosystem: "npm", name: "acorn" }, version: "8.15.0", response: {} },
      ],
    };
    await project.write("osv.json", JSON.stringify(osv));
    const { code, stderr } = await project.run({
      args: [
        "run",
        "--policy=policies/supply-chain-review/agent.policy.jsonc",
        "--osv-fixture=osv.json",
        "--osv-fixture=fixtures/supply_chain/npm.json",
      ],
    });
    assert.equal(code, 0, stderr);
    const { packages, summary, not_reviewed, failures } = await reportOf(project, "supply-chain-review");
    assert.deepEqual(packages.map(({ name, verdict }) => [name, verdict]), [
      ["acorn", "attention"],
      ["lodash", "vulnerable"],
      ["nobody-knows", "unknown"],
    ]);
    assert.equal(summary.none_known, 0);
    assert.equal(not_reviewed.jsr, 1);
    assert.deepEqual(failures, { "npm.metadata: no recorded answer": 2, "osv.query: no recorded answer": 1 });
  });
});

Deno.test("the review fails where a lock is there and cannot be read", async () => {
  await repository(async (project) => {
    const args = ["run", "--json", "--policy=policies/supply-chain-review/agent.policy.jsonc"];
    await project.write("deno.lock", "{");
    const { code, stdout } = await project.run({ args });
    assert.equal(code, 1);
    assert.match(JSON.parse(stdout).error.message, /Cannot review deno\.lock: it is not JSON/);
  });
});

Deno.test("every npm package of deno.lock has a recorded answer", async () => {
  const files = await Promise.all(
    FIXTURES.map(async (file) => ({ file, text: await Deno.readTextFile(new URL(file, ROOT)) })),
  );
  const set = loadFixtures(files);
  const hint = "run `deno task record`";
  for (const { name, version, integrity } of await lockedPackages()) {
    const query = canonical({ package: { ecosystem: "npm", name }, version });
    assert.ok(set.find("POST", "https://api.osv.dev/v1/query", query), `osv ${name}@${version}: ${hint}`);
    const answer = set.find("GET", withRegistry(packumentUrl(name)), "");
    assert.ok(answer, `npm ${name}: ${hint}`);
    assert.equal(JSON.parse(answer.reply.text).versions[version]?.dist.integrity, integrity, `${name}: ${hint}`);
  }
  for (const { file, text } of files) assert.equal(text.includes(withRegistry("<npm-registry>")), false, file);
});

Deno.test("readDenoLock() reads names, versions and checksums, and counts what it is not about", () => {
  const lock = {
    version: "5",
    npm: {
      "@a/b@1.0.0_c@2.0.0__d@3.0.0": { integrity: "sha512-1" },
      "e@1.0.0-rc.1+build": {},
      "nothing": {},
    },
    jsr: { "@std/x@1.0.0": {} },
    remote: { "https://example.com/a.ts": "0" },
  };
  assert.deepEqual(readDenoLock(lock), {
    entries: [
      { name: "@a/b", version: "1.0.0", integrity: "sha512-1" },
      { name: "e", version: "1.0.0-rc.1+build", integrity: null },
    ],
    jsr: 1,
    remote: 1,
    other: 1,
  });
  assert.equal(readDenoLock({ packages: { npm: { "x@1.0.0": {} } } }).entries.length, 1);
  assert.deepEqual(readDenoLock({}).entries, []);
});

Deno.test("readPackageLock() reads every version of the format and leaves out what no registry has", () => {
  const modern = readPackageLock({
    lockfileVersion: 3,
    packages: {
      "": { name: "root", version: "1.0.0" },
      "packages/member": { version: "1.0.0" },
      "node_modules/member": { link: true, resolved: "packages/member" },
      "node_modules/a": { version: "1.0.0", integrity: "sha512-1", resolved: "https://x/a.tgz" },
      "node_modules/a/node_modules/@s/b": { version: "2.0.0" },
      "node_modules/alias": { name: "real", version: "3.0.0" },
      "node_modules/git": { version: "1.0.0", resolved: "git+ssh://x" },
    },
  });
  assert.deepEqual(modern.entries.map(({ name, version }) => `${name}@${version}`), [
    "a@1.0.0",
    "@s/b@2.0.0",
    "real@3.0.0",
  ]);
  assert.equal(modern.other, 1);
  const old = readPackageLock({
    lockfileVersion: 1,
    dependencies: { a: { version: "1.0.0", dependencies: { b: { version: "2.0.0" } } }, c: { version: "file:../c" } },
  });
  assert.deepEqual([old.entries.map(({ name }) => name), old.other], [["a", "b"], 1]);
});

Deno.test("markdownReport() lets no stranger's text become markup", () => {
  const hostile = "x\n# owned <script> [a](b) | `c` \u202e ![i](j)";
  const review: Review = {
    at: "2026-01-01T00:00:00.000Z",
    sources: [],
    summary: { packages: 1, vulnerable: 1, attention: 0, unknown: 0, none_known: 0 },
    packages: [{
      name: hostile,
      version: hostile,
      integrity: null,
      direct: false,
      verdict: "vulnerable",
      vulnerabilities: { status: "vulnerable", vulns: [{ id: hostile, summary: hostile }] },
      metadata: { status: "found", latest: hostile, deprecated: hostile, integrity: "unknown", install_script: true },
    }],
    not_reviewed: { jsr: 0, remote: 0, other: 0 },
    failures: { [hostile]: 1 },
  };
  const text = markdownReport(review);
  assert.ok(!text.includes("<script") && !text.includes("\u202e") && !/[^\\]`/.test(text));
  assert.ok(!/(?<!\\)\[a/.test(text) && !/^# owned/m.test(text));
  for (const line of text.split("\n").filter((line) => line.startsWith("| "))) {
    const cells = line.split(/(?<!\\)\|/).length;
    assert.equal(cells, 7, line);
  }
});
