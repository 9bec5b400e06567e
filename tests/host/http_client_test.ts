import assert from "node:assert/strict";
import { exchange, makeHttpClient } from "../../src/host/http_client.ts";
import { makeRun } from "../net/network_run.ts";

/** A server on the IPv6 loopback; `undefined` where this machine has none. */
function serveIPv6(): { url: string; close(): Promise<void> } | undefined {
  try {
    const server = Deno.serve({ hostname: "::1", port: 0, onListen() {} }, () => new Response("{}"));
    return { url: `http://[::1]:${server.addr.port}/`, close: () => server.shutdown() };
  } catch {
    return undefined;
  }
}

Deno.test("makeHttpClient() binds to IPv4: an IPv6 address is reached only where the policy lifts it", async (t) => {
  const server = serveIPv6();
  await t.step({
    name: "against a server on [::1]",
    ignore: server === undefined,
    async fn() {
      const request = { method: "GET", url: server?.url ?? "", headers: {}, body: undefined } as const;
      const options = { limit: 100, signal: AbortSignal.timeout(5_000) };
      for (const ipv6 of [false, true]) {
        using client = makeHttpClient(makeRun({ network: { ipv6 } }), { caPem: undefined });
        const got = await exchange(client, request, options);
        assert.equal("raw" in got, ipv6);
        if ("failure" in got) assert.equal(got.failure.kind, "transport_error");
      }
    },
  });
  await server?.close();
});

Deno.test("makeHttpClient() sends the credentials in a proxy's URL to the proxy", async () => {
  const seen: (string | null)[] = [];
  const proxy = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    seen.push(request.headers.get("proxy-authorization"));
    return new Response(null, { status: 407 });
  });
  const env = { P: `http://user:p%40ss@127.0.0.1:${proxy.addr.port}` };
  using client = makeHttpClient(makeRun({ network: { proxy: { fromEnv: "P" } }, env }), { caPem: undefined });
  const request = { method: "GET", url: "http://x.test/", headers: {}, body: undefined } as const;
  await exchange(client, request, { limit: 100, signal: AbortSignal.timeout(5_000) });
  assert.deepEqual(seen, [`Basic ${btoa("user:p@ss")}`]);
  await proxy.shutdown();
});

Deno.test("exchange() rejects with the signal's reason", async () => {
  using client = makeHttpClient(makeRun(), { caPem: undefined });
  const reason = new Error("over");
  const request = { method: "GET", url: "https://api.osv.dev/", headers: {}, body: undefined } as const;
  await assert.rejects(exchange(client, request, { limit: 1, signal: AbortSignal.abort(reason) }), (e) => e === reason);
});
