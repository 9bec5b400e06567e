import assert from "node:assert/strict";
import type { Record as AuditRecord } from "../../src/audit/record.ts";
import { eventually, logsIn, readLog, withProject } from "./run_project.ts";

const READS = { fs: { read: [{ root: ".", include: ["/*.md"] }] } };

Deno.test("a policy that does not parse runs nothing, whoever asks, with a lock or without", async () => {
  const good = JSON.stringify({ version: 1, agent: "agent.ts", tools: ["readFile"], ...READS });
  const broken: [name: string, text: string][] = [
    ["cut off", good.slice(0, -1)],
    ["empty", ""],
    ["a merge conflict", `<<<<<<< HEAD\n${good}\n=======\n${good}\n>>>>>>> x\n`],
    ["a duplicate key", good.replace('"tools"', '"tools": [], "tools"')],
    ["an unknown key", good.replace('"tools"', '"tols": [], "tools"')],
    ["a rule of the wrong type", good.replace('"version":1', '"version":1,"gate":"off"')],
    ["another version", good.replace('"version":1', '"version":2')],
    ["no object", "[]"],
    ["a comment that does not end", `${good} /*`],
  ];
  const commands: string[][] = [
    ["run", "--json"],
    ["run", "--json", "--locked"],
    ["run", "--json", "--policy=agent.policy.jsonc", "--tool=echo"],
    ["call", "readFile", '{"path":"README.md"}', "--policy=agent.policy.jsonc"],
    ["policy", "validate"],
    ["policy", "test"],
    ["policy", "lock"],
    ["policy", "add-tool", "echo"],
  ];
  const files = { "README.md": "x", "agent.policy.jsonc": good };
  await withProject({ files, agent: 'console.log("agent was here");' }, async (project) => {
    const root = project.dir.slice(0, -"/project".length);
    assert.equal((await project.run({ args: ["policy", "lock"] })).code, 0);
    const lock = await Deno.readTextFile(`${project.dir}/agent.lock.json`);
    for (const [name, text] of broken) {
      await project.write("agent.policy.jsonc", text);
      // Every command on the first text, the two that run something on the rest.
      for (const args of name === "cut off" ? commands : commands.slice(0, 2)) {
        const { code, stdout, stderr } = await project.run({ args });
        assert.equal(code, 65, `${name}: ${args.join(" ")}: ${stdout}${stderr}`);
        assert.doesNotMatch(stderr, /agent was here/);
      }
      assert.deepEqual(await logsIn(root), [], name);
      assert.equal(await Deno.readTextFile(`${project.dir}/agent.policy.jsonc`), text, name);
    }
    assert.equal(await Deno.readTextFile(`${project.dir}/agent.lock.json`), lock);
  });
});

Deno.test("what a run may do is settled when it starts: a line taken away or added meanwhile changes the next run", async () => {
  const agent = `
    const outcome = async (tool, args) => {
      try {
        await callTool(tool, args);
        return "ok";
      } catch (error) {
        return error.outcome;
      }
    };
    emit({ kind: "before", read: await outcome("readFile", { path: "README.md" }) });
    // A file that is written to after the start is refused: that is the sign to go on.
    for (let i = 0; i < 2000 && await outcome("readFile", { path: "SIGN.md" }) === "ok"; i++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    emit({
      kind: "after",
      read: await outcome("readFile", { path: "README.md" }),
      echo: await outcome("echo", {}),
    });
  `;
  const policy = { tools: ["readFile", "slow"], ...READS };
  await withProject({ files: { "README.md": "x", "SIGN.md": "wait" }, policy, agent }, async (project) => {
    const root = project.dir.slice(0, -"/project".length);
    const eventOf = (records: readonly AuditRecord[], kind: string) =>
      records.flatMap(({ type, event }) =>
        type === "event" ? [event as { kind: string; read: string; echo?: string }] : []
      )
        .find((event) => event.kind === kind);
    const first = await project.run({
      onStart: async () => {
        const began = await eventually(async () => {
          const [log] = await logsIn(root);
          return log !== undefined && eventOf(await readLog(log), "before") !== undefined;
        }, 20_000);
        assert.ok(began);
        await project.policy({ tools: ["echo"] });
        await project.write("SIGN.md", "go on now");
      },
    });
    assert.equal(eventOf(first.records, "before")?.read, "ok", first.stderr);
    assert.deepEqual(eventOf(first.records, "after"), { kind: "after", read: "ok", echo: "denied" });
    const second = await project.run();
    assert.deepEqual(eventOf(second.records, "after"), { kind: "after", read: "denied", echo: "ok" });
  });
});

Deno.test("what a repository brings along starts nothing and approves nothing", async () => {
  const marker = "started-by-the-repository";
  const evil = `#!/bin/sh\ntouch ${marker}\n`;
  const files = {
    "deno.json": JSON.stringify({ tasks: { agent: `touch ${marker}` }, preload: ["./preload.ts"], unstable: ["ffi"] }),
    "preload.ts": `Deno.writeTextFileSync("${marker}", "")`,
    "package.json": JSON.stringify({ scripts: { preinstall: evil, postinstall: evil } }),
    ".npmrc": "ignore-scripts=false\n",
    ".git/hooks/post-checkout": evil,
    ".git/config": `[core]\n\tfsmonitor = touch ${marker}\n\thooksPath = .\n`,
    ".env": "CI=false\nTWOKEY_LOCKED=0\n",
    ".twokey/rules.json": JSON.stringify({ approve: "*" }),
    "twokey.json": JSON.stringify({ autoApprove: true }),
    "README.md": "x",
  };
  const policy = {
    tools: ["readFile"],
    ...READS,
    gate: { ask: [{ kind: "filesystem.read", match: "README.md" }] },
  };
  const agent =
    'try { await callTool("readFile", { path: "README.md" }); } catch (error) { emit({ kind: error.code }); }';
  await withProject({ files, policy, agent }, async (project) => {
    for (
      const args of [["run", "--json"], ["policy", "explain"], ["policy", "test"], ["policy", "lock"], [
        "run",
        "--locked",
      ]]
    ) {
      await project.run({ args });
    }
    const { records } = await project.run();
    const reasons = records.filter(({ type }) => type === "tool_denial").map(({ reason }) => reason);
    assert.deepEqual(reasons, ["approval_pending"]);
    await assert.rejects(Deno.lstat(`${project.dir}/${marker}`), Deno.errors.NotFound);
  });
});
