import assert from "node:assert/strict";
import { UsageError } from "../../src/errors.ts";
import { comparePlans, covers } from "../../src/plan/compare.ts";
import { hostFlags } from "../../src/plan/flags.ts";
import type { Plan } from "../../src/plan/plan.ts";
import { policyFromFlags, withFlags } from "../../src/policy/from_flags.ts";
import { loadPolicy } from "../../src/policy/load.ts";
import { mutantsOf } from "../../src/policy/mutants.ts";
import { removeTool } from "../../src/policy/policy_edits.ts";
import { authorityManifest } from "../../src/report/authority_manifest.ts";
import { explain } from "../../src/report/explain.ts";
import { grantLines } from "../../src/report/grants.ts";
import { compileIn, MANIFESTS, refusalsIn, withProject } from "./project.ts";

const TOOL = "model.call";
const OPENAI = { provider: "openai.responses", apiKeyEnv: "KEY", models: ["m", "n"] };
const ANSWERS = { files: { "answers.json": '{"responses":[]}', "osv.json": "{}" } };

const policy = (more: Record<string, unknown>): Record<string, unknown> => ({ version: 1, ...more });

async function refused(dir: string, more: Record<string, unknown>): Promise<string> {
  return (await refusalsIn(dir, policy(more))).map(({ code, message, fix }) => `${code}: ${message} -> ${fix}`).join(
    "\n",
  );
}

function netOf({ plan, places }: { plan: Plan; places: Parameters<typeof hostFlags>[1] }): string {
  const prefix = "--allow-net=";
  return hostFlags(plan, places, { portable: true }).find((flag) => flag.startsWith(prefix))?.slice(prefix.length) ??
    "none";
}

Deno.test("compile() gives key 1 the host of the chosen provider alone, and its variable", () =>
  withProject(ANSWERS, async (dir) => {
    const places = { project: dir, twokey: "/twokey", state: `${dir}-state` };
    const { plan } = await compileIn(dir, policy({ tools: [TOOL], model: OPENAI }));
    assert.deepEqual(plan.model, {
      provider: "openai.responses",
      fixture: null,
      models: ["m", "n"],
      maxOutputTokens: 4096,
      totalTokens: 1_000_000,
      calls: 100,
      audit: "digest",
    });
    assert.deepEqual(plan.tools[TOOL]?.endpoints, {
      "openai.responses": { method: "POST", url: "https://api.openai.com/v1/responses" },
    });
    assert.deepEqual(plan.tools[TOOL]?.credential, { header: "bearer", optional: false });
    assert.deepEqual(plan.credentials, { [TOOL]: { env: "KEY", rule: "/model/apiKeyEnv" } });
    assert.deepEqual(plan.env, ["KEY"]);
    assert.equal(netOf({ plan, places }), "api.openai.com:443");

    const anthropic = { provider: "anthropic.messages", models: ["c"] };
    const own = await compileIn(dir, policy({ tools: [TOOL], model: anthropic, secrets: { [TOOL]: "OWN" } }));
    assert.deepEqual(own.plan.credentials, { [TOOL]: { env: "OWN", rule: "/secrets/model.call" } });
    assert.equal(own.plan.tools[TOOL]?.credential?.header, "x-api-key");
    assert.equal(netOf({ plan: own.plan, places }), "api.anthropic.com:443");
  }));

Deno.test("compile() gives recorded answers no host and no variable, also beside tools that have theirs", () =>
  withProject(ANSWERS, async (dir) => {
    const places = { project: dir, twokey: "/twokey", state: `${dir}-state` };
    const recorded = { ...OPENAI, fixture: "answers.json" };
    const alone = (await compileIn(dir, policy({ tools: [TOOL], model: recorded }))).plan;
    assert.equal(alone.model?.fixture?.path, "${project}/answers.json");
    assert.deepEqual([alone.tools[TOOL]?.endpoints, alone.credentials, alone.env], [{}, {}, []]);
    assert.equal(netOf({ plan: alone, places }), "none");
    const written = policy({
      tools: [TOOL, "writeArtifact"],
      model: { fixture: "out/answers.json" },
      fs: { write: [{ root: "out" }] },
    });
    await Deno.mkdir(`${dir}/out`);
    await Deno.rename(`${dir}/answers.json`, `${dir}/out/answers.json`);
    assert.ok((await compileIn(dir, written)).plan.fs.protected.includes("${project}/out/answers.json"));
    await Deno.rename(`${dir}/out/answers.json`, `${dir}/answers.json`);
    const live = policy({ tools: [TOOL, "osv.query"], model: { fixture: "answers.json" } });
    assert.equal(netOf({ plan: (await compileIn(dir, live)).plan, places }), "api.osv.dev:443");
    // What is recorded for the others does not answer for a model
    const network = { fixtures: ["osv.json"] };
    const other = policy({ tools: [TOOL, "osv.query"], model: OPENAI, network });
    assert.equal(netOf({ plan: (await compileIn(dir, other)).plan, places }), "api.openai.com:443");
  }));

