import assert from "node:assert/strict";
import { denoDirOf } from "../../src/authority/deno_dir.ts";

const from = (env: Record<string, string>): string | null => denoDirOf((name) => env[name]);

Deno.test("denoDirOf() takes the named folder first, whatever the home", () => {
  assert.equal(from({ DENO_DIR: "/cache/deno", HOME: "/home/a" }), "/cache/deno");
  assert.equal(from({ DENO_DIR: "cache", HOME: "/home/a" }), `${Deno.cwd()}/cache`);
});

Deno.test("denoDirOf() falls back to the platform's folder, and to nothing without a home", () => {
  const expected = Deno.build.os === "darwin" ? "/home/a/Library/Caches/deno" : "/home/a/.cache/deno";
  assert.equal(from({ HOME: "/home/a" }), expected);
  assert.equal(from({ DENO_DIR: "", HOME: "/home/a" }), expected);
  assert.equal(from({}), null);
});
