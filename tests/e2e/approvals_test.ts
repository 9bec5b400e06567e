/** Whole runs whose calls need an approval: nobody there, the inbox, grants that are bound and spent, hostile agents. */
import assert from "node:assert/strict";
import { ISOLATIONS } from "../../src/plan/plan.ts";
import { type Project, type RunResult, withProject } from "./run_project.ts";

const WRITER = {
  name: "writer",
  tools: ["echo", "writeArtifact"],
  fs: { write: [{ root: "out" }] },
  approvals: { require: ["writeArtifact"] },
};

/** Writes two files, calls on when it is stopped, and says what it saw. */
const AGENT = `
const write = async (path) => {
  try {
    return (await callTool("writeArtifact", { path, content: "text of " + path })).path;
  } catch (error) {
    return error.code;
  }
};
emit({ kind: "first", got: await write("a.txt") });
emit({ kind: "echo", got: await callTool("echo", { after: 1 }) });
`;

const types = ({ records }: RunResult) =>
  records.map(({ type }) => type).filter((type) => /^tool_|^event$|^run_end$/.test(type));

interface Inbox {
  readonly counts: Record<string, number>;
  readonly foreign_lines: number;
  readonly approval_log: string;
  readonly items: readonly {
    readonly id: string;
    readonly status: string;
    readonly args: unknown;
    readonly requirements: readonly { readonly kind: string; readonly target: string }[];
  }[];
}

