/** Models asked as a host asks them: the pinned URLs over real TLS, through a proxy, on this machine. */
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import type { ModelProviderName } from "../../src/authority/model_providers.ts";
import type { Requirement } from "../../src/authority/requirement.ts";
import { BudgetError, DenialError, ToolError, ToolInputError } from "../../src/errors.ts";
import type { CallContext, RunContext } from "../../src/host/context.ts";
import { readCredentials } from "../../src/host/credentials.ts";
import { makeHttpClient } from "../../src/host/http_client.ts";
import { makeModels, type Models } from "../../src/host/models.ts";
import { type JsonObject, sha256 } from "../../src/json.ts";
import type { ModelPlan } from "../../src/plan/model_plan.ts";
import type { Plan } from "../../src/plan/plan.ts";
import type { FullPowers, FullResolve } from "../../src/tool/define.ts";
import { modelCall } from "../../src/tools/model/call.ts";
import { ANTHROPIC_ANSWER, anthropicEvents, OPENAI_ANSWER, openaiEvents } from "../net/model_answers.ts";
import { startTlsWorld, type TlsWorld, type WorldAnswer, type WorldHandler } from "../net/tls_world.ts";

const KEY = "sk-canary-0123456789";
const URLS = {
  "openai.responses": "https://api.openai.com/v1/responses",
  "anthropic.messages": "https://api.anthropic.com/v1/messages",
} as const;
const PROVIDERS = Object.keys(URLS) as ModelProviderName[];
const ANSWERS = { "openai.responses": OPENAI_ANSWER, "anthropic.messages": ANTHROPIC_ANSWER } as const;
const EVENTS = { "openai.responses": () => openaiEvents(), "anthropic.messages": () => anthropicEvents() } as const;
const MODELS = { "openai.responses": "gpt-5-mini", "anthropic.messages": "claude-sonnet-4-5" } as const;

interface Options {
  readonly provider: ModelProviderName;
  readonly model?: Partial<ModelPlan>;
  readonly toolArgBytes?: number;
  readonly toolResultBytes?: number;
  readonly key?: string;
}

function makeRun({ provider, model, toolArgBytes, toolResultBytes, key = KEY }: Options, world: TlsWorld): RunContext {
  const header = provider === "openai.responses" ? "bearer" : "x-api-key";
  const env = { TEST_PROXY: world.proxyUrl, KEY: key } as Record<string, string>;
  const plan = {
    tools: {
      "model.call": { endpoints: {}, service: "model", credential: { header, optional: true }, rule: "/tools/0" },
    },
    model: {
      provider,
      fixture: null,
      models: [MODELS[provider]],
      maxOutputTokens: 500,
      totalTokens: 100_000,
      calls: 10,
      audit: "digest",
      ...model,
    },
    network: {
      fixtures: [],
      cache: null,
      retryAttempts: 3,
      proxy: { fromEnv: "TEST_PROXY" },
      ca: { fromEnv: "CA" },
      ipv6: false,
    },
    budgets: { toolArgBytes: toolArgBytes ?? 100_000, toolResultBytes: toolResultBytes ?? 1_000_000 },
    credentials: { "model.call": { env: "KEY", rule: "/model/apiKeyEnv" } },
  } as unknown as Plan;
  return {
    plan,
    places: { project: "/p", twokey: "/t", state: "/s" },
    fixtures: {},
    cacheKey: new Uint8Array(32),
    credentials: readCredentials(plan, (name) => env[name]).credentials,
    env: (name) => env[name],
    now: Date.now,
    sha256,
    record: () => {},
  };
}

interface Called {
  readonly result?: unknown;
  readonly error?: unknown;
  readonly note: JsonObject;
  readonly late: JsonObject;
}

async function callModel(models: Models, args: JsonObject, timeoutMs = 10_000): Promise<Called> {
  let note: JsonObject = {};
  let late: JsonObject = {};
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(new Error("too late")), timeoutMs);
  try {
    const prepared = await modelCall.prepare(args, models.resolver("model.call") as unknown as FullResolve);
    const call: CallContext = {
      callId: "c1",
      tool: "model.call",
      signal: deadline.signal,
      deadlineMs: Date.now() + timeoutMs,
      granted: new Set(prepared.request.requirements),
      record: () => assert.fail("a call to a model records nothing of its own"),
      note: (fields) => void (note = { ...note, ...fields }),
      noteTimeout: (fields) => void (late = { ...late, ...fields }),
    };
    const powers = models.power(call, modelCall.limits) as unknown as FullPowers;
    return { result: await modelCall.invoke(prepared, powers), note, late };
  } catch (error) {
    return { error, note, late };
  } finally {
    clearTimeout(timer);
  }
}

