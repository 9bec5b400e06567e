import assert from "node:assert/strict";
import fc from "fast-check";
import { DataError, InputError } from "../../src/errors.ts";
import { findProject, loadPolicy, parsePolicy } from "../../src/policy/load.ts";
import { PolicyError, type PolicyIssue } from "../../src/policy/policy_error.ts";
import { withProject } from "./project.ts";

async function issuesOf(text: string): Promise<readonly PolicyIssue[]> {
  try {
    await parsePolicy(text, "p.jsonc");
    return [];
  } catch (error) {
    assert.ok(error instanceof PolicyError, String(error));
    return error.issues;
  }
}

async function onlyIssue(text: string): Promise<PolicyIssue> {
  const issues = await issuesOf(text);
  assert.equal(issues.length, 1, JSON.stringify(issues));
  return issues[0] as PolicyIssue;
}

Deno.test("parsePolicy() reads comments, trailing commas and a byte order mark", async () => {
  const { policy, positionOf } = await parsePolicy('\ufeff// a\n{ "version": 1, /* b */ "tools": ["echo",], }', "p");
  assert.deepEqual(policy, { version: 1, tools: ["echo"] });
  assert.deepEqual(positionOf("/tools/0"), { file: "p", line: 2, column: 35 });
  assert.deepEqual(positionOf("/tools/9/x"), { file: "p", line: 2, column: 34 }, "the nearest value around it");
});

Deno.test("parsePolicy() digests the value: comments, order, white space and $schema do not count", async () => {
  const a = await parsePolicy('{ "version": 1, "tools": ["echo"] }', "a");
  const b = await parsePolicy('{\r\n "$schema": "x", // c\r\n "tools": [ "echo" ], "version": 1 }', "b");
  const c = await parsePolicy('{ "version": 1, "tools": [] }', "c");
  assert.equal(a.sha256, b.sha256);
  assert.notEqual(a.sha256, c.sha256);
});

Deno.test("parsePolicy() refuses a duplicate key at its second place, also in nested objects", async () => {
  const issue = await onlyIssue('{ "version": 1,\n  "context": { "a": 1,\n    "a": 2 } }');
  assert.equal(issue.code, "policy_duplicate_key");
  assert.deepEqual(issue.position, { file: "p.jsonc", line: 3, column: 5 });
});

Deno.test("parsePolicy() sees the same key in two spellings as duplicate", async () => {
  assert.equal((await onlyIssue('{ "version": 1, "\\u0076ersion": 1 }')).code, "policy_duplicate_key");
});

for (const key of ["__proto__", "constructor", "prototype"]) {
  Deno.test(`parsePolicy() refuses the key ${key} as reserved, not as duplicate`, async () => {
    const issue = await onlyIssue(`{ "version": 1, "context": { "${key}": {} } }`);
    assert.equal(issue.code, "policy_forbidden_key");
  });
}

Deno.test("parsePolicy() names the nearest known key, at any depth", async () => {
  assert.match((await onlyIssue('{ "version": 1, "tool": [] }')).fix, /"tools"/);
  assert.match((await onlyIssue('{ "version": 1, "fs": { "raed": [] } }')).fix, /"read"/);
  assert.match(
    (await onlyIssue('{ "version": 1, "fs": { "read": [{ "root": ".", "incldue": ["a"] }] } }')).fix,
    /"include"/,
  );
  assert.match((await onlyIssue('{ "version": 1, "budgets": { "wall_ms": 100 } }')).fix, /"wallMs"/);
  assert.match((await onlyIssue('{ "version": 1, "budgets": { "zzz": 100 } }')).fix, /Known here: toolTimeoutMs/);
});

