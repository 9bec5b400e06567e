import assert from "node:assert/strict";
import fc from "fast-check";
import type { ApprovalItem } from "../../src/audit/approval_entries.ts";
import type { ApprovalRequest } from "../../src/audit/approval_request.ts";
import type { Json } from "../../src/json.ts";
import { inboxJson, inboxLines, plainJson, requestLines } from "../../src/report/approval.ts";

const REQUEST: ApprovalRequest = {
  id: "c0ffee".padEnd(64, "0"),
  tool: "writeArtifact",
  args: { path: "report.md", content: "# Report\n" },
  arg_bytes: 44,
  requirements: [{ kind: "filesystem.write", target: "/p/out/report.md" }],
  rule: "/approvals/require/0",
  policy: { name: "demo", path: "${project}/agent.policy.jsonc", sha256: "1".repeat(64) },
  agent: { entry: "${project}/agent.ts", sha256: "2".repeat(64) },
  plan: "3".repeat(64),
};

const ITEM: ApprovalItem = {
  id: REQUEST.id,
  request: REQUEST,
  asked_ms: 1000,
  run_id: "r",
  open: true,
  grants: [],
  used: 0,
  decision: null,
  max_age_ms: 86_400_000,
};

Deno.test("requestLines() shows the one call that will run, and what it is bound to", () => {
  assert.deepEqual(requestLines(REQUEST, { project: "/p" }), {
    lines: [
      "approval  writeArtifact",
      "  needs   filesystem.write out/report.md",
      '  arg     path: "report.md"',
      '  arg     content: "# Report\\n"',
      "  agent   agent.ts (sha256 222222222222…)",
      "  policy  demo (sha256 111111111111…) asks: /approvals/require/0",
      `  id      ${REQUEST.id}`,
    ],
    isCut: false,
  });
});

Deno.test("requestLines() says what it cuts, and shows it where all is asked for", () => {
  const long = { ...REQUEST, args: { content: "x".repeat(5000) + "END" } };
  const cut = requestLines(long);
  assert.equal(cut.isCut, true);
  assert.match(cut.lines.join("").replaceAll("        | ", ""), /… \(cut; 5005 bytes of JSON in all\)/);
  const whole = requestLines(long, { whole: true });
  assert.ok(!whole.isCut && whole.lines.join("").replaceAll("        | ", "").includes('xEND"'));
  const many = { ...REQUEST, args: Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`k${i}`, i])) };
  assert.ok(requestLines(many).isCut && requestLines(many).lines.includes("          and 6 more"));
  const requirements = Array.from({ length: 20 }, (_, i) => ({ kind: "filesystem.read", target: `/p/${i}` }));
  assert.ok(requestLines({ ...REQUEST, requirements }).isCut);
});

Deno.test("requestLines() names the folder and the bytes of a program, by what they are and not by the words of the call", () => {
  const need = {
    kind: "command.execute",
    target: "fmt f",
    folder: "/p/B",
    program: { path: "${project}/bin/fmt", sha256: "4".repeat(64) },
  };
  const { lines } = requestLines({ ...REQUEST, requirements: [need] }, { project: "/p" });
  assert.deepEqual(lines.slice(1, 5), [
    "  needs   command.execute fmt f",
    "  in      ./B",
    "  program ./bin/fmt",
    `  sha256  ${"4".repeat(64)}`,
  ]);
  const folders = ["/p", "/q", "/p/./"].map((folder) =>
    requestLines({ ...REQUEST, requirements: [{ ...need, folder }] }, { project: "/p" }).lines[2]
  );
  assert.deepEqual(folders, ["  in      ./", "  in      /q", "  in      ././"]);
});

Deno.test("requestLines() lets nothing that an agent chose begin a line, at any width of the terminal", () => {
  const forged = "Allow this one call? [y/N] approval readFile   id ";
  const request = {
    ...REQUEST,
    args: { content: forged.repeat(40), [forged.repeat(9)]: "\u65e5".repeat(200) },
    requirements: [{ kind: "filesystem.write", target: `/p/${forged.repeat(60)}` }],
  };
  for (const columns of [30, 40, 79, 80, 200]) {
    const { lines, isCut } = requestLines(request, { columns, project: "/p" });
    assert.ok(isCut, "a long target is cut like an argument");
    for (const line of lines) {
      assert.match(line, /^(?:approval {2}writeArtifact| {2}(?:needs|arg|agent|policy|id|mind) {2,}| {8}\| )/);
      const wide = [...line].reduce((sum, one) => sum + (one < "\x80" ? 1 : 2), 0);
      assert.ok(wide <= columns || line.startsWith("  mind"), `${columns}: ${line}`);
    }
  }
});

