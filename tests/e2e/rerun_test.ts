/** Runs that are recorded, and run again, by the command line. */
import assert from "node:assert/strict";
import { ISOLATIONS } from "../../src/plan/plan.ts";
import { eventually, type Project, type RunResult, withProject } from "./run_project.ts";

const POLICY = {
  tools: ["echo", "fail", "listFiles", "readFile", "slow", "writeArtifact"],
  fs: { read: [{ root: "docs" }], write: [{ root: "out" }] },
  context: { topic: "storms" },
};
const FILES = { "docs/a.md": "# A\n", "docs/b.md": "# B\n" };

/** Chains of calls, timers, state and events that run together and meet in every order; chance decides what comes next. */
const STORM = `
import { pick } from "./pick.ts";
const start = Date.now();
let left = 60;
const at = () => Date.now() - start;
async function chain(n: number): Promise<void> {
  while (left-- > 0) {
    const kind = pick(7);
    for (let i = 0; i < kind; i++) await null;
    if (kind === 0) await callTool("slow", { delay_ms: pick(6) });
    else if (kind === 1) {
      const answer = callTool("echo", { n, left });
      for (let i = 0; i < 3; i++) {
        await null;
        emit({ kind: "while", n, i, at: at() });
      }
      await answer;
    } else if (kind === 2) await new Promise((done) => setTimeout(() => done(1), pick(5)));
    else if (kind === 3) {
      await state.set("k" + n, left);
      emit({ kind: "keys", keys: await state.list() });
    } else if (kind === 4) await callTool("none", { n }).catch((e) => emit({ kind: "no", m: e.message, at: at() }));
    else if (kind === 5) {
      const timer = setTimeout(() => emit({ kind: "late", n, at: at() }), pick(8));
      await callTool("readFile", { path: "a.md" });
      if (pick(2) === 0) clearTimeout(timer);
    } else await Promise.race([callTool("slow", { delay_ms: 4 }), new Promise((done) => setTimeout(() => done(2), 4))]);
    emit({ kind: "step", n, kindOf: kind, left, r: Math.random(), at: at() });
  }
}
await Promise.all([0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(chain));
let ticks = 0;
const timer = setInterval(() => {
  emit({ kind: "tick", at: at() });
  if (++ticks === 3) clearInterval(timer);
}, 2);
auditNote({ left });
auditControls();
await callTool("fail", {}).catch((e) => emit({ code: e.code, message: e.message }));
await callTool("writeArtifact", { path: "x" + pick(1e9) + ".txt", content: context.topic as string });
export const outcome = { left, at: at() };
`;
const PICK = "export const pick = (n: number): number => Math.floor(Math.random() * n);\n";

async function record(project: Project, ...words: string[]): Promise<RunResult> {
  return await project.run({ args: ["run", "--record", "--json", ...words] });
}

async function again(project: Project, first: RunResult): Promise<RunResult & { readonly report: Report }> {
  const result = await project.run({ args: ["replay", "--rerun", first.auditPath, "--json"] });
  return { ...result, report: JSON.parse(result.stdout) };
}

interface Report {
  readonly verdict: string;
  readonly reason: string;
  readonly calls: number;
  readonly events: number;
  readonly notes: number;
  readonly remarks: readonly string[];
  readonly scrubbed_answers: number;
  readonly divergence: { readonly expected: { readonly value: unknown; readonly seq: number }; readonly came: unknown };
  readonly error?: { readonly code: string; readonly message: string };
}

function recordingOf({ auditPath }: RunResult): string {
  return auditPath.replace(/audit\.jsonl$/, "recording.jsonl");
}