Deno.test("parsePolicy() reports every wrong value with its place, what it is and what it should be", async () => {
  const issues = await issuesOf(
    '{\n"version": 2,\n"tools": [3],\n"isolation": "proces",\n"budgets": { "wallMs": 1.5, "heapMb": 1 },\n"network": {"ca": {}} }',
  );
  assert.deepEqual(issues.map(({ position, message, fix }) => [position.line, message, fix]), [
    [2, 'Cannot use "version": it is 2, expected 1', "Write 1"],
    [3, 'Cannot use "tools[0]": it is 3, expected string', "Write string"],
    [4, 'Cannot use "isolation": it is "proces", expected "process" or "worker" or "compartment"', 'Write "process"'],
    [5, 'Cannot use "budgets.wallMs": it is 1.5, expected a whole number', "Write a whole number"],
    [5, 'Cannot use "budgets.heapMb": it is 1, expected at least 64', "Write at least 64"],
    [
      6,
      'Cannot use "network.ca": it is {}, expected { "fromEnv": NAME } or { "file": PATH }',
      'Write { "fromEnv": NAME } or { "file": PATH }',
    ],
  ]);
});

Deno.test("PolicyError prints one problem as itself and several one a line with file, line and column", async () => {
  await assert.rejects(parsePolicy('{ "version": 3 }', "p"), (error) => {
    assert.ok(error instanceof DataError);
    assert.equal(error.message, 'Cannot use "version": it is 3, expected 1');
    assert.equal(error.fix, "Write 1");
    return true;
  });
  await assert.rejects(parsePolicy('{ "version": 3,\n "x": 1 }', "p"), (error) => {
    assert.ok(error instanceof PolicyError);
    assert.match(error.message, /^Cannot use the policy: 2 problems\n {2}p:1:14: .*\n {4}fix: .*\n {2}p:2:2: /);
    return true;
  });
});

Deno.test("parsePolicy() keeps absent, empty and filled lists apart: an empty list never means everything", async () => {
  const absent = await parsePolicy('{ "version": 1, "fs": { "read": [{ "root": "." }] } }', "p");
  assert.equal(absent.policy.fs?.read?.[0]?.include, undefined);
  const issue = await onlyIssue('{ "version": 1, "fs": { "read": [{ "root": ".", "include": [] }] } }');
  assert.match(issue.fix, /remove the key/);
  await onlyIssue('{ "version": 1, "network": { "fixtures": [] } }');
  await onlyIssue('{ "version": 1, "gate": { "deny": [{ "kind": "network", "tools": [], "match": "a" }] } }');
});

const SYNTAX: readonly (readonly [string, string, string])[] = [
  ["an unclosed list", '{ "version": 1, "tools": ["echo"', "policy_syntax"],
  ["an empty text", "", "policy_syntax"],
  ["trailing text", '{ "version": 1 } x', "policy_syntax"],
  ["single quotes", "{ 'version': 1 }", "policy_syntax"],
  ["a line feed in a string", '{ "version": 1, "name": "a\nb" }', "policy_syntax"],
  ["an unclosed comment", '{ "version": 1 } /*', "policy_syntax"],
  ["a leading zero", '{ "version": 01 }', "policy_syntax"],
  ["a list as the policy", "[]", "policy_wrong_value"],
  ["a lone surrogate", '{ "version": 1, "context": { "a": "\\ud800" } }', "policy_bad_text"],
  ["a number that overflows", '{ "version": 1, "context": { "a": 1e999 } }', "policy_bad_number"],
  ["a number that is not exact", '{ "version": 1, "context": { "a": 9007199254740993 } }', "policy_bad_number"],
  ["65 levels", `{ "version": 1, "context": ${'{"a":'.repeat(64)}1${"}".repeat(64)} }`, "policy_too_deep"],
  ["a million levels", "[".repeat(1_000_000), "policy_too_deep"],
];

for (const [name, text, code] of SYNTAX) {
  Deno.test(`parsePolicy() refuses ${name}`, async () => {
    assert.equal((await onlyIssue(text)).code, code);
  });
}

Deno.test("parsePolicy() counts levels outside of strings and comments only", async () => {
  const { policy } = await parsePolicy(
    `{ "version": 1, /* ${"[".repeat(100)} */ "redact": ["${"{".repeat(100)}"] }`,
    "p",
  );
  assert.equal(policy.redact?.[0]?.length, 100);
});

