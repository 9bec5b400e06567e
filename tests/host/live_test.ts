import assert from "node:assert/strict";
import { ToolError } from "../../src/errors.ts";
import { callTool, type RunOptions, withNetwork } from "../net/network_run.ts";
import { callReader, loadReader, withGitHub } from "../net/github_world.ts";
import type { WorldAnswer, WorldRequest } from "../net/tls_world.ts";

const ISSUE = "GET https://api.github.com/repos/o/r/issues/1";
const ARGS = { owner: "o", repo: "r", number: 1 };
const TOOL = "github.issue.read";
const CANARY = "ghp_canary0123456789+/=";
const WITH_TOKEN: RunOptions = { credentials: { [TOOL]: "GITHUB_TOKEN" }, env: { GITHUB_TOKEN: CANARY } };

/** Every form in which the canary would give itself away. */
function assertNoCanary(value: unknown): void {
  const text = typeof value === "string"
    ? value
    : Deno.inspect(value, { depth: 20, strAbbreviateSize: Infinity, showHidden: true });
  const forms = [
    CANARY,
    encodeURIComponent(CANARY),
    btoa(CANARY),
    btoa(`Bearer ${CANARY}`),
    new TextEncoder().encode(CANARY).toHex(),
  ];
  for (const form of forms) assert.ok(!text.includes(form), `${form} in ${text.slice(0, 500)}`);
}

Deno.test("a credential goes to the tool's own origin, and only with the calls of its tool", async () => {
  const answer = (request: WorldRequest) => ({
    body: request.url.endsWith("/issues/1") ? { number: 1 } : { number: 2 },
  });
  await withGitHub(answer, async (world) => {
    const called = await callReader(world, { tool: TOOL, args: ARGS, run: WITH_TOKEN });
    assert.deepEqual(called.result, { number: 1 });
    assert.equal(world.requests[0]?.headers.authorization, `Bearer ${CANARY}`);
    assertNoCanary(called);
    await callReader(world, { tool: "github.pr.read", args: { ...ARGS, number: 2 }, run: WITH_TOKEN });
    assert.equal(world.requests[1]?.headers.authorization, undefined);
    const other = {
      credentials: { "github.pr.read": "OTHER" },
      env: { OTHER: "another-secret-1", GITHUB_TOKEN: CANARY },
    };
    await callReader(world, { tool: "github.pr.read", args: { ...ARGS, number: 2 }, run: other });
    assert.equal(world.requests[2]?.headers.authorization, "Bearer another-secret-1");
  });
});

Deno.test("no failure shows the credential: refused, limited, broken, redirected, cut or over its budget", async () => {
  const answers: readonly WorldAnswer[] = [
    { status: 401, body: { message: `Bad credentials ${CANARY}` } },
    { status: 403, body: { message: `Resource not accessible ${CANARY}` }, headers: { "x-github-sso": CANARY } },
    { status: 429, headers: { "retry-after": "1", "x-token": CANARY } },
    { status: 302, headers: { location: `https://evil.test/?access_token=${CANARY}` } },
    {
      status: 301,
      headers: {
        location: `https://api.github.com/repositories/1/issues/1?access_token=${encodeURIComponent(CANARY)}`,
      },
    },
    { status: 500, body: CANARY },
    { status: 200, body: `{"number": ${CANARY}` },
    { fault: "drop" },
    { fault: "cut", body: "{" },
    { body: { number: 1, pad: "x".repeat(5_000) } },
  ];
  for (const answer of answers) {
    await withGitHub({ [ISSUE]: answer }, async (world) => {
      const { error, records, note } = await callReader(world, {
        tool: TOOL,
        args: ARGS,
        run: { ...WITH_TOKEN, toolResultBytes: 4_000 },
      });
      assert.ok(error instanceof ToolError, JSON.stringify(answer));
      assertNoCanary([error.message, error.fields, error.stack, records, note]);
      assertNoCanary(error);
      assert.deepEqual(new Set(world.connects), new Set(["api.github.com:443"]));
    });
  }
});

