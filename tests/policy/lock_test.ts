import assert from "node:assert/strict";
import { compilePolicy } from "../../src/launch/compile_policy.ts";
import { loadPolicy } from "../../src/policy/load.ts";
import { assertLocked, driftOf, findLock, type Lock, lockOf, PROVEN_DENO, readLock } from "../../src/policy/lock.ts";
import { type Project, withProject } from "../e2e/run_project.ts";

const POLICY = { tools: ["echo", "readFile"], fs: { read: [{ root: ".", include: ["*.md"] }] } };
const AGENT = 'emit({ kind: "read", ...(await callTool("readFile", { path: "notes.md" })) });\n';
const FILES = { "notes.md": "# Notes\n", "helper.ts": "export const one = 1;\n" };

function locked(body: (project: Project, lock: Lock) => Promise<void>): Promise<void> {
  return withProject({ policy: POLICY, agent: AGENT, files: FILES }, async (project) => {
    const { code, stderr } = await project.run({ args: ["policy", "lock"] });
    assert.equal(code, 0, stderr);
    await body(project, await readLock(`${project.dir}/agent.lock.json`));
  });
}

Deno.test("writeLock() names everything that a locked run depends on", () =>
  locked(async ({ dir }, lock) => {
    assert.deepEqual(Object.keys(lock.tools), ["echo", "readFile"]);
    assert.deepEqual(Object.keys(lock.modules), ["${project}/agent.ts"]);
    assert.deepEqual(lock.deno, PROVEN_DENO);
    for (const digest of [lock.policy, lock.plan, ...Object.values(lock.tools), ...Object.values(lock.modules)]) {
      assert.match(digest, /^[0-9a-f]{64}$/);
    }
    for await (const { name } of Deno.readDir(dir)) assert.doesNotMatch(name, /\.tmp$/);
  }));

Deno.test("a locked run goes through as long as nothing changed, and its log says that it was locked", () =>
  locked(async ({ run }) => {
    assert.equal((await run({ args: ["run", "--locked"] })).code, 0);
    const { code, records } = await run({ env: { CI: "true" } });
    assert.equal(code, 0);
    assert.equal(records[0]?.locked, true);
  }));

const DRIFTS: Readonly<Record<string, { change(project: Project): Promise<void>; says: RegExp }>> = {
  "the policy": {
    change: ({ policy }) => policy({ ...POLICY, tools: ["echo", "readFile", "listFiles"] }),
    says: /changed: policy\n {2}added: tool listFiles\n/,
  },
  "the agent": {
    change: ({ write }) => write("agent.ts", `${AGENT}// a word more\n`),
    says: /changed: agent module \$\{project\}\/agent\.ts\n/,
  },
  "a module more": {
    change: ({ write }) => write("agent.ts", `import { one } from "./helper.ts";\nemit({ kind: "n", one });\n`),
    says: /changed: agent module \$\{project\}\/agent\.ts\n {2}added: agent module \$\{project\}\/helper\.ts\n/,
  },
  "a digest in the lock": {
    change: async ({ dir }) => {
      const lock = await readLock(`${dir}/agent.lock.json`);
      const tools = { ...lock.tools, echo: "0".repeat(64) };
      await Deno.writeTextFile(`${dir}/agent.lock.json`, JSON.stringify({ ...lock, tools }));
    },
    says: /changed: tool echo\n/,
  },
};

for (const [what, { change, says }] of Object.entries(DRIFTS)) {
  Deno.test(`a locked run refuses drift and starts nothing: ${what}`, () =>
    locked(async (project) => {
      await change(project);
      for (const options of [{ args: ["run", "--locked"] }, { args: ["run"], env: { CI: "true" } }]) {
        const { code, stderr, auditPath } = await project.run(options);
        assert.equal(code, 65, stderr);
        assert.match(stderr, says);
        assert.equal(auditPath, "");
      }
      assert.equal((await project.run({ args: ["policy", "lock", "--check"] })).code, 65);
      assert.equal((await project.run()).code, 0, "without a lock in force the change is the author's");
    }));
}

Deno.test("a locked run refuses flags that add authority, and names them", () =>
  locked(async ({ run }) => {
    const { code, stderr, auditPath } = await run({
      args: ["run", "--locked", "--policy=agent.policy.jsonc", "--tool=slow", "--fs-read=/etc"],
    });
    assert.equal(code, 65);
    assert.match(stderr, /--tool, --fs-read adds? authority/);
    assert.equal(auditPath, "");
  }));

Deno.test("CI=true without a lock stops and names the command to run", () =>
  withProject({ policy: POLICY, agent: AGENT, files: FILES }, async ({ run }) => {
    const { code, stderr, auditPath } = await run({ args: ["run"], env: { CI: "true" } });
    assert.equal(code, 65);
    assert.match(stderr, /twokey policy lock/);
    assert.equal(auditPath, "");
  }));

Deno.test("readLock() refuses what is no lock, with the command to run", () =>
  locked(async ({ dir, run, write }, lock) => {
    const { plan: _, ...incomplete } = lock;
    const texts = ["", "{", "null", "{}", JSON.stringify(incomplete), JSON.stringify({ ...lock, extra: 1 })];
    for (const text of [...texts, JSON.stringify({ ...lock, policy: "A".repeat(64) })]) {
      await write("agent.lock.json", text);
      await assert.rejects(readLock(`${dir}/agent.lock.json`), { code: "lock_invalid" }, text);
    }
    const { code, stderr } = await run({ args: ["run", "--locked"] });
    assert.equal(code, 65);
    assert.match(stderr, /twokey policy lock/);
    await Deno.remove(`${dir}/agent.lock.json`);
    await Deno.symlink("deno.json", `${dir}/agent.lock.json`);
    await assert.rejects(readLock(`${dir}/agent.lock.json`), { code: "lock_invalid" });
  }));

Deno.test("lockOf() gives the same bytes for the same project in another folder", async () => {
  const locks: string[] = [];
  for (let i = 0; i < 2; i++) {
    await locked(async ({ dir }) => {
      locks.push(await Deno.readTextFile(`${dir}/agent.lock.json`));
    });
  }
  assert.equal(locks[0], locks[1]);
});

Deno.test("driftOf() names another version of Deno, and a plan that changed in nothing else", () =>
  locked(async ({ dir }) => {
    const compiled = await compilePolicy(await loadPolicy(`${dir}/agent.policy.jsonc`));
    const { plan, loaded } = compiled;
    const lock = await lockOf({ plan });
    assert.deepEqual(await driftOf({ plan }, lock, "2.9.6"), []);
    const [version] = await driftOf({ plan }, lock, "9.9.9");
    assert.match(version?.what ?? "", /^Deno 9\.9\.9, not one of 2\.9\.6$/);
    const loosened = { ...plan, budgets: { ...plan.budgets, toolCalls: plan.budgets.toolCalls + 1 } };
    assert.match((await driftOf({ plan: loosened }, lock, "2.9.6"))[0]?.what ?? "", /^plan /);
    assert.equal(await findLock({ ...loaded, file: null }), undefined);
    // the written lock knows the agent's module, which a policy compiled without its agent does not have
    await assert.rejects(assertLocked(compiled), { code: "lock_drift" });
  }));
