// The service that both sides of the network comparison ask: HTTPS in Node, and the CONNECT proxy that leads to it.
// Arguments: certificate file, key file, bytes of an answer. Prints the proxy's port as JSON; ends with its input.
import { readFileSync } from "node:fs";
import { createServer as createProxy } from "node:http";
import { createServer } from "node:https";
import { connect } from "node:net";

const [certFile, keyFile, bytes] = process.argv.slice(2);
const answer = Buffer.from(
  JSON.stringify({ vulns: [{ id: "GHSA-0000-0000-0000", details: "x".repeat(Number(bytes)) }] }),
);
const server = createServer(
  { cert: readFileSync(certFile), key: readFileSync(keyFile), keepAlive: true },
  (message, response) => {
    message.on("data", () => {});
    message.on("end", () => {
      response.writeHead(200, { "content-type": "application/json", "content-length": answer.length });
      response.end(answer);
    });
  },
);
const proxy = createProxy();
proxy.on("connect", (_message, client) => {
  const upstream = connect(server.address().port, "127.0.0.1", () => {
    client.setNoDelay(true);
    upstream.setNoDelay(true);
    client.write("HTTP/1.1 200 Connection established\r\n\r\n");
    upstream.pipe(client);
    client.pipe(upstream);
  });
  for (const [one, other] of [[client, upstream], [upstream, client]]) {
    one.on("error", () => {});
    one.on("close", () => other.destroy());
  }
});
server.listen(0, "127.0.0.1", () => {
  proxy.listen(0, "127.0.0.1", () => process.stdout.write(`${JSON.stringify({ proxy: proxy.address().port })}\n`));
});
process.stdin.on("end", () => process.exit(0)).resume();