Deno.test("a service that sends the credential back puts it into nobody's hands", async () => {
  const echo = {
    number: 1,
    plain: CANARY,
    coded: btoa(CANARY),
    header: `Bearer ${CANARY}`,
    [CANARY]: encodeURIComponent(CANARY),
  };
  const state = await Deno.makeTempDir();
  try {
    await withGitHub({
      [ISSUE]: { body: echo, headers: { etag: `"${CANARY}"`, link: `<https://x.test/?t=${CANARY}>` } },
    }, async (world) => {
      const cache = { dir: "${state}/cache", mode: "read-through", maxAgeMs: null, maxEntries: null } as const;
      const called = await callReader(world, {
        tool: TOOL,
        args: ARGS,
        run: { ...WITH_TOKEN, state, network: { cache } },
      });
      assert.match(JSON.stringify(called.result), /\[redacted\]/);
      assertNoCanary(called);
      const files = await Array.fromAsync(Deno.readDir(`${state}/cache`));
      assert.equal(files.length, 1);
      for (const { name } of files) {
        assertNoCanary(name);
        assertNoCanary(await Deno.readTextFile(`${state}/cache/${name}`));
      }
    });
  } finally {
    await Deno.remove(state, { recursive: true });
  }
});

Deno.test("an answer that was fetched with a credential is kept for that credential alone", async () => {
  const state = await Deno.makeTempDir();
  const run = (more: RunOptions): RunOptions => ({
    state,
    network: { cache: { dir: "${state}/cache", mode: "read-through", maxAgeMs: null, maxEntries: null } },
    ...more,
  });
  const who = ({ headers }: WorldRequest) => ({
    body: { number: 1, title: headers.authorization === undefined ? "public" : "private" },
  });
  try {
    await withGitHub(who, async (world) => {
      const titleOf = async (more: RunOptions): Promise<unknown> => {
        const { result, error } = await callReader(world, { tool: TOOL, args: ARGS, run: run(more) });
        return error === undefined ? (result as { title: string }).title : (error as ToolError).code;
      };
      assert.equal(await titleOf(WITH_TOKEN), "private");
      assert.equal(await titleOf({}), "public");
      assert.equal(world.requests.length, 2);
      assert.equal(await titleOf(WITH_TOKEN), "private");
      assert.equal(await titleOf({}), "public");
      assert.equal(world.requests.length, 2, "both were kept");
      await titleOf({ ...WITH_TOKEN, env: { GITHUB_TOKEN: `${CANARY}2` } });
      await titleOf({ credentials: { [TOOL]: "OTHER" }, env: { OTHER: CANARY } });
      assert.equal(world.requests.length, 4, "another value and another variable are others");
      const offline = {
        network: { cache: { dir: "${state}/cache", mode: "offline", maxAgeMs: null, maxEntries: null } },
      } as const;
      assert.equal(
        await titleOf({ ...offline, credentials: { [TOOL]: "NEW" }, env: { NEW: "a-new-secret-9" } }),
        "cache_miss",
      );
      assert.equal(await titleOf(offline), "public");
      for await (const { name } of Deno.readDir(`${state}/cache`)) {
        assertNoCanary(name + await Deno.readTextFile(`${state}/cache/${name}`));
      }
    });
  } finally {
    await Deno.remove(state, { recursive: true });
  }
});

