/** Real programs in real runs: what comes back, what is refused, what is ended. */
import assert from "node:assert/strict";
import type { JsonObject } from "../../src/json.ts";
import { eventually, processesNaming, type Project, type ProjectOptions, withProject } from "./run_project.ts";
import { callerOf, findAll } from "./programs_here.ts";

const REASON = { reason: "needed for this test", expires: "2999-01-01" };
const SH = await Deno.realPath("/bin/sh");

/** A policy of unconfined programs. */
const policyOf = (commands: JsonObject, own: JsonObject = {}, more: JsonObject = {}) => ({
  tools: ["process"],
  process: { commands, cwd: ["."], sandbox: "off", ...own },
  unsafe: {
    unconfined: REASON,
    ...(Object.hasOwn(commands, "sh") ? { interpreter: [{ command: "sh", ...REASON }] } : {}),
  },
  ...more,
});

const SHELL = { sh: { path: SH, args: "any" } };

async function eventsOf(project: Project, options: Parameters<Project["run"]>[0] = {}) {
  const run = await project.run(options);
  assert.equal(run.records.at(-1)?.reason, "done", run.stderr + run.stdout);
  const events = run.records.filter(({ type }) => type === "event").map(({ event }) => event as JsonObject);
  return { ...run, events };
}

Deno.test("process runs a program and gives back full output, and says in run_start that nothing confines it", () =>
  withProject({
    agent: callerOf([{ command: "sh", args: ["-c", "echo out; echo err >&2; exit 7"] }]),
    policy: policyOf(SHELL),
  }, async (project) => {
    const { events: [event], records } = await eventsOf(project);
    const { duration_ms, ...rest } = event ?? {};
    assert.deepEqual(rest, { exit_code: 7, signal: null, stdout: "out\n", stderr: "err\n" });
    assert.equal(typeof duration_ms, "number");
    const [start] = records;
    assert.equal((start?.confinement as JsonObject).confined, false);
    assert.match(String((start?.confinement as JsonObject).means), /only as safe as the programs/);
    assert.match(String(((start?.programs as JsonObject).sh as JsonObject).sha256), /^[0-9a-f]{64}$/);
    const result = records.find(({ type }) => type === "tool_result");
    assert.equal(result?.confined, false);
    assert.equal(result?.stdout_bytes, 4);
  }));

Deno.test("process shows no secret that a program was given, neither to the agent nor in the log", () =>
  withProject({
    agent: callerOf([
      { command: "sh", args: ["-c", "echo $API_TOKEN; printf $API_TOKEN | base64; echo x$API_TOKEN >&2"] },
      { command: "sh", args: ["-c", "echo $API_TOKEN"], output: "stream" },
    ]),
    policy: policyOf(SHELL, { env: { pass: ["API_TOKEN"], set: { PATH: "/usr/bin:/bin" } } }),
  }, async (project) => {
    const secret = "s3cr3t-value-of-9-words";
    const { events, auditPath, stdout, stderr } = await eventsOf(project, { env: { API_TOKEN: secret } });
    const texts = [JSON.stringify(events), await Deno.readTextFile(auditPath), stdout, stderr].join("\n");
    assert.ok(!texts.includes(secret) && !texts.includes(btoa(secret).slice(0, 16)));
    assert.match(String(events[0]?.stdout), /^\[redacted\]\n/);
    assert.equal(events[1]?.stdout, "[redacted]\n");
    const short = await project.run({ env: { API_TOKEN: "short" } });
    assert.equal(short.code, 66);
    assert.deepEqual(short.records, []);
  }));

Deno.test("process denies a program that is no longer the file it was", () =>
  withProject({
    agent: callerOf([
      { command: "own" },
      { command: "sh", args: ["-c", "cp /usr/bin/false bin/own"] },
      { command: "own" },
    ]),
    policy: policyOf({ ...SHELL, own: { path: "bin/own" } }, { env: { set: { PATH: "/usr/bin:/bin" } } }),
    files: { "bin/": "" },
  }, async (project) => {
    await Deno.copyFile("/usr/bin/true", `${project.dir}/bin/own`);
    await Deno.chmod(`${project.dir}/bin/own`, 0o755);
    const { events } = await eventsOf(project);
    assert.equal(events[0]?.exit_code, 0);
    assert.equal(events[1]?.exit_code, 0, JSON.stringify(events[1]));
    assert.equal(events[2]?.code, "process_program_changed");
  }));

