/** The library's way to approve calls, in whole runs: others go on, no clock of the agent runs, every isolation. */
import assert from "node:assert/strict";
import type { RecordBody } from "../../src/audit/record.ts";
import { callTool } from "../../src/launch/call_tool.ts";
import type { Approver } from "../../src/launch/approver.ts";
import { runPolicy } from "../../src/launch/run_policy.ts";
import { ISOLATIONS } from "../../src/plan/plan.ts";
import { loadPolicy } from "../../src/policy/load.ts";

async function run(
  { policy, agent }: { readonly policy: Record<string, unknown>; readonly agent: string },
  approve: Approver,
): Promise<{ exit: number; records: RecordBody[]; reason: string }> {
  const dir = await Deno.realPath(await Deno.makeTempDir());
  const before = Deno.env.get("XDG_STATE_HOME");
  Deno.env.set("XDG_STATE_HOME", `${dir}/state`);
  try {
    await Deno.writeTextFile(`${dir}/deno.json`, "{}");
    await Deno.writeTextFile(`${dir}/agent.ts`, agent);
    await Deno.writeTextFile(`${dir}/agent.policy.jsonc`, JSON.stringify({ version: 1, agent: "agent.ts", ...policy }));
    const records: RecordBody[] = [];
    const { verdict, end } = await runPolicy(
      async () => ({ loaded: await loadPolicy(`${dir}/agent.policy.jsonc`), locked: false }),
      { approve, onRecord: (record) => records.push(record) },
    );
    return { exit: verdict.exit, records, reason: end.reason };
  } finally {
    if (before === undefined) Deno.env.delete("XDG_STATE_HOME");
    else Deno.env.set("XDG_STATE_HOME", before);
    await Deno.remove(dir, { recursive: true });
  }
}

for (const isolation of ISOLATIONS) {
  Deno.test(`while an approver thinks other calls go on, and neither deadline nor wall clock runs: ${isolation}`, async () => {
    const agent = `
      const asked = callTool("echo", { n: 1 });
      for (let i = 0; i < 3; i++) emit({ kind: "meanwhile", got: await callTool("slow", { delay_ms: 10 }) });
      emit({ kind: "asked", got: await asked });
      emit({ kind: "written", got: (await callTool("writeArtifact", { path: "a", content: "" })).path });
    `;
    const { exit, records, reason } = await run({
      policy: {
        isolation,
        tools: ["echo", "slow", "writeArtifact"],
        fs: { write: [{ root: "out" }] },
        approvals: { require: ["echo", "writeArtifact"] },
        budgets: { wallMs: 1500, toolTimeoutMs: 500 },
      },
      agent,
    }, async ({ tool }) => {
      await new Promise((resolve) => setTimeout(resolve, tool === "echo" ? 2000 : 600));
      return { decision: "allow" };
    });
    assert.deepEqual([exit, reason], [0, "done"]);
    const order = records.filter(({ type }) => type === "event").map(({ event }) => (event as { kind: string }).kind);
    assert.deepEqual(order, ["meanwhile", "meanwhile", "meanwhile", "asked", "written"]);
    const granted = records.findIndex(({ type }) => type === "tool_approval_granted");
    const before = records.slice(0, granted).filter(({ type }) => type === "event").length;
    assert.equal(before, 3, "they went on while the question was open");
    const durations = records.filter(({ type, tool }) => type === "tool_result" && tool === "echo");
    assert.ok(Number(durations[0]?.duration_ms) < 500, "the tool's time began with the answer");
  });
}

Deno.test("an approver sees one request after the other, and its no is the agent's to live with", async () => {
  let open = 0;
  let most = 0;
  const agent = `
    const all = await Promise.allSettled([1, 2, 3, 4].map((n) => callTool("echo", { n })));
    emit({ kind: "all", got: all.map(({ status, reason }) => reason?.code ?? status) });
  `;
  const { exit, records } = await run(
    { policy: { tools: ["echo"], approvals: { require: ["echo"] } }, agent },
    async ({ args }) => {
      most = Math.max(most, ++open);
      await new Promise((resolve) => setTimeout(resolve, 5));
      open--;
      return { decision: Number(args.n) % 2 === 0 ? "allow" : "deny", reason: "even ones only" };
    },
  );
  assert.deepEqual([exit, most], [0, 1]);
  const event = records.find(({ type }) => type === "event")?.event as { got: string[] };
  assert.deepEqual(event.got, ["approval_denied", "fulfilled", "approval_denied", "fulfilled"]);
  assert.deepEqual(records.filter(({ type }) => type === "tool_approval_denied").map(({ reason }) => reason), [
    "even ones only",
    "even ones only",
  ]);
});

Deno.test("an approver that never answers leaves the call pending after the wait of the policy", async () => {
  const { exit, reason } = await run({
    policy: { tools: ["echo"], approvals: { require: ["echo"], waitMs: 1000 } },
    agent: 'await callTool("echo", {});',
  }, () => new Promise(() => {}));
  assert.deepEqual([exit, reason], [79, "approval_pending"]);
});

Deno.test("callTool() asks its approver as well", async () => {
  const dir = await Deno.realPath(await Deno.makeTempDir());
  const before = Deno.env.get("XDG_STATE_HOME");
  Deno.env.set("XDG_STATE_HOME", `${dir}/state`);
  try {
    await Deno.writeTextFile(`${dir}/deno.json`, "{}");
    await Deno.writeTextFile(
      `${dir}/p.policy.jsonc`,
      JSON.stringify({ version: 1, tools: ["echo"], approvals: { require: ["echo"] } }),
    );
    const loaded = () => loadPolicy(`${dir}/p.policy.jsonc`);
    const call = { tool: "echo", args: '{"n":1}' };
    const allowed = await callTool(loaded, call, { approve: () => ({ decision: "allow" }) });
    assert.deepEqual(allowed.result.result, { n: 1 });
    const denied = await callTool(loaded, call, { approve: () => ({ decision: "deny" }) });
    assert.equal(denied.result.code, "approval_denied");
    const later = await callTool(loaded, call, { approve: () => ({ decision: "later" }) });
    assert.deepEqual([later.result.outcome, later.result.code, later.reason], [
      "denied",
      "approval_pending",
      "approval_pending",
    ]);
  } finally {
    if (before === undefined) Deno.env.delete("XDG_STATE_HOME");
    else Deno.env.set("XDG_STATE_HOME", before);
    await Deno.remove(dir, { recursive: true });
  }
});
