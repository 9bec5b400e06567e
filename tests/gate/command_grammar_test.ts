import fc from "fast-check";
import assert from "node:assert/strict";
import { checkArguments, invocationOf, MAX_ARGUMENTS } from "../../src/gate/command_grammar.ts";
import { GIT_PREFIX } from "../../src/gate/git_grammar.ts";
import type { ArgumentRules, CommandGrammar } from "../../src/plan/process_plan.ts";

const rules = (own: Partial<ArgumentRules>): CommandGrammar => ({
  kind: "rules",
  rules: { options: {}, positionals: [], maxPositionals: 0, ...own },
});
const GIT: CommandGrammar = { kind: "git" };
const RG: CommandGrammar = { kind: "rg" };

function admitted(grammar: CommandGrammar, args: readonly string[]): readonly string[] {
  const checked = checkArguments(grammar, args);
  assert.ok(checked.ok, `${args.join(" ")}: ${checked.ok ? "" : checked.problem}`);
  const again = checkArguments(grammar, checked.args);
  assert.deepEqual(again, checked, "the canonical form is its own");
  return checked.args;
}

function refusal(grammar: CommandGrammar, args: readonly string[]): string {
  const checked = checkArguments(grammar, args);
  assert.ok(!checked.ok, args.join(" "));
  return checked.problem;
}

Deno.test("checkArguments() admits what rules list, in one form", () => {
  const grammar = rules({
    options: {
      "-n": "number",
      "-v": "flag",
      "-x": "flag",
      "--name": "text",
      "--as": ["a", "b"],
      "-#": "flag",
      "--o=": "text",
    },
    positionals: ["path", "text"],
    maxPositionals: 3,
  });
  assert.deepEqual(admitted(grammar, ["a.txt", "-vx", "-n5", "--name", "x y", "word"]), [
    "-v",
    "-x",
    "-n",
    "5",
    "--name=x y",
    "a.txt",
    "word",
  ]);
  assert.deepEqual(admitted(grammar, ["-3", "--as=b", "--", "a"]), ["-3", "--as=b", "a"]);
  assert.deepEqual(admitted(grammar, ["--o=1"]), ["--o=1"]);
  for (
    const args of [
      ["-z"],
      ["-vz"],
      ["-n"],
      ["-n", "x"],
      ["-n", "-1"],
      ["--name"],
      ["--name", "-x"],
      ["--name=-x"],
      ["--as", "c"],
      ["-v=1"],
      ["--unknown"],
      ["--o", "1"],
      ["-"],
      ["--", "-x"],
      ["a", "b", "c", "d"],
      ["/etc/passwd"],
      ["../a"],
      ["a/../b"],
      ["~/a"],
      [""],
      ["a\0b"],
      ["\ud800"],
      ["a\u202eb"],
      [".env"],
      ["x/id_rsa"],
      ["key.pem"],
      [".git/config"],
      ["--constructor"],
      ["--__proto__=1"],
    ]
  ) refusal(grammar, args);
  assert.deepEqual(admitted(rules({}), []), []);
  refusal(rules({}), ["x"]);
  assert.match(refusal({ kind: "any" }, Array(MAX_ARGUMENTS + 1).fill("a")), /more than/);
  assert.deepEqual(admitted({ kind: "any" }, ["--x", "-", "$(id)"]), ["--x", "-", "$(id)"]);
});

Deno.test("checkArguments() takes the first argument for a subcommand", () => {
  const grammar: CommandGrammar = {
    kind: "subcommands",
    subcommands: { list: { options: { "-l": "flag" }, positionals: [], maxPositionals: 0 } },
  };
  assert.deepEqual(admitted(grammar, ["list", "-l"]), ["list", "-l"]);
  for (const args of [[], ["-l"], ["remove"], ["constructor"], ["toString"], ["list", "x"]]) refusal(grammar, args);
});

Deno.test("checkArguments() keeps whatever it is given in one form, or refuses it", () => {
  const word = fc.oneof(
    fc.constantFrom(
      "-n",
      "--",
      "-",
      "--glob",
      "--regexp=x",
      "-e",
      "log",
      "HEAD",
      "-5",
      "--stat",
      "a/b",
      "-g",
      "--name=1",
    ),
    fc.string({ unit: "binary", maxLength: 6 }),
  );
  const grammar = fc.constantFrom<CommandGrammar>(
    GIT,
    RG,
    { kind: "any" },
    rules({ options: { "-n": "number", "--name": "pattern", "-e": "text" }, positionals: ["path"], maxPositionals: 2 }),
  );
  fc.assert(fc.property(grammar, fc.array(word, { maxLength: 6 }), (kind, args) => {
    const checked = checkArguments(kind, args);
    if (!checked.ok) return;
    assert.deepEqual(checkArguments(kind, checked.args), checked);
  }));
});

