import fc from "fast-check";
import { equal } from "node:assert/strict";
import { createHash } from "node:crypto";
import { GrowingSha256, loadFastSha256, sha256Now } from "../../src/audit/sha256.ts";

Deno.test("sha256Now() gives the published digests", () => {
  equal(sha256Now(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  equal(sha256Now("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  equal(
    sha256Now("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
  );
  equal(sha256Now("a".repeat(1_000_000)), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
});

Deno.test("sha256Now() agrees with OpenSSL at every length around its blocks", () => {
  for (let length = 0; length <= 260; length++) {
    const bytes = new Uint8Array(length).map((_, i) => (i * 31 + length) & 0xff);
    equal(sha256Now(bytes), createHash("sha256").update(bytes).digest("hex"), String(length));
  }
});

Deno.test("sha256Now() agrees with OpenSSL on any bytes and any text, also inside of a larger buffer", async () => {
  const fast = await loadFastSha256();
  fc.assert(fc.property(fc.uint8Array({ maxLength: 2000 }), fc.nat(70), (data, skip) => {
    const bytes = new Uint8Array(data).subarray(skip);
    equal(sha256Now(bytes), createHash("sha256").update(bytes).digest("hex"));
    equal(fast(bytes), sha256Now(bytes));
  }));
  fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
    equal(sha256Now(text), createHash("sha256").update(text).digest("hex"));
    equal(fast(text), sha256Now(text));
  }));
});

Deno.test("GrowingSha256 gives the same digests before and after it became fast", async () => {
  const hash = new GrowingSha256();
  equal(hash.digest("abc"), sha256Now("abc"));
  equal(hash.isFast, false);
  await hash.load();
  equal(hash.isFast, true);
  equal(hash.digest("abc"), sha256Now("abc"));
});

Deno.test("GrowingSha256 becomes fast once many bytes were hashed", async () => {
  const hash = new GrowingSha256();
  for (let i = 0; i < 5; i++) hash.digest("x".repeat(60_000));
  for (let i = 0; i < 200 && !hash.isFast; i++) await new Promise((resolve) => setTimeout(resolve, 10));
  equal(hash.isFast, true);
});