async function withModels(
  options: Options,
  handler: WorldHandler | WorldAnswer,
  body: (models: Models, world: TlsWorld) => Promise<void>,
): Promise<void> {
  const answer: WorldHandler = typeof handler === "function" ? handler : () => handler;
  const world = await startTlsWorld({ [`POST ${URLS[options.provider]}`]: answer });
  const run = makeRun(options, world);
  let client: Deno.HttpClient | undefined;
  try {
    await body(makeModels(run, { client: () => client ??= makeHttpClient(run, { caPem: world.caPem }) }), world);
  } finally {
    client?.close();
    await world.close();
  }
}

function asked(provider: ModelProviderName, model: Partial<ModelPlan> = {}): Options {
  return { provider, model };
}

/** Kind, message, and whether the same question may succeed later. */
function textOf(error: unknown): string {
  if (error instanceof ToolError) return `${error.code} ${error.retryable} ${error.message}`;
  return String(error);
}

for (const provider of PROVIDERS) {
  Deno.test(`models of ${provider} give one whole answer of a stream, however it is cut and encoded`, async (test) => {
    const events = EVENTS[provider]();
    const bytes = new TextEncoder().encode(events.join(""));
    const every = (size: number): Uint8Array[] =>
      Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size));
    const whole = JSON.stringify(ANSWERS[provider]);
    const ways: Readonly<Record<string, WorldAnswer>> = {
      "by events": { pieces: events },
      "by seven bytes": { pieces: every(7) },
      "slowly": { pieces: every(400), everyMs: 20 },
      "with CRLF and comments": { pieces: [": hello\r\n\r\n", events.join("").replaceAll("\n", "\r\n")] },
      "with CR": { pieces: [events.join("").replaceAll("\n", "\r")] },
      "compressed": { pieces: [gzipSync(bytes)], headers: { "content-encoding": "gzip" } },
      "not as a stream": { body: whole },
      "not as a stream, compressed": { body: new Uint8Array(gzipSync(whole)), headers: { "content-encoding": "gzip" } },
      "cut behind its last event": { pieces: events, fault: "cut" },
    };
    for (const [name, answer] of Object.entries(ways)) {
      await test.step(name, () =>
        withModels(asked(provider), answer, async (models, world) => {
          const { result, note, error } = await callModel(models, { id: "q", input: "hello" });
          assert.equal(error, undefined, textOf(error));
          assert.deepEqual(result, ANSWERS[provider]);
          const input = provider === "openai.responses" ? 36 : 30;
          const output = provider === "openai.responses" ? 12 : 15;
          const usage = {
            input_tokens: input,
            output_tokens: output,
            total_tokens: input + output,
            source: "reported",
          };
          assert.deepEqual(note.usage, usage);
          assert.equal(note.streamed, !name.startsWith("not"));
          assert.equal(note.provider, provider);
          assert.equal(note.endpoint, `POST ${URLS[provider]}`);
          const [sent, ...more] = world.requests;
          assert.deepEqual(more, []);
          const auth = provider === "openai.responses" ? sent?.headers.authorization : sent?.headers["x-api-key"];
          assert.equal(auth, provider === "openai.responses" ? `Bearer ${KEY}` : KEY);
          assert.equal(sent?.headers["user-agent"], "twokey-model-call");
          const body = JSON.parse(sent?.body ?? "");
          assert.equal(body.max_output_tokens ?? body.max_tokens, 500);
          assert.equal(body.model, MODELS[provider]);
          assert.equal(body.tools, undefined);
        }));
    }
  });

  Deno.test(`models of ${provider} say what kind of error an answer is, and never ask again`, async (test) => {
    const message = `You sent ${KEY} and sk-…6789, says the provider`;
    const error = { error: { type: "some_error", code: KEY, message } };
    const events = EVENTS[provider]();
    const redirect = { status: 307, headers: { location: "https://evil.example/v1/responses" }, body: "" };
    const cases: Readonly<Record<string, readonly [WorldAnswer, RegExp, source: string]>> = {
      "401": [{ status: 401, body: error }, /^http_nonretryable false .*: http status 401, some_error$/, "none"],
      "400": [{ status: 400, body: "no JSON" }, /^http_nonretryable false .*: http status 400$/, "none"],
      "413": [{ status: 413, body: error }, /^http_nonretryable false/, "none"],
      "429": [{ status: 429, body: error, headers: { "retry-after": "7" } }, /^http_retryable true/, "none"],
      "500": [{ status: 500, body: error }, /^http_retryable true .*: http status 500, some_error$/, "none"],
      "529": [{ status: 529, body: { error: { type: "overloaded_error" } } }, /529, overloaded_error$/, "none"],
      "an endless error": [{ status: 500, body: "x".repeat(1_000_000) }, /^http_retryable true/, "none"],
      "a redirect": [redirect, /^redirect_refused false .*status 307$/, "none"],
      "a part": [{ status: 206, body: ANSWERS[provider] }, /^http_nonretryable false/, "asked"],
      "no content": [{ status: 204, body: "" }, /^invalid_json false/, "asked"],
      "an empty stream": [{ pieces: [] }, /^transport_error true .*broke off/, "asked"],
      "a stream that ends early": [{ pieces: events.slice(0, -1) }, /^transport_error true .*broke off/, "asked"],
      "a stream that is cut": [{ pieces: events.slice(0, 8), fault: "cut" }, /^transport_error true/, "asked"],
      "a dropped connection": [{ fault: "drop" }, /^transport_error true/, "asked"],
      "an answer that is cut": [{ body: ANSWERS[provider], fault: "cut" }, /^transport_error true/, "asked"],
      "no JSON": [{ body: "<html>" }, /^invalid_json false .*not JSON$/, "asked"],
      "a list": [{ body: [] }, /^invalid_json false/, "asked"],
      "an empty object": [{ body: {} }, /^(?:invalid_json|response_incomplete) false/, "asked"],
      "HTML as a stream": [{ pieces: ["<html>\n\n"] }, /^transport_error/, "asked"],
      "deep JSON": [{ body: "[".repeat(5000) }, /^invalid_json false .*nests deeper/, "asked"],
      "no UTF-8": [{ body: new Uint8Array([0x7b, 0xff, 0x7d]) }, /^invalid_json false .*UTF-8$/, "asked"],
      "no UTF-8 in a stream": [{ pieces: [new Uint8Array([0x64, 0xff])] }, /^invalid_json false .*UTF-8$/, "asked"],
      "an unknown coding": [{ body: "x", headers: { "content-encoding": "zstd" } }, /^transport_error false/, "asked"],
      "bytes that are not gzip": [{ body: "x", headers: { "content-encoding": "gzip" } }, /^transport_error/, "asked"],
    };
    for (const [name, [answer, expected, source]] of Object.entries(cases)) {
      await test.step(name, () =>
        withModels(asked(provider), answer, async (models, world) => {
          const called = await callModel(models, { id: "q" });
          assert.equal(called.result, undefined);
          assert.match(textOf(called.error), expected);
          assert.ok(called.error instanceof ToolError);
          assert.equal((called.note.usage as JsonObject).source, source);
          const shown = JSON.stringify([called.note, called.error.message, called.error.fields]);
          assert.ok(!shown.includes(KEY) && !shown.includes("6789"), shown);
          if (name === "429") assert.equal(called.error.fields.retry_after_ms, 7000);
          assert.equal(world.requests.length, 1);
          assert.deepEqual(new Set(world.connects), new Set([`${new URL(URLS[provider]).host}:443`]));
        }));
    }
  });

  Deno.test(`models of ${provider} read no more than fits`, async (test) => {
    const huge = function* (): Generator<string> {
      yield* EVENTS[provider]().slice(0, 3);
      for (let i = 0; i < 1_000_000; i++) {
        yield `event: ping\ndata: ${JSON.stringify({ type: "ping", x: "y".repeat(5000) })}\n\n`;
      }
    };
    const endless = function* (): Generator<string> {
      yield "event: response.completed\ndata: ";
      for (let i = 0; i < 1_000_000; i++) yield "x".repeat(5000);
    };
    const comments = function* (): Generator<string> {
      for (let i = 0; i < 1_000_000; i++) yield `: ${"x".repeat(5000)}\n\n`;
    };
    const pieces = { huge, endless, comments };
    for (const [name, make] of Object.entries(pieces)) {
      await test.step(
        name,
        () =>
          withModels({ provider, toolResultBytes: 50_000 }, () => ({ pieces: make() }), async (models) => {
            const { error, note } = await callModel(models, { id: "q" }, 30_000);
            assert.match(textOf(error), /^response_byte_budget false/);
            assert.ok(Number(note.response_bytes) < 50_000 * 32 + 2_000_000);
            assert.equal((note.usage as JsonObject).source, "asked");
          }),
      );
    }
    await test.step("a body", () =>
      withModels({ provider, toolResultBytes: 50_000 }, { body: "x".repeat(50_001) }, async (models) => {
        assert.match(textOf((await callModel(models, { id: "q" })).error), /^response_byte_budget false/);
      }));
    await test.step("a small file that unpacks to a large one", () => {
      const bomb = new Uint8Array(gzipSync(new Uint8Array(20_000_000)));
      const answer = { body: bomb, headers: { "content-encoding": "gzip" } };
      return withModels({ provider, toolResultBytes: 50_000 }, answer, async (models) => {
        assert.match(textOf((await callModel(models, { id: "q" })).error), /^response_byte_budget false/);
      });
    });
  });

  Deno.test(`models of ${provider} end with their deadline, and count what was asked for`, () =>
    withModels(asked(provider), () => ({ pieces: EVENTS[provider](), everyMs: 200 }), async (models) => {
      const { error, late } = await callModel(models, { id: "q" }, 500);
      assert.match(textOf(error), /too late/);
      assert.equal(late.error_kind, "timeout");
      assert.equal((late.usage as JsonObject).source, "asked");
    }));

  Deno.test(`models of ${provider} give no agent a key that looks like the name of an error`, () => {
    const answer = { status: 400, body: { error: { type: "abcdefgh_ijklmnop", message: "x" } } };
    return withModels({ provider, key: "abcdefgh_ijklmnop" }, answer, async (models) => {
      const { error } = await callModel(models, { id: "q" });
      assert.match(textOf(error), /http status 400, \[redacted\]$/);
      assert.ok(error instanceof ToolError && error.fields.provider_error_type === "[redacted]");
    });
  });

  Deno.test(`models of ${provider} give no agent the key that an answer holds`, () => {
    const echo = provider === "openai.responses"
      ? { output: [{ type: "message", content: [{ type: "output_text", text: `key ${KEY} and ${btoa(KEY)}` }] }] }
      : {};
    const pieces = provider === "openai.responses"
      ? openaiEvents({ response: echo })
      : anthropicEvents().map((text) => text.replace('"text":"Z"', `"text":"key ${KEY.slice(0, 9)}"`))
        .map((text) => text.replace('"text":"w"', `"text":"${KEY.slice(9)}"`));
    return withModels(asked(provider), { pieces }, async (models) => {
      const { result } = await callModel(models, { id: "q" });
      const text = JSON.stringify(result);
      assert.match(text, /key \[redacted\]/);
      assert.ok(!text.includes(KEY) && !text.includes(btoa(KEY).slice(0, 20)));
    });
  });
}