async function inbox(project: Project, ...flags: string[]): Promise<Inbox> {
  const { code, stdout, stderr } = await project.run({ args: ["approval", "inbox", "--json", ...flags] });
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

async function allowAll(project: Project): Promise<void> {
  for (const { id, status } of (await inbox(project)).items) {
    if (status !== "pending") continue;
    assert.equal((await project.run({ args: ["approval", "allow", id, "--json"] })).code, 0);
  }
}

for (const isolation of ISOLATIONS) {
  Deno.test(`a call that nobody approves stops the run, and one yes lets the next run do it once: ${isolation}`, async () => {
    await withProject({ policy: { ...WRITER, isolation }, agent: AGENT }, async (project) => {
      const stopped = await project.run();
      assert.equal(stopped.code, 79, stopped.stderr);
      assert.deepEqual(types(stopped), ["tool_approval_pending", "tool_denial", "run_end"], "nothing else is served");
      const [pending, denial, end] = stopped.records.filter(({ type }) => /^tool_|^run_end$/.test(type));
      assert.deepEqual([denial?.reason, denial?.approval_id], ["approval_pending", pending?.approval_id]);
      assert.deepEqual([end?.status, end?.reason], ["error", "approval_pending"]);
      await assert.rejects(Deno.stat(`${project.dir}/out/a.txt`), Deno.errors.NotFound);

      const { items: [item], counts } = await inbox(project);
      assert.deepEqual([counts.pending, counts.total, item?.status], [1, 1, "pending"]);
      assert.deepEqual(item?.args, { path: "a.txt", content: "text of a.txt" });
      assert.deepEqual(item?.requirements, [{ kind: "filesystem.write", target: `${project.dir}/out/a.txt` }]);

      await allowAll(project);
      const ran = await project.run();
      assert.equal(ran.code, 0, ran.stderr);
      assert.deepEqual(types(ran), [
        "tool_approval_granted",
        "tool_call",
        "tool_result",
        "event",
        "tool_call",
        "tool_result",
        "event",
        "run_end",
      ]);
      const call = ran.records.find(({ type }) => type === "tool_call");
      assert.deepEqual([call?.approval_id, call?.approval_mode], [item?.id, "approval_log"]);
      assert.equal(await Deno.readTextFile(`${project.dir}/out/a.txt`), "text of a.txt");

      await Deno.remove(`${project.dir}/out/a.txt`);
      assert.equal((await project.run()).code, 79, "the yes is spent");
    });
  });
}

Deno.test("a yes holds for this policy, this agent and these arguments only", async () => {
  await withProject({ policy: WRITER, agent: AGENT }, async (project) => {
    await project.run();
    await allowAll(project);
    await project.write("agent.ts", `${AGENT}// changed\n`);
    assert.equal((await project.run()).code, 79, "another agent");
    await project.write("agent.ts", AGENT);
    await project.policy({ ...WRITER, redact: ["x"] });
    assert.equal((await project.run()).code, 79, "another policy");
    await project.policy(WRITER);
    await project.write("agent.ts", AGENT.replace("text of", "Text of"));
    assert.equal((await project.run()).code, 79, "other arguments");
    await project.write("agent.ts", AGENT);
    assert.equal((await project.run()).code, 0, "the very call");
    const { counts } = await inbox(project);
    assert.deepEqual([counts.pending, counts.used], [3, 1]);
  });
});

const PROGRAM = {
  tools: ["process"],
  approvals: { require: ["process"] },
  process: {
    commands: { fmt: { path: "bin/fmt", args: { positionals: ["text"], maxPositionals: 4 } } },
    cwd: ["."],
    sandbox: "off",
  },
  unsafe: { unconfined: { reason: "needed for this test", expires: "2999-01-01" } },
};
const FMT = await Deno.realPath("/bin/cat");

/** Makes the project's own program, and gives back the only request of the inbox that waits. */
async function stopAt(project: Project, program: string) {
  await Deno.mkdir(`${project.dir}/bin`, { recursive: true });
  await Deno.remove(`${project.dir}/bin/fmt`).catch(() => {});
  await Deno.copyFile(program, `${project.dir}/bin/fmt`);
  await Deno.chmod(`${project.dir}/bin/fmt`, 0o755);
  const { code, stderr } = await project.run();
  assert.equal(code, 79, stderr);
  return (await inbox(project)).items.filter(({ status }) => status === "pending");
}

Deno.test("a yes for a program is none for other bytes in its place, and shows which bytes it is for", async () => {
  const agent = 'emit({ kind: "got", ...await callTool("process", { command: "fmt", args: ["f"] }) });';
  await withProject({ policy: PROGRAM, agent, files: { f: "text" } }, async (project) => {
    const [asked] = await stopAt(project, FMT);
    const sha256 = new Uint8Array(await crypto.subtle.digest("SHA-256", await Deno.readFile(FMT))).toHex();
    assert.deepEqual(asked?.requirements, [{
      kind: "command.execute",
      target: "fmt f",
      folder: project.dir,
      program: { path: "${project}/bin/fmt", sha256 },
    }]);
    const { stdout } = await project.run({ args: ["approval", "allow", asked?.id ?? ""] });
    assert.match(stdout, new RegExp(`^ {2}sha256 {2}${sha256}$`, "m"));
    assert.equal((await stopAt(project, await Deno.realPath("/usr/bin/wc")))[0]?.status, "pending", "other bytes");
    await stopAt(project, await Deno.realPath("/usr/bin/head"));
    await Deno.copyFile(FMT, `${project.dir}/bin/fmt`);
    assert.equal((await project.run()).code, 0, "the very bytes");
  });
});

Deno.test("a yes for a program in one folder is none for the folder that its words lead to later", async () => {
  const agent = 'emit({ kind: "got", ...await callTool("process", { command: "fmt", args: ["f"], cwd: "link" }) });';
  const files = { "A/f": "harmless", "B/f": "other" };
  await withProject({ policy: PROGRAM, agent, files, links: { link: "A" } }, async (project) => {
    const [asked] = await stopAt(project, FMT);
    assert.equal((asked?.requirements[0] as { folder?: string }).folder, `${project.dir}/A`);
    const { stdout } = await project.run({ args: ["approval", "allow", asked?.id ?? ""] });
    assert.match(stdout, /^ {2}in {6}\.\/A$/m);
    await Deno.remove(`${project.dir}/link`);
    await Deno.symlink("B", `${project.dir}/link`);
    assert.equal((await project.run()).code, 79, "the link leads elsewhere");
    await Deno.remove(`${project.dir}/link`);
    await Deno.symlink("A", `${project.dir}/link`);
    assert.equal((await project.run()).code, 0);
  });
});

Deno.test("arguments that collide in the low bytes of their characters need approvals of their own", async () => {
  const agent = (text: string) => `await callTool("echo", { a: ${JSON.stringify(text)} });`;
  const policy = { tools: ["echo"], approvals: { require: ["echo"] }, agent: "agent.ts" };
  await withProject({ policy, agent: agent("A") }, async (project) => {
    for (const text of ["A", "\u0141"]) {
      const { code } = await project.run({
        args: ["call", "echo", JSON.stringify({ a: text }), "--policy=agent.policy.jsonc"],
      });
      assert.equal(code, 79);
    }
    assert.equal(new Set((await inbox(project)).items.map(({ id }) => id)).size, 2);
  });
});

Deno.test("two equal calls need two approvals; what is mutated after the call is not what runs", async () => {
  const agent = `
    const args = { n: 1 };
    const first = callTool("echo", args);
    args.n = 2;
    emit({ kind: "got", first: await first });
    emit({ kind: "got", second: await callTool("echo", { n: 1 }) });
  `;
  await withProject({ policy: { tools: ["echo"], approvals: { require: ["echo"] } }, agent }, async (project) => {
    await project.run();
    await allowAll(project);
    assert.equal((await project.run()).code, 79, "the second call");
    const { items } = await inbox(project);
    assert.equal(items.length, 1);
    for (let i = 0; i < 2; i++) await project.run({ args: ["approval", "allow", items[0]?.id.slice(0, 12) ?? ""] });
    const ran = await project.run();
    assert.equal(ran.code, 0, ran.stderr);
    const events = ran.records.filter(({ type }) => type === "event").map(({ event }) => event);
    assert.deepEqual(events, [{ kind: "got", first: { n: 1 } }, { kind: "got", second: { n: 1 } }]);
  });
});

Deno.test("two runs at the same time cannot spend one approval twice", async () => {
  const agent = 'await callTool("echo", { n: 1 });';
  await withProject({ policy: { tools: ["echo"], approvals: { require: ["echo"] } }, agent }, async (project) => {
    await project.run();
    await allowAll(project);
    const codes = (await Promise.all([project.run(), project.run(), project.run()])).map(({ code }) => code);
    assert.deepEqual(codes.toSorted((a, b) => a - b), [0, 79, 79]);
  });
});

Deno.test("a yes goes stale, and a no stays until it does or is taken back", async () => {
  const agent = 'try { await callTool("echo", { n: 1 }); } catch (error) { emit({ kind: error.code }); }';
  const policy = { tools: ["echo"], approvals: { require: ["echo"], maxAgeMs: 1000 } };
  await withProject({ policy, agent }, async (project) => {
    await project.run();
    await allowAll(project);
    await new Promise((resolve) => setTimeout(resolve, 1100));
    const stale = await project.run();
    assert.equal(stale.code, 79);
    assert.deepEqual(types(stale).slice(0, 2), ["tool_approval_stale", "tool_approval_pending"]);
    await project.policy({ ...policy, approvals: { require: ["echo"] } });
    await project.run();
    const id = (await inbox(project)).items.find(({ status }) => status === "pending")?.id;
    const last = (await inbox(project)).items.at(-1)?.id ?? "";
    assert.ok(id !== undefined);
    assert.equal((await project.run({ args: ["approval", "deny", last, "--reason=not today"] })).code, 0);
    for (let i = 0; i < 2; i++) {
      const denied = await project.run();
      assert.equal(denied.code, 0, "the agent may go on with a no");
      assert.deepEqual(types(denied), ["tool_approval_denied", "tool_denial", "event", "run_end"]);
      assert.deepEqual(denied.records.find(({ type }) => type === "event")?.event, { kind: "approval_denied" });
    }
    assert.equal((await project.run({ args: ["run", "--json", "--fail-on-denial"] })).code, 77);
    await project.run({ args: ["approval", "allow", last] });
    assert.deepEqual(types(await project.run()).slice(0, 2), ["tool_approval_granted", "tool_call"]);
  });
});

Deno.test("nobody is asked about a call that would not run in any case", async () => {
  const agent = `
    const tries = [["echo", "text"], ["writeArtifact", { path: 1, content: "" }], ["writeArtifact", { path: "../x", content: "" }],
      ["writeArtifact", { path: "x", content: "y".repeat(2000) }], ["slow", {}]];
    for (const [tool, args] of tries) {
      try { await callTool(tool, args); } catch (error) { emit({ kind: error.outcome, code: error.code }); }
    }
  `;
  const policy = { ...WRITER, approvals: { require: ["echo", "writeArtifact"] }, budgets: { toolArgBytes: 1000 } };
  await withProject({ policy, agent }, async (project) => {
    const { code, records } = await project.run();
    assert.equal(code, 0);
    const kinds = records.filter(({ type }) => type === "event").map(({ event }) => (event as { kind: string }).kind);
    assert.deepEqual(kinds, ["invalid", "invalid", "denied", "budget", "denied"]);
    assert.deepEqual(records.filter(({ type }) => type.startsWith("tool_approval_")), []);
    assert.equal((await inbox(project)).counts.total, 0);
  });
});

Deno.test("calls that are under way end when the run stops at another, and calls behind it get its outcome", async () => {
  const agent = `
    const all = await Promise.allSettled([
      callTool("slow", { delay_ms: 300 }), callTool("echo", { n: 1 }), callTool("echo", { n: 2 }),
    ]);
    emit({ kind: "never", all: all.length });
    await callTool("slow", { delay_ms: 1 });
  `;
  await withProject(
    { policy: { tools: ["echo", "slow"], approvals: { require: ["echo"] } }, agent },
    async (project) => {
      const run = await project.run();
      assert.equal(run.code, 79);
      const ended = run.records.filter(({ type }) => type === "tool_result").map(({ tool }) => tool);
      assert.deepEqual(ended, ["slow"], "it had begun");
      assert.equal((await inbox(project)).counts.pending, 2, "both can be allowed at once");
      assert.equal(run.records.at(-1)?.in_flight, undefined);
      await allowAll(project);
      assert.equal((await project.run()).code, 0);
    },
  );
});

Deno.test("an agent that does not wait for its call does not get past it", async () => {
  const agent = 'callTool("echo", { n: 1 }).catch(() => {}); emit({ kind: "gone" });';
  await withProject({ policy: { tools: ["echo"], approvals: { require: ["echo"] } }, agent }, async (project) => {
    const run = await project.run();
    assert.equal(run.code, 79);
    assert.deepEqual(run.records.filter(({ type }) => type === "tool_call"), []);
  });
});

Deno.test("an agent that throws, or hammers on, after the stop changes nothing", async () => {
  const agents = [
    'await callTool("echo", {}); throw new Error("never");',
    'try { await callTool("echo", {}); } catch { throw new TypeError("mine"); }',
    'const slow = callTool("slow", { delay_ms: 200 }); try { await callTool("echo", {}); } catch {} for (let i = 0; i < 50; i++) { try { await callTool("writeArtifact", { path: "x" + i, content: "" }); } catch {} } await slow;',
  ];
  for (const agent of agents) {
    const policy = { ...WRITER, tools: ["echo", "slow", "writeArtifact"], approvals: { require: ["echo"] } };
    await withProject({ policy, agent }, async (project) => {
      const run = await project.run();
      assert.equal(run.code, 79, agent);
      assert.equal(run.records.at(-1)?.reason, "approval_pending");
      assert.deepEqual(await Array.fromAsync(Deno.readDir(`${project.dir}/out`)), [], "nothing was written");
    });
  }
});

Deno.test("a rule that asks goes the same way, and an expected pending call stays pending", async () => {
  const agent =
    'emit({ kind: "read", text: (await callTool("readFile", { path: "b.md" })).content }); await callTool("readFile", { path: "a.md" });';
  const policy = {
    tools: ["readFile"],
    fs: { read: [{ root: ".", include: ["*.md"] }] },
    gate: { ask: [{ kind: "filesystem.read", match: "a.md" }] },
    expectDenials: [{ tool: "readFile", code: "approval_pending" }],
  };
  await withProject({ policy, agent, files: { "a.md": "A", "b.md": "B" } }, async (project) => {
    const run = await project.run();
    assert.equal(run.code, 79);
    const { unexpected_denials: unexpected, missing_denials: missing } = JSON.parse(run.stdout);
    assert.deepEqual([unexpected, missing], [[], []]);
    assert.equal((await inbox(project)).items[0]?.requirements[0]?.target, `${project.dir}/a.md`);
  });
});

Deno.test("--approve-tool is the operator's word for one run, and nothing under a lock", async () => {
  const agent = 'await callTool("echo", { n: 1 });';
  await withProject({ policy: { tools: ["echo"], approvals: { require: ["echo"] } }, agent }, async (project) => {
    const free = await project.run({ args: ["run", "--json", "--approve-tool=echo"] });
    assert.equal(free.code, 0, free.stderr);
    assert.deepEqual(free.records.find(({ type }) => type === "tool_approval_granted")?.approval_mode, "pregranted");
    assert.equal((await project.run()).code, 79, "the next run asks again");
    assert.equal((await project.run({ args: ["policy", "lock"] })).code, 0);
    for (
      const args of [["run", "--json", "--locked", "--approve-tool=echo"], ["run", "--json", "--approve-tool=echo"]]
    ) {
      const locked = await project.run({ args, env: args.includes("--locked") ? {} : { CI: "true" } });
      assert.equal(locked.code, 79, locked.stderr);
      assert.match(locked.stderr, /--approve-tool counts for nothing in a locked run/);
      assert.deepEqual((locked.records[0]?.approval_gates as { approved_tools: unknown }).approved_tools, []);
    }
    const unknown = await project.run({ args: ["run", "--json", "--approve-tool=ecko"] });
    assert.equal(unknown.code, 64);
    assert.match(unknown.stdout, /did you mean \\"echo\\"/);
    assert.equal((await project.run({ args: ["run", "--json", "--approve-tool=*"] })).code, 64);
  });
});

Deno.test("--require-approval asks without a policy file, and call says that it is pending", async () => {
  await withProject({}, async (project) => {
    const words = ["call", "echo", '{"n":1}', "--tool=echo", "--require-approval=echo"];
    const pending = await project.run({ args: words });
    assert.equal(pending.code, 79, pending.stderr);
    const { outcome, code, message } = JSON.parse(pending.stdout);
    assert.deepEqual([outcome, code, message], ["denied", "approval_pending", "agent tool denied: echo"]);
    await allowAll(project);
    const ran = await project.run({ args: words });
    assert.deepEqual([ran.code, JSON.parse(ran.stdout).result], [0, { n: 1 }]);
    const dry = await project.run({ args: [...words, "--dry-run"] });
    assert.deepEqual([dry.code, JSON.parse(dry.stdout).code], [77, "approval_required"]);
    const stranger = await project.run({ args: ["call", "echo", "{}", "--tool=echo", "--require-approval=slow"] });
    assert.equal(stranger.code, 65, "a tool that is not granted asks for nothing");
  });
});

Deno.test("the approval log may lie elsewhere, but nowhere that an agent or git can reach", async () => {
  const policy = {
    ...WRITER,
    fs: { read: [{ root: "docs" }], write: [{ root: "out" }] },
    tools: ["readFile", "writeArtifact"],
  };
  await withProject({ policy, agent: AGENT, files: { "docs/x.md": "" } }, async (project) => {
    for (const path of ["out/log.jsonl", "out/deep/log.jsonl", "docs/log.jsonl", "docs/"]) {
      const { code, stderr, stdout } = await project.run({ args: ["run", "--json", `--approval-log=${path}`] });
      assert.equal(code, 64, `${path}: ${stderr}${stdout}`);
    }
    await Deno.symlink(`${project.dir}/out`, `${project.tmp}/link`);
    assert.equal((await project.run({ args: ["run", "--json", `--approval-log=${project.tmp}/link/log`] })).code, 64);
    const path = `${project.tmp}/approvals/log.jsonl`;
    const flag = `--approval-log=${path}`;
    assert.equal((await project.run({ args: ["run", "--json", flag] })).code, 79);
    assert.equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
    const { items, approval_log: log } = await inbox(project, flag);
    assert.deepEqual([items.length, log], [1, path]);
    assert.equal((await inbox(project)).counts.total, 0);
    assert.equal((await project.run({ args: ["approval", "allow", items[0]?.id ?? "", flag] })).code, 0);
    assert.deepEqual(types(await project.run({ args: ["run", "--json", flag] })).slice(0, 1), [
      "tool_approval_granted",
    ]);
  });
});

Deno.test("a log that was cut back ends the run before anything runs", async () => {
  await withProject({ policy: WRITER, agent: AGENT }, async (project) => {
    await project.run();
    await allowAll(project);
    assert.equal((await project.run()).code, 0);
    const { approval_log: path } = await inbox(project);
    const lines = (await Deno.readTextFile(path)).trimEnd().split("\n");
    // without the line that says that the grant is taken it would be there once more
    await Deno.writeTextFile(path, lines.slice(0, -1).map((line) => `${line}\n`).join(""));
    const cut = await project.run();
    assert.equal(cut.code, 65, cut.stdout);
    assert.match(cut.stdout, /approval_log_broken/);
    assert.equal(cut.records.length, 0);
  });
});

Deno.test("the inbox and the log hold no secret, and the id is over what they leave out", async () => {
  const agent = 'await callTool("echo", { password: context.p, text: "plain" });';
  const policy = (p: string) => ({ tools: ["echo"], approvals: { require: ["echo"] }, context: { p } });
  await withProject({ policy: policy("hunter2hunter2"), agent }, async (project) => {
    const run = await project.run();
    const { items: [item], approval_log: path } = await inbox(project);
    assert.deepEqual(item?.args, { password: "[redacted]", text: "plain" });
    assert.ok(!(await Deno.readTextFile(path)).includes("hunter2"));
    assert.ok(!(await Deno.readTextFile(run.auditPath)).includes("hunter2"));
  });
});

Deno.test("an unknown id is refused with what was probably meant", async () => {
  await withProject({ policy: WRITER, agent: AGENT }, async (project) => {
    await project.run();
    const id = (await inbox(project)).items[0]?.id ?? "";
    const typo = `${id[0] === "0" ? "1" : "0"}${id.slice(1, 12)}`;
    const wrong = await project.run({ args: ["approval", "allow", typo] });
    assert.equal(wrong.code, 65);
    assert.match(wrong.stderr, new RegExp(`Did you mean ${id.slice(0, 12)}`));
    for (const word of ["x", id.slice(0, 7), `${id}0`, "../../etc"]) {
      assert.equal((await project.run({ args: ["approval", "deny", word] })).code, 64, word);
    }
    assert.equal((await project.run({ args: ["approval", "inbox", "--approval-log=/nonexistent/log"] })).code, 66);
  });
});
