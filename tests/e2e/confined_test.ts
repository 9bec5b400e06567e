/** Confined programs in real runs: what they cannot see, reach, write or outlive. */
import assert from "node:assert/strict";
import type { JsonObject } from "../../src/json.ts";
import {
  cleanEnv,
  eventually,
  MAIN,
  processesNaming,
  type Project,
  type RunOptions,
  withProject,
} from "./run_project.ts";
import { callerOf, canConfine, findAll } from "./programs_here.ts";

const REASON = { reason: "needed for this test", expires: "2999-01-01" };
const SH = await Deno.realPath("/bin/sh");
const ISOLATIONS = ["process", "worker", "compartment"] as const;

const policyOf = (own: JsonObject = {}, more: JsonObject = {}) => ({
  tools: ["process"],
  process: { commands: { sh: { path: SH, args: "any" } }, cwd: ["."], sandbox: "required", ...own },
  unsafe: { interpreter: [{ command: "sh", ...REASON }] },
  ...more,
});

const shell = (script: string, own: JsonObject = {}): JsonObject => ({ command: "sh", args: ["-c", script], ...own });

async function eventsOf(project: Project, options: RunOptions = {}) {
  const run = await project.run(options);
  assert.equal(run.records.at(-1)?.reason, "done", run.stderr + run.stdout);
  const events = run.records.filter(({ type }) => type === "event").map(({ event }) => event as JsonObject);
  return { ...run, events };
}

for (const isolation of ISOLATIONS) {
  Deno.test(`a confined program sees nothing but what the policy names, in isolation ${isolation}`, async () => {
    if (!await canConfine()) return;
    const calls = [
      shell("grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/self/status | tr -s '\\t\\n' '  '"),
      shell("ls -A / | tr '\\n' ' '"),
      shell("env | grep -v ^PWD= | sort | tr '\\n' ' '"),
      shell("cat .env .twokey/x /etc/shadow 2>/dev/null; ls -A .twokey; ls /proc | grep -c '^[0-9]'"),
      shell(
        "echo x > new; mkdir new2; echo y > out/new; cat out/new; echo z > /usr/x; echo z > /y; echo t > /tmp/t && cat /tmp/t",
      ),
      shell("tail -n +3 /proc/net/dev | grep -vc lo:; unshare -U true || echo refused"),
      shell("echo $A $B; pwd", { env: { A: "$(id) 1" }, cwd: "sub" }),
      shell("ls /proc/self/fd | wc -l"),
    ];
    await withProject({
      agent: callerOf(calls),
      files: { ".env": "SECRET", ".twokey/x": "log", "sub/": "", "out/": "" },
      policy: policyOf({ env: { set: { A: "a", B: "b" } } }, {
        isolation,
        tools: ["process", "writeArtifact"],
        fs: { write: [{ root: "out" }] },
      }),
    }, async (project) => {
      const { events, records } = await eventsOf(project, { env: { LEAK: "leak" } });
      const out = events.map(({ stdout }) => String(stdout));
      assert.match(out[0] ?? "", /CapEff: 0+ CapBnd: 0+ NoNewPrivs: 1/);
      assert.match(out[1] ?? "", /^bin dev etc (?:lib\S* )+proc sbin tmp usr $/);
      assert.equal(out[2], "A=a B=b HOME=/tmp LANG=C.UTF-8 PATH=/usr/bin:/bin ");
      const [inside = "", ...none] = (out[3] ?? "").trim().split("\n");
      assert.deepEqual(none, []);
      assert.ok(Number(inside) <= 6, "only its own processes");
      assert.equal(out[4], "y\nt\n");
      assert.ok(await Deno.lstat(`${project.dir}/new`).then(() => false, () => true));
      assert.equal(await Deno.readTextFile(`${project.dir}/out/new`), "y\n");
      assert.equal(out[5], "0\nrefused\n");
      assert.equal(out[6], `$(id) 1 b\n${project.dir}/sub\n`);
      assert.equal(out[7], "4\n");
      const confinement = records[0]?.confinement as JsonObject;
      assert.deepEqual([confinement.confined, confinement.sandbox], [true, "required"]);
      assert.equal(records.find(({ type }) => type === "tool_result")?.confined, true);
    });
  });
}

