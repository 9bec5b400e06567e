import assert from "node:assert/strict";
import { cleanEnv, logsIn, MAIN, type Project, withProject } from "../e2e/run_project.ts";

const SCRIPT = "/usr/bin/script";

/** Whether a terminal can be had here. */
function hasScript(): boolean {
  try {
    return Deno.build.os === "linux" && Deno.statSync(SCRIPT).isFile;
  } catch {
    return false;
  }
}

/** Runs the agent on a terminal of its own and types an answer. */
async function onTerminal(project: Project, answer: string): Promise<{ code: number; screen: string }> {
  const child = new Deno.Command(SCRIPT, {
    args: ["-qec", `${Deno.execPath()} run -A --no-prompt --quiet ${MAIN} run`, "/dev/null"],
    cwd: project.dir,
    clearEnv: true,
    env: { ...cleanEnv(project.dir.slice(0, -"/project".length)), NO_COLOR: "1", SHELL: "/bin/sh" },
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(`${answer}\n`));
  const screen = await new Response(child.stdout).text();
  await writer.close().catch(() => {});
  return { code: (await child.status).code, screen: screen.replaceAll("\r\n", "\n") };
}

const POLICY = { name: "sighted", tools: ["echo"] };
const AGENT = 'emit({ kind: "ran" });';

Deno.test({
  name: "run on a terminal asks about a policy that has not run here, and again when it gains",
  ignore: !hasScript(),
  fn: async () => {
    await withProject({ policy: POLICY, agent: AGENT }, async (project) => {
      const root = project.dir.slice(0, -"/project".length);
      for (const answer of ["n", "", "yes please"]) {
        const { code, screen } = await onTerminal(project, answer);
        assert.equal(code, 0, screen);
        assert.match(screen, /gained {2}the tool echo {3}\[line \d+\]\nRun it\? \[y\/N\] .*nothing was run/s);
        assert.deepEqual(await logsIn(root), []);
      }
      const ran = await onTerminal(project, "y");
      assert.match(ran.screen, /run ok/);
      const again = await onTerminal(project, "n");
      assert.match(again.screen, /run ok/);
      assert.doesNotMatch(again.screen, /Run it\?/);
      await project.policy({ ...POLICY, tools: ["echo", "slow"] });
      const gained = await onTerminal(project, "n");
      assert.match(gained.screen, /gained {2}the tool slow/);
      assert.doesNotMatch(gained.screen, /gained {2}the tool echo/);
      assert.match(gained.screen, /nothing was run/);
    });
  },
});

Deno.test("run without a terminal prints what is new and records it", async () => {
  await withProject({ policy: POLICY, agent: AGENT }, async (project) => {
    const first = await project.run();
    assert.equal(first.code, 0, first.stderr);
    assert.match(first.stderr, /gained {2}the tool echo/);
    assert.deepEqual(first.records[0]?.first_sight, { first: true, gained: ["the tool echo"] });
    const second = await project.run();
    assert.equal(second.stderr, "");
    assert.deepEqual(second.records[0]?.first_sight, { first: false, gained: [] });
    await project.policy({ ...POLICY, tools: [] });
    const third = await project.run();
    assert.match(third.stderr, /has not run here in this form; it gains nothing/);
  });
});

Deno.test("a locked run has no question and no notice, and is recorded; call does not look", async () => {
  await withProject({ policy: POLICY, agent: AGENT }, async (project) => {
    const called = await project.run({ args: ["call", "echo", "{}", "--policy=agent.policy.jsonc"] });
    assert.equal(called.stderr, "");
    assert.equal((await project.run({ args: ["policy", "lock"] })).code, 0);
    const locked = await project.run({ args: ["run", "--json", "--locked"] });
    assert.equal(locked.stderr, "");
    assert.deepEqual(locked.records[0]?.first_sight, { first: true, gained: ["the tool echo"] });
    assert.equal((await project.run()).stderr, "");
  });
});
