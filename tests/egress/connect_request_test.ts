import assert from "node:assert/strict";
import { type ConnectRequest, MAX_HEAD, readConnect } from "../../src/egress/connect_request.ts";

const HOSTS = new Set(["allowed.test:443", "192.0.2.1:8443"]);
const read = (text: string): ConnectRequest => readConnect(new TextEncoder().encode(text), HOSTS);

Deno.test("readConnect() admits the named hosts alone, however they are written", () => {
  for (const host of ["allowed.test:443", "ALLOWED.test:443", "allowed.test.:443", "192.0.2.1:8443"]) {
    const request = read(`CONNECT ${host} HTTP/1.1\r\nHost: x\r\n\r\nrest`);
    assert.equal(request.kind, "connect", host);
    if (request.kind === "connect") assert.equal(new TextDecoder().decode(request.rest), "rest");
  }
  for (
    const line of [
      "CONNECT denied.test:443 HTTP/1.1",
      "CONNECT allowed.test:80 HTTP/1.1",
      "CONNECT allowed.test:443@denied.test HTTP/1.1",
      "CONNECT denied.test:443@allowed.test:443 HTTP/1.1",
      "CONNECT allowed.test:443 HTTP/2.0",
      "CONNECT allowed.test:443",
      "CONNECT  allowed.test:443 HTTP/1.1",
      "CONNECT allowed.test\0.denied.test:443 HTTP/1.1",
      "CONNECT allowed.test:00443000 HTTP/1.1",
      "CONNECT [::1]:443 HTTP/1.1",
      "GET http://allowed.test:443/ HTTP/1.1",
      "POST / HTTP/1.1",
      "",
      "\u00ff",
    ]
  ) assert.equal(read(`${line}\r\n\r\n`).kind, "refused", line);
});

Deno.test("readConnect() waits for the whole head, and not for ever", () => {
  for (
    const text of ["", "CONNECT", "CONNECT allowed.test:443 HTTP/1.1\r\n", "CONNECT allowed.test:443 HTTP/1.1\r\n\r"]
  ) {
    assert.equal(read(text).kind, "more", text);
  }
  assert.deepEqual(read("x".repeat(MAX_HEAD)), { kind: "refused", status: 400, host: null, port: null });
});
