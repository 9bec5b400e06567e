import assert from "node:assert/strict";
import type { ApprovalRequest } from "../../src/audit/approval_request.ts";
import type { RecordBody } from "../../src/audit/record.ts";
import { makeRedactor } from "../../src/audit/redact.ts";
import { AuditError, ControlError } from "../../src/errors.ts";
import type { JsonObject } from "../../src/json.ts";
import { ApprovalLog } from "../../src/launch/approval_log.ts";
import { Approvals } from "../../src/launch/approvals.ts";
import type { ApprovalAnswer, Approver } from "../../src/launch/approver.ts";
import { DEFAULT_TERMS } from "../../src/plan/approval_terms.ts";
import type { Plan } from "../../src/plan/plan.ts";
import { makePlan } from "../gate/plan_maker.ts";

const SECRET = "s3cr3t-value-of-a-token";

interface World {
  readonly log: ApprovalLog;
  readonly records: RecordBody[];
  readonly answers: JsonObject[];
  readonly failures: unknown[];
  readonly waits: boolean[];
  approvals(options?: Options): Approvals;
  /** Resolves once so many answers were sent. */
  answered(count: number): Promise<void>;
}

interface Options {
  readonly approve?: Approver;
  readonly pregranted?: readonly string[];
  readonly plan?: Plan;
  readonly code?: string;
  readonly programs?: ReadonlyMap<string, string>;
}

const PLAN: Plan = {
  ...makePlan(),
  approvals: { ...DEFAULT_TERMS, require: [{ tool: "echo", rule: "/approvals/require/0" }] },
};

