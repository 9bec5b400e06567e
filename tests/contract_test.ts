/**
 * One suite over every registered tool, its recorded cases and the three isolations: what each tool would otherwise have
 * to prove for itself.
 */
import { toJsonSchema } from "@valibot/to-json-schema";
import assert from "node:assert/strict";
import * as v from "valibot";
import type { Record as AuditRecord, RecordType } from "../src/audit/record.ts";
import { BugError, ToolInputError } from "../src/errors.ts";
import type { Json, JsonObject } from "../src/json.ts";
import type { Isolation } from "../src/plan/plan.ts";
import type { FullPowers, FullResolve, Tool } from "../src/tool/define.ts";
import { readPrompt } from "../src/host/model_prompt.ts";
import type { ModelWish, Target } from "../src/tool/powers.ts";
import { describeTool } from "../src/report/tool_manifest.ts";
import type { ToolManifests } from "../src/tool/manifest.ts";
import { TOOLS } from "../src/tools/registry.ts";
import manifests from "../src/tools/manifests.json" with { type: "json" };
import { withProject } from "./e2e/run_project.ts";
import { type Case, type Fixture, policyOf, readFixture, REPLIES_FILE } from "./fixture.ts";

const ISOLATIONS: readonly Isolation[] = ["process", "worker", "compartment"];
const NAMES = Object.keys(TOOLS);
/** Tools that end in an error: on purpose, or because nobody is there to answer. */
const NO_RESULT: readonly string[] = ["fail", "AskUser"];

/** An agent that makes the calls in order and emits what became of each. */
const callerOf = (calls: readonly JsonObject[]): string => `
for (const { tool, args } of JSON.parse(${JSON.stringify(JSON.stringify(calls))})) {
  try {
    emit({ outcome: "result", result: await callTool(tool, args) });
  } catch (error) {
    const { outcome, code, message, name, tool: of } = error as Record<string, unknown>;
    emit({ outcome, code, message, name, of, frozen: Object.isFrozen(error) });
  }
}
`;

/** What an agent saw of a call, and the records of the call without what differs from run to run. */
interface Seen {
  readonly outcome: JsonObject;
  readonly records: readonly JsonObject[];
}

async function load(name: string): Promise<Tool> {
  const tool = await TOOLS[name]?.();
  assert.ok(tool !== undefined);
  return tool;
}

/** Runs cases in one run; the outcome and the records of each. */
async function runCases(
  { fixture, policy, calls, isolation }: {
    fixture: Fixture;
    policy: JsonObject;
    calls: readonly JsonObject[];
    isolation: Isolation;
  },
): Promise<readonly Seen[]> {
  let seen: readonly Seen[] = [];
  const files = {
    ...fixture.files,
    ...(fixture.replies === undefined ? {} : { [REPLIES_FILE]: JSON.stringify(fixture.replies) }),
  };
  const options = {
    agent: callerOf(calls),
    policy: { ...policy, isolation },
    files,
    links: fixture.links ?? {},
  };
  await withProject(options, async (project) => {
    const { records, stderr, stdout, code } = await project.run();
    assert.equal(records.at(-1)?.reason, "done", `${fixture.tool} in ${isolation}: exit ${code} ${stdout} ${stderr}`);
    const outcomes = records.filter(({ type }) => type === "event").map(({ event }) => event as JsonObject);
    assert.equal(outcomes.length, calls.length);
    assertNoHostFacts(fixture.tool, outcomes, project.dir);
    const ids = [...new Set(records.flatMap(({ call_id }) => typeof call_id === "string" ? [call_id] : []))];
    assert.deepEqual(ids, calls.map((_, index) => `c${index + 1}`));
    seen = outcomes.map((outcome, index) => ({
      outcome: withoutTimes(fixture, outcome) as JsonObject,
      records: records.filter(({ call_id }) => call_id === ids[index])
        .map((record) => withoutResult(fixture, stable(record, project.dir))),
    }));
  });
  return seen;
}

/** A record without the envelope and without times; the project's folder by name. */
function stable(record: AuditRecord, dir: string): JsonObject {
  const { seq: _1, at_ms: _2, run_id: _3, prev: _4, hash: _5, duration_ms: _6, elapsed_ms: _7, ...fields } = record;
  const { stored_ms: _8, age_ms: _9, ...rest } = fields;
  return JSON.parse(JSON.stringify(rest).replaceAll(dir, "${project}"));
}

/** A value with 0 in the place of each time. */
function withoutTimes({ times = [] }: Fixture, value: Json): Json {
  return JSON.parse(JSON.stringify(value), (key, inner) => times.includes(key) && Number.isInteger(inner) ? 0 : inner);
}