Deno.test("process ends what a call started at its deadline, and what is left at the end of the run", () =>
  withProject({
    agent: `${
      callerOf([
        { command: "sh", args: ["-c", "sleep 301 & sleep 302"] },
        { command: "sh", args: ["-c", "sleep 303 >/dev/null 2>&1 & exit 0"] },
      ])
    }
      callTool("process", { command: "sh", args: ["-c", "sleep 304 & sleep 305"] }).catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 300));`,
    policy: policyOf(
      { sh: { path: SH, args: "any" } },
      { env: { set: { PATH: "/usr/bin:/bin" } } },
      { budgets: { toolTimeoutMs: 1500 } },
    ),
  }, async (project) => {
    const { events, records } = await eventsOf(project);
    assert.equal(events[0]?.outcome, "timeout");
    const timeout = records.find(({ type }) => type === "tool_timeout");
    assert.deepEqual([timeout?.command, timeout?.cancelled, timeout?.cancellation], ["sh", true, "killed"]);
    assert.equal(events[1]?.exit_code, 0);
    const left = async () =>
      (await Promise.all([301, 302, 303, 304, 305].map((n) => processesNaming(`sleep\u0000${n}`)))).flat();
    assert.ok(await eventually(async () => (await left()).length === 0, 5_000), String(await left()));
  }));

const PATH = { env: { set: { PATH: "/usr/bin:/bin" } } };

Deno.test("process asks a program to end before it kills it, so that it can clean up", () =>
  withProject({
    agent: callerOf([{
      command: "sh",
      args: ["-c", "trap 'echo cleaned > cleaned.txt; exit 0' TERM; sleep 307 & wait"],
    }]),
    policy: policyOf(SHELL, PATH, { budgets: { toolTimeoutMs: 1000 } }),
  }, async (project) => {
    const { events } = await eventsOf(project);
    assert.equal(events[0]?.outcome, "timeout");
    assert.equal(await Deno.readTextFile(`${project.dir}/cleaned.txt`), "cleaned\n");
    assert.ok(await eventually(async () => (await processesNaming("sleep\u0000307")).length === 0, 5_000));
  }));

Deno.test("process says when something was left, and gives all output that still comes after the program's end", () =>
  withProject({
    agent: callerOf([
      { command: "sh", args: ["-c", "(for i in 1 2 3 4 5 6 7 8; do sleep 0.1; echo $i; done) & echo first; exit 0"] },
      { command: "sh", args: ["-c", "sleep 308 & echo only; exit 0"] },
    ]),
    policy: policyOf(SHELL, PATH),
  }, async (project) => {
    const startedMs = performance.now();
    const { events } = await eventsOf(project);
    assert.deepEqual([events[0]?.stdout, events[0]?.descendants_left], ["first\n1\n2\n3\n4\n5\n6\n7\n8\n", undefined]);
    assert.deepEqual([events[1]?.stdout, events[1]?.exit_code, events[1]?.descendants_left], ["only\n", 0, true]);
    assert.ok(performance.now() - startedMs < 20_000);
    assert.ok(await eventually(async () => (await processesNaming("sleep\u0000308")).length === 0, 5_000));
  }));

Deno.test("process that cannot be started is an error and no result, alike in every isolation", async () => {
  const agent = callerOf([{ command: "own" }, { command: "own", output: "summary" }, {
    command: "own",
    output: "stream",
  }]);
  for (const isolation of ["process", "worker", "compartment"]) {
    const policy = { ...policyOf({ own: { path: "./own.sh" } }), isolation };
    const files = { "own.sh": "#!/nowhere/interpreter\n" };
    await withProject({ agent, policy, files }, async (project) => {
      await Deno.chmod(`${project.dir}/own.sh`, 0o755);
      const { events, records } = await eventsOf(project);
      for (const { outcome, code, message } of events) {
        assert.deepEqual([outcome, code], ["error", "process_spawn_failed"], isolation);
        assert.ok(!String(message).includes("/"), String(message));
      }
      const types = records.map(({ type }) => type).filter((type) => type.startsWith("tool_"));
      assert.deepEqual(types, ["tool_call", "tool_error", "tool_call", "tool_error", "tool_call", "tool_error"]);
    });
  }
});