Deno.test("checkArguments() of git refuses what starts programs, writes, or leaves the repository", () => {
  for (
    const args of [
      [],
      ["-c", "alias.x=!id", "x"],
      ["--exec-path=/tmp", "log"],
      ["-C", "/", "log"],
      ["--git-dir=/x", "log"],
      ["--upload-pack=touch x"],
      ["clone", "--upload-pack=touch x", "x"],
      ["fetch"],
      ["push"],
      ["config", "--list"],
      ["commit"],
      ["checkout", "x"],
      ["bisect", "run", "id"],
      ["log", "--output=/tmp/x"],
      ["diff", "--output=x"],
      ["diff", "--no-index", "/etc/passwd", "x"],
      ["diff", "--ext-diff"],
      ["diff", "--textconv"],
      ["log", "--show-signature"],
      ["log", "--format=%G?"],
      ["log", "--pretty=x%GK"],
      ["grep", "-O", "x"],
      ["grep", "--open-files-in-pager=id", "x"],
      ["show", "--upload-pack=x"],
      ["log", "--", "../x"],
      ["log", "--", "/etc/passwd"],
      ["show", "-x"],
      ["show", "--submodule=diff"],
      ["status", "--ignore-submodules=none"],
      ["ls-files", "--recurse-submodules"],
      ["branch", "new"],
      ["tag", "new"],
      ["branch", "-D", "main"],
      ["cat-file", "--textconv", "HEAD:x"],
      ["cat-file", "--batch"],
      ["rev-parse", "--show-toplevel"],
      ["describe", "--dirty"],
      ["log", "HEAD; id"],
      ["log", "$(id)"],
    ]
  ) refusal(GIT, args);
  assert.deepEqual(admitted(GIT, ["diff", "HEAD~1..HEAD", "--stat", "--", "a", "b"]), [
    "diff",
    "--stat",
    "HEAD~1..HEAD",
    "--",
    "a",
    "b",
  ]);
  const { argv, env } = invocationOf(GIT, ["log", "-5", "main"]);
  assert.deepEqual(argv.slice(0, GIT_PREFIX.length), GIT_PREFIX);
  assert.deepEqual(argv.slice(GIT_PREFIX.length), [
    "log",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=all",
    "--no-color",
    "-5",
    "--end-of-options",
    "main",
    "--",
  ]);
  assert.equal(env.GIT_NO_LAZY_FETCH, "1");
  assert.equal(env.GIT_CONFIG_NOSYSTEM, "1");
});

Deno.test("checkArguments() of rg keeps patterns apart from options, and starts nothing", () => {
  for (
    const args of [
      [],
      ["--pre=/tmp/p.sh", "x"],
      ["--pre", "/tmp/p.sh", "x"],
      ["x", "--pre=/tmp/p.sh"],
      ["-z", "x"],
      ["--search-zip", "x"],
      ["--hostname-bin=/x", "x"],
      ["-f/etc/passwd", "x"],
      ["--file=/etc/passwd", "x"],
      ["-L", "x"],
      ["--follow", "x"],
      ["--hidden", "x"],
      ["--no-ignore", "x"],
      ["-uuu", "x"],
      ["--iglob=.env", "x"],
      ["--ignore-file=x", "x"],
      ["x", "/etc"],
      ["x", "../y"],
      ["x", ".env"],
      ["-g", "-f/etc/passwd", "x"],
      ["--debug", "x"],
    ]
  ) refusal(RG, args);
  assert.deepEqual(admitted(RG, ["-e", "foo", "src"]), ["--regexp=foo", "--", "src"]);
  assert.deepEqual(admitted(RG, ["-in", "foo", "src"]), ["-i", "-n", "--regexp=foo", "--", "src"]);
  // a pattern that looks like an option is a pattern
  assert.deepEqual(admitted(RG, ["--", "--pre=/tmp/p.sh"]), ["--regexp=--pre=/tmp/p.sh"]);
  const { argv } = invocationOf(RG, ["--regexp=--pre=x"]);
  assert.deepEqual(argv.slice(0, 4), ["--no-config", "--color=never", "--no-follow", "--regexp=--pre=x"]);
  assert.deepEqual(argv.slice(-2), ["--", "./"]);
  assert.ok(argv.indexOf("--iglob=!.env*") > argv.indexOf("--regexp=--pre=x"));
});
