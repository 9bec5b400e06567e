import assert from "node:assert/strict";
import { BugError } from "../../src/errors.ts";
import { makeRequest } from "../../src/host/send_request.ts";
import type { EndpointTarget } from "../../src/tool/powers.ts";

function target(method: "GET" | "POST", url = "https://x.test/a"): EndpointTarget {
  const requirement = { kind: "network" as const, target: `${method} ${url}`, description: "" };
  return { requirement, endpoint: "e", method, url };
}

Deno.test("makeRequest() sets the host's headers and prints the body canonically", () => {
  const request = makeRequest("a.b.c", target("POST", "https://x.test/a?q=hunter22"), {
    headers: { Accept: "text/x" },
    body: { b: 1, a: 2 },
  });
  assert.equal(request.body, '{"a":2,"b":1}');
  assert.equal(request.endpoint, "POST https://x.test/a");
  assert.deepEqual(request.sent, {
    accept: "text/x",
    "content-type": "application/json",
    "user-agent": "twokey-a-b-c",
  });
});

Deno.test("makeRequest() gives equal keys to equal requests only", () => {
  const key = (tool: string, method: "GET" | "POST", options = {}) => makeRequest(tool, target(method), options).key;
  assert.equal(key("t", "POST", { body: { a: 1, b: 2 } }), key("t", "POST", { body: { b: 2, a: 1 } }));
  const different = [
    key("t", "GET"),
    key("u", "GET"),
    key("t", "POST"),
    key("t", "POST", { body: {} }),
    key("t", "GET", { headers: { accept: "x" } }),
  ];
  assert.equal(new Set(different).size, different.length);
});

Deno.test("makeRequest() refuses a credential, a header of the host's, and a body with GET", () => {
  for (const name of ["Authorization", "cookie", "HOST", "user-agent", "Proxy-Authorization"]) {
    assert.throws(() => makeRequest("t", target("GET"), { headers: { [name]: "hunter22" } }), (error) => {
      assert.ok(error instanceof BugError);
      assert.ok(!error.message.includes("hunter22"));
      return true;
    });
  }
  assert.throws(() => makeRequest("t", target("GET"), { body: {} }), BugError);
});
