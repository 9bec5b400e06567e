import assert from "node:assert/strict";
import { loadLinearPatterns } from "../../src/plan/linear_pattern.ts";

Deno.test("loadLinearPatterns() matches what RegExp matches", async () => {
  const compile = await loadLinearPatterns();
  for (const pattern of ["^[A-Z]+-\\d+$", "a|b", "^\\p{L}+$", "^(?<year>\\d{4})/", "\\u0041", "^\\/x$", ""]) {
    const compiled = compile(pattern);
    assert.equal(typeof compiled, "object", pattern);
    for (const text of ["AB-12", "b", "Ümlaut", "2026/", "A", "/x", "", "AB-12\n"]) {
      const matches = typeof compiled === "object" && compiled.test(text);
      assert.equal(matches, new RegExp(pattern, "u").test(text), `${pattern} on ${JSON.stringify(text)}`);
    }
  }
});

Deno.test("loadLinearPatterns() takes a hostile text in linear time and refuses what cannot run so", async () => {
  const compile = await loadLinearPatterns();
  for (const pattern of ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$"]) {
    const compiled = compile(pattern);
    assert.ok(typeof compiled === "object");
    const started = performance.now();
    assert.equal(compiled.test(`${"a".repeat(50_000)}!`), false);
    // a backtracking engine needs longer than the universe is old
    assert.ok(performance.now() - started < 5000, pattern);
  }
  for (const pattern of ["(?=a)b", "(?<!a)b", "(a)\\1", "(", "a{1,5000}", "x".repeat(2000)]) {
    const refused = compile(pattern);
    assert.equal(typeof refused, "string", pattern);
    assert.match(String(refused), /^the pattern /);
  }
});