Deno.test("plainJson() escapes what looks like a blank, and every blank behind another", () => {
  for (const text of ["\u2800", "\u{1d159}", "\ufffc", "\u3000", "\u{13441}", "\u115f", "\u034f", "\ufe0f", "\u00a0"]) {
    assert.match(plainJson(`a${text}b`), /^"a\\u[\\u0-9a-f]*b"$/, text.codePointAt(0)?.toString(16));
  }
  assert.equal(plainJson("a b   c"), '"a b \\u0020\\u0020c"');
  assert.equal(JSON.parse(plainJson("a b   c")), "a b   c");
});

Deno.test("requestLines() warns of letters that may look like others", () => {
  const mind = (args: Record<string, Json>) =>
    requestLines({ ...REQUEST, args }).lines.some((line) => /not all.*ASCII/.test(line));
  assert.deepEqual([mind({ a: "paypal" }), mind({ a: "p\u0430ypal" }), mind({ "\u0430": "" })], [false, true, true]);
});

Deno.test("plainJson() is JSON of the same value, on one line, and nothing in it deceives", () => {
  const evil = [
    "\x1b[2J",
    "\u202eabc",
    "\u200b",
    "\u0301",
    "\u05d0\u0627",
    "\u3164",
    "\u00a0",
    "\u2028",
    "\u{e0041}",
    "\ud800",
    "a\r\nb",
  ];
  for (const text of evil) {
    const shown = plainJson(text);
    assert.match(shown, /^[ -~]*$/, text);
    assert.equal(JSON.parse(shown), text);
  }
  assert.equal(plainJson("Größe 日本 5 €"), '"Größe 日本 5 €"');
  fc.assert(fc.property(fc.jsonValue(), fc.string({ unit: "binary" }), (value, text) => {
    for (const one of [value as Json, { [text]: text }]) {
      const shown = plainJson(one);
      assert.deepEqual(JSON.parse(shown), JSON.parse(JSON.stringify(one)));
      assert.doesNotMatch(shown, /[\p{C}\p{M}\p{Zl}\p{Zp}]/u);
    }
  }));
});

Deno.test("inboxLines() lists requests with what to do next, and every text is safe", () => {
  const options = { foreign: 1, nowMs: 2000, project: "/p" };
  assert.deepEqual(inboxLines([ITEM], options), [
    "id            status   tool           what           asked",
    "c0ffee000000  pending  writeArtifact  out/report.md  1970-01-01 00:00:01Z",
    "",
    "1 pending, 0 allowed, 0 denied, 0 used",
    "twokey approval allow <id>, or deny <id>; show <id> prints the whole request",
    "torn or not ours, so they say nothing: 1 line of the log",
  ]);
  assert.deepEqual(inboxLines([], { ...options, foreign: 0 }), ["Nothing waits for an approval here"]);
  const evil = { ...ITEM, request: { ...REQUEST, tool: "\x1b[2J", requirements: [], args: { "\u202e": "\n" } } };
  assert.doesNotMatch(inboxLines([evil], options).join(""), /[\p{C}]/u);
  const granted = { ...ITEM, open: false, grants: [{ grant: "g", at_ms: 1000 }, { grant: "h", at_ms: 1500 }] };
  assert.match(inboxLines([granted], options)[1] ?? "", /allowed .* 2 calls, 23 h more$/);
});

Deno.test("inboxJson() counts by status and says what it does not claim", () => {
  const json = inboxJson([ITEM, { ...ITEM, id: "d".repeat(64), open: false, used: 1 }], {
    path: "/state/log",
    foreign: 0,
    nowMs: 2000,
  });
  assert.deepEqual(json.counts, { pending: 1, allowed: 0, denied: 0, stale: 0, used: 1, total: 2 });
  assert.deepEqual([json.type, json.schema_version], ["agent_approval_inbox", 1]);
  assert.ok(Array.isArray(json.nonclaims) && json.nonclaims.length > 0);
});
