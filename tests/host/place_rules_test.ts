import assert from "node:assert/strict";
import { foldPath, makePlaceMatcher } from "../../src/host/place_rules.ts";
import { withTree } from "./run_context.ts";

const PLACES = { project: "/home/.env-user/p", twokey: "/opt/twokey", state: "/state" };

Deno.test("makePlaceMatcher() matches places and what lies below them, by whole components", () => {
  const matches = makePlaceMatcher(["${project}/.git", "${state}", "/abs/x/"], PLACES, { below: PLACES.project });
  for (const path of ["/home/.env-user/p/.git", "/home/.env-user/p/.git/config", "/state/a", "/abs/x", "/abs/x/y"]) {
    assert.ok(matches(path), path);
  }
  for (const path of ["/home/.env-user/p/.gitx", "/home/.env-user/p/sub/.git", "/stateful", "/abs/xy", "/abs"]) {
    assert.ok(!matches(path), path);
  }
});

Deno.test("makePlaceMatcher() matches names below its folder at any depth, and none above it", () => {
  const matches = makePlaceMatcher([".env*", "*.pem", "keys/"], PLACES, { below: PLACES.project });
  for (const name of [".env", "a/.ENV.local", "x.PEM", "a/b/c.pem", ".env.d/inner", "keys", "keys/a", "a/keys/b"]) {
    assert.ok(matches(`${PLACES.project}/${name}`), name);
  }
  for (const name of ["env", "a.env", "x.pem.txt", "src/a.ts"]) assert.ok(!matches(`${PLACES.project}/${name}`), name);
  assert.ok(!matches("/home/other/.env"));
});

Deno.test("makePlaceMatcher() matches wildcards in the last components of a place", () => {
  const matches = makePlaceMatcher(["${project}/**/*.policy.jsonc", "/abs/*/x"], PLACES, { below: PLACES.project });
  for (const path of [`${PLACES.project}/a.policy.jsonc`, `${PLACES.project}/b/c/a.policy.jsonc`, "/abs/q/x/y"]) {
    assert.ok(matches(path), path);
  }
  for (const path of ["/elsewhere/a.policy.jsonc", "/abs/x", "/abs/q/r/x"]) assert.ok(!matches(path), path);
});

Deno.test("makePlaceMatcher() follows a place that is a link, as the link stands when asked", () =>
  withTree(async (dir) => {
    const matches = makePlaceMatcher(["${project}/.hg"], { ...PLACES, project: dir }, {
      below: dir,
      followPlaces: true,
    });
    assert.ok(!matches(`${dir}/real/x`));
    await Deno.mkdir(`${dir}/real`);
    await Deno.symlink("real", `${dir}/.hg`);
    assert.ok(matches(`${dir}/real/x`));
  }));

Deno.test("foldPath() folds what some file system takes for the same name", () => {
  for (const [a, b] of [["É", "e\u0301"], ["ß", "SS"], [".g\u200cit", ".GIT"], ["ｇit", "git"]] as const) {
    assert.equal(foldPath(a), foldPath(b));
  }
  assert.notEqual(foldPath("a"), foldPath("b"));
});
