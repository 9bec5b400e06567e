/** Whole runs with a credential: it reaches its origin, and nothing that a run leaves or shows holds it in any form. */
import assert from "node:assert/strict";
import { startTlsWorld, type TlsWorld } from "../net/tls_world.ts";
import { watchCommandLines } from "./command_lines.ts";
import { type Project, type RunResult, withProject } from "./run_project.ts";

const CANARY = "ghp_canary+0123456789/abcdef==";

/** The agent knows the canary by itself, so that every way out is tried with it. */
const AGENT = `
const canary = ${JSON.stringify([...CANARY])}.join("");
const bytes = new TextEncoder().encode(canary);
const forms = [canary, btoa(canary), btoa("x" + canary), btoa("xy" + canary), encodeURIComponent(canary)];
for (const [tool, args] of [
  ["github.issue.read", { owner: "o", repo: "r", number: 1 }],
  ["github.repo.read", { owner: "o", repo: "gone" }],
  ["github.issue.read", { owner: "o", repo: "secret", number: 1 }],
  ["github.issue.read", { owner: "o", repo: canary, number: 1 }],
  ["github.issue.read", { owner: "o", repo: "r", number: 1, token: canary }],
  ["osv.query", { package: { ecosystem: "npm", name: canary } }],
]) {
  try {
    emit({ kind: "answer", answer: await callTool(tool, args) });
  } catch ({ outcome, code, message }) {
    emit({ kind: "answer", outcome, code, message });
  }
}
emit({ kind: "leak", forms, bytes: [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join(""), ["key " + canary]: 1 });
auditNote({ forms });
await state.set("key", canary);
for (const form of forms) console.log(form.slice(0, 9) + form.slice(9));
throw new Error("at the end: " + canary);
`;

const POLICY = {
  tools: ["github.issue.read", "github.repo.read", "osv.query"],
  github: { repos: ["o/r", "o/gone"], tokenEnv: "GITHUB_TOKEN" },
  network: { proxy: { fromEnv: "TEST_PROXY" }, ca: { fromEnv: "TEST_CA" }, cache: {} },
};

function assertNoCanary(text: string, where: string): void {
  const core = (shift: number): string => {
    const coded = btoa("x".repeat(shift) + CANARY);
    return coded.slice(shift === 0 ? 0 : 4, -4);
  };
  const forms = [
    CANARY,
    encodeURIComponent(CANARY),
    core(0),
    core(1),
    core(2),
    new TextEncoder().encode(CANARY).toHex(),
  ];
  for (const form of forms) assert.ok(!text.includes(form), `${where} holds ${form}`);
}

async function withWorld(body: (world: TlsWorld) => Promise<void>): Promise<void> {
  const world = await startTlsWorld({
    "GET https://api.github.com/repos/o/r/issues/1": async () => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      return { body: { number: 1, body: `echo ${CANARY}` }, headers: { etag: '"1"' } };
    },
    "GET https://api.github.com/repos/o/gone": { status: 404, body: { message: CANARY } },
    "POST https://api.osv.dev/v1/query": { body: { vulns: [] } },
  });
  try {
    await body(world);
  } finally {
    await world.close();
  }
}

async function textsBelow(folder: string): Promise<[string, string][]> {
  const found: [string, string][] = [];
  for await (const entry of Deno.readDir(folder)) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory) found.push(...await textsBelow(path));
    else if (entry.isFile) found.push([path, new TextDecoder("latin1").decode(await Deno.readFile(path))]);
  }
  return found;
}