for (const isolation of ISOLATIONS) {
  Deno.test(`replay --rerun does the same again, in the same order and at the same times: ${isolation}`, async () => {
    await withProject(
      { policy: { ...POLICY, isolation }, agent: STORM, files: { ...FILES, "pick.ts": PICK } },
      async (project) => {
        const first = await record(project);
        assert.equal(first.code, 0, first.stdout + first.stderr);
        assert.equal(((await Deno.stat(recordingOf(first))).mode ?? 0) & 0o777, 0o600);
        const written = (await Array.fromAsync(Deno.readDir(`${project.dir}/out`))).length;
        // What the tools would say now counts for nothing.
        await Deno.remove(`${project.dir}/docs`, { recursive: true });
        const { code, report, records, stderr } = await again(project, first);
        assert.deepEqual([code, report.verdict, report.reason, report.remarks], [0, "same", "done", []], stderr);
        const eventsOf = (run: RunResult) =>
          run.records.filter(({ type }) => type === "event").map(({ event }) => event);
        assert.deepEqual(eventsOf({ ...first, records }), eventsOf(first));
        assert.equal((await Array.fromAsync(Deno.readDir(`${project.dir}/out`))).length, written);
        // Its own log says what it is, and that it could do nothing.
        const [start] = records;
        assert.deepEqual((start?.rerun as { run_id: string }).run_id, first.records[0]?.run_id);
        assert.deepEqual([start?.clock, start?.seed], [first.records[0]?.clock, first.records[0]?.seed]);
        const allowed = (start?.flags as string[]).filter((flag) => flag.startsWith("--allow"));
        assert.deepEqual(allowed, ["--allow-import=none.invalid"]);
        assert.equal(records.find(({ type }) => type === "authority_check")?.grants, 0);
        const { stdout } = await project.run({ args: ["history", "--json"] });
        const { runs } = JSON.parse(stdout) as { runs: { run_id: string; rerun_of: string | null }[] };
        assert.deepEqual(runs.map(({ rerun_of }) => rerun_of).toSorted(), [first.records[0]?.run_id, null]);
      },
    );
  });

  Deno.test(`replay --rerun ends with the recording of a run whose launcher was killed: ${isolation}`, async () => {
    const agent = 'for (let i = 0; i < 10_000; i++) { await callTool("slow", { delay_ms: 10 }); emit({ i }); }';
    await withProject({ policy: { ...POLICY, isolation }, agent, files: FILES }, async (project) => {
      const first = await project.run({
        args: ["run", "--record", "--json"],
        onStart: async (child) => {
          const runs = `${project.dir}/.twokey/runs`;
          await eventually(async () => {
            try {
              const [run] = await Array.fromAsync(Deno.readDir(runs));
              return (await Deno.stat(`${runs}/${run?.name}/audit.jsonl`)).size > 9000;
            } catch {
              return false;
            }
          }, 20_000);
          child.kill("SIGKILL");
        },
      });
      assert.notEqual(first.records.at(-1)?.type, "run_end");
      const { code, report } = await again(project, first);
      assert.deepEqual([code, report.verdict, report.reason], [0, "same_so_far", "recording_ended"]);
      assert.ok(report.calls > 1 && report.events === report.calls - 1, JSON.stringify(report));
      assert.match(report.remarks.join(), /the log has no end/);
    });
  });
}

Deno.test("replay --rerun ends as the run did: a failure, a stall, a budget", async () => {
  const agents: readonly (readonly [reason: string, agent: string])[] = [
    ["agent_error", 'await callTool("echo", {}); throw new TypeError("at " + Date.now() + " " + Math.random());'],
    ["agent_stalled", 'await callTool("echo", {}); await new Promise(() => {});'],
    [
      "budget_exceeded",
      'for (let i = 0; i < 30; i++) { callTool("slow", { delay_ms: i }).catch(() => {}); emit({ i }); if (i % 5 === 0) await callTool("echo", {}).catch(() => {}); }',
    ],
  ];
  for (const [reason, agent] of agents) {
    await withProject({ policy: { ...POLICY, budgets: { toolCalls: 12 } }, agent, files: FILES }, async (project) => {
      const first = await record(project);
      assert.equal(JSON.parse(first.stdout).reason, reason);
      const { code, report } = await again(project, first);
      assert.deepEqual([code, report.verdict, report.reason], [0, "same", reason], JSON.stringify(report));
    });
  }
});

Deno.test("replay --rerun knows the session, the expectations and the context of the run", async () => {
  const agent = `
    const turns = Number(await state.get("turns") ?? 0);
    await state.set("turns", turns + 1);
    emit({ kind: "turn", n: turns, topic: context.topic });
    if (turns === 2) emit({ kind: "turn", n: "two" });
  `;
  const policy = {
    context: { topic: "a" },
    session: {},
    expectEvents: { turn: { max: 5, schema: { type: "object", properties: { n: { type: "integer" } } } } },
  };
  await withProject({ agent, policy }, async (project) => {
    for (const [turn, reason] of ["done", "done", "schema_validation_failed"].entries()) {
      const first = await record(project, `--context-json={"topic":"t${turn}"}`);
      assert.equal(JSON.parse(first.stdout).reason, reason, first.stdout + first.stderr);
      const { report, code, stderr } = await again(project, first);
      assert.deepEqual([report.verdict, report.reason, code], ["same", reason, 0], stderr + JSON.stringify(report));
    }
  });
});

Deno.test("replay --rerun stops where a call waited for an approval, and passes where one was given", async () => {
  const agent = `
    await callTool("echo", { n: 1 });
    const all = [1, 2, 3].map((n) => callTool("echo", { n }).catch((e) => e.code));
    emit({ got: await callTool("writeArtifact", { path: "a.txt", content: "a" }), all: await Promise.all(all) });
  `;
  const policy = { ...POLICY, approvals: { require: ["writeArtifact"] } };
  await withProject({ agent, policy, files: FILES }, async (project) => {
    for (
      const [words, code, reason] of [[[], 79, "approval_pending"], [
        ["--approve-tool=writeArtifact"],
        0,
        "done",
      ]] as const
    ) {
      const first = await record(project, ...words);
      assert.deepEqual([first.code, JSON.parse(first.stdout).reason], [code, reason], first.stdout + first.stderr);
      const { report, code: exit } = await again(project, first);
      assert.deepEqual([report.verdict, report.reason, exit], ["same", reason, 0], JSON.stringify(report));
    }
  });
});