Deno.test("loadPolicy() finds the real file, its folder and the project above it", async () => {
  await withProject({ files: { "policies/a/x.policy.jsonc": '{ "version": 1 }' } }, async (dir) => {
    const loaded = await loadPolicy(`${dir}/policies/../policies/a/x.policy.jsonc`);
    assert.equal(loaded.file, `${dir}/policies/a/x.policy.jsonc`);
    assert.equal(loaded.base, `${dir}/policies/a`);
    assert.equal(loaded.project, dir);
    assert.equal(findProject(`${dir}/policies`), dir);
  });
});

Deno.test("loadPolicy() tells missing, no file, too large, not UTF-8 and a link out of the project apart", async () => {
  await withProject({
    files: { "folder/": "", "large.jsonc": " ".repeat(1024 * 1024 + 1), "in.jsonc": '{ "version": 1 }' },
    links: { "out.jsonc": "/etc/hostname", "same.jsonc": "in.jsonc" },
  }, async (dir) => {
    await Deno.writeFile(`${dir}/latin.jsonc`, new Uint8Array([0x22, 0xe9, 0x22]));
    await assert.rejects(loadPolicy(`${dir}/nothing.jsonc`), InputError);
    await assert.rejects(loadPolicy(`${dir}/folder`), { code: "policy_not_a_file" });
    await assert.rejects(loadPolicy(`${dir}/large.jsonc`), { code: "policy_too_large" });
    await assert.rejects(loadPolicy(`${dir}/latin.jsonc`), { code: "policy_not_utf8" });
    await assert.rejects(loadPolicy(`${dir}/out.jsonc`), { code: "policy_link_outside" });
    assert.equal((await loadPolicy(`${dir}/same.jsonc`)).file, `${dir}/in.jsonc`);
  });
});

Deno.test("loadPolicy() does not hang on a FIFO", async () => {
  await withProject({}, async (dir) => {
    const made = await new Deno.Command("mkfifo", { args: [`${dir}/pipe.jsonc`] }).output();
    assert.ok(made.success);
    await assert.rejects(loadPolicy(`${dir}/pipe.jsonc`), { code: "policy_not_a_file" });
  });
});

Deno.test("parsePolicy() answers any text with a policy or a PolicyError, never with another fault", async () => {
  const token = fc.constantFrom(
    ...[
      "{",
      "}",
      "[",
      "]",
      ":",
      ",",
      '"version"',
      "1",
      '"tools"',
      '"a"',
      "//x\n",
      "/*",
      "*/",
      "\\",
      '"',
      "\ud800",
      " ",
    ],
  );
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.array(token, { maxLength: 30 }).map((parts) => parts.join("")),
  );
  await fc.assert(
    fc.asyncProperty(text, async (text) => {
      try {
        await parsePolicy(text, "p");
      } catch (error) {
        assert.ok(error instanceof PolicyError, `${JSON.stringify(text)}: ${error}`);
        for (const { position } of error.issues) assert.ok(position.line >= 1 && position.column >= 1);
      }
    }),
    { numRuns: 2000 },
  );
});

Deno.test("parsePolicy() answers any JSON value with a policy or a PolicyError that names a place in it", async () => {
  const keys = fc.constantFrom(
    "version",
    "tools",
    "fs",
    "read",
    "root",
    "network",
    "ca",
    "gate",
    "deny",
    "budgets",
    "x",
  );
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 4 },
      fc.jsonValue({ maxDepth: 1 }),
      fc.array(tie("any"), { maxLength: 3 }),
      fc.dictionary(keys, tie("any"), { maxKeys: 4 }),
    ),
  })).any;
  await fc.assert(
    fc.asyncProperty(value, async (value) => {
      try {
        await parsePolicy(JSON.stringify(value, null, 1), "p");
      } catch (error) {
        assert.ok(error instanceof PolicyError, `${JSON.stringify(value)}: ${error}`);
      }
    }),
    { numRuns: 2000 },
  );
});
