import assert from "node:assert/strict";
import { mapTexts, scrubPatterns } from "../../src/audit/secret_patterns.ts";

const letters = "aB3".repeat(20);

// Written in parts, so that no scanner of this repository takes them for real ones
const SECRETS: readonly string[] = [
  `ghp${"_"}${letters.slice(0, 36)}`,
  `gho${"_"}${letters.slice(0, 36)}`,
  `github${"_pat_"}${letters.slice(0, 40)}`,
  `glpat${"-"}${letters.slice(0, 20)}`,
  `npm${"_"}${letters.slice(0, 36)}`,
  `AKIA${"ABCDEFGH01234567"}`,
  `xoxb${"-"}1234567890-abcdef`,
  `sk${"_live_"}${letters.slice(0, 24)}`,
  `sk${"-ant-"}${letters.slice(0, 40)}`,
  `sk${"-proj-"}${letters.slice(0, 40)}`,
  `AIza${letters.slice(0, 35)}`,
  `eyJ${letters.slice(0, 20)}.eyJ${letters.slice(0, 20)}.${letters.slice(0, 30)}`,
  `-----BEGIN ${"PRIVATE KEY"}-----\nMC4CAQAwBQYDK2VwBCIEI\n-----END ${"PRIVATE KEY"}-----`,
  `-----BEGIN ${"RSA PRIVATE KEY"}-----\nMC4CAQAwBQ`,
];

Deno.test("scrubPatterns() finds secrets by their form, wherever they stand, and leaves what is around them", () => {
  for (const secret of SECRETS) {
    for (const [before, after] of [["", ""], ["a=", " b"], ['{"x":"', '"}'], ["(", ")"]] as const) {
      // a key that is cut off takes the rest of the text along
      const isCut = secret.startsWith("-----BEGIN RSA");
      const expected = isCut ? `${before}[redacted]` : `${before}[redacted]${after}`;
      assert.equal(scrubPatterns(before + secret + after), expected, secret);
    }
  }
  assert.equal(scrubPatterns(`Authorization: Bearer ${letters}`), "Authorization: Bearer [redacted]");
  assert.equal(scrubPatterns("postgres://user:hunter2@db.test/x"), "postgres://user:[redacted]@db.test/x");
});

Deno.test("scrubPatterns() leaves digests, ids, paths and prose alone", () => {
  const harmless = [
    "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4",
    "sha512-" + "A".repeat(86) + "==",
    "20261130-230133-e4fab7",
    "task-aaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "https://api.github.com/repos/a/b?per_page=100",
    "https://user@host/x",
    "the bearer of this",
    "-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----",
    "npm_config_cache",
    "AKIA",
  ];
  for (const text of harmless) assert.equal(scrubPatterns(text), text);
});

Deno.test("scrubPatterns() takes time in proportion to the text, whatever it holds", () => {
  for (const unit of ["-----BEGIN PRIVATE KEY-----", "eyJaaaaaaaaa.", "://a:", "sk-", "Bearer "]) {
    const started = performance.now();
    scrubPatterns(unit.repeat(20_000));
    assert.ok(performance.now() - started < 5000, unit);
  }
});

Deno.test("mapTexts() reaches keys and lists, keeps every key, and returns what it did not change", () => {
  const value = { a: ["x", 1, null, { k: true }] };
  assert.equal(mapTexts(value, (text) => text), value);
  const changed = mapTexts({ s1: "s", s2: ["s"], __proto__x: 1 }, (text) => text.replaceAll(/s\d?/g, "*"));
  assert.deepEqual(changed, { "*": "*", "* (2)": ["*"], __proto__x: 1 });
  const own = mapTexts(JSON.parse('{"__proto__":"s"}'), (text) => text.replace("s", "*"));
  assert.equal(JSON.stringify(own), '{"__proto__":"*"}');
});
