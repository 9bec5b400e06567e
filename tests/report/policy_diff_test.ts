import assert from "node:assert/strict";
import type { Change } from "../../src/plan/change.ts";
import { diffPolicyLines, diffPolicyMarkdown, type DiffReport } from "../../src/report/policy_diff.ts";

function report(changes: readonly Change[], more: Partial<DiffReport> = {}): DiffReport {
  return {
    base: "main",
    head: "the work tree",
    changes,
    positionOf: ({ rule }) => rule === "" ? undefined : { file: "agent.policy.jsonc", line: 7, column: 3 },
    ...more,
  };
}

const GAINED: Change = {
  kind: "gained",
  subject: "read",
  text: "may now read src/**",
  rule: "/fs/read/0",
  example: "${project}/src/example",
};
const NARROWED: Change = {
  kind: "narrowed",
  subject: "write",
  text: "may no longer create gen/**",
  rule: "/fs/write",
  example: "${project}/gen/example",
};
const CHANGED: Change = { kind: "changed", subject: "agent", text: "the agent's code", rule: "" };

Deno.test("diffPolicyLines() says each change in a line with its place, and the verdict last", () => {
  assert.deepEqual(diffPolicyLines(report([GAINED, NARROWED, CHANGED])), [
    "authority of the work tree compared with main",
    "gained    may now read src/**, for example src/example   [agent.policy.jsonc:7]",
    "narrowed  may no longer create gen/**, for example gen/example no longer   [agent.policy.jsonc:7]",
    "changed   the agent's code",
    "1 grant gained",
  ]);
  assert.equal(diffPolicyLines(report([GAINED, { ...GAINED, subject: "tool" }])).at(-1), "2 grants gained");
  assert.equal(diffPolicyLines(report([NARROWED])).at(-1), "no authority gained");
  assert.equal(diffPolicyLines(report([])).at(-1), "the same authority");
});

Deno.test("diffPolicyMarkdown() writes a sentence and a table, or the sentence alone", () => {
  const text = diffPolicyMarkdown(report([GAINED, CHANGED]));
  assert.match(text, /^### Authority of the work tree compared with main\n\n\*\*1 grant gained\.\*\* Review/);
  const rows = text.split("\n").filter((line) => line.startsWith("|"));
  assert.equal(rows.length, 4);
  assert.match(rows[2] ?? "", /^\| gained \| .*src.* \| .*7.* \|$/);
  assert.match(diffPolicyMarkdown(report([NARROWED])), /No authority is gained\./);
  assert.match(diffPolicyMarkdown(report([])), /\n\nThe authority is the same\.\n$/);
});

const HOSTILE = [
  "a | b",
  "](https://example.invalid)",
  "![x](https://example.invalid/x.png)",
  "<script>alert(1)</script>",
  "<!-- -->",
  "`code` **bold** _i_ ~~s~~ # h",
  "@everyone #1 owner/repo#2 https://example.invalid",
  "::error file=x::y",
  "x\n\n| gained | nothing at all | |",
  "x\r::set-output name=a::b",
  "\x1b[2J\x1b[31mred",
  "safe\u202etxt.exe",
  "\\| \\",
  "&lt;b&gt; &#124;",
  "\u2028\u2029",
];

Deno.test("diffPolicyMarkdown() lets no name break out of its cell, whatever it holds", () => {
  for (const name of HOSTILE) {
    const change = { ...GAINED, text: `the tool ${name}`, example: name };
    const text = diffPolicyMarkdown(report([change], {
      base: name,
      head: name,
      positionOf: () => ({ file: name, line: 1, column: 1 }),
    }));
    const lines = text.trimEnd().split("\n");
    assert.equal(lines.length, 7, JSON.stringify(text));
    const row = lines.at(-1) ?? "";
    assert.equal(row.split("|").length, 5, row);
    const ours = [lines[0]?.replace(/^### /, ""), row.replaceAll("|", "")].join(" ");
    assert.doesNotMatch(ours, /[<>`*_[\]!@~\\]|https?:|::|[\p{Cc}\u202e\u2028\u2029]/u, ours);
    // only the references that we write: an ampersand of the name's is one of them
    assert.doesNotMatch(ours, /&(?!#\d+;)/, ours);
  }
});

Deno.test("diffPolicyLines() lets no name start a line, move the cursor or hide", () => {
  for (const name of HOSTILE) {
    const lines = diffPolicyLines(report([{ ...GAINED, text: name, example: name }], { base: name, head: name }));
    assert.equal(lines.length, 3);
    for (const line of lines) assert.doesNotMatch(line, /[\p{Cc}\u202e\u2028\u2029]/u, JSON.stringify(line));
  }
});