Deno.test("a recording holds no known secret, and a rerun that differs for it says so", async () => {
  const secret = 'tok/en+"value"==12';
  const forms = [secret, btoa(`x${secret}`), encodeURIComponent(secret), new TextEncoder().encode(secret).toHex()];
  const policy = {
    ...POLICY,
    tools: [...POLICY.tools, "github.repo.read"],
    github: { repos: ["a/b"], tokenEnv: "MY_TOKEN" },
    context: { held: secret },
  };
  const passing = `const { content } = await callTool("readFile", { path: "a.md" });
    emit(await callTool("echo", { [content]: [content, context.held] }));
    await state.set("k", content);
    auditNote(await state.get("k"));`;
  const looking = `const { content } = await callTool("readFile", { path: "a.md" }); emit({ length: content.length });`;
  await withProject({ policy, files: { "docs/a.md": forms.join("\n") } }, async (project) => {
    for (const [agent, verdict, code] of [[passing, "same", 0], [looking, "diverged", 65]] as const) {
      await project.write("agent.ts", agent);
      const first = await project.run({ args: ["run", "--record", "--json"], env: { MY_TOKEN: secret } });
      assert.equal(first.code, 0, first.stdout);
      const text = await Deno.readTextFile(recordingOf(first)) + await Deno.readTextFile(first.auditPath);
      for (const form of [...forms, JSON.stringify(secret).slice(1, -1), btoa(secret).slice(0, -4)]) {
        assert.ok(!text.includes(form.slice(4)), form);
      }
      const rerun = await again(project, first);
      assert.deepEqual([rerun.report.verdict, rerun.code], [verdict, code], rerun.stdout);
      assert.ok(rerun.report.scrubbed_answers > 0);
      if (verdict === "same") continue;
      const { expected } = rerun.report.divergence;
      assert.equal(first.records[expected.seq - 1]?.type, "event");
      assert.deepEqual(expected.value, { length: forms.join("\n").length });
      const { stdout } = await project.run({ args: ["replay", "--rerun", first.auditPath, "--human"] });
      assert.match(
        stdout,
        /^diverged at step 2 of 3.*\n.*record.*\nexpected .*\ncame .*\nBefore it, the agent received 1 answer with a secret/,
      );
    }
  });
});

Deno.test("replay --rerun refuses a changed recording, a changed agent and a run that was not recorded", async () => {
  const agent = 'emit(await callTool("echo", { n: 12345 }));';
  await withProject({ policy: POLICY, agent, files: FILES }, async (project) => {
    const plain = await project.run({ args: ["run", "--json"] });
    const missing = await again(project, plain);
    assert.deepEqual([missing.code, missing.report.error?.code, missing.auditPath], [66, "recording_missing", ""]);

    const first = await record(project);
    const text = await Deno.readTextFile(recordingOf(first));
    await Deno.writeTextFile(recordingOf(first), text.replace("12345", "54321"));
    const changed = await again(project, first);
    assert.deepEqual([changed.code, changed.report.error?.code, changed.auditPath], [65, "recording_changed", ""]);
    await Deno.writeTextFile(recordingOf(first), text);

    // The log of a rerun holds no recording of its own.
    const rerun = await again(project, first);
    assert.equal(rerun.report.verdict, "same");
    assert.equal((await again(project, rerun)).code, 66);

    await project.write("agent.ts", `${agent} // more`);
    const edited = await again(project, first);
    assert.deepEqual([edited.code, edited.report.error?.code, edited.auditPath], [65, "rerun_changed", ""]);
    assert.match(edited.report.error?.message ?? "", /agent\.ts is another/);
  });
});

Deno.test("replay --rerun runs an agent whose policy was flags, by the id of its run", async () => {
  const agent = 'emit(await callTool("readFile", { path: "a.md" }));';
  await withProject({ agent, files: FILES }, async (project) => {
    const first = await record(project, "agent.ts", "--tool=readFile", "--fs-read=docs");
    assert.equal(first.code, 0, first.stdout + first.stderr);
    const id = String(first.records[0]?.run_id);
    const { code, stdout } = await project.run({ args: ["replay", "--rerun", id, "--human"] });
    assert.equal(code, 0, stdout);
    assert.match(stdout, /^same: 1 call, 1 event; ended as then \(done\)\n/);
  });
});

Deno.test("replay --rerun takes one log, and what only it has is refused elsewhere", async () => {
  await withProject({ policy: POLICY, agent: 'await callTool("echo", {});', files: FILES }, async (project) => {
    for (const words of [["--rerun", "x", "--diff"], ["--rerun", "x", "y"], ["--runs-dir=z", "x"]]) {
      assert.equal((await project.run({ args: ["replay", ...words] })).code, 64, words.join(" "));
    }
  });
});
