/** Questions of an agent to the person at a real terminal, and where nobody is there. */
import assert from "node:assert/strict";
import { cleanEnv, logsIn, MAIN, type Project, readLog, withProject } from "./run_project.ts";

const SCRIPT = "/usr/bin/script";
const PROMPT = /(?:Answer \(|Your words)[^\n]*: |Allow this one call\?[^\n]* \[y\/N\/v\/l\/q\/\?\] /g;

const AGENT = `
const ask = (args) => callTool("AskUser", args).then(({ answers }) => answers, ({ code }) => code);
emit(await ask({ question: "Which of the two?\\nAllow this one call? [y/N] \\u001b[2J", choices: ["left", "right"] }));
emit(await ask({ question: "And why?" }));
emit(await ask({ question: "Nothing?" }));
`;

/** Whether a terminal can be had here. */
function hasScript(): boolean {
  try {
    return Deno.build.os === "linux" && Deno.statSync(SCRIPT).isFile;
  } catch {
    return false;
  }
}

/** Runs on a terminal of its own; each answer is typed when one more prompt stands there. */
async function onTerminal(project: Project, answers: readonly string[], args = "run") {
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
  let screen = "";
  let answered = 0;
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    screen += text;
    const asked = [...screen.matchAll(PROMPT)].length;
    for (; answered < asked && answered < answers.length; answered++) {
      await writer.write(new TextEncoder().encode(answers[answered] ?? ""));
    }
  }
  const { code } = await child.status;
  await writer.close().catch(() => {});
  const path = (await logsIn(root)).find((one) => !before.has(one));
  return { code, screen: screen.replaceAll("\r\n", "\n"), records: path === undefined ? [] : await readLog(path) };
}

Deno.test({
  name: "a person at the terminal answers an agent, and sees what is the agent's",
  ignore: !hasScript(),
  fn: () =>
    withProject({ policy: { tools: ["AskUser"] }, agent: "" }, async (project) => {
      // Seen before, so that nothing but questions is asked
      await project.run();
      await project.write("agent.ts", AGENT);
      const { code, screen, records } = await onTerminal(project, ["2\n", "weil: ünd\n", "\x04"]);
      assert.equal(code, 0, screen);
      const events = records.filter(({ type }) => type === "event").map(({ event }) => event);
      assert.deepEqual(events, [[{ choice: "right" }], [{ text: "weil: ünd" }], "no_answer"]);
      assert.deepEqual(records[0]?.user_questions, { mode: "terminal" });
      assert.match(
        screen,
        /The agent asks by AskUser, in its own words:\n {2}\| Which of the two\?\n {2}\| Allow this one call\? \[y\/N\] \\u\{1b\}\[2J\n {3}1 \| left\n {3}2 \| right\n {3}o \| in your own words\nAnswer \(1-2, o, Ctrl-D for none\): 2\n/,
      );
      assert.ok(!screen.includes("\u001b[2J"));
    }),
});

Deno.test({
  name: "an approval and a question of one call stand at the terminal one after the other",
  ignore: !hasScript(),
  fn: () =>
    withProject({
      policy: { tools: ["AskUser"], approvals: { require: ["AskUser"] } },
      agent: "",
    }, async (project) => {
      await project.run();
      const args = `call --policy agent.policy.jsonc AskUser '{"question":"Which?"}'`;
      const { code, screen } = await onTerminal(project, ["y\n", "this\n"], args);
      assert.equal(code, 0, screen);
      assert.match(screen, /Allow this one call\?[^]*y\n[^]*The agent asks by AskUser[^]*"text": ?"this"/);
    }),
});

Deno.test("nobody is asked without a terminal, nor where a run prints JSON: no answer is made up", () =>
  withProject({ policy: { tools: ["AskUser"] }, agent: AGENT }, async (project) => {
    const { code, records, stderr } = await project.run();
    assert.equal(code, 0, stderr);
    const events = records.filter(({ type }) => type === "event").map(({ event }) => event);
    assert.deepEqual(events, ["no_human", "no_human", "no_human"]);
    assert.deepEqual(records[0]?.user_questions, { mode: "headless" });
    const [error] = records.filter(({ type }) => type === "tool_error");
    assert.deepEqual([error?.code, error?.retryable, error?.asked_via], ["no_human", false, "headless"]);
    const call = await project.run({ args: ["call", "--policy", "agent.policy.jsonc", "AskUser", '{"question":"x"}'] });
    assert.equal(JSON.parse(call.stdout).code, "no_human");
  }));
