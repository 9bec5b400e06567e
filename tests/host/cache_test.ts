import assert from "node:assert/strict";
import type { RecordBody } from "../../src/audit/record.ts";
import { type CacheRequest, type NetworkCache, openCache } from "../../src/host/cache.ts";
import type { RawReply } from "../../src/plan/raw_reply.ts";
import { ToolError } from "../../src/errors.ts";
import type { NetworkPlan } from "../../src/plan/plan.ts";
import { osvQuery } from "../../src/tools/supply_chain/osv_query.ts";
import { callTool, makeRun, type RunOptions, withNetwork } from "../net/network_run.ts";
import { startTlsWorld } from "../net/tls_world.ts";

type CachePlan = NonNullable<NetworkPlan["cache"]>;

const PLAN: CachePlan = { dir: "${state}/cache", mode: "read-through", maxAgeMs: null, maxEntries: null };
const RAW: RawReply = { status: 200, headers: { etag: '"1"' }, text: '{"vulns":[],"é":"\\u0000"}', bytes: 26 };
const LIMIT = 1_000;

function request(change: Partial<CacheRequest> = {}): CacheRequest {
  const url = "https://api.osv.dev/v1/query";
  return {
    tool: "osv.query",
    method: "POST",
    url,
    endpoint: `POST ${url}`,
    body: "{}",
    headers: "{}",
    credential: "none",
    ...change,
  };
}

interface Opened {
  readonly cache: NetworkCache;
  readonly records: RecordBody[];
  readonly call: { limit: number; record(body: RecordBody): void };
}

function open(state: string, plan: Partial<CachePlan> = {}, options: RunOptions = {}): Opened {
  const cache = openCache(makeRun({ network: { cache: { ...PLAN, ...plan } }, state, ...options }));
  assert.ok(cache !== undefined);
  const records: RecordBody[] = [];
  return { cache, records, call: { limit: LIMIT, record: (body) => void records.push(body) } };
}

async function withState(body: (state: string) => Promise<void>): Promise<void> {
  const state = await Deno.makeTempDir({ prefix: "cache_test_" });
  try {
    await body(state);
  } finally {
    await Deno.remove(state, { recursive: true });
  }
}

async function onlyFile(state: string): Promise<string> {
  const names = await listFiles(state);
  assert.equal(names.length, 1);
  return `${state}/cache/${names[0]}`;
}

async function listFiles(state: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(`${state}/cache`)) names.push(name);
  return names.toSorted();
}

function types(records: readonly RecordBody[]): string[] {
  return records.map(({ type }) => type);
}

Deno.test("openCache() gives none where the plan names none", () => {
  assert.equal(openCache(makeRun()), undefined);
});

Deno.test("NetworkCache.read() returns what another run of the same user wrote, with its age", async () => {
  await withState(async (state) => {
    const first = open(state, {}, { now: () => 1_000 });
    assert.deepEqual(await first.cache.read(request(), first.call), { kind: "miss" });
    await first.cache.write(request(), RAW, first.call);
    assert.deepEqual(types(first.records), ["named_network_cache_miss", "named_network_cache_write"]);
    assert.equal(first.records[0]?.reason, "absent");
    const path = await onlyFile(state);
    assert.equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
    assert.equal(((await Deno.stat(`${state}/cache`)).mode ?? 0) & 0o777, 0o700);
    const second = open(state, { maxAgeMs: 500 }, { now: () => 1_400 });
    const name = path.split("/").at(-1);
    const portable = "${state}/cache/" + name;
    assert.match(name ?? "", /^osv\.query-[0-9a-f]{64}\.json$/);
    const found = await second.cache.read(request(), second.call);
    assert.deepEqual(found, { kind: "hit", raw: RAW, storedMs: 1_000, ageMs: 400, path: portable });
    assert.deepEqual(second.records, [{
      type: "named_network_cache_hit",
      endpoint: request().endpoint,
      cache_path: portable,
      cache_mode: "read-through",
      cache_scope: "persistent",
      freshness: "cached_persistent",
      stored_ms: 1_000,
      age_ms: 400,
      max_age_ms: 500,
    }]);
  });
});

Deno.test("NetworkCache.read() misses for another tool, method, URL, body or header", async () => {
  await withState(async (state) => {
    const { cache, call } = open(state);
    await cache.write(request(), RAW, call);
    const changes = [{ tool: "x" }, { method: "GET" }, { url: "https://x/" }, { body: '{"a":1}' }, { headers: "[]" }];
    for (const change of changes) {
      assert.deepEqual(await cache.read(request(change), call), { kind: "miss" }, JSON.stringify(change));
    }
  });
});