Deno.test("a kept answer that is too old is asked about by its entity tag, and counts again after 304", async () => {
  const state = await Deno.makeTempDir();
  let clock = 1_700_000_000_000;
  let etag = '"v1"';
  const answer = ({ headers }: WorldRequest): WorldAnswer =>
    headers["if-none-match"] === etag
      ? { status: 304, headers: { etag } }
      : { body: { number: 1, etag }, headers: { etag } };
  const cache = { dir: "${state}/cache", mode: "read-through", maxAgeMs: 1_000, maxEntries: null } as const;
  try {
    await withGitHub(answer, async (world) => {
      const ask = async () => {
        const called = await callReader(world, {
          tool: TOOL,
          args: ARGS,
          run: { state, now: () => clock, network: { cache } },
        });
        assert.equal(called.error, undefined, String(called.error));
        return called;
      };
      await ask();
      clock += 2_000;
      const again = await ask();
      assert.deepEqual(again.result, { number: 1, etag: '"v1"' });
      assert.deepEqual([again.note.status_code, again.note.revalidated, again.note.response_bytes], [304, true, 0]);
      assert.deepEqual(again.records.map(({ type, disposition }) => [type, disposition]), [
        ["named_network_cache_stale", "revalidated"],
        ["named_network_cache_write", undefined],
      ]);
      clock += 500;
      assert.equal((await ask()).note.transport, "persistent_cache");
      clock += 2_000;
      etag = '"v2"';
      assert.deepEqual((await ask()).result, { number: 1, etag: '"v2"' });
      assert.deepEqual(world.requests.map(({ headers }) => headers["if-none-match"]), [undefined, '"v1"', '"v1"']);
    });
    await withGitHub({ [ISSUE]: { status: 304 } }, async (world) => {
      const { error } = await callReader(world, { tool: TOOL, args: ARGS });
      assert.ok(error instanceof ToolError, "304 without a kept answer is none");
      assert.equal(error.fields.status_code, 304);
    });
  } finally {
    await Deno.remove(state, { recursive: true });
  }
});

Deno.test("a limit is waited out within the deadline, and is no missing right", async () => {
  let count = 0;
  const limited = (): WorldAnswer =>
    ++count === 1
      ? { status: 403, headers: { "retry-after": "1" }, body: { message: "secondary rate limit" } }
      : { body: { number: 1 } };
  await withGitHub({ [ISSUE]: limited }, async (world) => {
    const startedMs = performance.now();
    const { result, records } = await callReader(world, {
      tool: TOOL,
      args: ARGS,
      run: { network: { retryAttempts: 1 } },
    });
    assert.deepEqual(result, { number: 1 });
    assert.ok(performance.now() - startedMs >= 995);
    assert.deepEqual(records.map(({ type, status_code: status, retry_after_ms: ms }) => [type, status, ms]), [
      ["named_network_retry", 403, 1_000],
    ]);
  });
  const reset = String(Math.floor(Date.now() / 1_000) + 3_600);
  const hard: readonly [WorldAnswer, string, number][] = [
    [{ status: 403, headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": reset } }, "rate_limited", 1],
    [
      {
        status: 403,
        headers: { "x-ratelimit-remaining": "14" },
        body: { message: "You have exceeded a secondary rate limit" },
      },
      "rate_limited",
      1,
    ],
    [{ status: 403, body: { message: "Resource not accessible by integration" } }, "forbidden_scope", 1],
    [{ status: 404, body: { message: "Not Found" } }, "not_found_or_private", 1],
    [{ status: 503 }, "http_retryable", 4],
  ];
  for (const [answer, code, requests] of hard) {
    await withGitHub({ [ISSUE]: answer }, async (world) => {
      const startedMs = performance.now();
      const { error } = await callReader(world, { tool: TOOL, args: ARGS, run: { network: { retryAttempts: 3 } } });
      assert.ok(error instanceof ToolError && error.code === code, String(error));
      assert.equal(world.requests.length, requests, code);
      assert.ok(performance.now() - startedMs < 30_000);
    });
  }
});

Deno.test("a query parameter and a credential's header are the host's: a tool can set neither", async () => {
  const tool = await loadReader(TOOL);
  await withNetwork({ tools: [tool], repos: ["o/*"] }, async (network) => {
    for (
      const options of [{ query: { page: "2" } }, { headers: { Authorization: "x" } }, {
        headers: { "X-API-Key": "x" },
      }, { headers: { "if-none-match": "x" } }]
    ) {
      const spy = {
        ...tool,
        name: TOOL,
        invoke: async (prepared: Parameters<typeof tool.invoke>[0], powers: Parameters<typeof tool.invoke>[1]) =>
          await powers.send(prepared.targets[0] as never, options as never),
      };
      const { error } = await callTool(network, spy, { args: ARGS });
      assert.match(String(error), /Cannot send/);
    }
  });
});