/** What the log keeps of a result with times in it is never the same twice. */
function withoutResult({ times = [] }: Fixture, record: JsonObject): JsonObject {
  if (times.length === 0 || !Object.hasOwn(record, "result")) return record;
  const { result: _, ...rest } = record;
  return rest;
}

/** Nothing that an agent sees names the folder of the project, a process, or where twokey is. */
function assertNoHostFacts(tool: string, outcomes: readonly JsonObject[], dir: string): void {
  for (const outcome of outcomes) {
    const text = JSON.stringify(outcome);
    const own = new URL("../src", import.meta.url).pathname;
    for (const fact of [dir, own, Deno.execPath(), "file:///"]) assert.ok(!text.includes(fact), `${tool}: ${text}`);
    if (typeof outcome.message === "string") {
      assert.doesNotMatch(outcome.message, /\b(?:pid|process) \d+|\.$|\p{Cc}/u, tool);
      assert.doesNotMatch(outcome.message, /(?:^|[\s"'])\/(?:etc|tmp|home|root|work|usr)\//, tool);
    }
  }
}

const callOf = (fixture: Fixture, { tool, args }: Case): JsonObject => ({ tool: tool ?? fixture.tool, args });

for (const name of NAMES) {
  Deno.test(`the contract of ${name} holds alike in every isolation`, async (test) => {
    const tool = await load(name);
    const fixture = readFixture(tool.family, name);
    assert.equal(fixture.tool, name);
    for (const outcome of NO_RESULT.includes(name) ? ["error", "invalid", "denied"] : ["result", "invalid", "denied"]) {
      assert.ok(fixture.cases.some((one) => one.outcome === outcome), `${name} has no case that ends in ${outcome}`);
    }
    const granted = fixture.cases.filter((one) => one.granted !== false);
    const policy = policyOf(fixture);
    const described = describeTool((manifests as unknown as ToolManifests)[name] ?? assert.fail(name));
    const [inProcess, inWorker, inCompartment] = await Promise.all(
      ISOLATIONS.map((isolation) =>
        runCases({ fixture, policy, calls: granted.map((one) => callOf(fixture, one)), isolation })
      ),
    );
    for (const [index, one] of granted.entries()) {
      await test.step(one.name, () => {
        const seen = inProcess?.[index];
        assert.ok(seen !== undefined);
        assertOutcome(one, seen.outcome);
        assertRecords(one, seen.records);
        for (const record of inWorker?.[index]?.records ?? []) {
          assert.ok(
            described.audit_rows.includes(record.type as RecordType),
            `${name} does not tell of ${record.type}`,
          );
        }
        if (one.tool === undefined) assertAudited(tool, one, seen.records);
        assert.deepEqual(inCompartment?.[index], seen);
        const worker = inWorker?.[index];
        assert.deepEqual(worker?.outcome, seen.outcome);
        assert.deepEqual(worker?.records.filter(({ type }) => type !== "worker_host_call"), seen.records);
        const [beside, ...more] = worker?.records.filter(({ type }) => type === "worker_host_call") ?? [];
        assert.deepEqual([beside?.outcome, more], [one.outcome, []]);
      });
    }
  });
}

Deno.test("a tool that is not granted is denied before it is loaded, alike in every isolation", async () => {
  const all = await Promise.all(NAMES.map(async (name) => readFixture((await load(name)).family, name)));
  const calls = all.flatMap((fixture) =>
    fixture.cases.filter(({ granted }) => granted === false).map((one) => callOf(fixture, one))
  );
  assert.deepEqual(new Set(calls.map(({ tool }) => tool)), new Set(NAMES));
  const fixture = { tool: "none", policy: {}, cases: [] };
  const runs = await Promise.all(
    ISOLATIONS.map((isolation) => runCases({ fixture, policy: { version: 1 }, calls, isolation })),
  );
  for (const seen of runs) {
    for (const [index, { outcome, records }] of seen.entries()) {
      const tool = String(calls[index]?.tool);
      const message = `agent tool denied: ${tool}`;
      const code = "tool_not_granted";
      assert.deepEqual(outcome, { outcome: "denied", code, message, name: "ToolCallError", of: tool, frozen: true });
      assert.deepEqual(records.filter(({ type }) => type !== "worker_host_call"), [
        { type: "tool_denial", call_id: `c${index + 1}`, tool, policy: "denied", reason: code, rule: "/tools" },
      ]);
    }
  }
});

function assertOutcome(one: Case, outcome: JsonObject): void {
  if (one.outcome === "result") {
    assert.deepEqual(outcome, { outcome: "result", result: one.result }, one.name);
    return;
  }
  const { message, of: _, ...rest } = outcome;
  assert.deepEqual(rest, { outcome: one.outcome, code: one.code, name: "ToolCallError", frozen: true }, one.name);
  assert.ok(typeof message === "string" && message.length > 0 && message.length < 500, one.name);
}

const LAST_TYPE: Readonly<Record<Case["outcome"], string>> = {
  result: "tool_result",
  denied: "tool_denial",
  invalid: "tool_invalid_args",
  error: "tool_error",
  timeout: "tool_timeout",
  budget: "budget_exceeded",
};

/** Exactly one outcome, last; an effect only after `tool_call`; nothing of a call that was refused before. */
function assertRecords(one: Case, records: readonly JsonObject[]): void {
  const types = records.map(({ type }) => type);
  assert.equal(types.at(-1), LAST_TYPE[one.outcome], one.name);
  assert.equal(types.filter((type) => Object.values(LAST_TYPE).includes(String(type))).length, 1, one.name);
  if (one.outcome === "invalid") assert.deepEqual(types, ["tool_invalid_args"], one.name);
  if (one.outcome === "result" || one.outcome === "error" || one.outcome === "timeout") {
    assert.equal(types[0], "tool_call", one.name);
  }
}

/** What a tool does not keep is not in the log: neither an argument nor, where it is digested, the result. */
function assertAudited(tool: Tool, { args, result, name }: Case, records: readonly JsonObject[]): void {
  const call = records.find(({ type }) => type === "tool_call");
  const kept = (call?.args ?? {}) as JsonObject;
  for (const [key, mode] of Object.entries(tool.audit.args)) {
    if (call === undefined || mode === "keep" || !isObject(args) || !Object.hasOwn(args, key)) continue;
    assert.notDeepEqual(kept[key], args[key], `${name}: ${key}`);
  }
  const done = records.find(({ type }) => type === "tool_result");
  if (done !== undefined && tool.audit.result !== "keep") assert.notDeepEqual(done.result, result, name);
}

/** Powers none of which may be touched. */
function untouchable(touched: string[]): FullPowers {
  return new Proxy({}, {
    get: (_target, key) => {
      touched.push(String(key));
      return undefined;
    },
  }) as FullPowers;
}

/** A resolver that hands out targets without looking at the world. */
function anyTargets(tool: Tool): FullResolve {
  const target = (path: string): Target => ({
    requirement: {
      kind: tool.authority.fs === "write" ? "filesystem.write" : "filesystem.read",
      target: `/${path}`,
      description: "x",
    },
  });
  return {
    source: target,
    sources: () => [target("x")],
    file: (path: string) => ({ ...target(path), path }),
    trees: () => [{ ...target("x"), path: "x" }],
    fileToChange: (path: string) => ({ ...target(path), path }),
    sameFileToRead: () => target("x"),
    artifact: (path: string) => Promise.resolve({ ...target(path), path }),
    command: () =>
      Promise.resolve({
        requirement: { kind: "command.execute", target: "x", description: "x" },
        command: "x",
        args: [],
        cwd: ".",
        envKeys: [],
      }),
    endpoint: () => ({ requirement: { kind: "network", target: "GET x", description: "x" } }),
    skill: (name: string) => ({ ...target("x"), name }),
    model: (wish: ModelWish) => {
      readPrompt(tool.name, wish);
      return { ...target("x"), needs: [target("x")], note: {} };
    },
  } as unknown as FullResolve;
}

for (const name of NAMES) {
  Deno.test(`the handle of ${name} is sealed, and its schema is the one that is published`, async () => {
    const tool = await load(name);
    const { cases: all, ...rest } = readFixture(tool.family, name);
    const fixture = { ...rest, cases: all.filter(({ tool }) => tool === undefined) };
    const resolver = anyTargets(tool);
    const good = fixture.cases.find(({ outcome, granted }) => outcome !== "invalid" && granted !== false);
    assert.ok(good !== undefined);

    // Preparing touches no power, and a handle is opened once, by the tool that made it.
    const prepared = await tool.prepare(good.args, resolver);
    assert.ok(Object.isFrozen(prepared) && Object.isFrozen(prepared.request) && Object.isFrozen(prepared.targets));
    const other = await load(name === "echo" ? "fail" : "echo");
    await assert.rejects(async () => await other.invoke(prepared, untouchable([])), BugError);
    await assert.rejects(async () => await tool.invoke(await other.prepare({}, resolver), untouchable([])), BugError);
    await (async () => await tool.invoke(prepared, untouchable([])))().catch(() => {});
    const touched: string[] = [];
    await assert.rejects(
      async () => await tool.invoke(prepared, untouchable(touched)),
      (error) => error instanceof BugError && error.code === "bug_bad_handle",
    );
    assert.deepEqual(touched, []);

    // Wrong arguments never get as far as a request.
    for (const { args, outcome } of fixture.cases) {
      if (outcome !== "invalid") continue;
      await assert.rejects(async () => await tool.prepare(args, resolver), ToolInputError, JSON.stringify(args));
    }
    // What the schema accepts, the published JSON Schema accepts, and the other way round.
    for (const { args } of fixture.cases) {
      const parsed = !Array.isArray(args) && v.safeParse(tool.args, args).success;
      assert.equal(accepts(published(name).argsSchema, args), parsed, `${name}: ${JSON.stringify(args)}`);
    }
    for (const { outcome, result } of fixture.cases) {
      if (outcome !== "result") continue;
      assert.ok(v.safeParse(tool.result, result).success);
      assert.ok(accepts(published(name).resultSchema, result ?? null));
    }
    // Every argument has its place in the log: a new one without a mode is a type error, a stale one fails here.
    const schema = toJsonSchema(tool.args, { errorMode: "ignore" }) as { properties?: Record<string, unknown> };
    for (const key of Object.keys(tool.audit.args)) {
      assert.ok(key === "*" || Object.hasOwn(schema.properties ?? {}, key), `${name} audits no argument "${key}"`);
    }
  });
}

function published(name: string): { argsSchema: JsonObject; resultSchema: JsonObject } {
  const found = (manifests as unknown as Record<string, { argsSchema: JsonObject; resultSchema: JsonObject }>)[name];
  assert.ok(found !== undefined);
  return found;
}

/** Validates against the part of JSON Schema that tools use; an unknown keyword fails the test. */
function accepts(schema: JsonObject, value: Json): boolean {
  for (const [key, rule] of Object.entries(schema)) {
    const check = KEYWORDS[key];
    assert.ok(check !== undefined, `the test knows no JSON Schema keyword "${key}"`);
    if (!check(rule, value, schema)) return false;
  }
  return true;
}

const isObject = (value: Json): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const kindOf = (value: Json): string => typeof value;

/** Code points, as JSON Schema counts. */
const lengthOf = (value: string): number => [...value].length;

const KEYWORDS: Readonly<Record<string, (rule: Json, value: Json, schema: JsonObject) => boolean>> = {
  $schema: () => true,
  description: () => true,
  not: (rule, value) => !accepts(rule as JsonObject, value),
  const: (rule, value) => JSON.stringify(rule) === JSON.stringify(value),
  enum: (rule, value) => (rule as Json[]).some((one) => JSON.stringify(one) === JSON.stringify(value)),
  anyOf: (rule, value) => (rule as JsonObject[]).some((one) => accepts(one, value)),
  type: (rule, value) =>
    rule === "object"
      ? isObject(value)
      : rule === "array"
      ? Array.isArray(value)
      : rule === "integer"
      ? Number.isInteger(value)
      : rule === "null"
      ? value === null
      : kindOf(value) === rule,
  minimum: (rule, value) => typeof value !== "number" || value >= Number(rule),
  maximum: (rule, value) => typeof value !== "number" || value <= Number(rule),
  minLength: (rule, value) => typeof value !== "string" || lengthOf(value) >= Number(rule),
  maxLength: (rule, value) => typeof value !== "string" || lengthOf(value) <= Number(rule),
  pattern: (rule, value) => typeof value !== "string" || new RegExp(String(rule), "u").test(value),
  items: (rule, value) => !Array.isArray(value) || value.every((one: Json) => accepts(rule as JsonObject, one)),
  maxItems: (rule, value) => !Array.isArray(value) || value.length <= Number(rule),
  minItems: (rule, value) => !Array.isArray(value) || value.length >= Number(rule),
  required: (rule, value) => !isObject(value) || (rule as string[]).every((key) => Object.hasOwn(value, key)),
  properties: (rule, value) =>
    !isObject(value) ||
    Object.entries(rule as JsonObject).every(([key, inner]) =>
      !Object.hasOwn(value, key) || accepts(inner as JsonObject, value[key] ?? null)
    ),
  propertyNames: (rule, value) =>
    !isObject(value) || Object.keys(value).every((key) => accepts(rule as JsonObject, key)),
  additionalProperties: (rule, value, { properties = {} }) =>
    !isObject(value) ||
    Object.keys(value).every((key) => Object.hasOwn(properties as JsonObject, key)) ||
    (typeof rule === "boolean"
      ? rule
      : Object.entries(value).every(([key, inner]) =>
        Object.hasOwn(properties as JsonObject, key) || accepts(rule as JsonObject, inner)
      )),
};
