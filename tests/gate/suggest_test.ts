import assert from "node:assert/strict";
import { type Denial, suggest } from "../../src/gate/suggest.ts";
import { makePlan, PLACES } from "./plan_maker.ts";

const PLAN = makePlan({
  fs: {
    read: [
      { root: "${project}/docs", label: "docs", include: ["*.md"], exclude: ["tmp/"], rule: "/fs/read/0" },
      { root: "${project}/src", label: "src", include: [], exclude: [], rule: "/fs/read/1" },
    ],
  },
  gate: [{ effect: "deny", kind: "network", tools: [], match: "api.osv.dev/", rule: "/gate/deny/0" }],
});

function line(denial: Partial<Denial>, options: { toolNames?: readonly string[] } = {}): string | null {
  const whole: Denial = { tool: "readFile", code: "fs_read_path_not_admitted", target: null, ...denial };
  return suggest(whole, PLAN, { places: PLACES, ...options });
}

function read(code: Denial["code"], target: string, rule: string | null = null): string | null {
  return line({ code, target, rule });
}

Deno.test("suggest() adds a tool to the list, but not one that does not exist", () => {
  const denial = { tool: "slow", code: "tool_not_granted" } as const;
  assert.match(line(denial) ?? "", /^"tools": \["echo", .*"npm\.metadata", "slow"\]$/);
  assert.match(line(denial, { toolNames: ["slow"] }) ?? "", /"slow"/);
  assert.equal(line({ ...denial, tool: "shell" }, { toolNames: ["slow"] }), null);
});

Deno.test("suggest() names just the file that was asked for", () => {
  assert.equal(
    read("fs_read_path_not_admitted", "/p/secrets/x.txt"),
    '"fs": { "read": [{ "root": "secrets", "include": ["/x.txt"] }] }',
  );
  assert.match(read("fs_read_path_not_admitted", "/etc/hosts") ?? "", /"root": "\/etc".*"unsafe": \{ "outside"/);
  assert.equal(
    read("include_pattern", "/p/docs/a/b.txt"),
    '"fs": { "read": [{ "root": "docs", "include": ["*.md", "a/b.txt"] }] }',
  );
  assert.equal(
    read("include_pattern", "/p/docs/b.txt"),
    '"fs": { "read": [{ "root": "docs", "include": ["*.md", "/b.txt"] }] }',
  );
  assert.equal(read("secret_name", "/p/src/.env"), '"fs": { "read": [{ "root": "src", "include": ["**", "/.env"] }] }');
  assert.equal(read("exclude_pattern", "/p/docs/tmp/a.md", "/fs/read/0/exclude/0"), 'remove "tmp/" from "exclude"');
});

Deno.test("suggest() adds a model to those that are named", () => {
  const denial = { tool: "model.call", code: "model_not_admitted" } as const;
  assert.equal(line({ ...denial, target: "model:gpt-9" }), '"model": { "models": ["gpt-9"] }');
  assert.equal(line({ ...denial, target: "model:*" }), null);
  assert.equal(line({ ...denial, code: "model_fixture_response_not_found", target: "model:gpt-9" }), null);
});

Deno.test("suggest() says nothing where no line of a policy may allow it", () => {
  assert.equal(read("secret_name", "/p/.twokey/runs/a"), null);
  assert.equal(read("fs_read_path_not_admitted", "/state/x"), null);
  assert.equal(read("fs_read_path_not_admitted", "/p/src/missing.ts"), null, "the file is missing, not the grant");
  for (
    const code of ["protected_path", "symlink_refused", "binary_refused", "content_changed", "not_in_request"] as const
  ) {
    assert.equal(read(code, "/p/docs/a.md"), null, code);
  }
  assert.equal(line({ code: "endpoint_not_granted" }), null);
});

Deno.test("suggest() speaks of write roots, budgets and gate rules", () => {
  const write = (target: string) => line({ code: "artifact_path_not_admitted", target });
  assert.equal(write("/p/reports/a.md"), '"fs": { "write": [{ "root": "reports" }] }');
  assert.equal(write("/p/a.md"), null, "the project itself is no root to advise");
  assert.equal(line({ code: "artifact_root_not_configured" }), '"fs": { "write": [{ "root": "out" }] }');
  assert.equal(line({ code: "large_file_summary_only" }), '"budgets": { "readFileBytes": 4194304 }');
  assert.match(
    line({ code: "gate_deny_rule", rule: "/gate/deny/0" }) ?? "",
    /remove .*"api\.osv\.dev\/".* from "gate"/,
  );
});
