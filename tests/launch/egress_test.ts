import assert from "node:assert/strict";
import type { JsonObject } from "../../src/json.ts";
import { egressFlags, startEgress } from "../../src/launch/egress.ts";
import { canConfine, findAll } from "../e2e/programs_here.ts";
import { eventually } from "../e2e/run_project.ts";

const TWOKEY = new URL("../..", import.meta.url).pathname.replace(/\/$/, "");

/** Sends a head, and `more` once it was answered; gives back everything that came. */
async function ask(socket: string, head: string, more = ""): Promise<string> {
  const connection = await Deno.connect({ transport: "unix", path: socket });
  const write = (text: string) => connection.write(new TextEncoder().encode(text));
  await write(head);
  const buffer = new Uint8Array(65_536);
  let text = "";
  let sent = false;
  while (true) {
    const count = await connection.read(buffer);
    if (count === null) break;
    text += new TextDecoder().decode(buffer.subarray(0, count));
    if (!sent && more !== "") {
      sent = true;
      await write(more);
      await connection.closeWrite();
    }
  }
  connection.close();
  return text;
}

Deno.test("startEgress() connects to the named hosts, refuses every other, and tells of both", async () => {
  const server = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const other = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const serving = (async () => {
    for await (const connection of server) {
      await connection.readable.pipeTo(connection.writable).catch(() => {});
    }
  })();
  const records: JsonObject[] = [];
  const allowed = `127.0.0.1:${server.addr.port}`;
  const egress = await startEgress({ hosts: [allowed], twokey: TWOKEY, onRecord: (fields) => records.push(fields) });
  try {
    assert.equal((await Deno.lstat(egress.socket)).isSocket, true);
    const through = await ask(egress.socket, `CONNECT ${allowed} HTTP/1.1\r\n\r\n`, "ping");
    assert.equal(through, "HTTP/1.1 200 Connection established\r\n\r\nping");
    const denied = `127.0.0.1:${other.addr.port}`;
    for (const head of [`CONNECT ${denied} HTTP/1.1`, `GET http://${allowed}/ HTTP/1.1`, "nonsense"]) {
      assert.match(await ask(egress.socket, `${head}\r\n\r\n`), /^HTTP\/1\.1 403 /, head);
    }
    assert.ok(await eventually(() => records.length === 5, 5_000), JSON.stringify(records));
    const { port } = server.addr;
    assert.deepEqual(records.slice(0, 2), [
      { decision: "allow", host: "127.0.0.1", port },
      { decision: "closed", host: "127.0.0.1", port, bytes_out: 4, bytes_in: 4 },
    ]);
    assert.deepEqual(records[2], { decision: "deny", host: "127.0.0.1", port: other.addr.port });
  } finally {
    await egress.close();
    server.close();
    other.close();
    await serving.catch(() => {});
  }
  await assert.rejects(Deno.lstat(egress.socket), Deno.errors.NotFound);
});

Deno.test("startEgress() records once how many connections were refused without a record of their own", async () => {
  const records: JsonObject[] = [];
  const egress = await startEgress({
    hosts: ["127.0.0.1:1"],
    twokey: TWOKEY,
    onRecord: (fields) => records.push(fields),
  });
  for (let i = 0; i < 2_010; i++) await ask(egress.socket, "CONNECT other.test:1 HTTP/1.1\r\n\r\n");
  assert.match(await ask(egress.socket, "CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n"), /^HTTP\/1\.1 502 /);
  await egress.close();
  const count = (decision: string) => records.filter((record) => record.decision === decision).length;
  assert.deepEqual([count("deny"), count("failed"), count("omitted")], [2_000, 1, 1]);
  assert.deepEqual(records.at(-1), { decision: "omitted", host: null, port: null, count: 10 });
});

Deno.test("egressFlags() grant one socket and the named hosts, and none of the private addresses behind them", () => {
  const flags = egressFlags("/run/x/s", ["allowed.test:443"]);
  assert.ok(flags.includes("--allow-net=unix:/run/x/s,allowed.test:443"));
  assert.ok(flags.includes("--allow-read=/run/x/s") && flags.includes("--allow-write=/run/x/s"));
  assert.ok(flags.some((flag) => flag.startsWith("--deny-net=") && flag.includes("169.254.0.0/16")));
  assert.deepEqual(flags.filter((flag) => /^--allow-(?:run|env|ffi|sys|all)|^-A/.test(flag)), []);
});

Deno.test("startEgress() sends nothing to a private IPv6 address that a granted name leads to", async () => {
  const found = await findAll(["unshare", "mount", "ip"]);
  if (found === undefined || !await canConfine()) return;
  const dir = await Deno.makeTempDir({ prefix: "twokey-egress-" });
  try {
    await Deno.writeTextFile(`${dir}/hosts`, "fd00::9 inner.test\n");
    const script = `mount --bind ${dir}/hosts /etc/hosts && ip link set lo up && ip addr add fd00::9/128 dev lo nodad &&
      exec "$0" run -A --no-prompt --quiet "$1"`;
    const peer = new URL("../egress/private_peer.ts", import.meta.url).pathname;
    const { stdout, stderr } = await new Deno.Command(found.unshare ?? "", {
      args: ["--user", "--map-root-user", "--mount", "--net", "/bin/sh", "-c", script, Deno.execPath(), peer],
      stdin: "null",
    }).output();
    const text = new TextDecoder().decode(stdout);
    assert.notEqual(text, "", new TextDecoder().decode(stderr));
    const { answers, hits, decisions } = JSON.parse(text);
    assert.deepEqual(answers, ["HTTP/1.1 403 Forbidden", "HTTP/1.1 200 Connection established"]);
    assert.deepEqual(hits, ["127.0.0.1"]);
    assert.deepEqual(decisions.slice(0, 2), ["deny", "allow"]);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});