Deno.test("process starts programs the same whatever loader the caller's environment names", () =>
  withProject({
    agent: callerOf([{ command: "printenv" }, { command: "sh", args: ["-c", "env | grep -E '^(LD_|NODE_|BASH_)'"] }]),
    policy: policyOf({ ...SHELL, printenv: { path: "/usr/bin/printenv" } }, PATH),
  }, async (project) => {
    const env = { LD_LIBRARY_PATH: "/nowhere", NODE_OPTIONS: "--require=/nowhere.js", BASH_ENV: `${project.dir}/evil` };
    await project.write("evil", "touch marker\n");
    const { events } = await eventsOf(project, { env });
    assert.deepEqual([events[0]?.stdout, events[0]?.exit_code], ["PATH=/usr/bin:/bin\n", 0], JSON.stringify(events[0]));
    assert.deepEqual([events[1]?.stdout, events[1]?.exit_code], ["", 1]);
    assert.ok(await Deno.lstat(`${project.dir}/marker`).then(() => false, () => true));
  }));

Deno.test("process leaves no program behind a run that is told to stop", async () => {
  for (const [index, signal] of (["SIGINT", "SIGTERM", "SIGHUP"] as const).entries()) {
    const n = 310 + 2 * index;
    await withProject({
      agent: callerOf([{
        command: "sh",
        args: ["-c", `trap '' INT TERM HUP; sleep ${n} & sleep ${n + 1}; sleep ${n + 1}`],
      }]),
      policy: policyOf(SHELL, PATH),
    }, async (project) => {
      const there = async () =>
        (await Promise.all([n, n + 1].map((one) => processesNaming(`sleep\u0000${one}`)))).flat();
      const { records, code } = await project.run({
        onStart: async (child) => {
          assert.ok(await eventually(async () => (await there()).length === 2, 15_000));
          child.kill(signal);
        },
      });
      assert.ok(await eventually(async () => (await there()).length === 0, 5_000), `${signal}: ${await there()}`);
      assert.equal(code, 70);
      assert.deepEqual(records.at(-1)?.in_flight, [{ call_id: "c1", tool: "process" }], signal);
    });
  }
});

Deno.test("process leaves no program behind a launcher that was killed", () =>
  withProject({
    agent: callerOf([{ command: "sleep", args: ["306"] }]),
    policy: policyOf({ sleep: { path: "/usr/bin/sleep", args: { positionals: ["number"] } } }),
  }, async (project) => {
    const there = () => processesNaming("sleep\u0000306");
    await project.run({
      onStart: async (child) => {
        assert.ok(await eventually(async () => (await there()).length > 0, 15_000));
        child.kill("SIGKILL");
      },
    });
    assert.ok(await eventually(async () => (await there()).length === 0, 5_000));
  }));

Deno.test("process fails closed on output that does not fit, sums it up where asked, and stays within memory", () =>
  withProject({
    agent: callerOf([
      { command: "sh", args: ["-c", "yes"] },
      { command: "sh", args: ["-c", "yes | head -c 300000000"], output: "summary" },
    ]),
    policy: policyOf(SHELL, { env: { set: { PATH: "/usr/bin:/bin" } } }, {
      budgets: { toolResultBytes: 65_536, heapMb: 64 },
    }),
  }, async (project) => {
    const { events, records } = await eventsOf(project);
    assert.equal(events[0]?.code, "process_output_bytes");
    assert.equal((events[1]?.stdout_summary as JsonObject).bytes, 300_000_000);
    assert.deepEqual(
      records.filter(({ type }) => type === "process_output_budget").map(({ disposition }) => disposition),
      ["failed_closed", "summarized"],
    );
  }));

Deno.test("process records a stream while the program still runs", () =>
  withProject({
    agent: callerOf([{ command: "sh", args: ["-c", "printf '%s' äöü; sleep 0.2; echo end"], output: "stream" }]),
    policy: policyOf(SHELL, { env: { set: { PATH: "/usr/bin:/bin" } }, output: { chunkBytes: 4 } }),
  }, async (project) => {
    const { events, records } = await eventsOf(project);
    assert.equal(events[0]?.stdout, "äöüend\n");
    const chunks = records.filter(({ type }) => type === "process_output_stream");
    assert.equal(chunks.map(({ text }) => text).join(""), "äöüend\n");
    assert.ok(chunks.length >= 3 && chunks.every(({ chunk_bytes }) => Number(chunk_bytes) <= 4));
    assert.ok(records.findIndex(({ type }) => type === "tool_result") > records.indexOf(chunks.at(-1) as never));
  }));