async function inWorld(body: (world: World) => Promise<void>): Promise<void> {
  const root = await Deno.realPath(await Deno.makeTempDir());
  try {
    const log = await ApprovalLog.open({ path: `${root}/log.jsonl`, state: `${root}/state` });
    const [records, answers, failures, waits] = [[], [], [], []] as [
      RecordBody[],
      JsonObject[],
      unknown[],
      boolean[],
    ];
    let wake = Promise.withResolvers<void>();
    await body({
      log,
      records,
      answers,
      failures,
      waits,
      approvals: ({ approve, pregranted = [], plan = PLAN, code = "0".repeat(64), programs = new Map() } = {}) =>
        new Approvals({
          plan,
          code,
          runId: "run-1",
          redactor: makeRedactor({ fields: ["pin"], secrets: new Map([["TOKEN", SECRET]]) }),
          log,
          pregranted,
          programs,
          approver: approve === undefined ? undefined : { ask: approve, via: "callback" },
          now: Date.now,
        }, {
          record: (record) => records.push(record),
          answer: (line) => {
            answers.push(JSON.parse(line.slice(2)));
            wake.resolve();
            wake = Promise.withResolvers();
          },
          waiting: (on) => waits.push(on),
          fail: (error) => {
            failures.push(error);
            wake.resolve();
          },
        }),
      answered: async (count) => {
        while (answers.length < count && failures.length === 0) await wake.promise;
      },
    });
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

const question = (callId: string, args: JsonObject = {}, tool = "echo"): JsonObject => ({
  call_id: callId,
  tool,
  args,
  arg_bytes: 2,
  audit_args: args,
  requirements: [],
  rule: "/approvals/require/0",
});

const say = (decision: ApprovalAnswer["decision"]): Approver => () => ({ decision });
const statuses = (world: World) => world.answers.map(({ status }) => status);

Deno.test("Approvals leave a call pending where nobody can be asked, and a grant of the log serves the next run", () =>
  inWorld(async (world) => {
    const first = world.approvals();
    first.ask(question("c1", { a: 1 }));
    await world.answered(1);
    assert.deepEqual(statuses(world), ["pending"]);
    assert.equal(first.isPending, true);
    const id = String(world.answers[0]?.approval_id);
    await world.log.change(() => ({ add: [{ kind: "allowed", id, grant: "g", reason: null }], result: undefined }));
    const second = world.approvals();
    second.ask(question("c1", { a: 1 }));
    await world.answered(2);
    second.ask(question("c2", { a: 1 }));
    await world.answered(3);
    assert.deepEqual(statuses(world), ["pending", "granted", "pending"], "it serves one call");
    second.saw({ type: "tool_call", call_id: "c1", tool: "echo", approval_id: id });
    await second.close();
    assert.deepEqual((await world.log.read()).items.get(id)?.grants, []);
    assert.deepEqual(world.records.map(({ type, approval_mode }) => [type, approval_mode]), [
      ["tool_approval_pending", "headless"],
      ["tool_approval_granted", "approval_log"],
      ["tool_approval_pending", "headless"],
    ]);
    assert.deepEqual(world.waits, [], "nobody was asked");
  }));

Deno.test("Approvals write one line for a request at which run after run stops", () =>
  inWorld(async (world) => {
    for (let i = 1; i <= 3; i++) {
      world.approvals().ask(question("c1"));
      await world.answered(i);
    }
    assert.equal((await Deno.readTextFile(world.log.path)).trimEnd().split("\n").length, 1);
    assert.equal(world.records.filter(({ type }) => type === "tool_approval_pending").length, 3);
  }));

Deno.test("Approvals give a grant back when its call never started", () =>
  inWorld(async (world) => {
    world.approvals().ask(question("c1"));
    await world.answered(1);
    const id = String(world.answers[0]?.approval_id);
    await world.log.change(() => ({ add: [{ kind: "allowed", id, grant: "g", reason: null }], result: undefined }));
    const run = world.approvals();
    run.ask(question("c1"));
    await world.answered(2);
    assert.deepEqual((await world.log.read()).items.get(id)?.grants, [], "taken while it is out");
    await run.close();
    assert.equal((await world.log.read()).items.get(id)?.grants.length, 1);
  }));

Deno.test("Approvals of another policy, agent or plan are none", () =>
  inWorld(async (world) => {
    const others: Options[] = [
      {},
      { code: "1".repeat(64) },
      { plan: { ...PLAN, policy: { ...PLAN.policy, sha256: "2".repeat(64) } } },
      { plan: { ...PLAN, context: { other: true } } },
    ];
    for (const other of others) world.approvals(other).ask(question("c1"));
    await world.answered(others.length);
    assert.equal(new Set(world.answers.map(({ approval_id: id }) => id)).size, others.length);
  }));

Deno.test("Approvals ask one question at a time, the whole of it but known secrets, and stop the clock meanwhile", () =>
  inWorld(async (world) => {
    const seen: ApprovalRequest[] = [];
    const gates = [Promise.withResolvers<ApprovalAnswer>(), Promise.withResolvers<ApprovalAnswer>()];
    const run = world.approvals({
      approve: (request) => gates[seen.push(request) - 1]?.promise ?? { decision: "deny" },
    });
    run.ask(question("c1", { text: `use ${SECRET}`, pin: "1234" }));
    run.ask(question("c2", { text: "other" }));
    while (seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(seen.length, 1, "the second waits for the first");
    const [first] = seen;
    assert.deepEqual(
      Object.values(first?.args ?? {}).toSorted(),
      first?.args.text === "other" ? ["other"] : ["1234", "use [redacted]"],
    );
    gates[0]?.resolve({ decision: "allow", reason: "fine" });
    await world.answered(1);
    gates[1]?.resolve({ decision: "deny" });
    await world.answered(2);
    assert.deepEqual(statuses(world), ["granted", "denied"]);
    assert.deepEqual(world.waits.filter((on) => on).length, 2);
    assert.deepEqual(world.waits.filter((on) => !on).length, 2);
    const kept = JSON.stringify([...(await world.log.read()).items.values()]);
    assert.ok(!kept.includes(SECRET) && !kept.includes("1234"), kept);
    assert.ok(!JSON.stringify(world.records).includes("1234"));
  }));

Deno.test("Approvals deny the same call again in the same run without asking, and everything where that was said", () =>
  inWorld(async (world) => {
    let asked = 0;
    const answers: ApprovalAnswer["decision"][] = ["deny", "deny_all"];
    const run = world.approvals({ approve: () => ({ decision: answers[asked++] ?? "allow" }) });
    for (const [i, args] of [{ a: 1 }, { a: 1 }, { a: 2 }, { a: 3 }].entries()) {
      run.ask(question(`c${i}`, args));
      await world.answered(i + 1);
    }
    assert.deepEqual(statuses(world), ["denied", "denied", "denied", "denied"]);
    assert.equal(asked, 2);
    const next = world.approvals({ approve: say("allow") });
    next.ask(question("c1", { a: 1 }));
    await world.answered(5);
    assert.equal(statuses(world)[4], "granted", "a denial of one run is none of the next");
  }));

Deno.test("Approvals take no answer that they do not know, and none of an approver that fails", () =>
  inWorld(async (world) => {
    const approvers: Approver[] = [
      () => Promise.reject(new Error("down")),
      () => ({ decision: "yes" } as unknown as ApprovalAnswer),
      () => undefined as unknown as ApprovalAnswer,
      () => ({ decision: "allow", args: { a: 2 } } as ApprovalAnswer),
    ];
    for (const [i, approve] of approvers.entries()) {
      world.approvals({ approve }).ask(question(`c${i}`, { i }));
      await world.answered(i + 1);
    }
    assert.deepEqual(statuses(world), ["denied", "denied", "denied", "granted"]);
    assert.deepEqual(Object.keys(world.answers[3] ?? {}).toSorted(), [
      "approval_id",
      "approval_mode",
      "call_id",
      "status",
    ]);
  }));

Deno.test("Approvals leave a call pending when nobody answers in time, and when the run is over first", () =>
  inWorld(async (world) => {
    const plan = { ...PLAN, approvals: { ...DEFAULT_TERMS, ...PLAN.approvals, waitMs: 20 } };
    const aborted: boolean[] = [];
    const approve: Approver = (_request, signal) =>
      new Promise(() => signal.addEventListener("abort", () => aborted.push(true)));
    const run = world.approvals({ plan, approve });
    run.ask(question("c1"));
    await world.answered(1);
    const other = world.approvals({ approve });
    other.ask(question("c2", { b: 1 }));
    while (world.waits.length < 3) await new Promise((resolve) => setTimeout(resolve, 1));
    await other.close();
    assert.deepEqual(statuses(world), ["pending", "pending"]);
    assert.deepEqual(aborted, [true, true]);
    assert.deepEqual(world.records.map(({ reason }) => reason), ["nobody answered in time", "the run is over"]);
  }));

Deno.test("Approvals let the operator's word for a run pass without a look at the log", () =>
  inWorld(async (world) => {
    const run = world.approvals({ pregranted: ["echo"] });
    run.ask(question("c1"));
    await world.answered(1);
    assert.deepEqual(world.answers[0]?.approval_mode, "pregranted");
    assert.equal((await world.log.read()).items.size, 0);
  }));

Deno.test("Approvals end the run when a call starts without the approval that it needs", () =>
  inWorld(async (world) => {
    const run = world.approvals({ approve: say("allow") });
    run.ask(question("c1", { a: 1 }));
    run.ask(question("c2", { a: 2 }));
    await world.answered(2);
    const ids = new Map(world.answers.map(({ call_id, approval_id }) => [call_id, String(approval_id)]));
    const started = (callId: string, more: JsonObject, tool = "echo") =>
      run.saw({ type: "tool_call", call_id: callId, tool, ...more });
    const own = { approval_id: ids.get("c1") ?? "" };
    assert.throws(() => started("c9", {}), ControlError, "required, and never asked");
    assert.throws(() => started("c9", own), ControlError, "the approval of another call");
    assert.throws(() => started("c1", {}), ControlError);
    assert.throws(() => started("c1", { approval_id: ids.get("c2") ?? "" }), ControlError);
    assert.throws(() => started("c1", own, "readFile"), ControlError);
    assert.throws(() => started("c9", own, "readFile"), ControlError);
    started("c8", {}, "readFile");
    started("c1", own);
    assert.throws(() => started("c1", own), ControlError, "once");
  }));

Deno.test("Approvals refuse what is no question, and stop the run when the log is not whole", () =>
  inWorld(async (world) => {
    const run = world.approvals();
    assert.throws(() => run.ask({ ...question("c1"), call_id: 1 }), AuditError);
    const wrong: JsonObject[] = [
      { ...question("w1"), tool: "other" },
      { ...question("w2"), tool: "constructor" },
      { ...question("w3"), args: [] },
      { ...question("w4"), requirements: [{ kind: "network" }] },
      { ...question("w5"), rule: 1 },
    ];
    for (const body of wrong) run.ask(body);
    await run.close();
    assert.equal(world.failures.length, wrong.length);
    run.ask(question("c2"));
    assert.throws(() => run.ask(question("c2")), AuditError, "a call asks once");
    await run.close();
    await Deno.remove(world.log.path);
    const next = world.approvals({ approve: say("allow") });
    next.ask(question("c1"));
    await next.close();
    assert.equal((world.failures.at(-1) as { code: string }).code, "approval_log_broken");
    assert.deepEqual(world.answers.filter(({ status }) => status === "granted"), []);
  }));

Deno.test("Approvals leave no more requests of one policy than a person can read, and the rest is denied", () =>
  inWorld(async (world) => {
    const run = world.approvals();
    for (let i = 0; i < 70; i++) {
      run.ask(question(`c${i}`, { i }));
      await world.answered(i + 1);
    }
    assert.deepEqual([statuses(world).indexOf("denied"), statuses(world).lastIndexOf("pending")], [64, 63]);
    assert.equal((await world.log.read()).items.size, 64);
    const again = world.approvals();
    again.ask(question("c0", { i: 0 }));
    await world.answered(71);
    assert.equal(statuses(world)[70], "pending", "one that waits already goes on waiting");
  }));

Deno.test("Approvals ask nobody about a call that is too large to be shown whole, and keep what waits whole", () =>
  inWorld(async (world) => {
    let asked = 0;
    const run = world.approvals({ approve: () => (asked++, { decision: "allow" }) });
    run.ask(question("c1", { text: "x".repeat(140_000) }));
    await world.answered(1);
    assert.deepEqual([statuses(world), asked], [["denied"], 0]);
    const text = "y".repeat(100_000);
    world.approvals().ask(question("c2", { text }));
    await world.answered(2);
    run.ask(question("c3", { text, n: 1 }));
    await world.answered(3);
    const [waits, answered] = [...(await world.log.read()).items.values()];
    assert.equal(waits?.request?.args.text, text);
    assert.match(String(answered?.request?.args.text), /more characters\]$/);
  }));

Deno.test("Approvals show two names that differ in a secret alone as two", () =>
  inWorld(async (world) => {
    const seen: ApprovalRequest[] = [];
    world.approvals({ approve: (request) => (seen.push(request), { decision: "deny" }) })
      .ask(question("c1", { [SECRET]: "harmless", "[redacted]": "other", n: 5 }));
    await world.answered(1);
    assert.deepEqual(Object.values(seen[0]?.args ?? {}).toSorted(), [5, "harmless", "other"].toSorted());
  }));

const COMMANDS = {
  ...PLAN,
  process: { commands: { fmt: { path: "/bin/fmt", sha256: null, args: { kind: "any" }, rule: "/" } } },
} as unknown as Plan;

Deno.test("Approvals bind a command to the bytes of its program and its folder, and take no command without", () =>
  inWorld(async (world) => {
    const ask = (programs: ReadonlyMap<string, string>, need: JsonObject) => {
      const run = world.approvals({ plan: COMMANDS, programs });
      run.ask({ ...question("c1"), requirements: [{ kind: "command.execute", target: "fmt f", ...need }] });
    };
    const one = new Map([["fmt", "1".repeat(64)]]);
    ask(one, { folder: "/p/A" });
    await world.answered(1);
    ask(one, { folder: "/p/B" });
    await world.answered(2);
    ask(new Map([["fmt", "2".repeat(64)]]), { folder: "/p/A" });
    await world.answered(3);
    assert.equal(new Set(world.answers.map(({ approval_id: id }) => id)).size, 3);
    for (
      const [programs, need] of [[one, {}], [new Map<string, string>(), { folder: "/p/A" }], [one, {
        folder: 1,
      }]] as const
    ) {
      const before = world.failures.length;
      ask(programs, need);
      while (world.failures.length === before) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    assert.ok(world.failures.every((error) => error instanceof AuditError));
  }));
