import assert from "node:assert/strict";
import { isNamed, makeNameFinder, PROTECTED_NAMES, SECRET_NAMES } from "../../src/authority/names.ts";

Deno.test("makeNameFinder() finds names at any depth and in any letter case", () => {
  const secret = makeNameFinder(SECRET_NAMES);
  const at = (path: string) => secret(path.split("/"));
  assert.deepEqual([at("a/.env"), at(".ENV.local/x"), at("k/server.pem"), at("id_rsa")], [1, 0, 1, 0]);
  assert.deepEqual([at("sub/.git/config"), at(".git/configs"), at("a/config"), at("env"), at("x.pem.txt")], [
    2,
    -1,
    -1,
    -1,
    -1,
  ]);
  for (const path of ["a/.npmrc", "x/.SSH/known_hosts", ".aws/credentials", "tls/server.key", ".docker/config.json"]) {
    assert.ok(at(path) >= 0, path);
  }
  for (const path of ["docker/config.json", "keys.ts", "a.keys", "npmrc"]) assert.equal(at(path), -1, path);
  const guarded = makeNameFinder(PROTECTED_NAMES);
  assert.deepEqual([guarded(["a", "Deno.JSON"]), guarded(["x.policy.jsonc"]), guarded(["policy.jsonc"])], [1, 0, -1]);
  assert.equal(guarded([".git", "x", ".git"], 1), 2, "the search can go on behind a find");
});

Deno.test("makeNameFinder() gives each star any run of characters, also none", () => {
  const find = makeNameFinder(["a*", "*.k", "x*y", "p*q*r"]);
  const hit = (component: string) => find([component]) === 0;
  assert.deepEqual(
    [hit("a"), hit("ab"), hit(".k"), hit("xy"), hit("xzy"), hit("pqr"), hit("p1q2r")],
    Array(7).fill(true),
  );
  assert.deepEqual([hit("ba"), hit("k"), hit("x"), hit("pq")], Array(4).fill(false));
});

Deno.test("isNamed() takes only an outright name as meant", () => {
  assert.ok(isNamed([".env"], ".env"));
  assert.ok(isNamed([".env"], "a/.env"));
  assert.ok(isNamed(["a/.env"], "a/.env"));
  assert.ok(!isNamed(["a/.env"], "b/.env"));
  assert.ok(!isNamed([".env*", "**"], ".env"), "a pattern names nothing outright");
  assert.ok(!isNamed(["config"], "config/.env"), "a folder does not name what is in it");
});