Deno.test("process runs by flags alone, and --dry-run starts nothing", () =>
  withProject({}, async (project) => {
    const flags = ["--tool=process", "--process-command=touch=/usr/bin/touch", "--process-cwd=."];
    const call = ["call", "process", '{"command":"touch","args":["marker"]}', ...flags];
    const there = () => Deno.lstat(`${project.dir}/marker`).then(() => true, () => false);
    const dry = await project.run({ args: [...call, "--dry-run"] });
    assert.match(dry.stdout, /"decision":"allow"/, dry.stderr);
    assert.equal(await there(), false);
    const denied = await project.run({ args: ["call", "process", '{"command":"rm"}', ...flags] });
    assert.match(denied.stdout, /process_command_not_admitted/);
    const secret = await project.run({ args: [...call, "--process-env=API_TOKEN=hunter2hunter2"] });
    assert.equal(secret.code, 64);
    assert.ok(!(secret.stdout + secret.stderr).includes("hunter2"));
  }));

/** A repository with one commit. */
async function repository(dir: string, git: string): Promise<(...args: string[]) => Promise<void>> {
  const run = async (...args: string[]) => {
    const { success, stderr } = await new Deno.Command(git, {
      args: ["-c", "user.name=a", "-c", "user.email=a@b.test", "-c", "init.defaultBranch=main", ...args],
      cwd: dir,
      clearEnv: true,
      env: { HOME: dir, GIT_CONFIG_NOSYSTEM: "1" },
      stdin: "null",
    }).output();
    assert.ok(success, new TextDecoder().decode(stderr));
  };
  await run("init", "--quiet");
  await Deno.writeTextFile(`${dir}/a.txt`, "one\n");
  await run("add", "a.txt");
  await run("commit", "--quiet", "-m", "first");
  await Deno.writeTextFile(`${dir}/a.txt`, "two\n");
  return run;
}

async function withRepository(
  calls: readonly JsonObject[],
  body: (project: Project, git: (...args: string[]) => Promise<void>) => Promise<void>,
  own: Partial<ProjectOptions> = {},
): Promise<void> {
  const found = await findAll(["git"]);
  if (found === undefined) return;
  const path = found.git ?? "";
  await withProject(
    { agent: callerOf(calls), policy: policyOf({ git: { path, args: "git" } }), ...own },
    async (project) => {
      await body(project, await repository(project.dir, path));
    },
  );
}

const READING = [["status", "--short"], ["diff"], ["log", "-p"], ["show", "HEAD"], ["blame", "a.txt"]];

Deno.test("the git grammar reads a plain repository", () =>
  withRepository(READING.map((args) => ({ command: "git", args })), async (project) => {
    const { events } = await eventsOf(project);
    assert.match(String(events[0]?.stdout), / M a\.txt/);
    assert.match(String(events[1]?.stdout), /-one\n\+two/);
    for (const [index, { exit_code, stderr }] of events.entries()) {
      assert.equal(exit_code, 0, `${READING[index]}: ${stderr}`);
    }
  }));

Deno.test("the git grammar starts nothing that a repository names, and refuses one that names something", () =>
  withRepository(READING.map((args) => ({ command: "git", args })), async (project, git) => {
    const marker = `${project.dir}/marker`;
    await project.write("evil.sh", `#!/bin/sh\ntouch ${marker}\ncat\n`);
    await Deno.chmod(`${project.dir}/evil.sh`, 0o755);
    await project.write(".gitattributes", "*.txt diff=evil filter=evil\n");
    for (const hook of ["post-index-change", "fsmonitor-watchman", "reference-transaction"]) {
      await project.write(`.git/hooks/${hook}`, `#!/bin/sh\ntouch ${marker}\n`);
      await Deno.chmod(`${project.dir}/.git/hooks/${hook}`, 0o755);
    }
    const clean = await eventsOf(project);
    assert.ok(clean.events.every(({ exit_code }) => exit_code === 0), JSON.stringify(clean.events));
    const evil = `${project.dir}/evil.sh`;
    for (
      const [key, value] of [
        ["core.fsmonitor", evil],
        ["core.pager", evil],
        ["core.hooksPath", project.dir],
        ["diff.external", evil],
        ["diff.evil.textconv", evil],
        ["diff.evil.command", evil],
        ["filter.evil.clean", evil],
        ["gpg.program", evil],
        ["remote.origin.promisor", "true"],
        ["core.worktree", "/"],
      ] as const
    ) {
      await git("config", key, value);
      const { events, records } = await eventsOf(project);
      assert.deepEqual([...new Set(events.map(({ code }) => code))], ["process_repository_not_admitted"], key);
      const denial = records.find(({ type }) => type === "tool_denial");
      assert.deepEqual(denial?.repository_settings, [key.toLowerCase()]);
      await git("config", "--unset", key);
    }
    await project.write("more.cfg", `[core]\n\tsshCommand = ${evil}\n`);
    await git("config", "include.path", "../more.cfg");
    assert.equal((await eventsOf(project)).events[0]?.code, "process_repository_not_admitted");
    assert.ok(await Deno.lstat(marker).then(() => false, () => true), "something of the repository was started");
  }));

