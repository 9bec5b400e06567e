/** Whole runs that ask models: the real pinned URLs through real TLS, a key that reaches its origin alone, and a log. */
import assert from "node:assert/strict";
import type { Record as AuditRecord } from "../../src/audit/record.ts";
import type { JsonObject } from "../../src/json.ts";
import { ANTHROPIC_ANSWER, anthropicEvents, event, OPENAI_ANSWER, openaiEvents, TEXT } from "../net/model_answers.ts";
import { startTlsWorld, type TlsWorld } from "../net/tls_world.ts";
import { watchCommandLines } from "./command_lines.ts";
import { type Project, type RunResult, withProject } from "./run_project.ts";

const KEY = "sk-canary+0123456789/abcdef==";
const PROMPT = "a question that no log may hold";

/** The agent knows the key by itself, so that every way out is tried with it. */
const AGENT = `
const key = ${JSON.stringify([...KEY])}.join("");
const input = [{ role: "system", content: "brief" }, { role: "user", content: ${JSON.stringify(PROMPT)} }];
for (const args of [
  { id: "ok", input },
  { id: "other", model: "gpt-9", input },
  { id: "leak", input: key },
  { id: "image", input: [{ role: "user", content: [{ type: "input_image", image_url: "https://evil.example/" }] }] },
  { id: "tools", tools: [{ type: "web_search" }] },
  { id: "fail", input: "fail" },
  { id: "cut", input: "cut" },
  { id: "redirect", input: "redirect" },
]) {
  try {
    emit({ kind: "answer", answer: await callTool("model.call", args) });
  } catch ({ outcome, code, message }) {
    emit({ kind: "answer", outcome, code, message });
  }
}
emit({ kind: "leak", key });
console.log(key);
`;

interface Provider {
  readonly name: string;
  readonly url: string;
  readonly host: string;
  readonly model: string;
  readonly answer: JsonObject;
  readonly mode: string;
  events(): string[];
}

const PROVIDERS: readonly Provider[] = [
  {
    name: "openai.responses",
    url: "https://api.openai.com/v1/responses",
    host: "api.openai.com:443",
    model: "gpt-5-mini",
    answer: OPENAI_ANSWER,
    mode: "host_env_bearer",
    events: () => openaiEvents(),
  },
  {
    name: "anthropic.messages",
    url: "https://api.anthropic.com/v1/messages",
    host: "api.anthropic.com:443",
    model: "claude-sonnet-4-5",
    answer: ANTHROPIC_ANSWER,
    mode: "host_env_api_key",
    events: () => anthropicEvents(),
  },
];

function policyOf({ name, model }: Provider, more: JsonObject = {}): JsonObject {
  return {
    tools: ["model.call"],
    model: { provider: name, apiKeyEnv: "MODEL_KEY", models: [model], ...more },
    network: { proxy: { fromEnv: "TEST_PROXY" }, ca: { fromEnv: "TEST_CA" } },
  };
}

async function withWorld(provider: Provider, body: (world: TlsWorld) => Promise<void>): Promise<void> {
  const world = await startTlsWorld({
    [`POST ${provider.url}`]: ({ body }) => {
      if (body.includes('"redirect"')) return { status: 302, headers: { location: "https://evil.example/" } };
      if (body.includes('"cut"')) return { pieces: provider.events().slice(0, 6), fault: "cut" };
      if (body.includes('"fail"')) {
        return { status: 401, body: { error: { type: "authentication_error", message: `wrong: ${KEY}` } } };
      }
      const echoed = body.includes("canary") ? [event({ type: "error", error: { message: KEY } })] : [];
      return { pieces: [...echoed, ...provider.events()] };
    },
  });
  try {
    await body(world);
  } finally {
    await world.close();
  }
}

async function run(project: Project, world: TlsWorld, isolation: string): Promise<RunResult> {
  const env = { TEST_PROXY: world.proxyUrl, TEST_CA: world.caFile, MODEL_KEY: KEY };
  let lines: Promise<string[]> = Promise.resolve([]);
  const result = await project.run({
    args: ["run", "--json", `--isolation=${isolation}`],
    env,
    onStart: (child) => {
      lines = watchCommandLines(child);
    },
  });
  const seen = await lines;
  assert.ok(seen.some((line) => line.includes("--allow-env=MODEL_KEY")), "the host was not seen");
  assert.ok(!seen.some((line) => line.includes(KEY)), "a command line holds the key");
  return result;
}

