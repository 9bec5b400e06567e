import assert from "node:assert/strict";
import fc from "fast-check";
import { auditValue, DROPPED, makeRedactor, REDACTED, shapeOf } from "../../src/audit/redact.ts";
import { DataError } from "../../src/errors.ts";
import type { Json } from "../../src/json.ts";
import { sha256 } from "./log_maker.ts";

const SECRET = "s3cr3t/+ä value?";

function redactor(fields: string[] = [], secrets: Record<string, string> = { TOKEN: SECRET }) {
  return makeRedactor({ fields, secrets: new Map(Object.entries(secrets)) });
}

function base64(text: string): string {
  return new TextEncoder().encode(text).toBase64();
}

Deno.test("redact() replaces the values of secret fields at any depth, however they are spelled", () => {
  const { redact } = redactor(["Session_Key"]);
  const value = {
    token: "x",
    Authorization: "Bearer x",
    "api-key": 1,
    apiKey: { a: 1 },
    list: [{ PRIVATE_KEY: ["x"], "set-cookie": null, sessionKey: true }],
    tokens: 3,
    next_page_token: "kept",
  };
  assert.deepEqual(redact(value), {
    token: REDACTED,
    Authorization: REDACTED,
    "api-key": REDACTED,
    apiKey: REDACTED,
    list: [{ PRIVATE_KEY: REDACTED, "set-cookie": REDACTED, sessionKey: REDACTED }],
    tokens: 3,
    next_page_token: "kept",
  });
});

Deno.test("redact() returns the value itself where it holds no secret", () => {
  const value = { a: ["b", { c: 1 }], d: null };
  assert.equal(redactor().redact(value), value);
  assert.equal(redactor([], {}).redact("text"), "text");
});

Deno.test("scrub() finds a secret in every form it takes on its way", () => {
  const { scrub } = redactor();
  const forms = [
    SECRET,
    JSON.stringify(SECRET).slice(1, -1),
    encodeURIComponent(SECRET),
    encodeURIComponent(SECRET).replaceAll("%20", "+"),
    encodeURIComponent(SECRET).toLowerCase(),
    encodeURI(SECRET),
    new URLSearchParams({ q: SECRET }).toString().slice(2),
    new TextEncoder().encode(SECRET).toHex(),
    new TextEncoder().encode(SECRET).toHex().toUpperCase(),
  ];
  for (const form of forms) assert.equal(scrub(`<${form}>`), `<${REDACTED}>`, form);
});

