import assert from "node:assert/strict";
import {
  foldPath,
  hasHiddenCharacter,
  isInside,
  nameOf,
  parentOf,
  pathFrom,
  pathProblem,
  relativeTo,
  resolvePath,
} from "../../src/authority/path.ts";

Deno.test("isInside() compares components whole", () => {
  assert.ok(isInside("/srv/allowed", "/srv/allowed"));
  assert.ok(isInside("/srv/allowed", "/srv/allowed/x"));
  assert.ok(!isInside("/srv/allowed", "/srv/allowed-evil/x"));
  assert.ok(!isInside("/srv/allowed", "/srv"));
  assert.ok(isInside("/a", "/a/..hidden/x"));
  assert.ok(isInside("/", "/a"));
});

Deno.test("resolvePath() is lexical and stops at the top", () => {
  assert.equal(resolvePath("/a/b", "./c//d/"), "/a/b/c/d");
  assert.equal(resolvePath("/a/b", "../../../x"), "/x");
  assert.equal(resolvePath("/a", "/b/./c/.."), "/b");
  assert.equal(resolvePath("/a", "..hidden"), "/a/..hidden");
  assert.equal(resolvePath("/a", "."), "/a");
});

Deno.test("relativeTo(), parentOf(), nameOf() and pathFrom() take paths apart", () => {
  assert.equal(relativeTo("/a", "/a/b/c"), "b/c");
  assert.equal(relativeTo("/", "/b"), "b");
  assert.equal(relativeTo("/a", "/a"), "");
  assert.deepEqual([parentOf("/a/b"), parentOf("/a"), parentOf("/")], ["/a", "/", "/"]);
  assert.deepEqual([nameOf("/a/b"), nameOf("/")], ["b", ""]);
  assert.deepEqual([pathFrom("/p/q", "/p/x"), pathFrom("/p", "/p"), pathFrom("/", "/a")], ["../x", ".", "a"]);
});

Deno.test("pathProblem() refuses what a flag, a reader or a disk would take for something else", () => {
  for (
    const path of [
      "",
      "a,b",
      "a\0b",
      "a\nb",
      "a\u202eb",
      "a\\b",
      "${project}/x",
      "~/x",
      "~",
      "file:///etc",
      "C:/x",
      "a*",
      "[a]",
      "\ud800",
      " a",
    ]
  ) {
    assert.ok(pathProblem(path), JSON.stringify(path));
  }
  for (const path of [".", "..", "a b", "a=b", "/abs", "..hidden", "ünïcode", "a~b", "a$b"]) {
    assert.equal(pathProblem(path), null, path);
  }
});

Deno.test("hasHiddenCharacter() finds control, bidi and zero-width characters", () => {
  for (const text of ["\x1b", "\x7f", "\x9b", "\u200b", "\u2028", "\u2066", "\ufeff"]) {
    assert.ok(hasHiddenCharacter(text));
  }
  assert.ok(!hasHiddenCharacter("plain text, ünïcode, 漢字"));
});

Deno.test("foldPath() folds what some disk takes for one name", () => {
  assert.equal(foldPath("/A/.GIT"), "/a/.git");
  assert.equal(foldPath("Stra\u00dfe"), foldPath("STRASSE"));
  assert.equal(foldPath("e\u0301"), foldPath("\u00e9"));
  assert.equal(foldPath(".gi\u200ct"), ".git");
  assert.equal(foldPath("\uff47it"), "git");
  assert.notEqual(foldPath("a"), foldPath("b"));
});
