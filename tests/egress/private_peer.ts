/**
 * Asks an egress process for a name that leads to `fd00::9`, and for one that leads to 127.0.0.1 and was granted by its
 * address; run where both names and addresses are, in a network of its own. Prints what came of it.
 */
// deno-lint-ignore-file no-console -- what the test reads
import type { JsonObject } from "../../src/json.ts";
import { startEgress } from "../../src/launch/egress.ts";

const TWOKEY = new URL("../..", import.meta.url).pathname.replace(/\/$/, "");
const hits: string[] = [];

async function serve(hostname: string): Promise<number> {
  const server = Deno.listen({ hostname, port: 0 });
  const { port } = server.addr;
  (async () => {
    for await (const connection of server) {
      const buffer = new Uint8Array(64);
      const count = await connection.read(buffer).catch(() => null);
      if (count !== null) hits.push(hostname);
      connection.close();
    }
  })();
  return await Promise.resolve(port);
}

async function ask(socket: string, target: string): Promise<string> {
  const connection = await Deno.connect({ transport: "unix", path: socket });
  await connection.write(new TextEncoder().encode(`CONNECT ${target} HTTP/1.1\r\n\r\nsecret`));
  const buffer = new Uint8Array(1024);
  const count = await connection.read(buffer) ?? 0;
  connection.close();
  return new TextDecoder().decode(buffer.subarray(0, count)).split("\r\n")[0] ?? "";
}

const inner = `inner.test:${await serve("fd00::9")}`;
const plain = `127.0.0.1:${await serve("127.0.0.1")}`;
const records: JsonObject[] = [];
const egress = await startEgress({
  hosts: [inner, plain],
  twokey: TWOKEY,
  onRecord: (fields) => void records.push(fields),
});
const answers = [await ask(egress.socket, inner), await ask(egress.socket, plain)];
await new Promise((resolve) => setTimeout(resolve, 300));
await egress.close();
console.log(JSON.stringify({ answers, hits, decisions: records.map(({ decision }) => decision) }));
Deno.exit(0);
