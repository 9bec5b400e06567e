import assert from "node:assert/strict";
import { ACTION_PATH, actionText, onRunner, outputsOf, runBlocks } from "./actions_world.ts";

const POLICY = {
  tools: ["listFiles", "readFile"],
  fs: { read: [{ root: ".", include: ["/*.md"] }] },
};

/** Says what would be a command, an output, a heading or a script to whoever does not look. */
const HOSTILE = [
  "EOF",
  "outcome=success",
  "::set-output name=outcome::success",
  "##[set-output name=outcome]success",
  "::add-mask::a",
  "<script>alert(1)</script>",
  "# heading\n| a | b |\n[x](https://evil.example) ![i](https://evil.example/i.png) @team #1",
  "`code` **bold** www.evil.example",
].join("\n");

const HOSTILE_AGENT = `
const hostile = ${JSON.stringify(HOSTILE)};
console.log(hostile);
console.error("##[add-path]/tmp/evil");
emit({ kind: "said", text: hostile });
auditNote({ text: hostile });
for (const tool of [hostile, "readFile"]) {
  try {
    await callTool(tool, { path: hostile });
  } catch {
    // that is what this is about
  }
}
await callTool("readFile", { path: "src/$(id).ts" }).catch(() => {});
throw new Error(hostile);
`;

Deno.test("the action interpolates nothing into a script and takes every input by env", async () => {
  const text = await actionText();
  const blocks = runBlocks(text);
  assert.equal(blocks.length, 1);
  for (const block of blocks) {
    assert.ok(!block.includes("${{"), block);
    assert.ok(!/\bdeno task\b/.test(block), block);
    assert.ok(!/GITHUB_ENV|GITHUB_PATH/.test(block), block);
  }
  const inputs = [...(text.split(/^inputs:$/m)[1] ?? "").split(/^outputs:$/m)[0]?.matchAll(/^ {2}(\w+):$/gm) ?? []];
  assert.deepEqual(inputs.map(([, name]) => name), ["policy", "base", "args"]);
  for (const [, name = ""] of inputs) {
    assert.match(text, new RegExp(`^ {8}${name.toUpperCase()}: \\$\\{\\{ inputs\\.${name} \\}\\}$`, "m"));
  }
});

