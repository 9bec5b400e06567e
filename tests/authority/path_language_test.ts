import assert from "node:assert/strict";
import fc from "fast-check";
import { makeGlob } from "../../src/authority/glob.ts";
import { contains, includes, type PathSet } from "../../src/authority/path_language.ts";

/** The paths that any of the patterns matches. */
function anyOf(...globs: string[]): PathSet {
  return { globs: globs.map((glob) => ({ root: [], glob })), has: (matched) => matched.some(Boolean) };
}

/** The paths that the first pattern matches and no other one. */
function except(first: string, ...rest: string[]): PathSet {
  return {
    globs: [first, ...rest].map((glob) => ({ root: [], glob })),
    has: ([is, ...not]) => is === true && !not.some(Boolean),
  };
}

Deno.test("includes() holds where every path of the inner set is in the outer one", () => {
  const pairs: [string, string][] = [
    ["src/**", "src/lib/**"],
    ["**", "a/b/*.ts"],
    ["*.md", "docs/*.md"],
    ["**/*.md", "/docs/a.md"],
    ["docs", "docs/deep/x"],
    ["docs/", "docs/x"],
    ["[a-z]*", "b?"],
    ["a*c", "abc"],
    ["a/**/z", "a/z"],
    ["a/**/z", "a/b/c/z"],
  ];
  for (const [outer, inner] of pairs) {
    assert.deepEqual(includes(anyOf(outer), anyOf(inner)), { holds: true }, `${outer} holds ${inner}`);
  }
});

Deno.test("includes() names a path that only the inner set has", () => {
  const pairs: [string, string][] = [
    ["src/lib/**", "src/**"],
    ["*.md", "*.m*"],
    ["docs/", "docs"],
    ["/a.md", "a.md"],
    ["[a-y]*", "[a-z]"],
    ["a?c", "a*c"],
    ["a/*/z", "a/**/z"],
  ];
  for (const [outer, inner] of pairs) {
    const found = includes(anyOf(outer), anyOf(inner));
    assert.ok(!found.holds && found.witness !== undefined, `${outer} does not hold ${inner}`);
    assert.equal(makeGlob(inner)(found.witness), true, `${found.witness} matches ${inner}`);
    assert.equal(makeGlob(outer)(found.witness), false, `${found.witness} does not match ${outer}`);
  }
});

Deno.test("includes() reckons with what is taken away, on both sides", () => {
  assert.equal(includes(except("src/**", "*.key"), except("src/**", "*.key", "*.ts")).holds, true);
  // a folder may be called a.ts, and a key lie in it
  assert.equal(includes(except("src/**", "*.key"), anyOf("src/*.ts")).holds, false);
  assert.equal(includes(except("src/**", "*.key"), except("src/*.ts", "*.key")).holds, true);
  const gained = includes(except("src/**", "*.key"), anyOf("src/**"));
  assert.ok(!gained.holds && /\.key(\/|$)/.test(gained.witness ?? ""), JSON.stringify(gained));
});

Deno.test("includes() places patterns below folders", () => {
  const below = (root: string[], glob: string | null): PathSet => ({
    globs: [{ root, glob }],
    has: ([is]) => is === true,
  });
  assert.equal(includes(below(["p"], null), below(["p", "src"], "*.ts")).holds, true);
  assert.equal(includes(below(["p", "src"], "*.ts"), below(["p"], "*.ts")).holds, false);
  assert.equal(includes(below(["p"], "src/**"), below(["p", "src"], "*")).holds, true);
  assert.equal(includes(below(["p", "a"], null), below(["p", "ab"], null)).holds, false);
});

Deno.test("includes() agrees with matching, path by path", () => {
  const piece = fc.constantFrom("a", "b", "*", "?", "[ab]", "[!a]", "ab", "a*", "**");
  const glob = fc.tuple(
    fc.constantFrom("", "/"),
    fc.array(piece, { minLength: 1, maxLength: 3 }),
    fc.constantFrom("", "/"),
  )
    .map(([start, parts, end]) => start + parts.join("/") + end);
  const path = fc.array(fc.stringMatching(/^[abc]{1,2}$/), { minLength: 1, maxLength: 4 }).map((parts) =>
    parts.join("/")
  );
  fc.assert(
    fc.property(fc.array(glob, { maxLength: 2 }), glob, fc.array(path, { minLength: 20 }), (outer, inner, paths) => {
      const found = includes(anyOf(...outer), anyOf(inner));
      const outerGlobs = outer.map(makeGlob);
      const isOnlyInner = (one: string) => makeGlob(inner)(one) && !outerGlobs.some((match) => match(one));
      if (found.holds) assert.deepEqual(paths.filter(isOnlyInner), []);
      else assert.equal(found.witness !== undefined && isOnlyInner(found.witness), true, found.witness ?? "none");
    }),
    { numRuns: 2000 },
  );
});

Deno.test("contains() tells what matching tells, in folded patterns whatever the case", () => {
  const text = (letters: string[], maxLength: number) =>
    fc.array(fc.constantFrom(...letters), { minLength: 1, maxLength }).map((parts) => parts.join(""));
  const glob = text(["a", "B", ".", "-", "*", "?", "[ab]", "[!a]", "/", "**/"], 6);
  const path = text(["a", "b", "B", ".", "-", "/", "x"], 7).filter((one) => !/^\/|\/$|\/\//.test(one));
  fc.assert(
    fc.property(glob, path, (glob, path) => {
      assert.equal(contains(anyOf(glob), path), makeGlob(glob)(path), `${glob} ${path}`);
    }),
    { numRuns: 3000 },
  );
  const folded: PathSet = { globs: [{ root: [], glob: ".Env*", folded: true }], has: ([is]) => is === true };
  assert.ok(contains(folded, "a/.ENVrc"));
  assert.ok(!contains(folded, "a/env"));
});

Deno.test("includes() does not hold where the question is too large", () => {
  const many = Array.from({ length: 14 }, (_, i) => `*${String.fromCharCode(97 + i)}*`);
  assert.deepEqual(includes(anyOf(...many.map((glob) => `x/${glob}/y`)), anyOf("x/**")).holds, false);
});