Deno.test("a confined program gets a secret of the caller, and no process has it among its arguments", async () => {
  if (!await canConfine()) return;
  await withProject({
    agent: callerOf([
      shell(
        "test \"$DEPLOY_TOKEN\" = hunter2-hunter2 && echo same; cat /proc/*/cmdline | tr '\\0' ' '; env -u DEPLOY_TOKEN",
      ),
    ]),
    policy: policyOf({ env: { pass: ["DEPLOY_TOKEN"] } }),
  }, async (project) => {
    const { events, stderr } = await eventsOf(project, { env: { DEPLOY_TOKEN: "hunter2-hunter2" } });
    const text = String(events[0]?.stdout);
    assert.ok(text.startsWith("same\n") && text.includes("bwrap"), text + stderr);
    assert.ok(!text.includes("--setenv DEPLOY_TOKEN"), text);
    assert.doesNotMatch(text, /^(?:SHLVL|OLDPWD|_)=/m);
  });
});

Deno.test("nothing of a confined program outlives its call, its run, or a launcher that was killed", async () => {
  if (!await canConfine()) return;
  const daemon = (n: number) => `setsid sh -c "trap '' TERM HUP; exec sleep ${n}" >/dev/null 2>&1 & sleep 0.2`;
  const there = async (...numbers: number[]) =>
    (await Promise.all(numbers.map((n) => processesNaming(`sleep\u0000${n}`)))).flat().length > 0;
  await withProject({
    agent: callerOf([shell(daemon(401)), shell(`${daemon(402)}; sleep 403`)]),
    policy: policyOf({}, { budgets: { toolTimeoutMs: 1500 } }),
  }, async (project) => {
    const { events } = await eventsOf(project);
    assert.equal(events[0]?.exit_code, 0);
    assert.equal(events[1]?.outcome, "timeout");
    assert.ok(await eventually(async () => !await there(401, 402, 403), 5_000));
    await project.write("agent.ts", callerOf([shell(`${daemon(404)}; sleep 405`)]));
    await project.policy(policyOf());
    await project.run({
      onStart: async (child) => {
        assert.ok(await eventually(() => there(404), 15_000));
        child.kill("SIGKILL");
      },
    });
    assert.ok(await eventually(async () => !await there(404, 405), 5_000));
    // what a killed launcher left is removed by the next one
    await project.write("agent.ts", "emit(1);");
    await eventsOf(project);
    for await (const { name } of Deno.readDir(`${project.stateHome}/twokey`)) {
      assert.deepEqual(await Array.fromAsync(Deno.readDir(`${project.stateHome}/twokey/${name}/wrappers`)), []);
    }
  });
});