Deno.test("models send no more than the budgets leave, also of calls that overlap", async () => {
  const usage = { input_tokens: 40, output_tokens: 60, total_tokens: 100 };
  const pieces = (): string[] => openaiEvents({ response: { usage } });
  await withModels(
    asked("openai.responses", { totalTokens: 900, maxOutputTokens: 400 }),
    () => ({ pieces: pieces(), everyMs: 5 }),
    async (models, world) => {
      const both = await Promise.all([callModel(models, { id: "q" }), callModel(models, { id: "q" })]);
      assert.deepEqual(both.map(({ error }) => error), [undefined, undefined]);
      const limits = world.requests.map(({ body }) => JSON.parse(body).max_output_tokens).toSorted((a, b) => b - a);
      const bytes = world.requests[0]?.body.length ?? 0;
      // The first may take all it wants; the second what is left when both questions are as many tokens as bytes
      assert.deepEqual(limits, [400, 900 - 400 - 2 * bytes]);
      // 200 are used now: the question again takes its bytes at most, and the rest is left for the answer
      const third = await callModel(models, { id: "q" });
      assert.equal(third.error, undefined);
      assert.equal(JSON.parse(world.requests[2]?.body ?? "{}").max_output_tokens, 400);
      const large = await callModel(models, { id: "q", input: "x".repeat(500) });
      assert.ok(large.error instanceof BudgetError && large.error.code === "model_tokens", String(large.error));
      assert.equal(large.error.limit, 900);
      assert.ok(large.error.attempted > 900);
      assert.equal(world.requests.length, 3);
    },
  );
});

