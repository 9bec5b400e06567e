import assert from "node:assert/strict";
import { type Project, withProject } from "../e2e/run_project.ts";

interface Rule {
  readonly kind: string;
  readonly match: string;
}

interface ReadRoot {
  readonly root: string;
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
}

/** The parts of a policy that these tests change. */
interface Policy {
  readonly tools: readonly string[];
  readonly fs?: { readonly read?: readonly ReadRoot[]; readonly write?: readonly { readonly root: string }[] };
  readonly gate?: { readonly deny?: readonly Rule[]; readonly ask?: readonly Rule[] };
}

interface Explained {
  readonly decision: string;
  readonly code: string | null;
  readonly rules: readonly string[];
  readonly decided_by: readonly { readonly rule: string; readonly file: string; readonly line: number }[];
  readonly change: string | null;
}

const READ: Policy = {
  tools: ["readFile"],
  fs: { read: [{ root: "docs", include: ["*.md"], exclude: ["/private/"] }] },
};

const FILES = {
  "docs/a.md": "a",
  "docs/a.txt": "a",
  "docs/private/p.md": "p",
  "docs/.env": "SECRET=1",
  "other/b.md": "b",
};

async function explain(project: Project, policy: Policy, [tool, args]: readonly [string, unknown]): Promise<Explained> {
  await project.policy(JSON.parse(JSON.stringify(policy)));
  const { code, stdout, stderr } = await project.run({
    args: ["policy", "explain", "--json", "--call", tool, JSON.stringify(args)],
  });
  assert.equal(code, 0, stderr + stdout);
  return JSON.parse(stdout);
}

