import assert from "node:assert/strict";
import { isPlainPath, resolveExports, resolveImports } from "../../src/launch/package_exports.ts";
import type { Json } from "../../src/json.ts";

// exports, subpath, and what it means
const EXPORTS: readonly [Json, string, string | undefined][] = [
  ["./a.js", ".", "a.js"],
  ["./a.js", "./a.js", undefined],
  [{ ".": "./a.js" }, ".", "a.js"],
  [{ import: "./a.mjs", require: "./a.cjs" }, ".", "a.mjs"],
  [{ require: "./a.cjs", default: "./a.js" }, ".", "a.js"],
  [{ require: "./a.cjs" }, ".", undefined],
  [{ node: "./n.js", deno: "./d.js", browser: "./b.js", types: "./t.d.ts", default: "./a.js" }, ".", "a.js"],
  [{ default: "./first.js", import: "./second.js" }, ".", "first.js"],
  [{ ".": { import: { types: "./t.d.ts", default: "./deep.js" } } }, ".", "deep.js"],
  [{ import: { node: "./n.js" }, default: "./a.js" }, ".", "a.js"],
  [{ import: null, default: "./a.js" }, ".", undefined],
  [["./a.js", "./b.js"], ".", "a.js"],
  [[{ node: "./n.js" }, "./b.js"], ".", "b.js"],
  [{ "./sub": "./lib/sub.js" }, "./sub", "lib/sub.js"],
  [{ "./sub": "./lib/sub.js" }, ".", undefined],
  [{ "./*": "./lib/*.js" }, "./x/y", "lib/x/y.js"],
  [{ "./*": "./lib/*.js", "./x/*": "./other/*.js" }, "./x/y", "other/y.js"],
  [{ "./*": "./lib/*.js", "./x/*": null }, "./x/y", undefined],
  [{ "./*.js": "./lib/*/*.js" }, "./a.js", "lib/a/a.js"],
  [{ "./*": "./lib/*" }, "./$&", "lib/$&"],
  [{ "./x*": "./lib/*.js" }, "./x", undefined],
  [{ "./*": "./lib/*" }, "./*", "lib/*"],
  // what leaves the package, or could mean something else
  [{ ".": "../a.js" }, ".", undefined],
  [{ ".": "./../a.js" }, ".", undefined],
  [{ ".": "./a/../../b.js" }, ".", undefined],
  [{ ".": "/etc/hostname" }, ".", undefined],
  [{ ".": "other" }, ".", undefined],
  [{ ".": "./node_modules/b/a.js" }, ".", undefined],
  [{ ".": "./a%2fb.js" }, ".", undefined],
  [{ ".": "./a\\b.js" }, ".", undefined],
  [{ ".": "./a.js?x" }, ".", undefined],
  [{ "./*": "./lib/*" }, "./../../x.js", undefined],
  [{ "./*": "./lib/*" }, "./a//b.js", undefined],
  [{ "./__proto__": "./a.js" }, "./constructor", undefined],
  [7, ".", undefined],
  [false, ".", undefined],
];

Deno.test("resolveExports() follows names, patterns, conditions and lists, and nothing out of the package", () => {
  for (const [exports, subpath, expected] of EXPORTS) {
    assert.equal(resolveExports({ exports }, subpath), expected, `${JSON.stringify(exports)} ${subpath}`);
  }
});

Deno.test("resolveExports() takes main, else index.js, where a package has no exports, and any file by its path", () => {
  assert.equal(resolveExports({}, "."), "index.js");
  assert.equal(resolveExports({ main: "lib/a.js" }, "."), "lib/a.js");
  assert.equal(resolveExports({ main: "./lib/a.js", exports: null }, "."), "lib/a.js");
  assert.equal(resolveExports({ main: "../a.js" }, "."), undefined);
  assert.equal(resolveExports({ main: 1 }, "."), undefined);
  assert.equal(resolveExports({ main: "a.js" }, "./lib/b.js"), "lib/b.js");
  assert.equal(resolveExports({}, "./node_modules/b.js"), undefined);
});

Deno.test("resolveExports() gives up on a value that is nested without end", () => {
  let exports: Json = "./a.js";
  for (let i = 0; i < 1000; i++) exports = { default: exports };
  assert.equal(resolveExports({ exports }, "."), undefined);
});

Deno.test("resolveImports() knows private names alone, and leaves another package's name as it is", () => {
  const imports = {
    "#a": "./lib/a.js",
    "#b": { node: "node:fs", default: "other/sub" },
    "#c/*": "./c/*.js",
    "#d": "../d.js",
  };
  assert.equal(resolveImports({ imports }, "#a"), "./lib/a.js");
  assert.equal(resolveImports({ imports }, "#b"), "other/sub");
  assert.equal(resolveImports({ imports }, "#c/x"), "./c/x.js");
  for (const name of ["#d", "#x", "#", "#/a", "#toString"]) {
    assert.equal(resolveImports({ imports }, name), undefined, name);
  }
  assert.equal(resolveImports({ imports: [] as Json }, "#a"), undefined);
  assert.equal(resolveImports({}, "#a"), undefined);
});

Deno.test("isPlainPath() admits one spelling of a file below a folder", () => {
  for (const path of ["a.js", "a/b.js", ".hidden/a.js", "ä.js"]) assert.equal(isPlainPath(path), true, path);
  for (const path of ["", "/a", "a/", "a//b", "./a", "a/../b", "NODE_MODULES/a.js", "a%20b", "a#b", "a\0b", "a\nb"]) {
    assert.equal(isPlainPath(path), false, JSON.stringify(path));
  }
});