Deno.test("models count what was asked for where an answer does not say what it cost", async () => {
  const cases: readonly [WorldAnswer, isCharged: boolean][] = [
    [{ pieces: openaiEvents({ response: { usage: null } }) }, true],
    [{ pieces: openaiEvents({ response: { usage: { input_tokens: -5, output_tokens: 1 } } }) }, true],
    [{ pieces: openaiEvents().slice(0, 5) }, true],
    [{ fault: "drop" }, true],
    [{ status: 429, body: "" }, false],
    [{ status: 500, body: "" }, false],
  ];
  for (const [answer, isCharged] of cases) {
    await withModels(
      asked("openai.responses", { totalTokens: 800, maxOutputTokens: 500 }),
      answer,
      async (models, world) => {
        await callModel(models, { id: "q" });
        await callModel(models, { id: "q" });
        const second = world.requests[1];
        const bytes = world.requests[0]?.body.length ?? 0;
        const left = isCharged ? 800 - (bytes + 500) - bytes : 500;
        if (left < 16) assert.equal(second, undefined, JSON.stringify(answer));
        else assert.equal(JSON.parse(second?.body ?? "{}").max_output_tokens, left, JSON.stringify(answer));
      },
    );
  }
  // An answer that was cut, and says what it cost, cost that
  const response = { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } };
  await withModels(
    asked("openai.responses"),
    { pieces: openaiEvents({ type: "response.incomplete", response }) },
    async (models) => {
      const { error, note } = await callModel(models, { id: "q" });
      assert.match(textOf(error), /^response_incomplete false/);
      assert.deepEqual(note.usage, { input_tokens: 36, output_tokens: 12, total_tokens: 48, source: "reported" });
    },
  );
});

