import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { ControlError, DataError, DenialError, ToolError, ToolInputError } from "../../src/errors.ts";
import type { RecordBody } from "../../src/audit/record.ts";
import type { CallContext } from "../../src/host/context.ts";
import { makeNetwork } from "../../src/host/network.ts";
import { npmMetadata } from "../../src/tools/supply_chain/npm_metadata.ts";
import { withRegistry } from "../../src/tools/supply_chain/npm_registry.ts";
import { osvQuery } from "../../src/tools/supply_chain/osv_query.ts";
import { callTool, makeRun, withNetwork } from "../net/network_run.ts";
import { startTlsWorld, type TlsWorld, type WorldAnswer, type WorldHandler } from "../net/tls_world.ts";

const OSV = "POST https://api.osv.dev/v1/query";
const LODASH = { package: { ecosystem: "npm", name: "lodash" }, version: "4.17.20" };
const PROXY = { proxy: { fromEnv: "TEST_PROXY" }, ca: { fromEnv: "TEST_CA" } } as const;

function through(world: TlsWorld): { network: typeof PROXY; env: Record<string, string> } {
  return { network: PROXY, env: { TEST_PROXY: world.proxyUrl, TEST_CA: world.caPem } };
}

async function withWorld<T>(
  handlers: WorldHandler | Record<string, WorldHandler | WorldAnswer>,
  body: (world: TlsWorld) => Promise<T>,
): Promise<T> {
  const world = await startTlsWorld(handlers);
  try {
    return await body(world);
  } finally {
    await world.close();
  }
}

/** One OSV call against one answer; the error it must end with. */
async function failing(
  answer: WorldAnswer | WorldHandler,
  options: { toolResultBytes?: number; retryAttempts?: number; timeoutMs?: number } = {},
): Promise<{ error: ToolError; world: TlsWorld; records: readonly RecordBody[] }> {
  return await withWorld({ [OSV]: answer }, async (world) => {
    const { network, env } = through(world);
    const { toolResultBytes = 1_000_000, retryAttempts = 0, timeoutMs = 10_000 } = options;
    const run = { network: { ...network, retryAttempts }, env, toolResultBytes };
    const called = await withNetwork(run, (it) => callTool(it, osvQuery, { args: LODASH, timeoutMs }));
    assert.ok(called.error instanceof ToolError, String(called.error));
    return { error: called.error, world, records: called.records };
  });
}

Deno.test("send() asks the pinned URL with the declared headers, through the named proxy and CA", async () => {
  await withWorld({ [OSV]: { body: { vulns: [{ id: "GHSA-35jh-r3h4-6jhm" }] } } }, async (world) => {
    const called = await withNetwork(through(world), (it) => callTool(it, osvQuery, { args: LODASH }));
    assert.deepEqual(called.result, { vulns: [{ id: "GHSA-35jh-r3h4-6jhm" }] });
    assert.deepEqual(world.connects, ["api.osv.dev:443"]);
    const [request] = world.requests;
    assert.equal(world.requests.length, 1);
    assert.equal(request?.url, "https://api.osv.dev/v1/query");
    assert.deepEqual(JSON.parse(request?.body ?? ""), LODASH);
    const { "accept-encoding": _coding, "accept-language": _language, ...headers } = request?.headers ?? {};
    assert.deepEqual(headers, {
      accept: "application/json",
      "content-length": String(request?.body.length),
      "content-type": "application/json",
      host: "api.osv.dev",
      "user-agent": "twokey-osv-query",
    });
    const { duration_ms: durationMs, ...note } = called.note;
    assert.equal(typeof durationMs, "number");
    assert.deepEqual(note, {
      endpoint: OSV,
      transport: "pinned_https",
      freshness: "live",
      requests: 1,
      response_bytes: 40,
      status_code: 200,
      cache_hit: false,
      pages: 1,
      vulns: 1,
    });
    assert.deepEqual(called.requirements, [{ kind: "network", target: OSV, description: OSV }]);
  });
});

Deno.test("send() does not trust a server whose CA the plan does not name", async () => {
  await withWorld({ [OSV]: { body: {} } }, async (world) => {
    const run = { network: { proxy: PROXY.proxy, retryAttempts: 3 }, env: { TEST_PROXY: world.proxyUrl } };
    const { error } = await withNetwork(run, (it) => callTool(it, osvQuery, { args: LODASH }));
    assert.ok(error instanceof ToolError);
    assert.equal(error.code, "transport_error");
    assert.equal(error.retryable, false);
    assert.match(error.message, /certificate is not trusted$/);
    assert.equal(world.requests.length, 0);
  });
});

