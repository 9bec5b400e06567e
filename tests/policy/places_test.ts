import assert from "node:assert/strict";
import { placesOf } from "../../src/policy/places.ts";

function env(variables: Record<string, string>): (name: string) => string | undefined {
  return (name) => variables[name];
}

Deno.test("placesOf() keeps the state of each project apart, below XDG_STATE_HOME or HOME", async () => {
  const one = await placesOf("/p/one", env({ XDG_STATE_HOME: "/x", HOME: "/h" }));
  const two = await placesOf("/p/two", env({ XDG_STATE_HOME: "/x" }));
  const home = await placesOf("/p/one", env({ HOME: "/h" }));
  assert.match(one.state, /^\/x\/twokey\/[0-9a-f]{16}$/);
  assert.notEqual(one.state, two.state);
  assert.equal(home.state, one.state.replace("/x/", "/h/.local/state/"));
});

Deno.test("placesOf() ignores relative variables and never falls back to a folder that others can write", async () => {
  const places = await placesOf("/p", env({ XDG_STATE_HOME: "rel", HOME: "also/rel" }));
  assert.match(places.state, /^\/nonexistent\//);
});

Deno.test("placesOf() finds the folder that this code was started from", async () => {
  const { twokey } = await placesOf("/p", env({}));
  assert.ok((await Deno.stat(`${twokey}/src/policy/places.ts`)).isFile);
});