/** Does to a policy what `change` says, as its reader would. */
function apply(policy: Policy, change: string): Policy {
  const excluded = /^remove ("[^"]*") from "exclude"$/.exec(change)?.[1];
  if (excluded !== undefined) {
    const pattern: string = JSON.parse(excluded);
    const read = (policy.fs?.read ?? []).map((root) => {
      const { exclude = [], ...rest } = root;
      const left = exclude.filter((one) => one !== pattern);
      return left.length === 0 ? rest : { ...rest, exclude: left };
    });
    return { ...policy, fs: { ...policy.fs, read } };
  }
  const ruled = /^remove (\{.*\}) from "gate": \{ "(deny|ask)"/.exec(change);
  if (ruled !== null) {
    const { kind, match }: Rule = JSON.parse(ruled[1] ?? "");
    const effect = ruled[2] === "ask" ? "ask" : "deny";
    const left = (policy.gate?.[effect] ?? []).filter((rule) => rule.kind !== kind || rule.match !== match);
    return { ...policy, gate: { ...policy.gate, [effect]: left } };
  }
  const removed = /^remove ("[^"]*") from "tools"$/.exec(change)?.[1];
  if (removed !== undefined) {
    return { ...policy, tools: policy.tools.filter((tool) => tool !== JSON.parse(removed)) };
  }
  const added: Partial<Policy> = JSON.parse(`{${change.replace("[..., ", "[")}}`);
  const roots = [...policy.fs?.read ?? []];
  for (const root of added.fs?.read ?? []) {
    const at = roots.findIndex((one) => one.root === root.root);
    if (at < 0) roots.push(root);
    else roots[at] = { ...roots[at], ...root };
  }
  const fs = { ...policy.fs, ...(roots.length > 0 ? { read: roots } : {}) };
  const deny = [...policy.gate?.deny ?? [], ...added.gate?.deny ?? []];
  return {
    ...policy,
    ...(added.tools === undefined ? {} : { tools: added.tools }),
    ...(Object.keys(fs).length > 0 ? { fs } : {}),
    ...(deny.length > 0 ? { gate: { ...policy.gate, deny } } : {}),
  };
}

/** Drops what a JSON Pointer names; `undefined` where the pointer names nothing that can go alone. */
function drop(policy: Policy, pointer: string): Policy {
  const copy = JSON.parse(JSON.stringify(policy));
  const keys = pointer.split("/").slice(1);
  const last = keys.pop() ?? "";
  let at = copy;
  for (const key of keys) at = at[key];
  if (Array.isArray(at)) at.splice(Number(last), 1);
  else delete at[last];
  return copy;
}

/** A policy and a call, and what must come of it. */
const CASES: Readonly<Record<string, readonly [Policy, readonly [string, unknown], string, string | null]>> = {
  "a tool that is not granted": [READ, ["listFiles", {}], "deny", "tool_not_granted"],
  "a file outside of every root": [
    READ,
    ["readFile", { path: "$PROJECT/other/b.md" }],
    "deny",
    "fs_read_path_not_admitted",
  ],
  "a file that no pattern takes in": [READ, ["readFile", { path: "a.txt" }], "deny", "include_pattern"],
  "a file that a pattern excludes": [READ, ["readFile", { path: "private/p.md" }], "deny", "exclude_pattern"],
  "a secret name": [
    { tools: ["readFile"], fs: { read: [{ root: "docs" }] } },
    ["readFile", { path: ".env" }],
    "deny",
    "secret_name",
  ],
  "a rule that denies": [
    { ...READ, gate: { deny: [{ kind: "filesystem.read", match: "a.md" }] } },
    ["readFile", { path: "a.md" }],
    "deny",
    "gate_deny_rule",
  ],
  "a rule that asks": [
    { ...READ, gate: { ask: [{ kind: "filesystem.read", match: "a.md" }] } },
    ["readFile", { path: "a.md" }],
    "ask",
    "approval_required",
  ],
  "a file that is admitted": [READ, ["readFile", { path: "a.md" }], "allow", null],
  "a tool that needs nothing": [{ tools: ["echo"] }, ["echo", { n: 1, text: "x" }], "allow", null],
  "a file to create": [
    { tools: ["writeArtifact"], fs: { write: [{ root: "out" }] } },
    ["writeArtifact", { path: "report.md", content: "x" }],
    "allow",
    null,
  ],
};

for (const [what, [policy, [tool, args], decision, code]] of Object.entries(CASES)) {
  Deno.test(`explainCall() is proved by changing the policy: ${what}`, () =>
    withProject({ agent: "", files: FILES }, async (project) => {
      const call = [tool, JSON.parse(JSON.stringify(args).replace("$PROJECT", project.dir))] as const;
      const found = await explain(project, policy, call);
      assert.deepEqual([found.decision, found.code], [decision, code]);

      // what it says to change turns the decision round
      assert.ok(found.change !== null);
      const turned = await explain(project, apply(policy, found.change), call);
      assert.equal(turned.decision, decision === "allow" ? "deny" : "allow", `${found.change}: ${turned.code}`);

      // each line that it says decided, dropped, decides otherwise (or leaves no policy to speak of)
      assert.equal(found.decided_by.length, found.rules.length);
      for (const { rule, file, line } of found.decided_by) {
        assert.ok(file.endsWith("agent.policy.jsonc") && line > 0);
        const text = JSON.stringify(drop(policy, rule));
        await project.policy(JSON.parse(text));
        const { stdout } = await project.run({
          args: ["policy", "explain", "--json", "--call", call[0], JSON.stringify(call[1])],
        });
        const { decision: without, code: reason, error } = JSON.parse(stdout);
        if (error === undefined) assert.notDeepEqual([without, reason], [decision, code], `without ${rule}`);
        else assert.match(error.code, /^policy_/, `without ${rule}: ${stdout}`);
      }
    }));
}

Deno.test("explainCall() prints the decision, the line, and the change; nothing is done", () =>
  withProject({ agent: "", policy: { ...READ }, files: FILES }, async (project) => {
    const said = async (...args: string[]) => await project.run({ args: ["policy", "explain", "--call", ...args] });
    const denied = await said("readFile", '{"path":"a.txt"}');
    assert.equal(denied.code, 0);
    assert.match(
      denied.stdout,
      /^deny {2}readFile docs\/a\.txt\n {2}because [^\n]+\n {2}decided by [^\n]+:\d+ {2}\/fs\/read\/0\/include\n/,
    );
    assert.match(
      denied.stdout,
      /to allow it: "fs": \{ "read": \[\{ "root": "docs", "include": \["\*\.md", "\/a\.txt"\] \}\] \}\n$/,
    );
    const unknown = await said("nothing\x1b[31m", "{}");
    assert.match(unknown.stdout, /^deny {2}nothing\\u\{1b\}\[31m\n/);
    assert.match((await said("readFile", '{"path":1}')).stdout, /^invalid {2}readFile\n {2}because /);
    for (const args of ["{", "[]", "1", "null"]) {
      const { code, stderr } = await said("readFile", args);
      assert.equal(code, 64, args);
      assert.match(stderr, /arguments (are not JSON|must be a JSON object)/);
    }
    assert.equal(denied.auditPath, "", "no log of a run that nobody made");
  }));