Deno.test("send() maps every kind of bad answer to its error kind, and keeps bodies and headers out of it", async () => {
  const secret = { "x-secret": "hunter22", location: "http://169.254.169.254/latest" };
  const cases: readonly [WorldAnswer, string, boolean, number | undefined][] = [
    [{ status: 404, body: "hunter22", headers: secret }, "http_nonretryable", false, 404],
    [{ status: 403, body: "rate limit", headers: secret }, "http_nonretryable", false, 403],
    [{ status: 206, body: "{}", headers: secret }, "http_nonretryable", false, 206],
    [{ status: 429, headers: secret }, "http_retryable", true, 429],
    [{ status: 500, headers: secret }, "http_retryable", true, 500],
    [{ status: 301, headers: secret }, "redirect_refused", false, 301],
    [{ status: 302, headers: secret }, "redirect_refused", false, 302],
    [{ status: 304 }, "redirect_refused", false, 304],
    [{ status: 200, body: "hunter22" }, "invalid_json", false, 200],
    [{ status: 200, body: "" }, "invalid_json", false, 200],
    [{ status: 200, body: "\ufeff{}" }, "invalid_json", false, 200],
    [{ status: 200, body: new Uint8Array([0x22, 0xff, 0x22]) }, "invalid_json", false, 200],
    [{ status: 200, body: `${"[".repeat(101)}${"]".repeat(101)}` }, "invalid_json", false, 200],
    [{ fault: "drop" }, "transport_error", true, undefined],
    [{ fault: "cut", body: "{" }, "transport_error", true, undefined],
    [{ body: "{}", headers: { "content-encoding": "gzip, gzip" } }, "transport_error", false, undefined],
    [{ body: "{}", headers: { "content-encoding": "zstd" } }, "transport_error", false, undefined],
    [{ body: "{}", headers: { "content-encoding": "deflate" } }, "transport_error", false, undefined],
  ];
  for (const [answer, kind, retryable, status] of cases) {
    const { error, world } = await failing(answer);
    const about = JSON.stringify(answer).slice(0, 80);
    assert.equal(error.code, kind, about);
    assert.equal(error.retryable, retryable, about);
    assert.equal(error.fields.status_code, status, about);
    assert.equal(error.fields.error_kind, kind);
    assert.ok(error.message.startsWith(`Cannot read ${OSV}: `), error.message);
    const shown = JSON.stringify([error.message, error.fields]);
    assert.ok(!shown.includes("hunter22") && !shown.includes("169.254"), shown);
    assert.deepEqual(new Set(world.connects), new Set(["api.osv.dev:443"]), about);
  }
});

Deno.test("send() stops reading at the byte budget, counted after decompression", async () => {
  const exact = JSON.stringify({ vulns: [], pad: "x".repeat(970) });
  const bytes = exact.length;
  const over = await failing({ body: exact }, { toolResultBytes: bytes - 1 });
  assert.equal(over.error.code, "response_byte_budget");
  assert.match(over.error.message, new RegExp(`larger than ${bytes - 1} bytes$`));
  await withWorld({ [OSV]: { body: exact } }, async (world) => {
    const run = { ...through(world), toolResultBytes: bytes };
    const called = await withNetwork(run, (it) => callTool(it, osvQuery, { args: LODASH }));
    assert.equal(called.error, undefined);
    assert.equal(called.note.response_bytes, bytes);
  });
  const bomb = new Uint8Array(gzipSync(new Uint8Array(256 * 1_024 * 1_024)));
  assert.ok(bomb.byteLength < 300_000);
  const before = Deno.memoryUsage().rss;
  const { error } = await failing({ body: bomb, headers: { "content-encoding": "gzip" } });
  assert.equal(error.code, "response_byte_budget");
  assert.ok(Deno.memoryUsage().rss - before < 128 * 1_024 * 1_024, "the bomb was kept in memory");
});

Deno.test("send() reads an answer that is compressed once", async () => {
  const body = new Uint8Array(gzipSync(JSON.stringify({ vulns: [] })));
  await withWorld({ [OSV]: { body, headers: { "content-encoding": "gzip" } } }, async (world) => {
    const called = await withNetwork(through(world), (it) => callTool(it, osvQuery, { args: LODASH }));
    assert.deepEqual(called.result, { vulns: [] });
    assert.equal(called.note.response_bytes, 12);
  });
});

