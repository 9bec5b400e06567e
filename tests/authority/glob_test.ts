import assert from "node:assert/strict";
import fc from "fast-check";
import ignore from "ignore";
import { globProblem, isLiteral, makeGlob, makeGlobs } from "../../src/authority/glob.ts";

const CASES: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  ["*.md", ["a.md", "x/y/a.md", "a.md/inside"], ["a.mdx", "md"]],
  ["**/*.md", ["a.md", "x/y/a.md"], ["a.txt"]],
  ["docs", ["docs", "docs/a", "x/docs/a"], ["docs2", "mydocs"]],
  ["docs/", ["docs/a", "x/docs/a/b"], ["docs", "docs2/a"]],
  ["/top", ["top", "top/a"], ["x/top"]],
  ["a/b", ["a/b", "a/b/c"], ["x/a/b", "a/c/b"]],
  ["a/**", ["a/b", "a/b/c"], ["a", "x/a/b"]],
  ["a/**/b", ["a/b", "a/x/b", "a/x/y/b/z"], ["b", "x/a/b"]],
  ["**", ["a", "a/b"], []],
  ["*.key", ["a.key", "a.key.key", "x/.key"], ["a.keys"]],
  ["f?o.[ch]", ["foo.c", "f-o.h"], ["fo.c", "foo.d", "f/o.c"]],
  ["[!a-c]x", ["dx", "-x"], ["ax", "cx"]],
  ["src/*.test.js", ["src/x.test.js.test.js"], ["src/a/x.test.js"]],
  [".env*", [".env", ".env.local", "a/.env/x"], ["x.env"]],
];

for (const [pattern, yes, no] of CASES) {
  Deno.test(`makeGlob() gives ${pattern} the meaning of .gitignore`, () => {
    const glob = makeGlob(pattern);
    const oracle = ignore({ ignorecase: false, allowRelativePaths: true }).add(pattern);
    for (const path of yes) assert.ok(glob(path) && oracle.ignores(path), path);
    for (const path of no) assert.ok(!glob(path) && !oracle.ignores(path), path);
  });
}

Deno.test("makeGlob() agrees with the ignore library on random patterns and paths", () => {
  const segment = fc.stringMatching(/^[ab.*?]{1,4}$/).filter((text) => !/^\.{1,2}$/.test(text));
  const part = fc.oneof({ weight: 4, arbitrary: segment }, { weight: 1, arbitrary: fc.constant("**") });
  const pattern = fc.tuple(
    fc.constantFrom("", "/"),
    fc.array(part, { minLength: 1, maxLength: 4 }),
    fc.constantFrom("", "/"),
  )
    .map(([start, parts, end]) => start + parts.join("/") + end);
  const name = fc.stringMatching(/^[ab.]{1,4}$/).filter((text) => !/^\.+$/.test(text));
  const path = fc.array(name, { minLength: 1, maxLength: 5 }).map((parts) => parts.join("/"));
  fc.assert(
    fc.property(pattern, path, (pattern, path) => {
      // three stars and more mean nothing in particular, and the library reads them its own way
      fc.pre(globProblem(pattern) === null && !pattern.includes("***") && !/\*\*[^/]|[^/]\*\*/.test(pattern));
      const oracle = ignore({ ignorecase: false, allowRelativePaths: true }).add(pattern);
      assert.equal(makeGlob(pattern)(path), oracle.ignores(path), `${pattern} on ${path}`);
    }),
    { numRuns: 3000 },
  );
});

Deno.test("makeGlob() stays linear for a pattern that makes regular expressions explode", () => {
  const glob = makeGlob("*a*a*a*a*a*a*a*a*a*a*b");
  const deep = makeGlob("**/a/**/a/**/a/**/a/**/b");
  const started = performance.now();
  assert.ok(!glob("a".repeat(4000)));
  assert.ok(!deep("a/".repeat(2000) + "c"));
  assert.ok(performance.now() - started < 2000);
});

Deno.test("globProblem() refuses what can never match or means something else", () => {
  const wrong = ["", "!a", "#a", "a\\b", "/etc/passwd", "/home/me/**", "C:/a", "~/a", "https://a", "*.{ts,js}", "../a"];
  for (
    const pattern of [
      ...wrong,
      "./a",
      "a//b",
      "/",
      "[",
      "[]",
      "a\0",
      " a",
      "a\u202e",
      "x".repeat(1025),
      "a/".repeat(29) + "a",
    ]
  ) {
    assert.ok(globProblem(pattern), JSON.stringify(pattern));
    assert.ok(!makeGlob(pattern)("a"), "a refused pattern matches nothing");
  }
  for (const pattern of ["*", "**", "/src/**", "/etc", "etc/x", "a b", "..hidden", "[#]a"]) {
    assert.equal(globProblem(pattern), null, pattern);
  }
});

Deno.test("makeGlobs() gives the index of the first match, isLiteral() knows wildcards", () => {
  const find = makeGlobs(["a", "*.md", "b"]);
  assert.deepEqual([find("x.md"), find("b"), find("c"), find("")], [1, 2, -1, -1]);
  assert.ok(isLiteral("a/b") && !isLiteral("a*") && !isLiteral("[a]"));
});
