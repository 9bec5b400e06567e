import assert from "node:assert/strict";
import fc from "fast-check";
import { BugError, ToolInputError } from "../../src/errors.ts";
import { buildEndpointUrl } from "../../src/host/endpoint_url.ts";
import { withRegistry } from "../../src/tools/supply_chain/npm_registry.ts";

const NPM = { method: "GET", url: "https://<npm-registry>/{package}" } as const;
const REPO = { method: "GET", url: "https://api.github.com/repos/{owner}/{repo}/compare/{base}...{head}" } as const;

/** Decodes until nothing changes, as a careless server might. */
function decodeAll(text: string): string {
  let now = text;
  for (;;) {
    const before = now;
    try {
      now = decodeURIComponent(now);
    } catch {
      return now;
    }
    if (before === now) return now;
  }
}

Deno.test("buildEndpointUrl() encodes each segment exactly once", () => {
  const cases: readonly [string, string][] = [
    ["lodash", "/lodash"],
    ["@scope/name", "/@scope%2fname"],
    ["a b", "/a%20b"],
    ["a%2fb", "/a%252fb"],
    ["a?b#c", "/a%3Fb%23c"],
    ["..hidden", "/..hidden"],
    ["a..b", "/a..b"],
    ["é", "/%C3%A9"],
    ["~'!()*", "/~'!()*"],
    ["http://evil.test", "/http%3A%2f%2fevil.test"],
  ];
  for (const [name, path] of cases) {
    assert.equal(buildEndpointUrl(NPM, { package: name }), withRegistry(`https://<npm-registry>${path}`));
  }
  const parts = { owner: "o", repo: "r", base: "v1", head: "feature/x" };
  assert.equal(buildEndpointUrl(REPO, parts), "https://api.github.com/repos/o/r/compare/v1...feature%2fx");
});

Deno.test("buildEndpointUrl() refuses dot segments in every encoding, controls, backslashes and broken Unicode", () => {
  const refused = [
    "",
    ".",
    "..",
    "%2e%2e",
    "%2E.",
    "%252e%252e",
    "%25252e",
    "a/..",
    "../a",
    "a/./b",
    "a%2f..%2fb",
    "..%5ca",
    "a\\b",
    "\0",
    "a\nb",
    "\u007f",
    "\ud800",
    `%${"25".repeat(8)}2e`,
    "x".repeat(1_025),
  ];
  for (const name of refused) {
    assert.throws(() => buildEndpointUrl(NPM, { package: name }), (error) => {
      assert.ok(error instanceof ToolInputError, name);
      assert.equal(error.code, "tool_invalid_args");
      return true;
    });
  }
});

Deno.test("buildEndpointUrl() keeps origin, prefix and number of segments for any text at all", () => {
  const nasty = fc.oneof(
    fc.string({ unit: "binary", maxLength: 40 }),
    fc.array(
      fc.constantFrom(
        "..",
        ".",
        "/",
        "\\",
        "%2e",
        "%2F",
        "%252e",
        "@",
        "?",
        "#",
        ":",
        "a",
        "//evil.test",
        "\t",
        "\u3002",
      ),
      { maxLength: 8 },
    ).map((parts) => parts.join("")),
  );
  let built = 0;
  fc.assert(
    fc.property(nasty, nasty, (owner, repo) => {
      let href: string;
      try {
        href = buildEndpointUrl(REPO, { owner, repo, base: "a", head: "b" });
      } catch (error) {
        assert.ok(error instanceof ToolInputError);
        return;
      }
      built++;
      const url = new URL(href);
      const parts = url.pathname.split("/");
      assert.equal(url.origin, "https://api.github.com");
      assert.equal(url.href, href);
      assert.equal(`${url.username}${url.password}${url.search}${url.hash}`, "");
      assert.deepEqual([parts[1], parts[4], parts[5], parts.length], ["repos", "compare", "a...b", 6]);
      assert.equal(decodeURIComponent(parts[2] ?? ""), owner);
      assert.equal(decodeURIComponent(parts[3] ?? ""), repo);
      for (const part of decodeAll(href).slice("https://".length).split(/[/\\]/)) {
        assert.ok(part !== "." && part !== "..", href);
      }
    }),
    { numRuns: 5_000 },
  );
  assert.ok(built > 500, `only ${built} URLs were built`);
});

Deno.test("buildEndpointUrl() refuses a declaration or a set of segments that is wrong", () => {
  for (const url of ["https://x.test/a?b={c}", "https://X.test/", "https://u@x.test/", "https://x.test"] as const) {
    assert.throws(() => buildEndpointUrl({ method: "GET", url }, { c: "x" }), BugError);
  }
  for (const url of ["http://x.test/{c}", "file:///{c}", "data:text/plain,{c}", "gopher://x.test/{c}"]) {
    assert.throws(() => buildEndpointUrl({ method: "GET", url: url as "https://x.test/" }, { c: "x" }), BugError, url);
  }
  assert.throws(() => buildEndpointUrl(NPM, {}), BugError);
  assert.throws(() => buildEndpointUrl(NPM, { package: "a", other: "b" }), BugError);
  assert.throws(() => buildEndpointUrl({ method: "GET", url: "https://x.test/{constructor}" }, {}), BugError);
});
