/** What confined programs cannot write, see, or leave behind, in real runs. */
// deno-lint-ignore-file no-console -- the line that a gate looks for
import assert from "node:assert/strict";
import type { JsonObject } from "../../src/json.ts";
import { callerOf, canConfine } from "./programs_here.ts";
import { eventually, processesNaming, type Project, withProject } from "./run_project.ts";

const REASON = { reason: "needed for this test", expires: "2999-01-01" };
const SH = await Deno.realPath("/bin/sh");

const policyOf = (own: JsonObject = {}, more: JsonObject = {}) => ({
  tools: ["process"],
  process: { commands: { sh: { path: SH, args: "any" } }, cwd: ["."], sandbox: "required", ...own },
  unsafe: { interpreter: [{ command: "sh", ...REASON }] },
  ...more,
});

const writing = (own: JsonObject, roots: readonly string[], more: JsonObject = {}) =>
  policyOf(own, {
    tools: ["process", "WriteFile"],
    fs: { read: roots.map((root) => ({ root })), write: roots.map((root) => ({ root })) },
    ...more,
  });

const shell = (script: string, own: JsonObject = {}): JsonObject => ({ command: "sh", args: ["-c", script], ...own });

async function runOf(project: Project, args?: readonly string[]) {
  const run = await project.run(args === undefined ? {} : { args });
  const events = run.records.filter(({ type }) => type === "event").map(({ event }) => event as JsonObject);
  return { ...run, events, end: run.records.at(-1), shown: run.stderr + run.stdout };
}

async function exists(path: string): Promise<boolean> {
  return await Deno.lstat(path).then(() => true, () => false);
}

Deno.test("a confined program changes neither policy, lock nor agent of a policy in a folder below the project", async () => {
  if (!await canConfine()) return;
  const names = ["agent.policy.jsonc", "agent.lock.json", "agent.ts"];
  const script = `for f in ${names.join(" ")}; do echo evil > $f; mv $f x; done; echo new > new; ls`;
  const policy = JSON.stringify({ version: 1, agent: "agent.ts", ...writing({}, ["."]) });
  await withProject({
    files: { "bots/review/agent.ts": callerOf([shell(script)]), "bots/review/agent.policy.jsonc": policy },
  }, async (project) => {
    const at = `${project.dir}/bots/review`;
    const locked = await project.run({ args: ["policy", "lock", "bots/review/agent.policy.jsonc"] });
    assert.equal(locked.code, 0, locked.stderr);
    const before = await Promise.all(names.map((name) => Deno.readTextFile(`${at}/${name}`)));
    const { records, events, shown } = await runOf(project, [
      "run",
      "--json",
      "--policy",
      "bots/review/agent.policy.jsonc",
      "--locked",
    ]);
    assert.match(String(events[0]?.stderr), /Read-only file system/, shown);
    assert.deepEqual(await Promise.all(names.map((name) => Deno.readTextFile(`${at}/${name}`))), before);
    assert.deepEqual((records[0]?.confinement as JsonObject).read_only_inside, ["${project}/bots/review"]);
  });
});

Deno.test("a write root that holds the agent, or a protected name at any depth, is read-only for programs", async () => {
  if (!await canConfine()) return;
  const script = "echo evil > agent.ts; echo evil > b/c/deno.json; mv b d; echo > ../open/ok; ls ../open";
  await withProject({
    files: { "work/agent.ts": callerOf([shell(script)]), "deep/b/c/deno.json": "{}", "open/": "" },
    policy: { ...writing({ cwd: ["work"] }, ["work", "deep", "open"]), agent: "work/agent.ts" },
  }, async (project) => {
    const { records, events, shown } = await runOf(project);
    assert.equal(events[0]?.stdout, "ok\n", shown);
    const inside = (records[0]?.confinement as JsonObject).read_only_inside as string[];
    assert.deepEqual(inside.toSorted(), ["${project}/deep", "${project}/work"]);
    assert.ok(!(await Deno.readTextFile(`${project.dir}/work/agent.ts`)).startsWith("evil"));
    assert.ok(await exists(`${project.dir}/deep/b/c/deno.json`));
  });
});

