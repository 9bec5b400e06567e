import assert from "node:assert/strict";
import {
  annotationLines,
  annotationsOf,
  type CiDenial,
  type CiReport,
  jobSummary,
  outputText,
} from "../../src/report/github_actions.ts";

const REPORT: CiReport = {
  exit: 0,
  error: null,
  reason: "done",
  faults: [],
  calls: [["ok", 1], ["denied", 0], ["failed", 0]],
  denials: [],
  moreDenials: 0,
  gained: null,
  base: null,
  budgets: [{ budget: "toolCalls", used: 1, limit: 10 }, { budget: "events", used: 0, limit: 10 }],
  audit: ".twokey/runs/x/audit.jsonl",
  head: "ab",
};

const DENIAL: CiDenial = {
  tool: "readFile",
  target: "src/x.ts",
  reason: "include_pattern",
  expected: false,
  allow: null,
  position: { file: "a,b:c%.jsonc", line: 3, column: 5 },
};

Deno.test("annotationLines() escapes messages and properties the way the runner reads them", () => {
  const position = { file: "a,b:c%.jsonc", line: 3, column: 5 };
  const [line] = annotationLines([{ severity: "error", title: "a:b,c", message: "50%\n::warning::x", position }]);
  assert.equal(line, "::error file=a%2Cb%3Ac%25.jsonc,line=3,col=5,title=a%3Ab%2Cc::50%25\\n::warning::x");
});

Deno.test("annotationLines() keeps as many of each severity as are shown", () => {
  const many = Array.from({ length: 30 }, (_, i) => ({
    severity: i % 2 === 0 ? "error" as const : "warning" as const,
    title: "t",
    message: String(i),
  }));
  const lines = annotationLines(many);
  assert.equal(lines.length, 20);
  assert.equal(lines.filter((line) => line.startsWith("::error ")).length, 10);
});

Deno.test("annotationsOf() takes a denial for an error only where the run failed for it", () => {
  const severityAt = (exit: number, expected: boolean) =>
    annotationsOf({ ...REPORT, exit, denials: [{ ...DENIAL, expected }] }).map(({ severity }) => severity);
  assert.deepEqual(severityAt(77, false), ["error"]);
  assert.deepEqual(severityAt(0, false), ["warning"]);
  assert.deepEqual(severityAt(0, true), []);
});

Deno.test("annotationsOf() names what was gained, or each problem, or else the error itself", () => {
  const error = { code: "x", message: "Cannot run: no\n  more", issues: [], fix: "Do it" };
  const messages = (report: Partial<CiReport>) => annotationsOf({ ...REPORT, ...report }).map(({ message }) => message);
  assert.deepEqual(messages({ exit: 65, error }), ["Cannot run: no. more. Do it"]);
  const issue = { message: "Cannot use x", fix: "Write y", position: null };
  assert.deepEqual(messages({ exit: 65, error: { ...error, issues: [issue] } }), ["Cannot use x. Write y"]);
  const change = { kind: "gained", subject: "tool", text: "the tool x", rule: "/tools/0", position: null } as const;
  assert.deepEqual(messages({ exit: 3, error, gained: [change], base: "main" }), ["the tool x"]);
});

Deno.test("jobSummary() shows how it ended, used budgets and the audit head", () => {
  const text = jobSummary(REPORT);
  assert.match(text, /^### twokey: exit 0, done\n\nCalls: 1 ok, 0 denied\./);
  assert.match(text, /\| toolCalls \| 1 \| 10 \|/);
  assert.doesNotMatch(text, /events/);
  assert.match(text, /head <code>ab<\/code>/);
  assert.match(jobSummary({ ...REPORT, reason: null, exit: 65 }), /Nothing ran\./);
});

Deno.test("jobSummary() is bounded whatever a run holds", () => {
  const long = "&".repeat(100_000);
  const denial = {
    ...DENIAL,
    tool: long,
    target: long,
    allow: long,
    reason: long,
    position: { file: long, line: 1, column: 1 },
  };
  const text = jobSummary({
    ...REPORT,
    denials: Array.from({ length: 5000 }, () => denial),
    faults: Array.from({ length: 5000 }, () => long),
    error: { code: "x", message: Array.from({ length: 5000 }, () => long).join("\n"), issues: [], fix: long },
  });
  assert.ok(text.length < 1_000_000, String(text.length));
  assert.match(text, /and 4960 more/);
});

Deno.test("outputText() refuses a value that holds its delimiter", () => {
  const delimiter = "twokey_0123456789abcdef";
  assert.equal(outputText("head", "a\nEOF", delimiter), `head<<${delimiter}\na\nEOF\n${delimiter}\n`);
  assert.throws(() => outputText("head", `a\n${delimiter}\noutcome=success`, delimiter), /not safe/);
  assert.throws(() => outputText("head", "a", "EOF"), /not safe/);
  assert.throws(() => outputText("a=b", "a", delimiter), /not safe/);
});
