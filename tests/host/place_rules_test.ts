import assert from "node:assert/strict";
import { makePlaceMatcher } from "../../src/host/place_rules.ts";
import { withTree } from "./run_context.ts";

const PLACES = { project: "/home/.env-user/p", twokey: "/opt/twokey", state: "/state" };

Deno.test("makePlaceMatcher() matches places and what lies below them, by whole components", () => {
  const matches = makePlaceMatcher(["${project}/.git", "${state}", "/abs/x"], PLACES, { below: PLACES.project });
  for (const path of ["/home/.env-user/p/.git", "/home/.env-user/p/.git/config", "/state/a", "/abs/x", "/abs/x/y"]) {
    assert.ok(matches(path), path);
  }
  for (const path of ["/home/.env-user/p/.gitx", "/home/.env-user/p/sub/.git", "/stateful", "/abs/xy", "/abs"]) {
    assert.ok(!matches(path), path);
  }
});

Deno.test("makePlaceMatcher() matches names below its folder at any depth, and none above it", () => {
  const matches = makePlaceMatcher([".env*", "*.pem", ".git/config"], PLACES, { below: PLACES.project });
  for (const name of [".env", "a/.ENV.local", "x.PEM", "a/b/c.pem", ".env.d/inner", ".git/config", "sub/.git/config"]) {
    assert.ok(matches(`${PLACES.project}/${name}`), name);
  }
  for (const name of ["env", "a.env", "x.pem.txt", "config", ".git/HEAD"]) {
    assert.ok(!matches(`${PLACES.project}/${name}`), name);
  }
  assert.ok(!matches("/home/other/.env"));
});

Deno.test("makePlaceMatcher() exempts exactly what is spelled out", () => {
  const matches = makePlaceMatcher([".env*"], PLACES, { below: "/r", isExempt: (relative) => relative === "a/.env" });
  assert.ok(!matches("/r/a/.env"));
  for (const path of ["/r/.env", "/r/b/.env", "/r/a/.ENV", "/r/a/.env/.env.local"]) assert.ok(matches(path), path);
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