Deno.test("a run fails whose program leaves a file of a protected name, and the next one closes the root", async () => {
  if (!await canConfine()) return;
  for (const left of ["a/b/deno.json", "x.policy.jsonc", ".GIT/config", ".twokey/y"]) {
    await withProject({
      agent: callerOf([shell(`mkdir -p "$(dirname "${left}")" && echo evil > "${left}"; echo more > more`)]),
      files: { "out/": "" },
      policy: writing({ cwd: ["out"] }, ["out"], { session: true }),
    }, async (project) => {
      const { code, end, shown } = await runOf(project);
      assert.equal(end?.reason, "protected_path_written", shown);
      assert.match(String((end?.fault as JsonObject).message), /"\$\{project\}\/out\//);
      assert.equal(code, 78);
      assert.ok(await exists(`${project.dir}/out/${left}`), "nothing is undone");
      await project.write("agent.ts", callerOf([shell("echo again > again")]));
      const next = await runOf(project);
      assert.equal(next.end?.reason, "done", next.shown);
      assert.match(String(next.events[0]?.stderr), /Read-only file system/);
    });
  }
  // a folder that is closed to the launcher as well is not taken for an empty one
  if (Deno.uid() === 0) return console.log("skip: no folder is closed to root");
  await withProject({
    agent: callerOf([shell("mkdir a && echo evil > a/deno.json && chmod 0 a")]),
    files: { "out/": "" },
    policy: writing({ cwd: ["out"] }, ["out"]),
  }, async (project) => {
    const { end, shown } = await runOf(project);
    await Deno.chmod(`${project.dir}/out/a`, 0o700);
    assert.equal(end?.reason, "protected_path_written", shown);
  });
});

Deno.test("a folder that a program puts in the place of another one is not mounted by the next call", async () => {
  if (!await canConfine()) return;
  await withProject({
    files: { "out/a/ssh/": "", "w/": "" },
    policy: writing({ cwd: [".", "w", "out/a/ssh"] }, ["out", "out/a"]),
  }, async (project) => {
    const victim = `${project.tmp}/victim`;
    await Deno.mkdir(`${victim}/ssh`, { recursive: true });
    await Deno.writeTextFile(`${victim}/ssh/secret`, "OWNED");
    await project.write(
      "agent.ts",
      callerOf([
        shell(`mv out/a out/b; ln -s ${victim} out/a; ls out`),
        shell("cat secret", { cwd: "out/a/ssh" }),
        shell(`cat out/a/ssh/secret || ls ${victim}; echo x > out/a/new`),
      ]),
    );
    const { events, shown } = await runOf(project);
    assert.equal(events[0]?.stdout, "a\nb\n", "the program did replace the folder: " + shown);
    assert.ok((await Deno.lstat(`${project.dir}/out/a`)).isSymlink);
    assert.equal(events[1]?.code, "process_cwd_not_admitted");
    assert.deepEqual([events[2]?.outcome ?? "result", events[2]?.stdout], ["result", ""], shown);
    assert.ok(!await exists(`${victim}/new`));
  });
});

Deno.test("a folder that somebody replaces during a run is not mounted any more", async () => {
  if (!await canConfine()) return;
  await withProject({
    agent: callerOf([
      shell("touch started; while ! test -e ../go; do sleep 0.02; done", { cwd: "out" }),
      shell("cat out/secret; echo x > out/new"),
    ]),
    files: { "out/": "" },
    policy: writing({ cwd: [".", "out"] }, ["out"]),
  }, async (project) => {
    const victim = `${project.tmp}/victim`;
    await Deno.mkdir(victim);
    await Deno.writeTextFile(`${victim}/secret`, "OWNED");
    const run = await project.run({
      onStart: async () => {
        assert.ok(await eventually(() => exists(`${project.dir}/out/started`), 15_000));
        await Deno.rename(`${project.dir}/out`, `${project.dir}/old`);
        await Deno.rename(victim, `${project.dir}/out`);
        await project.write("go", "");
      },
    });
    const events = run.records.filter(({ type }) => type === "event").map(({ event }) => event as JsonObject);
    assert.equal(events[1]?.code, "process_spawn_failed", run.stderr + run.stdout);
    assert.ok(!await exists(`${project.dir}/out/new`));
  });
});

Deno.test("a confined program does not see the log of its own run, nor the session, on the very first run", async () => {
  if (!await canConfine()) return;
  const files = { "st/s.json": "", "st/s.json.reset-backup": "SAVED-BACKUP" };
  const { "st/s.json": _, ...backup } = files;
  await withProject({
    agent: callerOf([shell("ls -A .twokey; find . -name audit.jsonl -o -name recording.jsonl; cat st/*")]),
    files: backup,
    policy: policyOf({}, { session: { file: "st/s.json" } }),
  }, async (project) => {
    const args = ["run", "--json", "--record"];
    const first = await runOf(project, args);
    assert.deepEqual([first.end?.reason, first.events[0]?.stdout], ["done", ""], first.shown);
    assert.ok(await exists(`${project.dir}/st/s.json`), "the session is there by now");
    const second = await runOf(project, args);
    assert.deepEqual([second.end?.reason, second.events[0]?.stdout], ["done", ""], second.shown);
    const refused = await project.run({ args: [...args, "--runs-dir", "logs"] });
    assert.equal(refused.code, 64, refused.stderr);
    assert.match(refused.stdout, /folder of programs/);
  });
});

Deno.test("neither tools nor confined programs see the state of other projects", async () => {
  if (!await canConfine()) return;
  const other = ".local/state/twokey/0123456789abcdef/approvals.key";
  await withProject({
    agent: `${callerOf([shell(`cat ${other}; ls -A .local/state/twokey`)])}
try { emit({ read: await callTool("readFile", { path: ${JSON.stringify(other)} }) }); } catch (error) {
  emit({ code: (error as { code: string }).code });
}
emit({ listed: JSON.stringify(await callTool("listFiles", { path: "." })).includes("approvals.key") });`,
    files: { [other]: "OTHER-KEY" },
    policy: policyOf({}, {
      tools: ["process", "readFile", "listFiles"],
      fs: { read: [{ root: "." }] },
    }),
  }, async (project) => {
    const run = await project.run({ env: { XDG_STATE_HOME: `${project.dir}/.local/state` } });
    const events = run.records.filter(({ type }) => type === "event").map(({ event }) => event as JsonObject);
    assert.equal(run.records.at(-1)?.reason, "done", run.stderr + run.stdout);
    assert.equal(events[0]?.stdout, "");
    assert.deepEqual(events.slice(1), [{ code: "secret_name" }, { listed: false }]);
    // and nothing may be written there
    const inside = { root: ".local/state/twokey/0123456789abcdef" };
    await project.policy(policyOf({}, { tools: ["process", "writeArtifact"], fs: { write: [inside] } }));
    const refused = await project.run({ env: { XDG_STATE_HOME: `${project.dir}/.local/state` } });
    assert.equal(refused.code, 65, refused.stderr);
    assert.match(refused.stdout, /policy_protected/);
  });
});

Deno.test("what an unconfined program left ends with a launcher that is killed", async () => {
  if (!await canConfine()) return;
  const there = async (...numbers: number[]) =>
    (await Promise.all(numbers.map((n) => processesNaming(`sleep\u0000${n}`)))).flat().length > 0;
  await withProject({
    agent: callerOf([shell(`setsid sh -c "trap '' TERM HUP; exec sleep 411" >/dev/null 2>&1 & sleep 412`)]),
    policy: {
      ...policyOf({ sandbox: "off" }),
      unsafe: { interpreter: [{ command: "sh", ...REASON }], unconfined: REASON },
    },
  }, async (project) => {
    await project.run({
      onStart: async (child) => {
        assert.ok(await eventually(() => there(411), 15_000));
        child.kill("SIGKILL");
      },
    });
    assert.ok(await eventually(async () => !await there(411, 412), 5_000));
  });
});

Deno.test("a launcher that is killed leaves no secret of the caller in a file", async () => {
  if (!await canConfine()) return;
  await withProject({
    agent: callerOf([shell("sleep 421")]),
    policy: policyOf({ env: { pass: ["DEPLOY_TOKEN"] } }),
  }, async (project) => {
    const wrappers = async () => {
      const found: string[] = [];
      for await (const { name } of Deno.readDir(`${project.stateHome}/twokey`)) {
        const folder = `${project.stateHome}/twokey/${name}/wrappers`;
        if (await exists(folder)) { for await (const one of Deno.readDir(folder)) found.push(one.name); }
      }
      return found;
    };
    await project.run({
      env: { DEPLOY_TOKEN: "hunter2-hunter2" },
      onStart: async (child) => {
        assert.ok(await eventually(async () => (await processesNaming("sleep\u0000421")).length > 0, 15_000));
        assert.equal((await wrappers()).length, 1);
        child.kill("SIGKILL");
      },
    });
    assert.ok(await eventually(async () => (await wrappers()).length === 0, 5_000));
  });
});