Deno.test("send() counts the pages of one call against one budget", async () => {
  let page = 0;
  const handler = () => ({ body: { vulns: [{ id: "A", pad: "x".repeat(400) }], next_page_token: `t${++page}` } });
  const { error, world } = await failing(handler, { toolResultBytes: 1_000 });
  assert.equal(error.code, "response_byte_budget");
  assert.equal(world.requests.length, 3);
});

Deno.test("send() retries with a real wait, records each, and honours Retry-After in seconds", async () => {
  let count = 0;
  const handler = (): WorldAnswer =>
    ++count === 1
      ? { status: 503 }
      : count === 2
      ? { status: 429, headers: { "retry-after": "1" } }
      : { body: { vulns: [] } };
  await withWorld({ [OSV]: handler }, async (world) => {
    const run = { ...through(world), network: { ...PROXY, retryAttempts: 3 }, wiring: { random: () => 0 } };
    const startMs = performance.now();
    const called = await withNetwork(run, (it) => callTool(it, osvQuery, { args: LODASH }));
    const tookMs = performance.now() - startMs;
    assert.deepEqual(called.result, { vulns: [] });
    assert.ok(tookMs >= 1_195, `waited ${tookMs} ms in all`);
    const retries = called.records.map(({ elapsed_ms: _elapsed, ...rest }) => rest);
    const common = {
      type: "named_network_retry",
      endpoint: OSV,
      transport: "pinned_https",
      max_attempts: 3,
      error_kind: "http_retryable",
      retryable: true,
      retry_policy: "bounded",
    };
    assert.deepEqual(retries, [
      { ...common, attempt: 1, status_code: 503, backoff_ms: 200, retry_after_ms: null },
      { ...common, attempt: 2, status_code: 429, backoff_ms: 1_000, retry_after_ms: 1_000 },
    ]);
  });
});

Deno.test("send() gives up when the retries are used up, and never retries what cannot get better", async () => {
  const used = await failing({ status: 500 }, { retryAttempts: 2 });
  assert.equal(used.error.code, "http_retryable");
  assert.equal(used.error.fields.retry_attempts, 2);
  assert.equal(used.error.fields.retry_max_attempts, 2);
  assert.equal(used.world.requests.length, 3);
  for (const answer of [{ status: 404 }, { status: 302 }, { body: "x" }]) {
    const { world, records } = await failing(answer, { retryAttempts: 3 });
    assert.equal(world.requests.length, 1);
    assert.deepEqual(records, []);
  }
});

Deno.test("send() does not start a wait that ends past the deadline", async () => {
  const answer = { status: 429, headers: { "retry-after": "3600" } };
  const { error, world, records } = await failing(answer, { retryAttempts: 3 });
  assert.equal(error.code, "http_retryable");
  assert.equal(error.fields.retry_after_ms, 3_600_000);
  assert.equal(world.requests.length, 1);
  assert.deepEqual(records, []);
});

Deno.test("send() ends at the deadline with the signal's reason, while waiting for an answer or a retry", async () => {
  for (const answer of [{ fault: "hang" }, { status: 503, headers: { "retry-after": "2" } }] as WorldAnswer[]) {
    await withWorld({ [OSV]: answer }, async (world) => {
      const run = { ...through(world), network: { ...PROXY, retryAttempts: 3 } };
      const abort = new AbortController();
      const timer = setTimeout(() => abort.abort(new DOMException("over", "TimeoutError")), 300);
      const startMs = performance.now();
      const options = { args: LODASH, signal: abort.signal };
      const called = await withNetwork(run, (it) => callTool(it, osvQuery, options));
      clearTimeout(timer);
      assert.equal(called.error, abort.signal.reason);
      assert.equal(called.note.error_kind, "timeout");
      assert.ok(performance.now() - startMs < 1_500);
    });
  }
});

Deno.test("send() answers a repeated request from memory, and sends equal ones that overlap once", async () => {
  await withWorld({ [OSV]: { body: { vulns: [{ id: "A" }] } } }, async (world) => {
    await withNetwork(through(world), async (it) => {
      const calls = await Promise.all([1, 2, 3].map(() => callTool(it, osvQuery, { args: LODASH })));
      assert.equal(world.requests.length, 1);
      for (const { result } of calls) assert.deepEqual(result, { vulns: [{ id: "A" }] });
      assert.deepEqual(calls.map(({ note }) => note.freshness), ["live", "cached_in_run", "cached_in_run"]);
      const again = await callTool(it, osvQuery, { args: { version: "4.17.20", package: LODASH.package } });
      assert.equal(world.requests.length, 1);
      assert.equal(again.note.transport, "memory_cache");
      assert.equal(again.note.cache_hit, true);
      assert.equal(again.note.origin, "pinned_https");
      assert.equal(again.note.response_bytes, 0);
      assert.equal(again.records[0]?.type, "named_network_cache_hit");
      assert.equal(again.records[0]?.freshness, "cached_in_run");
      await callTool(it, osvQuery, { args: { package: LODASH.package } });
      assert.equal(world.requests.length, 2);
    });
  });
});