Deno.test("compile() refuses a model without what it needs, and what no granted tool uses, each with its fix", () =>
  withProject(ANSWERS, async (dir) => {
    const one = async (more: Record<string, unknown>, expected: RegExp): Promise<void> => {
      assert.match(await refused(dir, more), expected);
    };
    await one({ tools: [TOOL] }, /^policy_tool_without_authority: .*no "model" for it -> Add "model": \{ "provider"/);
    await one({ tools: ["echo"], model: OPENAI }, /^policy_unused_authority: .*asks a model -> .*"model\.call"/);
    await one({ tools: [TOOL], model: {} }, /^policy_tool_without_authority: .*neither a provider nor recorded/);
    await one({ tools: [TOOL], model: { ...OPENAI, models: [] } }, /./);
    await one(
      { tools: [TOOL], model: { provider: "openai.responses", apiKeyEnv: "K" } },
      /^policy_tool_without_authority: .*no model that may be asked for -> Add "models"/,
    );
    await one(
      { tools: [TOOL], model: { provider: "openai.responses", models: ["m"] } },
      /^policy_tool_without_authority: .*no variable that holds its key -> Add "apiKeyEnv"/,
    );
    await one(
      { tools: [TOOL], model: { fixture: "answers.json", apiKeyEnv: "K" } },
      /^policy_unused_authority: .*"model\.apiKeyEnv": no provider/,
    );
    await one(
      { tools: [TOOL], model: OPENAI, secrets: { [TOOL]: "OTHER" } },
      /^policy_unused_authority: .*"model\.apiKeyEnv": no granted tool uses it/,
    );
    await one({ tools: [TOOL], model: { ...OPENAI, models: ["m", "m"] } }, /^policy_duplicate_model/);
    await one(
      { tools: [TOOL], model: { ...OPENAI, maxOutputTokens: 500, totalTokens: 100 } },
      /^policy_budget_order: .*"model\.maxOutputTokens" of 500: "model\.totalTokens" is 100/,
    );
    await one({ tools: [TOOL], model: { fixture: "missing.json" } }, /^policy_fixture_missing/);
    await one({ tools: [TOOL], model: { fixture: "../out.json" } }, /^policy_outside_project/);
    await one(
      { tools: [TOOL], model: OPENAI, network: { proxy: { fromEnv: "KEY" } } },
      /^policy_shared_variable/,
    );
    await one({ tools: [TOOL], model: OPENAI, network: { cache: {} } }, /^policy_unused_authority: .*"network\.cache"/);
    await one(
      { tools: [TOOL], model: { fixture: "answers.json" }, network: { ipv6: true } },
      /^policy_unused_authority/,
    );
    assert.equal(await refused(dir, { tools: [TOOL], model: OPENAI, network: { proxy: { fromEnv: "P" } } }), "");
    await one(
      { tools: ["osv.query", TOOL], model: OPENAI, secrets: { "osv.query": "KEY2" } },
      /^policy_unused_authority: .*"osv\.query": the tool takes no credential/,
    );
    for (
      const model of [
        { ...OPENAI, provider: "other" },
        { ...OPENAI, audit: "all" },
        { ...OPENAI, calls: 0 },
        {
          ...OPENAI,
          models: ["a b"],
        },
        { ...OPENAI, url: "https://evil.example" },
        { ...OPENAI, apiKeyEnv: "sk-secret" },
      ]
    ) {
      assert.notEqual(await refused(dir, { tools: [TOOL], model }), "", JSON.stringify(model));
    }
  }));

Deno.test("compile() refuses a rule on models that no tool needs, and takes one that may match", () =>
  withProject({}, async (dir) => {
    const gate = {
      deny: [{ kind: "context.load", match: "model:n" }, { kind: "network", match: "api.openai.com/v2" }],
    };
    assert.equal(await refused(dir, { tools: [TOOL], model: OPENAI, gate }), "");
    assert.match(await refused(dir, { tools: ["echo"], gate: { deny: gate.deny.slice(0, 1) } }), /^policy_dead_rule/);
    const dead = { deny: [{ kind: "network", match: "api.anthropic.com/v1/messages" }] };
    assert.match(await refused(dir, { tools: [TOOL], model: OPENAI, gate: dead }), /^policy_dead_rule/);
  }));

Deno.test("comparePlans() says what a model block grants beyond another", () =>
  withProject(ANSWERS, async (dir) => {
    const plan = async (model: unknown): Promise<Plan> => (await compileIn(dir, policy({ tools: [TOOL], model }))).plan;
    const base = await plan(OPENAI);
    const gained = async (model: unknown): Promise<string> =>
      comparePlans(base, await plan(model)).filter(({ kind }) => kind === "gained").map(({ text }) => text).join("; ");
    assert.equal(await gained({ ...OPENAI, models: ["n"], calls: 1 }), "");
    assert.equal(await gained({ ...OPENAI, models: ["m", "*"] }), "any model of openai.responses");
    const any = await plan({ ...OPENAI, models: ["*"] });
    assert.ok(covers(any, base) && !covers(base, any));
    assert.match(grantLines(any).join("\n"), /may ask {3}any model of openai\.responses/);
    assert.equal(await gained({ ...OPENAI, models: ["m", "x"] }), "the model x of openai.responses");
    assert.match(await gained({ ...OPENAI, calls: 101 }), /^model\.calls: 101 instead of 100$/);
    assert.match(await gained({ ...OPENAI, totalTokens: 2_000_000 }), /^model\.totalTokens/);
    assert.match(await gained({ ...OPENAI, maxOutputTokens: 5000 }), /^model\.maxOutputTokens/);
    assert.match(await gained({ ...OPENAI, audit: "redacted" }), /questions and answers in the log/);
    assert.match(await gained({ ...OPENAI, apiKeyEnv: "OTHER" }), /the credential \$OTHER for model\.call/);
    assert.match(
      await gained({ ...OPENAI, provider: "anthropic.messages" }),
      /api\.anthropic\.com.*the model m of anthropic/,
    );
    assert.match(
      await gained({ ...OPENAI, fixture: "answers.json" }),
      /the recorded answers of a model \$\{project\}\/answers/,
    );
    assert.ok(!covers(await plan({ ...OPENAI, fixture: "answers.json" }), base));
    assert.ok(covers(base, base));
  }));

Deno.test("a model block is shown where grants are shown", () =>
  withProject(ANSWERS, async (dir) => {
    const { plan } = await compileIn(dir, policy({ tools: [TOOL], model: { ...OPENAI, calls: 7, audit: "redacted" } }));
    const lines = grantLines(plan).join("\n");
    assert.match(lines, /may ask {3}m, n of openai\.responses, 7 times, 1000000 tokens/);
    assert.match(lines, /may use {3}\$KEY for model\.call/);
    assert.match(lines, /may reach POST https:\/\/api\.openai\.com\/v1\/responses/);
    const { sections, notes } = explain(plan, (file) => ({ file, line: 1, column: 1 }));
    const of = (title: string): string => JSON.stringify(sections.find((section) => section.title === title)?.lines);
    assert.match(of("Models that may be asked"), /m, the default, of openai\.responses".*the text of questions/);
    assert.match(of("May be reached"), /POST https:\/\/api\.openai\.com\/v1\/responses.*\/model\/provider/);
    assert.match(of("May be spent"), /Answers that may be asked for: 7"/);
    assert.match(of("Variables that may be read"), /"KEY","at":"\/model\/apiKeyEnv/);
    assert.match(notes.join("\n"), /it can put into a question/);
    assert.deepEqual(authorityManifest(plan).models, {
      provider: "openai.responses",
      recorded_answers: null,
      names: ["m", "n"],
      max_output_tokens: 4096,
      total_tokens: 1_000_000,
      calls: 7,
      audit: "redacted",
    });
    const recorded = (await compileIn(dir, policy({ tools: [TOOL], model: { fixture: "answers.json" } }))).plan;
    assert.match(grantLines(recorded).join("\n"), /may ask {3}any model by recorded answers from answers\.json/);
    assert.match(grantLines(recorded).join("\n"), /may reach no host$/m);
  }));

Deno.test("policyFromFlags() makes a model block of flags, and says which one is missing", () =>
  withProject(ANSWERS, async (dir) => {
    const flags = {
      tool: [TOOL],
      modelProvider: "openai.responses",
      modelApiKeyEnv: "KEY",
      modelName: ["m", "m", "n"],
    };
    assert.deepEqual((await policyFromFlags(flags, dir)).policy.model, OPENAI);
    const { modelApiKeyEnv: _key, ...keyless } = flags;
    const bysecret = await policyFromFlags({ ...keyless, secret: [`${TOOL}=OWN`] }, dir);
    assert.deepEqual(bysecret.policy.secrets, { [TOOL]: "OWN" });
    const { modelName: _name, ...nameless } = flags;
    assert.deepEqual((await policyFromFlags(nameless, dir)).policy.model?.models, ["*"]);
    const { modelProvider: _provider, ...nobody } = flags;
    for (
      const bad of [keyless, nobody, { tool: [TOOL], modelName: ["m"] }, { ...flags, modelFixture: "a" }]
    ) {
      await assert.rejects(policyFromFlags(bad, dir), UsageError, JSON.stringify(bad));
    }
    await assert.rejects(policyFromFlags({ ...flags, modelProvider: "other" }, dir), /--model-provider/);

    await Deno.writeTextFile(`${dir}/p.policy.jsonc`, JSON.stringify(policy({ tools: [TOOL], model: OPENAI })));
    const loaded = await loadPolicy(`${dir}/p.policy.jsonc`);
    const added = async (more: Parameters<typeof withFlags>[1]): Promise<readonly string[]> =>
      (await withFlags(loaded, more, { cwd: dir })).added;
    assert.deepEqual(await added({ modelName: ["m"] }), []);
    assert.deepEqual(await added({ modelName: ["x"] }), ["--model-name"]);
    assert.deepEqual(await added({ modelApiKeyEnv: "OTHER" }), ["--model-api-key-env"]);
    assert.deepEqual(await added({ modelProvider: "openai.responses" }), []);
    assert.deepEqual(await added({ modelProvider: "anthropic.messages" }), ["--model-provider"]);
    assert.deepEqual(await added({ modelFixture: "answers.json" }), ["--model-fixture"]);
    const recorded = { tools: [TOOL], model: { ...OPENAI, fixture: "answers.json" } };
    await Deno.writeTextFile(`${dir}/p.policy.jsonc`, JSON.stringify(policy(recorded)));
    const live = await withFlags(await loadPolicy(`${dir}/p.policy.jsonc`), { modelProvider: "openai.responses" }, {
      cwd: dir,
    });
    assert.deepEqual([live.added, live.loaded.policy.model], [["--model-provider"], OPENAI]);
  }));

Deno.test("taking the last tool that asks models away takes the block and the secret along", () => {
  const base = { version: 1 as const, tools: [TOOL, "echo"], model: { models: ["m", "n"] }, secrets: { [TOOL]: "K" } };
  assert.deepEqual(removeTool(base, TOOL, { manifests: MANIFESTS }).map(({ act, path }) => [act, ...path]), [
    ["remove", "tools", 0],
    ["remove", "model"],
    ["remove", "secrets"],
  ]);
  const mutants = mutantsOf(base, { others: [], fsOf: () => undefined }).filter(({ rule }) =>
    rule.startsWith("/model")
  );
  assert.deepEqual(mutants.map(({ rule, policy: { model } }) => [rule, model?.models]), [
    ["/model/models/0", ["n"]],
    ["/model/models/1", ["m"]],
  ]);
});