/** Looks into every file of a run for as long as it goes on; returns how many it looked into. */
async function watchFiles({ stateHome, tmp, dir }: Project, child: Deno.ChildProcess): Promise<number> {
  let isOver = false;
  child.status.then(() => isOver = true);
  let looked = 0;
  while (!isOver) {
    for (const folder of [stateHome, tmp, `${dir}/.twokey`]) {
      const found = await textsBelow(folder).catch((error) => {
        // it went while we looked
        if (error instanceof Deno.errors.NotFound) return [];
        throw error;
      });
      for (const [path, text] of found) assertNoCanary(text + path, path);
      looked += found.length;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return looked;
}

async function runWith(project: Project, world: TlsWorld, isolation: string): Promise<RunResult> {
  let lines: Promise<string[]> = Promise.resolve([]);
  let files: Promise<number> = Promise.resolve(0);
  const run = await project.run({
    args: ["run", "--json", `--isolation=${isolation}`],
    env: { TEST_PROXY: world.proxyUrl, TEST_CA: world.caFile, GITHUB_TOKEN: CANARY },
    onStart: (child) => {
      lines = watchCommandLines(child);
      files = watchFiles(project, child);
    },
  });
  const seen = await lines;
  assert.ok(seen.some((line) => line.includes("--allow-env=GITHUB_TOKEN")), "the host was not seen");
  for (const line of seen) assertNoCanary(line, "a command line");
  assert.ok(await files > 0, "no file was seen while it ran");
  return run;
}

Deno.test("a credential reaches its origin alone, and nothing that a run leaves or prints holds it", () =>
  withWorld((world) =>
    withProject({ policy: POLICY, agent: AGENT }, async (project) => {
      for (const isolation of ["process", "worker", "compartment"]) {
        const before = world.requests.length;
        const run = await runWith(project, world, isolation);
        assert.equal(run.code, 1, run.stderr);
        const events = run.records.filter(({ type }) => type === "event").map(({ event }) => JSON.stringify(event));
        assert.equal(events.length, 7, events.join("\n"));
        assert.match(events[0] ?? "", /"echo \[redacted\]"/);
        assert.match(events[1] ?? "", /"not_found_or_private"/);
        assert.match(events[2] ?? "", /"repository_not_granted"/);
        assert.match(events[6] ?? "", /"key \[redacted\]"/);
        const sent = world.requests.slice(before).filter(({ headers }) => headers.authorization !== undefined);
        assert.ok(sent.every(({ url, headers }) =>
          url.startsWith("https://api.github.com/repos/o/") && headers.authorization === `Bearer ${CANARY}`
        ));
        for (const record of run.records) {
          if (!String(record.tool).startsWith("github.") || !/^tool_(?:call|result|error)$/.test(record.type)) {
            continue;
          }
          assert.deepEqual(
            [record.credential_mode, record.credential_env],
            ["host_env_bearer", "GITHUB_TOKEN"],
            record.type,
          );
        }
        assertNoCanary(run.stdout, "standard output");
        assertNoCanary(run.stderr, "standard error");
        assertNoCanary(await Deno.readTextFile(run.auditPath), "the log");
      }
      const left = [
        ...await textsBelow(project.stateHome),
        ...await textsBelow(`${project.dir}/.twokey`),
        ...await textsBelow(project.tmp),
      ];
      assert.ok(
        left.some(([path]) =>
          path.includes("/cache/github.issue.read-")
        ),
        left.map(([path]) => path).join("\n"),
      );
      for (const [path, text] of left) assertNoCanary(text + path, path);
    })
  ));

Deno.test("run stops before it starts where a credential cannot be one, and does not show it", () =>
  withWorld((world) =>
    withProject({ policy: POLICY, agent: AGENT }, async (project) => {
      for (const bad of [`${CANARY}\n`, "short", `a ${CANARY}`]) {
        const env = { TEST_PROXY: world.proxyUrl, TEST_CA: world.caFile, GITHUB_TOKEN: bad };
        const run = await project.run({ env });
        assert.equal(run.code, 78, run.stdout + run.stderr);
        assert.deepEqual(run.records.map(({ type }) => type), ["run_start", "run_artifact_manifest", "run_end"]);
        assert.equal(run.records[2]?.reason, "credential_invalid");
        assert.match(JSON.stringify(run.records[2]), /GITHUB_TOKEN/);
        for (const text of [run.stdout, run.stderr, await Deno.readTextFile(run.auditPath)]) {
          assert.ok(!text.includes(bad.trim()), text);
        }
      }
      assert.deepEqual(world.requests, []);
    })
  ));

Deno.test("call reads a repository under flags alone, and refuses one that no flag names", () =>
  withWorld((world) =>
    withProject({}, async (project) => {
      const env = { MY_TOKEN: CANARY };
      const flags = ["--tool=github.issue.read", "--github-repo=O/R", "--github-token-env=MY_TOKEN"];
      const refused = await project.run({
        args: ["call", "github.issue.read", '{"owner":"o","repo":"x","number":1}', ...flags],
        env,
      });
      assert.equal(refused.code, 77, refused.stderr);
      assert.match(refused.stdout, /"repository_not_granted"/);
      const allowed = await project.run({
        args: ["call", "github.issue.read", '{"owner":"o","repo":"r","number":1}', ...flags, "--dry-run"],
        env,
      });
      assert.equal(allowed.code, 0, allowed.stderr);
      assert.match(allowed.stdout, /GET https:\/\/api\.github\.com\/repos\/o\/r\/issues\/1/);
      const without = await project.run({ args: ["call", "github.issue.read", "{}", "--tool=github.issue.read"], env });
      assert.equal(without.code, 65);
      assert.match(without.stdout + without.stderr, /github\.repos/);
      assert.deepEqual(world.requests, []);
    })
  ));

Deno.test("run and call say that a tool asks without its credential where the variable is not set", async () => {
  const policy = {
    tools: ["github.repo.read"],
    github: { repos: ["o/r"], tokenEnv: "GITHUB_TOKEN" },
  };
  await withProject({ agent: "emit({});", policy }, async (project) => {
    const unset = await project.run();
    assert.equal(unset.code, 0, unset.stderr);
    const warning =
      /^warning: the variable "GITHUB_TOKEN" is not set, so github\.repo\.read will ask without a credential\n {2}at \S*agent\.policy\.jsonc:\d+:\d+\n {2}fix: Run `export GITHUB_TOKEN=…` first, or remove "github\.tokenEnv"/m;
    assert.match(unset.stderr, warning);
    assert.deepEqual(unset.records[0]?.credentials_unset, ["GITHUB_TOKEN"]);
    const called = await project.run({ args: ["call", "echo", "{}", "--policy=agent.policy.jsonc"] });
    assert.match(called.stderr, warning);
    const set = await project.run({ env: { GITHUB_TOKEN: CANARY } });
    assert.equal(set.stderr.includes("warning"), false, set.stderr);
    assert.equal(set.records[0]?.credentials_unset, undefined);
  });
});