Deno.test("send() keeps no failed answer", async () => {
  let count = 0;
  await withWorld({ [OSV]: () => ++count === 1 ? { status: 404 } : { body: {} } }, async (world) => {
    await withNetwork(through(world), async (it) => {
      assert.ok((await callTool(it, osvQuery, { args: LODASH })).error instanceof ToolError);
      assert.deepEqual((await callTool(it, osvQuery, { args: LODASH })).result, { vulns: [] });
    });
  });
});

Deno.test("send() lets one call's abort not end another call that waits for the same answer", async () => {
  let count = 0;
  const handler = (): WorldAnswer => ++count === 1 ? { fault: "hang" } : { body: { vulns: [] } };
  await withWorld({ [OSV]: handler }, async (world) => {
    await withNetwork(through(world), async (it) => {
      const abort = new AbortController();
      const first = callTool(it, osvQuery, { args: LODASH, signal: abort.signal });
      const second = callTool(it, osvQuery, { args: LODASH });
      setTimeout(() => abort.abort(new Error("first only")), 200);
      assert.equal((await first).error, abort.signal.reason);
      assert.deepEqual((await second).result, { vulns: [] });
    });
  });
});

Deno.test("send() refuses a target of another tool, of another maker, or without a grant", async () => {
  const network = makeNetwork(makeRun());
  const target = network.resolver("osv.query").endpoint("query");
  const call = (tool: string, granted: readonly unknown[]): CallContext =>
    ({
      tool,
      granted: new Set(granted),
      signal: new AbortController().signal,
    }) as unknown as CallContext;
  const forged = { ...target, url: "https://evil.test/" };
  const attempts = [
    [call("osv.query", []), target],
    [call("npm.metadata", [target.requirement]), target],
    [call("osv.query", [target.requirement]), forged],
  ] as const;
  for (const [context, tried] of attempts) {
    await assert.rejects(network.power(context, {}).send(tried), (error) => {
      assert.ok(error instanceof DenialError);
      assert.equal(error.code, "not_in_request");
      return true;
    });
  }
});

Deno.test("resolver() gives an endpoint that the plan does not know a refusal, not a URL", () => {
  const network = makeNetwork(makeRun());
  for (const [tool, name] of [["osv.query", "other"], ["github.repo.read", "query"], ["osv.query", "constructor"]]) {
    const { requirement } = network.resolver(tool ?? "").endpoint(name ?? "");
    assert.equal(requirement.refusal, "endpoint_not_granted");
  }
});

Deno.test("send() asks only the fixtures where the plan names some", async () => {
  await withWorld({ [OSV]: { body: { vulns: [{ id: "LIVE" }] } } }, async (world) => {
    const fixture = JSON.stringify({ queries: [{ ...LODASH, response: { vulns: [{ id: "RECORDED" }] } }] });
    const run = { ...through(world), fixtures: { "${project}/osv.json": fixture } };
    await withNetwork(run, async (it) => {
      it.open();
      assert.equal(await it.ipv4Canary(), undefined);
      const hit = await callTool(it, osvQuery, { args: LODASH });
      assert.deepEqual(hit.result, { vulns: [{ id: "RECORDED" }] });
      assert.equal(hit.note.transport, "fixture");
      assert.equal(hit.note.freshness, "fixture");
      assert.equal(hit.note.fixture, "${project}/osv.json");
      const miss = await callTool(it, osvQuery, { args: { ...LODASH, version: "4.17.21" } });
      assert.ok(miss.error instanceof ToolError);
      assert.equal(miss.error.code, "fixture_miss");
      assert.equal(miss.error.fields.transport, "fixture");
      const npm = await callTool(it, npmMetadata, { args: { package: "lodash" } });
      assert.ok(npm.error instanceof ToolError);
      assert.equal(npm.error.code, "fixture_miss");
    });
    assert.deepEqual(world.connects, []);
  });
});