/** Runs the command line where no namespace can be made any more. */
async function runWithoutNamespaces(project: Project, args: readonly string[]) {
  const script = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"';
  const { code, stderr, stdout } = await new Deno.Command("/usr/bin/unshare", {
    args: [
      "--user",
      "--map-root-user",
      "--",
      "/bin/sh",
      "-c",
      script,
      "sh",
      Deno.execPath(),
      "run",
      "-A",
      "--quiet",
      MAIN,
      ...args,
    ],
    cwd: project.dir,
    clearEnv: true,
    env: cleanEnv(project.dir.replace(/\/project$/, "")),
    stdin: "null",
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stderr: text(stderr), stdout: text(stdout) };
}

Deno.test("a run whose programs must be confined does not start where they cannot be", async () => {
  if (!await canConfine()) return;
  await withProject({
    agent: callerOf([shell("touch marker")]),
    policy: policyOf({ env: { set: { PATH: "/usr/bin:/bin" } } }),
  }, async (project) => {
    const there = () => Deno.lstat(`${project.dir}/marker`).then(() => true, () => false);
    const logs = () => Deno.lstat(`${project.dir}/.twokey/runs`).then(() => true, () => false);
    const refused = await runWithoutNamespaces(project, ["run"]);
    assert.equal(refused.code, 78, refused.stderr);
    assert.match(refused.stderr, /Cannot confine the programs/);
    assert.deepEqual([await there(), await logs()], [false, false]);
    // where the machine may decide, it runs, and the log says how
    await project.policy(policyOf({ sandbox: "auto", env: { set: { PATH: "/usr/bin:/bin" } } }));
    const open = await runWithoutNamespaces(project, ["run", "--json"]);
    assert.equal(open.code, 0, open.stderr);
    assert.ok(await there());
    await Deno.remove(`${project.dir}/marker`);
    // nothing is left to the machine under a lock
    assert.equal((await project.run({ args: ["policy", "lock", "agent.policy.jsonc"] })).code, 0);
    const locked = await runWithoutNamespaces(project, ["run", "--locked"]);
    assert.equal(locked.code, 78, locked.stderr);
    assert.equal(await there(), false);
  });
});

Deno.test("a confined program reaches the granted host through the egress process, and no other", async () => {
  if (!await canConfine()) return;
  const found = await findAll(["socat"]);
  if (found === undefined) return;
  const greet = async (listener: Deno.TcpListener) => {
    for await (const connection of listener) {
      await connection.write(new TextEncoder().encode("hello from outside\n")).catch(() => {});
      connection.close();
    }
  };
  const granted = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const other = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const serving = [greet(granted), greet(other)];
  const proxied = (port: number) => `socat -u PROXY:127.0.0.1:127.0.0.1:${port},proxyport=3128 - 2>&1`;
  try {
    await withProject({
      agent: callerOf([
        shell(proxied(granted.addr.port)),
        shell(proxied(other.addr.port)),
        shell(`socat -u TCP:127.0.0.1:${granted.addr.port} - 2>&1`),
        shell("rm -f /run/egress.sock 2>&1; echo $https_proxy"),
      ]),
      policy: policyOf({ egress: [`127.0.0.1:${granted.addr.port}`] }),
    }, async (project) => {
      const { events, records } = await eventsOf(project);
      assert.equal(events[0]?.stdout, "hello from outside\n");
      assert.match(String(events[1]?.stdout), /Forbidden/);
      assert.match(String(events[2]?.stdout), /refused/);
      assert.match(String(events[3]?.stdout), /http:\/\/127\.0\.0\.1:3128/);
      const seen = records.filter(({ type }) => type === "process_egress").map((
        { decision, port },
      ) => [decision, port]);
      assert.ok(
        seen.some(([decision, port]) => decision === "allow" && port === granted.addr.port),
        JSON.stringify(seen),
      );
      assert.ok(seen.some(([decision, port]) => decision === "deny" && port === other.addr.port), JSON.stringify(seen));
    });
  } finally {
    granted.close();
    other.close();
    await Promise.allSettled(serving);
  }
});

Deno.test("the git grammar works the same where it is confined", async () => {
  if (!await canConfine()) return;
  const found = await findAll(["git"]);
  if (found === undefined) return;
  const policy = policyOf({ commands: { git: { path: found.git ?? "", args: "git" } } });
  const agent = callerOf([{ command: "git", args: ["log", "--oneline"] }, {
    command: "git",
    args: ["status", "--short"],
  }]);
  await withProject({ agent, policy: { ...policy, unsafe: {} } }, async (project) => {
    const git = (...args: string[]) =>
      new Deno.Command(found.git ?? "", {
        args: ["-c", "user.name=a", "-c", "user.email=a@b.test", ...args],
        cwd: project.dir,
        clearEnv: true,
        env: { HOME: project.dir },
        stdin: "null",
      }).output();
    await git("init", "--quiet");
    await git("add", "deno.json");
    await git("commit", "--quiet", "-m", "first");
    const { events } = await eventsOf(project);
    assert.match(String(events[0]?.stdout), /^[0-9a-f]+ first\n$/, JSON.stringify(events[0]));
    assert.match(String(events[1]?.stdout), /\?\? agent\.ts/);
    await git("config", "core.fsmonitor", "/bin/true");
    assert.equal((await eventsOf(project)).events[0]?.code, "process_repository_not_admitted");
  });
});
