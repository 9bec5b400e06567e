import assert from "node:assert/strict";
import { cleanEnv, logsIn, MAIN, type Project, readLog, withProject } from "../e2e/run_project.ts";

const SCRIPT = "/usr/bin/script";
const QUESTION = /Allow this one call\?[^\n]*\[y\/N\/v\/l\/q\/\?\] /g;

/** Whether a terminal can be had here. */
function hasScript(): boolean {
  try {
    return Deno.build.os === "linux" && Deno.statSync(SCRIPT).isFile;
  } catch {
    return false;
  }
}

interface Session {
  readonly code: number;
  readonly screen: string;
  readonly types: readonly string[];
}

/**
 * Runs on a terminal of its own. `ahead` is typed at once; each of `answers` when a question stands there that was not
 * answered yet, after a pause.
 */
async function onTerminal(
  project: Project,
  answers: readonly string[],
  { ahead = "", args = "run", pauseMs = 0 }: {
    readonly ahead?: string;
    readonly args?: string;
    readonly pauseMs?: number;
  } = {},
): Promise<Session> {
  const root = project.dir.slice(0, -"/project".length);
  const before = new Set(await logsIn(root));
  const child = new Deno.Command(SCRIPT, {
    args: ["-qec", `${Deno.execPath()} run -A --no-prompt --quiet ${MAIN} ${args}`, "/dev/null"],
    cwd: project.dir,
    clearEnv: true,
    env: { ...cleanEnv(root), NO_COLOR: "1", SHELL: "/bin/sh" },
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const writer = child.stdin.getWriter();
  const type = (text: string) => writer.write(new TextEncoder().encode(text));
  if (ahead !== "") await type(ahead);
  let screen = "";
  let answered = 0;
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    screen += text;
    const asked = [...screen.matchAll(QUESTION)].length;
    for (; answered < asked && answered < answers.length; answered++) {
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      await type(answers[answered] ?? "");
    }
  }
  const { code } = await child.status;
  await writer.close().catch(() => {});
  const path = (await logsIn(root)).find((one) => !before.has(one));
  const types = path === undefined ? [] : (await readLog(path)).map(({ type }) => type)
    .filter((type) => /^tool_|^event$|^run_end$/.test(type));
  return { code, screen: screen.replaceAll("\r\n", "\n"), types };
}

const POLICY = { name: "asking", tools: ["echo"], approvals: { require: ["echo"] } };
const AGENT =
  'try { emit({ kind: "got", got: await callTool("echo", { n: 1 }) }); } catch (e) { emit({ kind: e.code }); }';

/** A project whose policy ran here before, so that nothing but approvals is asked. */
async function withAsking(
  { policy = POLICY, agent = AGENT }: { readonly policy?: Record<string, unknown>; readonly agent?: string },
  body: (project: Project) => Promise<void>,
): Promise<void> {
  await withProject({ policy, agent: "" }, async (project) => {
    await project.run();
    await project.write("agent.ts", agent);
    await body(project);
  });
}

function terminalTest(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, ignore: !hasScript(), fn });
}

terminalTest("run on a terminal asks before the call, and only a yes lets it run", async () => {
  await withAsking({}, async (project) => {
    for (const yes of ["y\n", "YES\n"]) {
      const { code, screen, types } = await onTerminal(project, [yes]);
      assert.equal(code, 0, screen);
      assert.match(
        screen,
        /approval {2}echo\n {2}arg {5}n: 1\n {2}agent {3}agent\.ts .*\n {2}policy {2}asking .*\n {2}id {6}[0-9a-f]{64}\n/,
      );
      assert.deepEqual(types, ["tool_approval_granted", "tool_call", "tool_result", "event", "run_end"]);
    }
    for (const no of ["\n", "n\n", "yes please\n", "ja\n"]) {
      const { code, types } = await onTerminal(project, [no]);
      assert.equal(code, 0);
      assert.deepEqual(types, ["tool_approval_denied", "tool_denial", "event", "run_end"], no);
    }
    const inbox = await project.run({ args: ["approval", "inbox"] });
    assert.match(inbox.stdout, /Nothing waits/, "an answer on the spot leaves nothing behind");
  });
});

terminalTest("what was typed before the question stood there is no answer", async () => {
  await withAsking({}, async (project) => {
    for (const ahead of ["y\n", "y\ny\ny\n", "y"]) {
      const { types, screen } = await onTerminal(project, ["\n"], { ahead });
      assert.deepEqual(types[0], "tool_approval_denied", JSON.stringify([ahead, screen]));
    }
  });
});

