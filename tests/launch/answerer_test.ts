/** The library's way to answer questions, in whole runs: no clock of the agent runs, every isolation. */
import assert from "node:assert/strict";
import type { RecordBody } from "../../src/audit/record.ts";
import type { AgentQuestion, Answerer } from "../../src/launch/answerer.ts";
import type { ApprovalOptions } from "../../src/launch/approver.ts";
import { type CallOptions, callTool } from "../../src/launch/call_tool.ts";
import { runPolicy } from "../../src/launch/run_policy.ts";
import { ISOLATIONS } from "../../src/plan/plan.ts";
import { type LoadedPolicy, loadPolicy } from "../../src/policy/load.ts";

/** A project with a policy, and a state folder of its own. */
async function inProject<T>(
  { policy, agent = "" }: { readonly policy: Record<string, unknown>; readonly agent?: string },
  body: (loaded: LoadedPolicy) => Promise<T>,
): Promise<T> {
  const dir = await Deno.realPath(await Deno.makeTempDir());
  const before = Deno.env.get("XDG_STATE_HOME");
  Deno.env.set("XDG_STATE_HOME", `${dir}/state`);
  try {
    await Deno.writeTextFile(`${dir}/deno.json`, "{}");
    await Deno.writeTextFile(`${dir}/agent.ts`, agent);
    await Deno.writeTextFile(`${dir}/agent.policy.jsonc`, JSON.stringify({ version: 1, agent: "agent.ts", ...policy }));
    return await body(await loadPolicy(`${dir}/agent.policy.jsonc`));
  } finally {
    if (before === undefined) Deno.env.delete("XDG_STATE_HOME");
    else Deno.env.set("XDG_STATE_HOME", before);
    await Deno.remove(dir, { recursive: true });
  }
}

async function run(
  project: { readonly policy: Record<string, unknown>; readonly agent: string },
  options: ApprovalOptions,
): Promise<{ reason: string; records: RecordBody[]; events: unknown[] }> {
  return await inProject(project, async (loaded) => {
    const records: RecordBody[] = [];
    const { end } = await runPolicy(() => Promise.resolve({ loaded, locked: false }), {
      ...options,
      onRecord: (record) => records.push(record),
    });
    const events = records.filter(({ type }) => type === "event").map(({ event }) => event);
    return { reason: end.reason, records, events };
  });
}

const ASK = `
const ask = (args) => callTool("AskUser", args).then(
  ({ answers, text, trust }) => ({ answers, text, trust }),
  ({ code, outcome }) => ({ code, outcome }),
);
`;

for (const isolation of ISOLATIONS) {
  Deno.test(`while a person thinks other calls go on, and no clock runs but the question's own: ${isolation}`, async () => {
    const seen: AgentQuestion[] = [];
    const answer: Answerer = async (question) => {
      seen.push(question);
      if (question.question === "never") return await new Promise(() => {});
      await new Promise((resolve) => setTimeout(resolve, 1800));
      return { answers: question.several ? [{ choice: "b" }, { text: "ünd" }] : [{ text: "later" }] };
    };
    const agent = `${ASK}
      const asked = ask({ question: "Which?\\nSay it", choices: ["a", "b"], several: true });
      for (let i = 0; i < 3; i++) emit((await callTool("slow", { delay_ms: 10 })) && "meanwhile");
      emit(await asked);
      emit(await ask({ question: "never", timeoutMs: 50 }));
      emit(await callTool("echo", { still: "there" }));
    `;
    const budgets = { wallMs: 1700, toolTimeoutMs: 300 };
    const { reason, records, events } = await run({
      policy: { isolation, tools: ["AskUser", "slow", "echo"], budgets },
      agent,
    }, { answer });
    assert.equal(reason, "done");
    assert.deepEqual(events, [
      "meanwhile",
      "meanwhile",
      "meanwhile",
      { answers: [{ choice: "b" }, { text: "ünd" }], text: "b\nünd", trust: "trusted" },
      { code: "answer_timeout", outcome: "error" },
      { still: "there" },
    ]);
    assert.deepEqual(seen[0], { tool: "AskUser", question: "Which?\nSay it", choices: ["a", "b"], several: true });
    const [result] = records.filter(({ type, tool }) => type === "tool_result" && tool === "AskUser");
    assert.equal(result?.asked_via, "callback");
    assert.ok(!JSON.stringify(result).includes("ünd"), "the log keeps the digest of what a person said");
  });
}

Deno.test("a call that asks for an approval and then asks a person does both, one after the other", async () => {
  const order: string[] = [];
  const { events } = await run({
    policy: { tools: ["AskUser"], approvals: { require: ["AskUser"] } },
    agent: `${ASK} emit(await Promise.all([ask({ question: "1" }), ask({ question: "2" })]));`,
  }, {
    approve: async ({ args }) => {
      order.push(`approve ${args.question}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
      order.push("approved");
      return { decision: "allow" };
    },
    answer: async ({ question }) => {
      order.push(`answer ${question}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
      order.push("answered");
      return { answers: [{ text: question }] };
    },
  });
  assert.deepEqual((events[0] as { text: string }[]).map(({ text }) => text), ["1", "2"]);
  assert.equal(order.length, 8);
  for (let at = 0; at < order.length; at += 2) {
    assert.match(`${order[at]} ${order[at + 1]}`, /^(?:approve \d approved|answer \d answered)$/, order.join());
  }
});

Deno.test("callTool() asks the callback as well, and nobody where there is none", async () => {
  await inProject({ policy: { tools: ["AskUser"] } }, async (loaded) => {
    const args = JSON.stringify({ question: "Which?", choices: ["a"] });
    const call = (options: CallOptions = {}) =>
      callTool(() => Promise.resolve(loaded), { tool: "AskUser", args }, options);
    const nobody = await call();
    assert.deepEqual([nobody.result.outcome, nobody.result.code], ["error", "no_human"]);
    const one = await call({ answer: () => ({ answers: [{ choice: "a" }] }) });
    assert.deepEqual(one.result.result, { ok: true, answers: [{ choice: "a" }], trust: "trusted", text: "a" });
    let asked = 0;
    const dry = await call({ dryRun: true, answer: () => (asked++, { declined: true }) });
    assert.deepEqual([dry.result.outcome, asked], ["result", 0], "a dry run asks nobody");
    const declined = await call({ answer: () => ({ declined: true }) });
    assert.equal(declined.result.code, "no_answer");
  });
});