Deno.test("NetworkCache.read() evicts a stale envelope, and keeps it offline, where it fails closed", async () => {
  await withState(async (state) => {
    const writer = open(state, {}, { now: () => 1_000 });
    await writer.cache.write(request(), RAW, writer.call);
    const offline = open(state, { mode: "offline", maxAgeMs: 500 }, { now: () => 1_501 });
    assert.deepEqual(await offline.cache.read(request(), offline.call), { kind: "stale", ageMs: 501 });
    assert.equal(offline.records[0]?.disposition, "failed_closed");
    await onlyFile(state);
    const edge = open(state, { maxAgeMs: 500 }, { now: () => 1_500 });
    assert.equal((await edge.cache.read(request(), edge.call)).kind, "hit");
    const live = open(state, { maxAgeMs: 500 }, { now: () => 1_501 });
    assert.deepEqual(await live.cache.read(request(), live.call), { kind: "stale", ageMs: 501 });
    assert.deepEqual(types(live.records), ["named_network_cache_stale", "named_network_cache_eviction"]);
    assert.equal(live.records[0]?.disposition, "evicted");
    assert.equal(live.records[1]?.disposition, "deleted_stale_envelope");
    assert.deepEqual(await listFiles(state), []);
  });
});

Deno.test("NetworkCache.read() takes an envelope of the future for stale", async () => {
  await withState(async (state) => {
    const writer = open(state, {}, { now: () => 9_000 });
    await writer.cache.write(request(), RAW, writer.call);
    const reader = open(state, { mode: "offline" }, { now: () => 8_999 });
    assert.equal((await reader.cache.read(request(), reader.call)).kind, "stale");
  });
});

Deno.test("NetworkCache.read() serves no envelope that was edited, cut, moved or sealed by another key", async () => {
  await withState(async (state) => {
    const { cache, call } = open(state);
    await cache.write(request(), RAW, call);
    const path = await onlyFile(state);
    const good = await Deno.readTextFile(path);
    await cache.write(request({ body: '{"other":1}' }), RAW, call);
    const otherPath = `${state}/cache/${(await listFiles(state)).find((name) => !path.endsWith(name))}`;
    const other = await Deno.readTextFile(otherPath);
    const cases: readonly [string, string | Uint8Array][] = [
      ["unauthenticated", good.replace('"status":200', '"status":201')],
      ["unauthenticated", good.replace("vulns", "vulnz")],
      ["unauthenticated", good.replace('"stored_ms":', '"stored_ms": ')],
      ["unauthenticated", `${good.slice(0, 20)}${good.slice(21)}`],
      ["malformed", good.slice(0, -10)],
      ["malformed", `${good}\n`],
      ["malformed", ""],
      ["malformed", "{}"],
      ["malformed", new Uint8Array([0xff, 0xfe])],
      ["mismatch", other],
      ["oversize", `${good.slice(0, -1)}${" ".repeat(2 * LIMIT + 65_536)}\n`],
    ];
    for (const [reason, content] of cases) {
      await Deno.writeFile(path, typeof content === "string" ? new TextEncoder().encode(content) : content);
      const reader = open(state);
      assert.deepEqual(await reader.cache.read(request(), reader.call), { kind: "miss" }, reason);
      assert.deepEqual(types(reader.records), ["named_network_cache_error", "named_network_cache_miss"]);
      assert.deepEqual(reader.records.map((record) => record.reason), [reason, reason]);
      assert.equal(reader.records[0]?.policy, "ignored");
    }
    await Deno.writeTextFile(path, good);
    const foreign = open(state, {}, { cacheKey: new Uint8Array(32).fill(8) });
    assert.deepEqual(await foreign.cache.read(request(), foreign.call), { kind: "miss" });
    assert.equal(foreign.records[1]?.reason, "unauthenticated");
    const own = open(state);
    assert.equal((await own.cache.read(request(), own.call)).kind, "hit");
  });
});

Deno.test("NetworkCache follows no link: neither the folder's nor an envelope's", async () => {
  await withState(async (state) => {
    const { cache, call } = open(state);
    await cache.write(request(), RAW, call);
    const path = await onlyFile(state);
    await Deno.rename(path, `${state}/elsewhere.json`);
    await Deno.symlink(`${state}/elsewhere.json`, path);
    const linked = open(state);
    assert.deepEqual(await linked.cache.read(request(), linked.call), { kind: "miss" });
    assert.equal(linked.records[1]?.reason, "link");
    await linked.cache.write(request(), RAW, linked.call);
    assert.ok((await Deno.lstat(path)).isFile);
    await Deno.rename(`${state}/cache`, `${state}/real`);
    await Deno.symlink(`${state}/real`, `${state}/cache`);
    const folder = open(state);
    assert.deepEqual(await folder.cache.read(request(), folder.call), { kind: "miss" });
    await folder.cache.write(request({ body: "[]" }), RAW, folder.call);
    assert.deepEqual(folder.records.map(({ type, reason }) => [type, reason]), [
      ["named_network_cache_error", "directory_link"],
      ["named_network_cache_miss", "directory_link"],
      ["named_network_cache_error", "directory_link"],
    ]);
  });
});