/** The records of the calls without what differs from run to run. */
function steady(records: readonly AuditRecord[]): unknown[] {
  return records
    .filter(({ type, call_id }) => call_id !== undefined && type !== "worker_host_call")
    .map(({ seq: _s, at_ms: _a, run_id: _r, prev: _p, hash: _h, duration_ms: _d, response_bytes: _b, ...rest }) =>
      rest
    );
}

for (const provider of PROVIDERS) {
  Deno.test(`run asks ${provider.name} at its pinned URL alone, alike in every isolation, and logs no text`, () =>
    withWorld(provider, (world) =>
      withProject({ policy: policyOf(provider), agent: AGENT }, async (project) => {
        const seen: unknown[][] = [];
        for (const isolation of ["process", "worker", "compartment"]) {
          const before = world.requests.length;
          const { code, records, stdout, stderr, auditPath } = await run(project, world, isolation);
          assert.equal(code, 0, stdout + stderr);
          const events = records.filter(({ type }) => type === "event").map(({ event }) => event as JsonObject);
          assert.deepEqual(events[0]?.answer, provider.answer);
          const codes = events.slice(1).map(({ code }) => code);
          assert.deepEqual(codes.slice(0, 7), [
            "model_not_admitted",
            "http_nonretryable",
            "tool_invalid_args",
            "tool_invalid_args",
            "http_nonretryable",
            "transport_error",
            "redirect_refused",
          ]);
          assert.equal(events.at(-1)?.key, "[redacted]");

          const sent = world.requests.slice(before);
          assert.equal(sent.length, 5, "one request for each call that was sent, and none again");
          for (const { url, headers } of sent) {
            assert.equal(url, provider.url);
            assert.equal(headers.authorization ?? headers["x-api-key"], headers.authorization ? `Bearer ${KEY}` : KEY);
          }
          const log = await Deno.readTextFile(auditPath);
          for (const text of [log, stdout, stderr]) assert.ok(!text.includes(KEY) && !text.includes(btoa(KEY)));
          // The answer stands in the log where the agent emits it, and nowhere else
          const calls = records.filter(({ call_id }) => call_id !== undefined);
          const text = JSON.stringify(calls);
          assert.ok(!text.includes(PROMPT) && !text.includes(TEXT) && !log.includes(PROMPT), text);
          seen.push(steady(records));

          const called = calls.find(({ type }) => type === "tool_call");
          assert.ok(called !== undefined);
          assert.match(JSON.stringify(called.args), /"input":\{"sha256":"[0-9a-f]{64}".*"shape":"array\(2\)"/);
          for (
            const [key, value] of Object.entries({
              provider: provider.name,
              model: provider.model,
              credential_mode: provider.mode,
              credential_env: "MODEL_KEY",
              transcript_persistence: "metadata_only",
              prompt_disposition: "shape_and_hash_only",
              output_disposition: "shape_and_hash_only",
              raw_prompt_persisted: false,
              raw_output_persisted: false,
            })
          ) assert.equal(called[key], value, key);
          const result = calls.find(({ type }) => type === "tool_result");
          assert.equal((result?.usage as JsonObject).source, "reported");
          assert.match(JSON.stringify(result?.result), /^\{"sha256":"[0-9a-f]{64}"/);
          const denial = calls.find(({ type }) => type === "tool_denial");
          assert.deepEqual([denial?.reason, denial?.rule], ["model_not_admitted", "/model/models"]);
        }
        assert.deepEqual(seen[1], seen[0]);
        assert.deepEqual(seen[2], seen[0]);
        assert.deepEqual(new Set(world.connects), new Set([provider.host]));
      })));
}

Deno.test("run keeps questions and answers where the policy says so, without known secrets, and says that it did", async () => {
  const [provider] = PROVIDERS;
  assert.ok(provider !== undefined);
  await withWorld(
    provider,
    (world) =>
      withProject({ policy: policyOf(provider, { audit: "redacted" }), agent: AGENT }, async (project) => {
        const { code, records, auditPath } = await run(project, world, "process");
        assert.equal(code, 0);
        const calls = records.filter(({ type }) => type === "tool_call");
        assert.match(JSON.stringify(calls[0]?.args), new RegExp(PROMPT));
        assert.equal((calls[1]?.args as JsonObject).input, "[redacted]");
        assert.equal(calls[0]?.prompt_disposition, "redacted_audit_fields_only");
        assert.equal(calls[0]?.raw_prompt_persisted, true);
        const result = records.find(({ type }) => type === "tool_result");
        assert.deepEqual(result?.result, provider.answer);
        assert.ok(!(await Deno.readTextFile(auditPath)).includes(KEY));
      }),
  );
});

Deno.test("run stops before it starts without the key, and does not show one that cannot be one", async () => {
  const [provider] = PROVIDERS;
  assert.ok(provider !== undefined);
  await withWorld(provider, (world) =>
    withProject({ policy: policyOf(provider), agent: AGENT }, async (project) => {
      const env = { TEST_PROXY: world.proxyUrl, TEST_CA: world.caFile };
      const unset = await project.run({ env });
      assert.equal(unset.code, 78, unset.stdout);
      assert.equal(unset.records.at(-1)?.reason, "credential_unset");
      assert.deepEqual(unset.records[0]?.credentials_unset, ["MODEL_KEY"]);
      const { control } = JSON.parse(unset.stdout);
      assert.match(control.message, /the variable "MODEL_KEY", which "model\.apiKeyEnv" names, is not set/);
      assert.match(control.fix, /^Run `export MODEL_KEY=…` first, or /);
      assert.match(control.position.file, /agent\.policy\.jsonc$/);
      const told = await project.run({ args: ["run"], env });
      assert.match(
        told.stdout,
        /control {3}.*MODEL_KEY.*\n {10}at agent\.policy\.jsonc:\d+:\d+\n {10}fix: Run `export MODEL_KEY/,
      );
      const called = await project.run({
        args: ["call", "model.call", '{"id":"a"}', "--policy=agent.policy.jsonc"],
        env,
      });
      assert.equal(called.code, 78);
      assert.match(called.stderr, /fix: Run `export MODEL_KEY=…` first/);
      const bad = await project.run({ env: { ...env, MODEL_KEY: `${KEY} ` } });
      assert.equal(bad.code, 78, bad.stdout);
      assert.ok(!(bad.stdout + bad.stderr + JSON.stringify(bad.records)).includes(KEY));
      assert.deepEqual(world.connects, []);
    }));
});

Deno.test("a run with recorded answers has no network and no key, whatever its policy names beside them", () =>
  withWorld(PROVIDERS[0] as Provider, (world) => {
    const answers = JSON.stringify({ responses: [{ id: "ok", response: { text: "recorded" } }] });
    const policy = policyOf(PROVIDERS[0] as Provider);
    return withProject({ policy, agent: AGENT, files: { "answers.json": answers } }, async (project) => {
      const args = ["run", "--json", "--model-fixture=answers.json"];
      const env = { MODEL_KEY: KEY, TEST_PROXY: world.proxyUrl, TEST_CA: world.caFile };
      const { code, records, stdout } = await project.run({ args, env });
      assert.equal(code, 0, stdout);
      const start = records[0];
      assert.ok(!JSON.stringify(start?.flags).includes("--allow-net"), JSON.stringify(start?.flags));
      assert.ok(!JSON.stringify(start?.flags).includes("MODEL_KEY"));
      const events = records.filter(({ type }) => type === "event").map(({ event }) => event as JsonObject);
      assert.deepEqual(events[0]?.answer, { text: "recorded" });
      assert.equal(events.find(({ code }) => code === "model_fixture_response_not_found")?.outcome, "denied");
      const call = records.find(({ type }) => type === "tool_call");
      assert.deepEqual([call?.provider, call?.credential_mode, call?.credential_env], ["fixture", "none", null]);
      assert.deepEqual(world.connects, []);
    });
  }));

Deno.test("call asks a model under flags alone, with a secret that serves this tool only", () =>
  withWorld(
    PROVIDERS[0] as Provider,
    (world) =>
      withProject({ files: { "answers.json": '{"responses":[{"id":"a","response":{"n":1}}]}' } }, async (project) => {
        const recorded = await project.run({
          args: ["call", "model.call", '{"id":"a"}', "--tool=model.call", "--model-fixture=answers.json"],
        });
        assert.equal(recorded.code, 0, recorded.stderr);
        assert.match(recorded.stdout, /"n":\s*1/);
        const flags = ["--tool=model.call", "--model-provider=openai.responses", "--model-name=gpt-5-mini"];
        const dry = await project.run({
          args: ["call", "model.call", '{"id":"a"}', ...flags, "--secret=model.call=OWN_KEY", "--dry-run"],
        });
        assert.equal(dry.code, 0, dry.stderr + dry.stdout);
        assert.match(dry.stdout, /model:gpt-5-mini/);
        assert.match(dry.stdout, /POST https:\/\/api\.openai\.com\/v1\/responses/);
        const refused = await project.run({
          args: ["call", "model.call", '{"id":"a","model":"o"}', ...flags, "--model-api-key-env=K", "--dry-run"],
        });
        assert.equal(refused.code, 77, refused.stderr + refused.stdout);
        assert.match(refused.stdout, /"model_not_admitted"/);
        const foreign = await project.run({
          args: ["call", "model.call", '{"id":"a"}', ...flags, "--secret=github.repo.read=K"],
        });
        assert.equal(foreign.code, 64, foreign.stderr + foreign.stdout);
        assert.deepEqual(world.connects, []);
      }),
  ));

Deno.test("run --live is refused where a model has recorded answers and no provider, with the place and the fix", async () => {
  const files = { "answers.json": '{"responses":[{"id":"a","response":{}}]}' };
  const policy = { tools: ["model.call"], model: { fixture: "answers.json" } };
  await withProject({ agent: "emit({});", policy, files }, async (project) => {
    assert.equal((await project.run()).code, 0);
    const live = await project.run({ args: ["run", "--live"] });
    assert.equal(live.code, 65, live.stdout);
    assert.match(live.stderr, /Cannot run --live: "model" has recorded answers, and no provider/);
    assert.match(live.stderr, / at \S*agent\.policy\.jsonc:\d+:\d+\n {2}fix: Add "provider": .*"apiKeyEnv"/);
  });
});

Deno.test("a run from recorded answers keeps the credentials that its policy names out of log, recording and terminal", async () => {
  const key = "sk-hidden-0123456789abcdef";
  const files = { "answers.json": JSON.stringify({ responses: [{ id: "a", response: { text: `key ${key}` } }] }) };
  const agent = `
    const { text } = await callTool("model.call", { id: "a" });
    emit({ text });
    auditNote(text);
    console.log(text);
    throw new Error(text);
  `;
  const provider = { provider: "openai.responses", models: ["gpt-5-mini"], fixture: "answers.json", audit: "redacted" };
  const policies = {
    apiKeyEnv: { model: { ...provider, apiKeyEnv: "NAMED_KEY" } },
    secrets: { model: provider, secrets: { "model.call": "NAMED_KEY" } },
  };
  for (const [name, policy] of Object.entries(policies)) {
    for (const isolation of ["process", "compartment"]) {
      const whole = { tools: ["model.call"], isolation, ...policy };
      await withProject({ agent, policy: whole, files }, async (project) => {
        const run = await project.run({ args: ["run", "--json", "--record"], env: { NAMED_KEY: key } });
        assert.equal(run.code, 1, run.stderr);
        const log = await Deno.readTextFile(run.auditPath);
        const recording = await Deno.readTextFile(run.auditPath.replace("audit.jsonl", "recording.jsonl"));
        for (const text of [run.stdout, run.stderr, log, recording]) {
          assert.match(text, /key \[REDACTED|key \[/i, `${name} ${isolation}: ${text.slice(0, 300)}`);
          assert.equal(text.includes(key), false, `${name} ${isolation}`);
        }
        // Without the variable it is a text like any other
        const plain = await project.run();
        assert.match(await Deno.readTextFile(plain.auditPath), /key sk-hidden/);
      });
    }
  }
});
