import assert from "node:assert/strict";
import { canonicalHost, isPublicIpv6, parseIpv4 } from "../../src/authority/host.ts";

Deno.test("canonicalHost() gives every spelling of a host one form", () => {
  const cases: readonly (readonly [string, string, string])[] = [
    ["Example.COM", "example.com", "name"],
    ["example.com.", "example.com", "name"],
    ["b\u00fccher.example", "xn--bcher-kva.example", "name"],
    ["127.0.0.1", "127.0.0.1", "ipv4"],
    ["2130706433", "127.0.0.1", "ipv4"],
    ["0x7f.1", "127.0.0.1", "ipv4"],
    ["0177.0.0.1", "127.0.0.1", "ipv4"],
    ["127.1", "127.0.0.1", "ipv4"],
    ["0", "0.0.0.0", "ipv4"],
    ["169.254.169.254.nip.io", "169.254.169.254.nip.io", "name"],
    ["[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "ipv6"],
    ["example\u3002com", "example.com", "name"],
    ["\u24d4xample.com", "example.com", "name"],
    ["[::1]", "[::1]", "ipv6"],
    ["[0:0::1]", "[::1]", "ipv6"],
  ];
  for (const [text, host, kind] of cases) assert.deepEqual(canonicalHost(text), { host, kind }, text);
});

Deno.test("canonicalHost() refuses what is no single host", () => {
  for (
    const text of [
      "",
      "*.example.com",
      "::1",
      "::1:443",
      "example.com:443",
      "a..b",
      "..",
      "example.com..",
      "exa\tmple.com",
      "example.com\n",
      "ex%61mple.com",
      "attacker.example\0.google.com",
      "api.github.com@evil.test",
      "api.github.com:443@evil.test",
      "evil.test\\@api.github.com",
      "evil.test#@api.github.com",
      "169.254.169.254:80",
      "a/b",
      "u@h",
      "a b",
      "a?b",
      "a#b",
      "a,b",
      ".",
      "%61",
      `${"a".repeat(64)}.com`,
    ]
  ) {
    assert.equal(canonicalHost(text), null, text);
  }
});

Deno.test("parseIpv4() reads four decimal numbers only", () => {
  assert.equal(parseIpv4("1.2.3.4"), 0x01020304);
  for (const text of ["1.2.3", "1.2.3.256", "01.2.3.4", "1.2.3.4.5", "a.b.c.d"]) assert.equal(parseIpv4(text), null);
});

Deno.test("isPublicIpv6() knows what is set aside, tunnels to IPv4 included", () => {
  for (
    const text of [
      "2606:4700:4700::1111",
      "2a00:1450:4001:80f::200e",
      "2001:4860:4860::8888",
      "2001:200::1",
      "3fff:1000::",
    ]
  ) {
    assert.ok(isPublicIpv6(text), text);
  }
  for (
    const text of [
      "::",
      "::1",
      "::ffff:127.0.0.1",
      "::ffff:8.8.8.8",
      "64:ff9b::a9fe:a9fe",
      "100::1",
      "2001::1",
      "2001:1ff:ffff::",
      "2001:db8::1",
      "2002:7f00:1::",
      "3fff::1",
      "3fff:fff::1",
      "4000::1",
      "fc00::1",
      "fd00:ec2::254",
      "fe80::1",
      "fe80::1%eth0",
      "ff02::1",
      "1.2.3.4",
      "example.com",
      "",
    ]
  ) assert.ok(!isPublicIpv6(text), text);
});
