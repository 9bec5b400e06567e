import assert from "node:assert/strict";
import { parseCidr, parseIpv4, SPECIAL_IPV4 } from "../../src/authority/host.ts";
import { denyNet } from "../../src/plan/deny_net.ts";

function covers(blocks: readonly string[], address: string): boolean {
  const value = parseIpv4(address) ?? -1;
  return blocks.some((block) => {
    if (block.startsWith("[")) return false;
    const { first, bits } = parseCidr(block);
    return value >= first && value < first + 2 ** (32 - bits);
  });
}

Deno.test("denyNet() lists every special block and the IPv6 loopback", () => {
  assert.deepEqual(denyNet([]), [...SPECIAL_IPV4.map(({ cidr }) => cidr), "[::1]"]);
});

Deno.test("denyNet() cuts out one address and nothing beside it", () => {
  const blocks = denyNet(["10.1.2.3:3128"]);
  assert.ok(!covers(blocks, "10.1.2.3"));
  for (const address of ["10.1.2.2", "10.1.2.4", "10.0.0.0", "10.255.255.255", "127.0.0.1", "192.168.1.1"]) {
    assert.ok(covers(blocks, address), address);
  }
  assert.ok(blocks.includes("[::1]"));
  assert.equal(blocks.filter((block) => block.startsWith("10.")).length, 24, "one block for each bit below the /8");
});

Deno.test("denyNet() knows localhost as both loopback addresses, and ignores names and public addresses", () => {
  const local = denyNet(["LOCALHOST:8080"]);
  assert.ok(!covers(local, "127.0.0.1") && covers(local, "127.0.0.2") && !local.includes("[::1]"));
  assert.deepEqual(denyNet(["proxy.example:1", "1.1.1.1", "nonsense//"]), denyNet([]));
  assert.ok(!denyNet(["[::1]:80"]).includes("[::1]"));
});