Deno.test("NetworkCache.write() records that it failed, leaves nothing behind and names no host path", async () => {
  await withState(async (state) => {
    await Deno.writeTextFile(`${state}/cache`, "a file where the folder should be");
    const { cache, records, call } = open(state);
    await cache.write(request(), RAW, call);
    assert.deepEqual(types(records), ["named_network_cache_error"]);
    assert.equal(records[0]?.operation, "write");
    assert.ok(!JSON.stringify(records).includes(state));
  });
});

Deno.test("NetworkCache.write() makes an open folder private", async () => {
  await withState(async (state) => {
    await Deno.mkdir(`${state}/cache`, { mode: 0o755 });
    const { cache, call } = open(state);
    await cache.write(request(), RAW, call);
    assert.equal(((await Deno.stat(`${state}/cache`)).mode ?? 0) & 0o777, 0o700);
  });
});

Deno.test("NetworkCache prunes the oldest envelopes of one tool, on write and on the first read of a run", async () => {
  await withState(async (state) => {
    let now = 0;
    const writer = open(state, {}, { now: () => now });
    await writer.cache.write(request({ tool: "npm.metadata" }), RAW, writer.call);
    for (now = 1; now <= 3; now++) await writer.cache.write(request({ body: `${now}` }), RAW, writer.call);
    const half = `${state}/cache/osv.query-${"0".repeat(64)}.json.${crypto.randomUUID()}.tmp`;
    await Deno.writeTextFile(half, "left by a run that died");
    await Deno.utime(half, new Date(0), new Date(0));
    now = 10_000_000;
    const two = open(state, { maxEntries: 2 }, { now: () => now });
    assert.equal((await two.cache.read(request({ body: "1" }), two.call)).kind, "hit");
    assert.deepEqual(types(two.records), ["named_network_cache_eviction", "named_network_cache_hit"]);
    assert.equal(two.records[0]?.disposition, "retention_prune");
    assert.equal((await two.cache.read(request({ body: "2" }), two.call)).kind, "miss");
    await two.cache.write(request({ body: "4" }), RAW, two.call);
    const left = await listFiles(state);
    assert.equal(left.filter((name) => name.startsWith("osv.query-")).length, 2);
    assert.equal(left.filter((name) => name.startsWith("npm.metadata-")).length, 1);
    assert.equal((await two.cache.read(request({ body: "3" }), two.call)).kind, "hit");
    assert.equal((await two.cache.read(request({ body: "4" }), two.call)).kind, "hit");
  });
});

Deno.test("NetworkCache.write() does nothing offline", async () => {
  await withState(async (state) => {
    const { cache, records, call } = open(state, { mode: "offline" });
    await cache.write(request(), RAW, call);
    assert.deepEqual(records, []);
    await assert.rejects(Deno.lstat(`${state}/cache`), Deno.errors.NotFound);
  });
});

Deno.test("send() goes through the cache: live, then persistent in the next run, then a miss offline", async () => {
  const args = { package: { ecosystem: "npm", name: "lodash" } };
  const world = await startTlsWorld({ "POST https://api.osv.dev/v1/query": { body: { vulns: [{ id: "A" }] } } });
  try {
    await withState(async (state) => {
      const base = { proxy: { fromEnv: "P" }, ca: { fromEnv: "C" } };
      const env = { P: world.proxyUrl, C: world.caPem };
      const run = (cache: Partial<CachePlan>) => ({ network: { ...base, cache: { ...PLAN, ...cache } }, env, state });
      const first = await withNetwork(run({}), (it) => callTool(it, osvQuery, { args }));
      assert.equal(first.note.freshness, "live");
      assert.deepEqual(types(first.records), ["named_network_cache_miss", "named_network_cache_write"]);
      await withNetwork(run({ maxAgeMs: 60_000 }), async (it) => {
        const second = await callTool(it, osvQuery, { args });
        assert.deepEqual(second.result, { vulns: [{ id: "A" }] });
        assert.equal(second.note.transport, "persistent_cache");
        assert.equal(second.note.freshness, "cached_persistent");
        assert.equal(second.note.response_bytes, 0);
        assert.equal(second.note.max_age_ms, 60_000);
        const third = await callTool(it, osvQuery, { args });
        assert.equal(third.note.freshness, "cached_in_run");
        assert.equal(third.note.origin, "persistent_cache");
        assert.equal(third.note.stored_ms, second.note.stored_ms);
      });
      await withNetwork(run({ mode: "offline" }), async (it) => {
        assert.equal((await callTool(it, osvQuery, { args })).note.transport, "persistent_cache");
        const miss = await callTool(it, osvQuery, { args: { ...args, version: "1.0.0" } });
        assert.ok(miss.error instanceof ToolError);
        assert.equal(miss.error.code, "cache_miss");
      });
      await Deno.writeTextFile(await onlyFile(state), "{}");
      const tampered = await withNetwork(run({}), (it) => callTool(it, osvQuery, { args }));
      assert.equal(tampered.note.freshness, "live");
      assert.equal(world.requests.length, 2);
    });
  } finally {
    await world.close();
  }
});