Deno.test("send() judges a recorded answer as it judges a live one", async () => {
  const exchange = (status: number, body?: unknown) =>
    JSON.stringify({
      version: 1,
      recorded: "2026-07-01",
      exchanges: [{
        request: { method: "POST", url: "https://api.osv.dev/v1/query", body: LODASH },
        response: { status, ...(body === undefined ? {} : { body }) },
      }],
    });
  const cases = [
    [exchange(404, {}), "http_nonretryable"],
    [exchange(503, {}), "http_retryable"],
    [exchange(302, {}), "redirect_refused"],
    [exchange(200), "invalid_json"],
    [exchange(200, [1]), "invalid_json"],
    [exchange(200, { vulns: [], pad: "x".repeat(2_000) }), "response_byte_budget"],
  ] as const;
  for (const [fixture, code] of cases) {
    const run = { fixtures: { f: fixture }, toolResultBytes: 1_000, network: { retryAttempts: 3 } };
    const { error, records } = await withNetwork(run, (it) => callTool(it, osvQuery, { args: LODASH }));
    assert.ok(error instanceof ToolError);
    assert.equal(error.code, code);
    assert.deepEqual(records, []);
  }
});

Deno.test("makeNetwork() refuses a fixture that is wrong or was not read", () => {
  assert.throws(() => makeNetwork(makeRun({ fixtures: { f: "{" } })), DataError);
  const run = makeRun({ network: { fixtures: [{ path: "f", sha256: "" }] } });
  assert.throws(() => makeNetwork(run), /was not read$/);
});

Deno.test("open() refuses a proxy or a CA that cannot be used, without showing its value", () => {
  const values = ["ftp://p:1", "http://p:1/path", "not a url", "http://user:hunter22@p:1/?x", "socks5://p:1"];
  for (const value of values) {
    const network = makeNetwork(makeRun({ network: { proxy: { fromEnv: "P" } }, env: { P: value } }));
    assert.throws(() => network.open(), (error) => {
      assert.ok(error instanceof ControlError);
      assert.equal(error.code, "proxy_unusable");
      assert.ok(!error.message.includes(value) && !error.message.includes("hunter22"));
      return true;
    });
  }
  for (const value of ["/etc/ssl/ca.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"]) {
    const network = makeNetwork(makeRun({ network: { ca: { fromEnv: "C" } }, env: { C: value } }));
    assert.throws(() => network.open(), { name: "ControlError", code: "ca_unusable" });
  }
  const unread = makeNetwork(makeRun({ network: { ca: { file: "${project}/ca.pem", sha256: "0".repeat(64) } } }));
  assert.throws(() => unread.open(), { name: "ControlError", code: "ca_unusable" });
  const unset = makeNetwork(makeRun({ network: PROXY }));
  unset.open();
  unset.close();
});

Deno.test("ipv4Canary() finds the client bound, and is not needed where the policy lifts the binding", async () => {
  assert.deepEqual(await makeNetwork(makeRun()).ipv4Canary(), { held: true, by: "bound" });
  assert.equal(await makeNetwork(makeRun({ network: { ipv6: true } })).ipv4Canary(), undefined);
});

Deno.test("send() takes npm names in their only encoded form, and says when a package does not exist", async () => {
  const scoped = { name: "@types/node", "dist-tags": { latest: "1.0.0" }, versions: {} };
  const handler: WorldHandler = ({ path }) =>
    path === "/@types%2fnode" ? { body: scoped } : { status: 404, body: { error: "Not found" } };
  await withWorld(handler, async (world) => {
    await withNetwork(through(world), async (it) => {
      const found = await callTool(it, npmMetadata, { args: { package: "@types/node" } });
      assert.deepEqual(found.result, scoped);
      assert.match(world.requests[0]?.headers.accept ?? "", /^application\/vnd\.npm\.install-v1\+json;/);
      assert.equal(world.requests[0]?.headers["user-agent"], "twokey-npm-metadata");
      const legacy = await callTool(it, npmMetadata, { args: { package: "JSONStream" } });
      assert.ok(legacy.error instanceof ToolError);
      assert.equal(legacy.error.code, "http_nonretryable");
      assert.equal(legacy.error.fields.status_code, 404);
      assert.equal(world.requests[1]?.path, "/JSONStream");
      for (const name of ["..", "a?b", "@x/..", "a%2fb"]) {
        assert.ok((await callTool(it, npmMetadata, { args: { package: name } })).error instanceof ToolInputError);
      }
    });
    assert.equal(world.requests.length, 2);
    assert.deepEqual(new Set(world.connects), new Set([withRegistry("<npm-registry>:443")]));
  });
});