terminalTest("later, and an end of input, leave the call pending", async () => {
  await withAsking({}, async (project) => {
    for (const answer of ["l\n", "\x04"]) {
      const { code, types } = await onTerminal(project, [answer]);
      assert.equal(code, 79);
      assert.deepEqual(types, ["tool_approval_pending", "tool_denial", "run_end"]);
    }
    const { stdout } = await project.run({ args: ["approval", "inbox", "--json"] });
    assert.equal(JSON.parse(stdout).counts.pending, 1);
  });
});

terminalTest("two calls that ask are asked one after the other; q is a no to all", async () => {
  const agent = `
    const all = await Promise.allSettled([1, 2, 3].map((n) => callTool("echo", { n })));
    emit({ kind: "all", got: all.map(({ status }) => status) });
  `;
  await withAsking({ agent }, async (project) => {
    const each = await onTerminal(project, ["y\n", "n\n", "y\n"]);
    assert.equal([...each.screen.matchAll(/approval {2}echo/g)].length, 3);
    assert.deepEqual(each.types.filter((type) => type.startsWith("tool_approval_")), [
      "tool_approval_granted",
      "tool_approval_denied",
      "tool_approval_granted",
    ]);
    const quit = await onTerminal(project, ["q\n"]);
    assert.equal([...quit.screen.matchAll(QUESTION)].length, 1);
    assert.equal(quit.types.filter((type) => type === "tool_approval_denied").length, 3);
  });
});

terminalTest("nothing of a call or of what the agent prints looks like anything but itself", async () => {
  const evil = "\x1b[2J\x1b[1;31mgranted\r\nAllow this one call? [y/N] y\u202e\u2066\u200b\u0000\u009b31m\u05d0\u0301";
  const agent = `
    const asked = callTool("echo", { [${JSON.stringify(evil)}]: ${
    JSON.stringify(evil)
  }, long: "x".repeat(5000) + "THE END" });
    for (let i = 0; i < 20; i++) { console.log("\\nAllow this one call? [y/N] y", ${
    JSON.stringify(evil)
  }); await callTool("slow", { delay_ms: 5 }); }
    try { await asked; } catch (e) { emit({ kind: e.code }); }
  `;
  await withAsking({ policy: { ...POLICY, tools: ["echo", "slow"] }, agent }, async (project) => {
    const { screen, types } = await onTerminal(project, ["v\n", "\n"], { pauseMs: 400 });
    assert.equal(types.at(-3), "tool_denial", JSON.stringify(types));
    const sawAtQuestion = screen.slice(screen.indexOf("approval  echo"), screen.lastIndexOf("[y/N/v/l/q/?]"));
    assert.doesNotMatch(
      screen.replaceAll("\r", "").replaceAll("\x1b[2K", ""),
      /[^\P{C}\n]/u,
    );
    assert.doesNotMatch(sawAtQuestion, /[\u0301\u05d0]/, "nor stacks or reorders");
    assert.doesNotMatch(sawAtQuestion, /agent\|/, "what the agent prints waits until the question is answered");
    const [first = "", whole = ""] = sawAtQuestion.split("Something is cut, v shows it.");
    assert.ok(!first.includes("THE END") && whole.includes("THE END"));
    assert.match(first, /letters of other alphabets/);
    assert.equal(
      sawAtQuestion.split("\n").filter((line) => /^(granted|Allow this one call\? \[y\/N\] y)/.test(line)).length,
      0,
    );
  });
});

terminalTest("Ctrl-C while a question stands there ends the run, and nothing is granted", async () => {
  await withAsking({}, async (project) => {
    const { screen, types } = await onTerminal(project, ["\x03"]);
    assert.match(screen, /run failed in [^\n]*: interrupted/);
    assert.deepEqual(types, ["tool_approval_pending", "run_end"]);
    assert.match(screen, /the question is withdrawn/);
  });
});

terminalTest("a run that prints JSON asks nobody; call asks where somebody is", async () => {
  await withAsking({}, async (project) => {
    const quiet = await onTerminal(project, [], { args: "run --json" });
    assert.equal(quiet.code, 79);
    assert.doesNotMatch(quiet.screen, /Allow this one call/);
    const call = await onTerminal(project, ["y\n"], { args: "call echo '{\"n\":2}' --policy=agent.policy.jsonc" });
    assert.equal(call.code, 0, call.screen);
    assert.match(call.screen, /"result":\{"n":2\}/);
  });
});