Deno.test("models count nothing where nobody could be reached", async () => {
  const world = await startTlsWorld({});
  const run = makeRun(asked("openai.responses"), world);
  using client = makeHttpClient(run, { caPem: world.caPem });
  await world.close();
  const { error, note } = await callModel(makeModels(run, { client: () => client }), { id: "q" });
  assert.match(textOf(error), /^transport_error true/);
  assert.deepEqual(note.usage, { input_tokens: 0, output_tokens: 0, total_tokens: 0, source: "none" });
});

Deno.test("models answer no more calls than the plan says, and count a call that failed", () =>
  withModels(asked("openai.responses", { calls: 2 }), { status: 500 }, async (models, world) => {
    await callModel(models, { id: "q" });
    // What is refused before it is sent is no call
    const refused = await callModel(models, { id: "q", input: "x".repeat(99_900) });
    assert.ok(refused.error instanceof BudgetError && refused.error.code === "model_tokens", String(refused.error));
    await callModel(models, { id: "q" });
    const { error } = await callModel(models, { id: "q" });
    assert.ok(error instanceof BudgetError && error.code === "model_calls" && error.limit === 2, String(error));
    assert.equal(world.requests.length, 2);
  }));

Deno.test("models send no request that is larger than the budget for arguments, or for which there is no key", async () => {
  await withModels({ provider: "openai.responses", toolArgBytes: 200 }, { body: {} }, async (models, world) => {
    // The arguments may fit where their JSON text does not
    const { error } = await callModel(models, { id: "q", input: "\u0001".repeat(60) });
    assert.match(textOf(error), /^request_byte_budget false/);
    assert.deepEqual(world.connects, []);
  });
  await withModels({ provider: "openai.responses", key: "" }, { body: {} }, async (models, world) => {
    assert.match(textOf((await callModel(models, { id: "q" })).error), /^credential_not_configured false/);
    assert.deepEqual(world.connects, []);
  });
});