Deno.test("scrub() finds a secret inside a longer base64 text, wherever it starts", () => {
  const { scrub } = redactor();
  for (let before = 0; before < 6; before++) {
    for (let after = 0; after < 4; after++) {
      const text = base64("u".repeat(before) + SECRET + "w".repeat(after));
      for (const form of [text, text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")]) {
        const clean = scrub(form);
        assert.ok(clean.includes(REDACTED), form);
        // What stays are the digits at the borders: they hold bits of the neighbours, and no whole byte of the secret.
        assert.ok(clean.replace(REDACTED, "").length <= Math.ceil((before * 8) / 6) + 1 + Math.ceil(after * 8 / 6) + 4);
      }
    }
  }
});

Deno.test("scrub() replaces overlapping secrets as one", () => {
  const { scrub } = redactor([], { A: "abcdefgh", B: "efghijkl" });
  assert.equal(scrub("_abcdefghijkl_"), `_${REDACTED}_`);
  assert.equal(scrub("_abcdefghabcdefgh_abcdefg_"), `_${REDACTED}${REDACTED}_abcdefg_`);
  const same = redactor([], { A: "aaaaaaaa" });
  assert.equal(same.scrub(`x${"a".repeat(100_000)}y`), `x${REDACTED}y`);
});

Deno.test("redact() scrubs keys, and keeps keys that differ in the secret alone apart", () => {
  const { redact } = redactor([], { A: "abcdefgh", B: "ijklmnop" });
  assert.deepEqual(redact({ "x-abcdefgh": 1, "x-ijklmnop": 2, ok: "abcdefgh" }), {
    [`x-${REDACTED}`]: 1,
    [`x-${REDACTED} (2)`]: 2,
    ok: REDACTED,
  });
  const own = redact(JSON.parse('{"__proto__":{"a":"abcdefgh"}}') as Json);
  assert.equal(JSON.stringify(own), `{"__proto__":{"a":"${REDACTED}"}}`);
});

Deno.test("redact() replaces what is nested too deep to be looked into", () => {
  let value: Json = "abcdefgh";
  for (let i = 0; i < 400; i++) value = [value];
  assert.ok(!JSON.stringify(redactor([], { A: "abcdefgh" }).redact(value)).includes("abcdefgh"));
});

Deno.test("makeRedactor() refuses a secret under 8 bytes, and names it without its value", () => {
  for (const short of ["", "1234567", "äää1"]) {
    assert.throws(
      () => redactor([], { SHORT: short }),
      (error) =>
        error instanceof DataError && error.code === "secret_short" && error.message.includes('"SHORT"') &&
        (short === "" || !error.message.includes(short)),
    );
  }
  redactor([], { OK: "ääää" });
});

Deno.test("Redactor.stream() finds a secret over every border", () => {
  const shared = redactor([], { A: "abcdefgh", B: "efghijkl" });
  const text = "start abcdefghijkl mid abcdabcdefgh abcdefg end";
  const expected = `start ${REDACTED} mid abcd${REDACTED} abcdefg end`;
  for (let size = 1; size <= text.length; size++) {
    const stream = shared.stream();
    let out = "";
    for (let at = 0; at < text.length; at += size) out += stream.push(text.slice(at, at + size));
    assert.equal(out + stream.end(), expected, `pieces of ${size}`);
  }
});

Deno.test("Redactor.stream() holds back no more than may be the start of a secret", () => {
  const stream = redactor([], { A: "abcdefgh" }).stream();
  assert.equal(stream.push("hello\n"), "hello\n");
  assert.equal(stream.push("x abc"), "x ");
  assert.equal(stream.push("x"), "abcx");
  assert.equal(stream.end(), "");
  const endless = redactor([], { A: "aaaaaaaa" }).stream();
  let shown = "";
  for (let i = 0; i < 1000; i++) shown += endless.push("aaaaa");
  assert.equal(shown + endless.end(), REDACTED);
});

Deno.test("shapeOf() tells types, sizes and keys, and no content", () => {
  const value = { text: "ä€", n: 1, flag: true, none: null, list: [1, 2], deep: { a: { b: { c: 1, d: 2 } } } };
  assert.deepEqual(shapeOf(value), {
    text: "string(5)",
    n: "number",
    flag: "boolean",
    none: "null",
    list: "array(2)",
    deep: { a: { b: "object(2)" } },
  });
  assert.equal(shapeOf("abc"), "string(3)");
  const wide = shapeOf(Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`k${i}`, i]))) as { [k: string]: Json };
  assert.equal(Object.keys(wide).length, 33);
  assert.equal(wide["…"], 8);
});

Deno.test("auditValue() keeps, digests or drops", async () => {
  const value = { b: 1, a: "x" };
  assert.equal(auditValue(value, "keep", { sha256 }), value);
  assert.equal(auditValue(value, "drop", { sha256 }), DROPPED);
  const digested = { sha256: sha256('{"a":"x","b":1}'), bytes: 15, shape: { b: "number", a: "string(1)" } };
  assert.deepEqual(auditValue(value, "digest", { sha256 }), digested);
  assert.deepEqual(await auditValue(value, "digest", { sha256: (text) => Promise.resolve(sha256(text)) }), digested);
  assert.deepEqual(auditValue("ä", "digest", { sha256 }), { sha256: sha256("ä"), bytes: 2, shape: "string(2)" });
});

Deno.test("auditValue() digests the same text, whether or not it is given what JSON.stringify prints", () =>
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (raw) => {
      const value = JSON.parse(JSON.stringify(raw)) as Json;
      const printed = JSON.stringify(value);
      assert.deepEqual(auditValue(value, "digest", { sha256, printed }), auditValue(value, "digest", { sha256 }));
    }),
    {
      examples: [[{ b: 1, a: 2 }], [{ a: { d: 1, c: [{ f: 1, e: 2 }] }, b: 0 }], [{
        a: { a: { a: { a: { b: 1, a: 1 } } } },
      }]],
    },
  ));
