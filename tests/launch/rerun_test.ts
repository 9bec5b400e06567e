import assert from "node:assert/strict";
import type { Record as AuditRecord } from "../../src/audit/record.ts";
import type { RecordingHeader } from "../../src/audit/recording.ts";
import { DataError } from "../../src/errors.ts";
import { digest, type Json, sha256 } from "../../src/json.ts";
import { prepareRerun } from "../../src/launch/rerun.ts";
import { defaultBudgets } from "../../src/plan/budgets.ts";
import { hostFlags } from "../../src/plan/flags.ts";
import { key1 } from "../../src/plan/key1.ts";

const AGENT = 'import { a } from "./lib.ts";\nemit(a);\n';
const LIB = "export const a = 1;\n";
const HEADER: RecordingHeader = {
  op: "header",
  version: 1,
  context: { topic: "t" },
  controls: {},
  redact: ["mine"],
  expect: { k: { min: 1 } },
};

async function startOf(fields: Record<string, unknown> = {}): Promise<AuditRecord> {
  return {
    type: "run_start",
    run_id: "first",
    name: "name",
    policy: { path: "${project}/agent.policy.jsonc", sha256: "0".repeat(64) },
    agent: {
      entry: "${project}/agent.ts",
      modules: [
        { path: "${project}/agent.ts", sha256: await sha256(AGENT) },
        { path: "${project}/lib.ts", sha256: await sha256(LIB) },
      ],
    },
    isolation: "worker",
    budgets: { ...defaultBudgets(), toolCalls: 3 },
    // Every tool of the first run, with the widest authority there is.
    tools: { "npm.metadata": "1", process: "2", readFile: "3", writeArtifact: "4", "github.repo.read": "5" },
    expect_events: { k: { min: 1 } },
    clock: 1,
    seed: "0".repeat(32),
    ...fields,
  } as unknown as AuditRecord;
}

async function withAgent(body: (project: string) => Promise<void>): Promise<void> {
  const project = await Deno.realPath(await Deno.makeTempDir());
  try {
    await Deno.writeTextFile(`${project}/deno.json`, "{}");
    await Deno.writeTextFile(`${project}/agent.ts`, AGENT);
    await Deno.writeTextFile(`${project}/lib.ts`, LIB);
    await body(project);
  } finally {
    await Deno.remove(project, { recursive: true });
  }
}

Deno.test("prepareRerun() grants nothing of any kind, whatever the first run was granted", async () => {
  await withAgent(async (project) => {
    const { plan, places, code } = await prepareRerun({ start: await startOf(), header: HEADER }, { project });
    const { denyNet: _, ...granted } = key1(plan, places);
    for (const [kind, list] of Object.entries(granted)) assert.deepEqual(list, [], kind);
    const flags = hostFlags(plan, places);
    const allowed = flags.filter((flag) => flag.startsWith("--allow"));
    assert.deepEqual(allowed, ["--allow-import=none.invalid"]);
    for (const flag of ["--no-prompt", "--cached-only", "--no-remote", "--ignore-env"]) assert.ok(flags.includes(flag));
    assert.deepEqual([plan.env, plan.credentials, plan.process, plan.network.cache], [[], {}, undefined, null]);
    for (const { endpoints } of Object.values(plan.tools)) assert.deepEqual(endpoints, {});
    assert.deepEqual(
      [plan.isolation, plan.budgets.toolCalls, Object.keys(plan.tools).length, plan.context, plan.redact],
      ["worker", 3, 5, { topic: "t" }, ["mine"]],
    );
    assert.match(code, /emit/);
  });
});

Deno.test("prepareRerun() runs the very modules of the first run and says which ones are not", async () => {
  await withAgent(async (project) => {
    await Deno.writeTextFile(`${project}/lib.ts`, `${LIB}// more\n`);
    const prepare = async (fields = {}) =>
      await prepareRerun({ start: await startOf(fields), header: HEADER }, { project });
    await assert.rejects(prepare(), (error) => {
      assert.ok(error instanceof DataError && error.code === "rerun_changed");
      assert.match(error.message, /: \$\{project\}\/lib\.ts is another$/);
      return true;
    });
    await Deno.remove(`${project}/lib.ts`);
    await assert.rejects(prepare(), /lib\.ts is not there/);
    await Deno.writeTextFile(`${project}/real.ts`, LIB);
    await Deno.symlink(`${project}/real.ts`, `${project}/lib.ts`);
    await assert.rejects(prepare(), /lib\.ts is reached through a symlink/);
    // A log that names fewer modules than the agent has, or none that is in the project.
    const only = [{ path: "${project}/agent.ts", sha256: await sha256(AGENT) }];
    await Deno.remove(`${project}/lib.ts`);
    await Deno.writeTextFile(`${project}/lib.ts`, "export const a = 2;\n");
    await assert.rejects(
      prepare({ agent: { entry: "${project}/agent.ts", modules: only } }),
      /the list of its modules/,
    );
    const outside = [{ path: "${project}/../../etc/passwd", sha256: "" }];
    await assert.rejects(
      prepare({ agent: { entry: "${project}/agent.ts", modules: outside } }),
      /outside of the project/,
    );
  });
});

Deno.test("prepareRerun() believes no bound of a log that no run can have", async () => {
  await withAgent(async (project) => {
    const wrong: Record<string, unknown>[] = [
      { budgets: { ...defaultBudgets(), wallMs: 1e15 } },
      { budgets: { ...defaultBudgets(), heapMb: "1,--allow-all" } },
      { budgets: null },
      { isolation: "none" },
      { tools: [] },
      { agent: null },
      { agent: { entry: "${project}/agent.ts", modules: [] } },
      { policy: null },
    ];
    for (const fields of wrong) {
      const start = await startOf(fields);
      await assert.rejects(prepareRerun({ start, header: HEADER }, { project }), {
        name: "DataError",
        code: "rerun_start",
      });
    }
  });
});

Deno.test("prepareRerun() refuses a recording whose schema of events no policy could have", async () => {
  await withAgent(async (project) => {
    const schemas: Json[] = [{ $ref: "#/$defs/none" }, { type: "number", $ref: "https://x.test/" }, {
      pattern: "(a)\\1",
    }, 5];
    for (const schema of schemas) {
      const start = await startOf({ expect_events: { k: { min: 1, schema_sha256: await digest(schema) } } });
      const header = { ...HEADER, expect: { k: { min: 1, schema } } } as unknown as RecordingHeader;
      await assert.rejects(prepareRerun({ start, header }, { project }), (error) => {
        assert.ok(error instanceof DataError && error.exit === 65, JSON.stringify(schema));
        assert.match(error.message, /its schema of "k" events/);
        return true;
      });
    }
  });
});