Deno.test("models ask no model without a name, also where any may be asked", () =>
  withModels(asked("openai.responses", { models: ["*"] }), { body: OPENAI_ANSWER }, async (models, world) => {
    const { error } = await callModel(models, { id: "q" });
    assert.ok(error instanceof ToolInputError && /"model" is missing/.test(error.message), String(error));
    assert.deepEqual((await callModel(models, { id: "q", model: "gpt-9" })).result, OPENAI_ANSWER);
    assert.equal(JSON.parse(world.requests[0]?.body ?? "{}").model, "gpt-9");
  }));

Deno.test("models serve the tool and the call that a question was made for, and no other", () =>
  withModels(asked("openai.responses"), { body: OPENAI_ANSWER }, async (models, world) => {
    const target = models.resolver("model.call").model({ id: "q" });
    const context = (tool: string, granted: CallContext["granted"]): CallContext => ({
      callId: "c1",
      tool,
      signal: new AbortController().signal,
      deadlineMs: Date.now() + 1000,
      granted,
      record: () => {},
      note: () => {},
    });
    const all = new Set(target.needs.map(({ requirement }) => requirement));
    const [first] = all;
    assert.equal(all.size, 2);
    assert.ok(first !== undefined);
    for (
      const [call, of] of [
        [context("other", all), target],
        [context("model.call", new Set()), target],
        [context("model.call", new Set([first])), target],
        [context("model.call", all), { ...target }],
      ] as const
    ) await assert.rejects(models.power(call, {}).generate(of), DenialError);
    assert.deepEqual(world.requests, []);
  }));

/** What a call of a run with recorded answers is given, and which model its record names. */
async function askRecorded(models: readonly string[], args: JsonObject): Promise<unknown> {
  const path = "${project}/answers.json";
  const responses = [
    { id: "summary", model: "gpt-5-mini", response: { text: "gpt" } },
    { id: "summary", model: "claude-sonnet-4-5", response: { text: "claude" } },
    { id: "any", response: { text: "whoever" } },
  ];
  const planned = { provider: null, fixture: { path, sha256: "" }, models };
  const world = { proxyUrl: "http://127.0.0.1:1" } as TlsWorld;
  const run = {
    ...makeRun({ provider: "openai.responses", model: planned }, world),
    fixtures: { [path]: JSON.stringify({ responses }) },
  };
  const answers = makeModels(run, { client: () => assert.fail("nobody is asked") });
  const resolve = answers.resolver("model.call") as unknown as FullResolve;
  const needs: Requirement[] = [];
  try {
    needs.push(...(await modelCall.prepare(args, resolve)).request.requirements);
  } catch (error) {
    return textOf(error);
  }
  const refusal = needs.find((need) => need.refusal !== undefined)?.refusal;
  if (refusal !== undefined) return refusal;
  const { result, note } = await callModel(answers, args);
  return [(result as { text: string }).text, note.model, needs.map(({ target }) => target)];
}

Deno.test("models answer with the recording of the model that is asked for, by the call or by default, and name it", async () => {
  const claude = ["claude", "claude-sonnet-4-5", ["model:claude-sonnet-4-5"]];
  const gpt = ["gpt", "gpt-5-mini", ["model:gpt-5-mini"]];
  assert.deepEqual(await askRecorded(["claude-sonnet-4-5"], { id: "summary" }), claude);
  assert.deepEqual(await askRecorded(["claude-sonnet-4-5", "*"], { id: "summary", model: "gpt-5-mini" }), gpt);
  assert.deepEqual(await askRecorded(["*", "claude-sonnet-4-5"], { id: "summary" }), claude);
  // Without a list the recordings name their own
  assert.deepEqual(await askRecorded([], { id: "summary" }), gpt);
  assert.deepEqual(await askRecorded([], { id: "summary", model: "claude-sonnet-4-5" }), claude);
  // One that names no model answers for each
  assert.deepEqual(await askRecorded(["gpt-9"], { id: "any" }), ["whoever", "gpt-9", ["model:gpt-9"]]);
  assert.deepEqual(await askRecorded([], { id: "any" }), ["whoever", null, ["model:*"]]);
});

Deno.test("models have no answer of another model for the default one, and no default among all", async () => {
  assert.equal(await askRecorded(["gpt-9"], { id: "summary" }), "model_fixture_response_not_found");
  assert.equal(
    await askRecorded(["*"], { id: "summary" }),
    'ToolInputError: Cannot call "model.call": "model" is missing, and there is no default',
  );
});
