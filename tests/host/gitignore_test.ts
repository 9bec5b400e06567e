import assert from "node:assert/strict";
import fc from "fast-check";
import { anchorRules, enterIgnoreScope, escapeGlob, type IgnoreScope } from "../../src/host/gitignore.ts";
import { collectSource } from "../../src/host/source.ts";
import { makeCall, makeRun, plant, withTree } from "./run_context.ts";

Deno.test("anchorRules() keeps the rules of the root as they are", () => {
  assert.deepEqual(anchorRules("a  \r\n#c\n\n!b\\ \n/c/\n", ""), ["a", "!b\\ ", "/c/"]);
});

Deno.test("anchorRules() ties the rules of a folder to it", () => {
  assert.deepEqual(anchorRules("a\n/b\nc/\nd/e\n!f\n**/g\n#h\n\\#i", "x y/[z]"), [
    "/x\\ y/\\[z\\]/**/a",
    "/x\\ y/\\[z\\]/b",
    "/x\\ y/\\[z\\]/**/c/",
    "/x\\ y/\\[z\\]/d/e",
    "!/x\\ y/\\[z\\]/**/f",
    "/x\\ y/\\[z\\]/**/g",
    "/x\\ y/\\[z\\]/**/\\#i",
  ]);
});

Deno.test("escapeGlob() makes wildcards stand for themselves", () => {
  assert.equal(escapeGlob("a*[b]?\\ !#"), "a\\*\\[b\\]\\?\\\\\\ \\!\\#");
});

Deno.test("enterIgnoreScope() takes no file into account of which a rule could take too long", () =>
  withTree(async (dir) => {
    const nothing: IgnoreScope = { rules: [], ignores: () => false };
    await plant(dir, {
      quick: "**/a/**/b/**/c\n",
      slow: "x\n**/a/**/b/**/c/**/d/**/e\n",
      hard: "*a".repeat(100) + "b\n",
    });
    assert.equal(enterIgnoreScope(nothing, "", `${dir}/quick`)?.ignores("x/a/b/y/c"), true);
    assert.equal(enterIgnoreScope(nothing, "", `${dir}/slow`), undefined);
    const start = performance.now();
    assert.equal(enterIgnoreScope(nothing, "", `${dir}/hard`)?.ignores("a".repeat(255)), false);
    assert.ok(performance.now() - start < 1000);
  }));

Deno.test("collectSource() ignores what git ignores", async () => {
  const gitVersion = await new Deno.Command("git", { args: ["--version"] }).output().catch(() => undefined);
  if (gitVersion === undefined) return;
  const line = fc.constantFrom(
    ..."a b a/ /a !a !/b a/b /a/b/ *.c !*.c a/* !a/b **/b b/** /*/ !/a/ d !d/ d/a a* ? [ab] #a \\!a a/**/b".split(" "),
    ..."a** **a a*b \\a a\\ [!a] [^ab] [a-c] [[:alpha:]] [[:no:]] [] [a /**/a a/** a/**/ ** /** * !* ?? []a] [\\]] [a-]"
      .split(
        " ",
      ),
    ..."!/**/a d/**/d / // !a** [[:punct:][:digit:]] [-a] *b* a?".split(" "),
    ...["a ", "a\\ ", "  ", "!", "b/ "],
  );
  const rules = fc.array(line, { minLength: 1, maxLength: 4 }).map((lines) => lines.join("\n") + "\n");
  const files = [
    "a/a",
    "a/b/a",
    "a/b/x.c",
    "a/d/b",
    "b/a/d",
    "b/b",
    "d/a",
    "d/d/a",
    "x.c",
    "d/x.c",
    "!a",
    "#a",
    "a ",
    "]",
    "d/-",
    "ab",
    "7",
  ];
  await withTree(async (dir) => {
    let index = 0;
    await new Deno.Command("git", { args: ["init", "-q", "--bare", `${dir}/.bare`] }).output();
    await fc.assert(
      fc.asyncProperty(rules, fc.option(rules), fc.option(rules), async (top, inA, inD) => {
        const tree = `${dir}/${index++}`;
        await plant(tree, {
          ...Object.fromEntries(files.map((file) => [file, ""])),
          ".gitignore": top,
          ...(inA === null ? {} : { "a/.gitignore": inA }),
          ...(inD === null ? {} : { "d/.gitignore": inD }),
        });
        const git = await new Deno.Command("git", {
          args: ["ls-files", "--others", "--exclude-standard", "-z"],
          cwd: tree,
          env: { GIT_DIR: `${dir}/.bare`, GIT_WORK_TREE: tree, GIT_CONFIG_GLOBAL: "/dev/null", HOME: dir },
        }).output();
        assert.ok(git.success);
        const expected = new TextDecoder().decode(git.stdout).split("\0").filter((name) => name !== "").sort();
        const source = await collectSource(makeRun(tree, { read: [{ root: "." }] }));
        const targets = source.resolve.sources();
        const call = makeCall("listFiles", targets);
        const ours = source.power(call).list(targets).filter((entry) => entry.readable).map((entry) => entry.path);
        assert.deepEqual(ours, expected, JSON.stringify({ top, inA, inD }));
      }),
      { numRuns: 200 },
    );
  });
});