Deno.test("the action runs the runner of its own folder, found from a folder of the runner", async () => {
  await onRunner(async ({ step, write, policy, lock, commit, dir }) => {
    // What the head brings along decides nothing: no task, no npm configuration, no program.
    await write("deno.json", '{ "tasks": { "agent": "exit 42", "deno": "exit 43" } }');
    await write(".npmrc", "registry=https://evil.example/\n");
    await write("node_modules/.bin/deno", "#!/bin/sh\nexit 44\n");
    await write("node_modules/deno/package.json", '{ "version": "2.9.6", "bin": "x" }');
    await write("NOTES.md", "notes");
    await policy(POLICY);
    await write("agent.ts", 'emit({ kind: "done", files: (await callTool("readFile", { path: "NOTES.md" })).path });');
    await lock();
    await commit("one");
    const { code, log, npx, summary, output, env } = await step();
    assert.equal(code, 0, log);
    const [cwd, words] = npx.split("\n");
    assert.ok(cwd !== undefined && !cwd.startsWith(dir));
    assert.match(words ?? "", /^-y deno@2\.9\.6 eval --no-config /);
    assert.match(summary, /^### twokey: exit 0, done\n\nCalls: 1 ok, 0 denied\. Ended: <code>done<\/code>\./);
    const { exit, denied, gained, head, audit } = outputsOf(output);
    assert.deepEqual([exit, denied, gained], ["0", "0", "0"]);
    assert.match(head ?? "", /^[0-9a-f]{64}$/);
    assert.ok((await Deno.stat(`${dir}/${audit}`)).isFile);
    assert.equal(env, "");
    assert.ok(ACTION_PATH.endsWith(".github/actions/agent"));
  });
});

Deno.test("a pull request that only changes the agent passes; one that widens the policy ends with 3", async () => {
  await onRunner(async ({ step, write, policy, lock, commit }) => {
    await write("NOTES.md", "notes");
    await policy(POLICY);
    await write("agent.ts", 'emit({ kind: "one" });');
    await lock();
    const base = await commit("base");
    await write("agent.ts", 'emit({ kind: "two" });');
    await lock();
    await commit("the agent changes");
    const free = await step({ base });
    assert.equal(free.code, 0, free.log);
    assert.match(free.summary, /No authority is gained over <code>[0-9a-f]{40}<\/code>\./);

    await policy({ ...POLICY, tools: ["listFiles", "readFile", "slow"] });
    await lock();
    await commit("the policy widens");
    const widened = await step({ base });
    assert.equal(widened.code, 3, widened.log);
    assert.match(
      widened.log,
      /^::error file=agent\.policy\.jsonc,line=\d+,col=\d+,title=authority gained::the tool slow$/m,
    );
    assert.match(widened.summary, /^### twokey: exit 3, authority was gained\n/);
    assert.match(widened.summary, /Authority gained over .*: 1\.\*\*/);
    assert.match(widened.summary, /\| the tool slow \| <code>agent&#46;policy&#46;jsonc&#58;\d+<\/code> \|/);
    assert.deepEqual([outputsOf(widened.output).exit, outputsOf(widened.output).gained], ["3", "1"]);
    const pushed = await step();
    assert.equal(pushed.code, 0, pushed.log);
  });
});

Deno.test("a base that a shallow clone does not have is exit 65, and the annotation shows the line to add", async () => {
  await onRunner(async ({ step, write, policy, lock, commit }) => {
    await policy(POLICY);
    await write("agent.ts", 'emit({ kind: "one" });');
    await lock();
    await commit("one");
    const { code, log, summary } = await step({ base: "0123456789012345678901234567890123456789" });
    assert.equal(code, 65, log);
    assert.match(log, /^::error title=twokey%3A exit 65::.*fetch-depth: 0.*$/m);
    assert.match(summary, /fetch&#45;depth&#58; 0/);
  });
});

Deno.test("an event that does not fit its schema is named in the summary and in an annotation", async () => {
  await onRunner(async ({ step, write, policy, lock, commit }) => {
    await policy({ ...POLICY, expectEvents: { k: { schema: { required: ["n"] } } } });
    await write("agent.ts", 'emit({ kind: "k" });');
    await lock();
    await commit("one");
    const { code, log, summary } = await step();
    assert.equal(code, 1, log);
    assert.match(log, /^::error title=run::event 0 of kind k does not fit its schema: \/n is absent/m);
    assert.match(summary, /does not fit its schema/);
  });
});

Deno.test("what an agent says stays data: no output, no variable, no command, no Markdown, no HTML", async () => {
  await onRunner(async ({ step, write, policy, lock, commit }) => {
    await policy(POLICY);
    await write("agent.ts", HOSTILE_AGENT);
    await lock();
    await commit("one");
    const { code, log, summary, output, env } = await step();
    assert.equal(code, 1, log);
    assert.equal(env, "");
    assert.deepEqual(Object.keys(outputsOf(output)), ["exit", "reason", "denied", "gained", "head", "audit"]);
    assert.doesNotMatch(output, /success/);
    assert.equal(outputsOf(output).denied, "3");

    // Commands are switched off around what the agent prints, and on again with a word that it cannot know.
    const lines = log.split("\n");
    const stop = lines.findIndex((line) => /^::stop-commands::[0-9a-f]{32}$/.test(line));
    const token = lines[stop]?.slice("::stop-commands::".length);
    const start = lines.indexOf(`::${token}::`);
    assert.ok(stop >= 0 && start > stop, log);
    const outside = [...lines.slice(0, stop), ...lines.slice(start + 1)];
    for (const line of outside) {
      if (line.startsWith("::")) assert.match(line, /^::(error|warning|notice) (file=[^:]*,)?title=[^:]*::/);
      else assert.ok(!/set-output|add-path|##\[|outcome/.test(line), line);
    }
    assert.ok(lines.slice(stop, start).some((line) => line.includes("add-path")), "the test would see it");

    assert.doesNotMatch(summary, /<script|<\/script|!\[|\]\(|https?:|www\.|@team|(?<!&)#1|\*\*bold|`/);
    assert.doesNotMatch(summary, /^#+ heading|^EOF$|^outcome=/m);
    const tags = [...summary.matchAll(/<[^>]*>/g)].map(([tag]) => tag);
    assert.deepEqual([...new Set(tags)].toSorted(), ["</code>", "<code>"]);
  });
});

Deno.test("a denial that nobody expects is an annotation on the policy's line, with the line to add", async () => {
  await onRunner(async ({ step, write, policy, lock, commit }) => {
    await policy(POLICY);
    await write("agent.ts", 'emit({ kind: "a" }); await callTool("readFile", { path: "deno.json" }).catch(() => {});');
    await lock();
    await commit("one");
    const { code, log, summary } = await step();
    assert.equal(code, 77, log);
    assert.match(log, /^::error file=agent\.policy\.jsonc,line=\d+,col=\d+,title=denied::readFile deno\.json: /m);
    assert.match(log, /To allow it: "fs": \{ "read":/);
    assert.match(summary, /<code>readFile<\/code> \| <code>deno&#46;json<\/code>/);
  });
});

Deno.test("a policy that is wrong, and one without a lock, are annotations; nothing runs", async () => {
  await onRunner(async ({ step, write, policy, commit }) => {
    await policy({ ...POLICY, tools: ["listFiles", "readFil"] });
    await write("agent.ts", "");
    await commit("one");
    const unlocked = await step();
    assert.equal(unlocked.code, 65);
    assert.match(unlocked.log, /^::error title=twokey%3A exit 65::.*there is no agent\.lock\.json.*policy lock/m);
    await write("agent.lock.json", "{}");
    const wrong = await step();
    assert.equal(wrong.code, 65, wrong.log);
    assert.match(wrong.log, /^::error file=agent\.policy\.jsonc,line=\d+,col=\d+,title=policy::.*no such tool/m);
    assert.match(wrong.summary, /Nothing ran\./);
    await write("agent.policy.jsonc", "{ nonsense");
    assert.equal((await step()).code, 65);
  });
});

Deno.test("args are words, one a line, and those that add authority are refused", async () => {
  await onRunner(async ({ step, write, policy, lock, commit }) => {
    await policy(POLICY);
    await write("agent.ts", 'emit({ kind: "a" });');
    await lock();
    await commit("one");
    const refused = await step({ args: "--tool=slow\n" });
    assert.equal(refused.code, 65, refused.log);
    assert.match(refused.log, /adds authority/);
    const shell = await step({ args: "$(touch /tmp/owned); echo" });
    assert.notEqual(shell.code, 0);
    const fine = await step({ args: "--runs-dir=../logs here\n\n" });
    assert.equal(fine.code, 0, fine.log);
    assert.match(outputsOf(fine.output).audit ?? "", /logs here/);
  });
});