Deno.test("the git grammar starts nothing that a repository inside of the repository names", () =>
  withRepository(READING.map((args) => ({ command: "git", args })), async (project, git) => {
    const marker = `${project.dir}/marker`;
    await project.write("evil.sh", `#!/bin/sh\ntouch ${marker}\ncat\n`);
    await Deno.chmod(`${project.dir}/evil.sh`, 0o755);
    await Deno.mkdir(`${project.dir}/inner`);
    const inner = await repository(`${project.dir}/inner`, (await findAll(["git"]))?.git ?? "");
    await git("add", "inner");
    await git("commit", "--quiet", "-m", "a repository inside");
    await project.write("inner/.gitattributes", "*.txt diff=evil filter=evil\n");
    for (const key of ["core.fsmonitor", "diff.external", "diff.evil.textconv", "filter.evil.clean", "core.pager"]) {
      await inner("config", key, `${project.dir}/evil.sh`);
    }
    const { events } = await eventsOf(project);
    assert.match(String(events[0]?.stdout), / M a\.txt/);
    for (const [index, { exit_code, stderr }] of events.entries()) {
      assert.equal(exit_code, 0, `${READING[index]}: ${stderr}`);
    }
    assert.ok(await Deno.lstat(marker).then(() => false, () => true), "something of the inner repository was started");
  }));

Deno.test("the git grammar never looks above the folder of the policy", () =>
  withRepository(
    [{ command: "git", args: ["log"], cwd: "sub" }, { command: "git", args: ["diff"] }],
    async (project) => {
      const { events } = await eventsOf(project);
      for (const { code } of events) assert.equal(code, "process_repository_not_admitted");
    },
    {
      files: { "sub/": "" },
      policy: policyOf({ git: { path: "/usr/bin/git", args: "git" } }, { cwd: ["sub"] }),
    },
  ));

Deno.test("the rg grammar searches, and starts nothing that a pattern or a setting names", async () => {
  const found = await findAll(["rg"]);
  if (found === undefined) return;
  const calls = [
    { command: "rg", args: ["needle"] },
    { command: "rg", args: ["--", "--pre=./evil.sh"] },
    { command: "rg", args: ["--pre=./evil.sh", "needle"] },
    { command: "rg", args: ["-g", ".env", "SECRET"] },
    { command: "rg", args: ["BEGIN"] },
  ];
  await withProject({
    agent: callerOf(calls),
    policy: policyOf({ rg: { path: found.rg ?? "", args: "rg" } }, { cwd: ["w"] }),
    files: {
      "w/src/a.txt": "a needle\n",
      "w/.env": "SECRET=needle\n",
      "w/key.pem": "BEGIN needle\n",
      "w/rc": "--pre=./evil.sh\n",
      "w/evil.sh": "#!/bin/sh\ntouch marker\n",
    },
  }, async (project) => {
    await Deno.chmod(`${project.dir}/w/evil.sh`, 0o755);
    const { events } = await eventsOf(project, { env: { RIPGREP_CONFIG_PATH: `${project.dir}/w/rc` } });
    assert.equal(events[0]?.stdout, "./src/a.txt:a needle\n");
    assert.equal(events[1]?.exit_code, 0, "it is found as text, in the file of settings");
    assert.equal(events[2]?.code, "process_args_not_admitted");
    assert.equal(events[3]?.exit_code, 1);
    assert.equal(events[4]?.exit_code, 1);
    assert.ok(await Deno.lstat(`${project.dir}/w/marker`).then(() => false, () => true));
  });
});
