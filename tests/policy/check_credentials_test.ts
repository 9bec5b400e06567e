import assert from "node:assert/strict";
import { comparePlans, covers } from "../../src/plan/compare.ts";
import { policyFromFlags, withFlags } from "../../src/policy/from_flags.ts";
import { UsageError } from "../../src/errors.ts";
import { authorityManifest } from "../../src/report/authority_manifest.ts";
import { explain } from "../../src/report/explain.ts";
import { grantLines } from "../../src/report/grants.ts";
import { mutantsOf } from "../../src/policy/mutants.ts";
import { removeTool } from "../../src/policy/policy_edits.ts";
import { compileIn, MANIFESTS, refusalsIn, withProject } from "./project.ts";

const ISSUE = "github.issue.read";
const REPO = "github.repo.read";

function policy(more: Record<string, unknown>): Record<string, unknown> {
  return { version: 1, ...more };
}

/** Codes and fixes of what the compiler refuses. */
async function refused(dir: string, more: Record<string, unknown>): Promise<string[]> {
  return (await refusalsIn(dir, policy(more))).map(({ code, message, fix }) => `${code}: ${message} -> ${fix}`);
}

Deno.test("compile() plans repositories and credentials: one for all github tools, or one of a tool's own", () =>
  withProject({}, async (dir) => {
    const { plan } = await compileIn(
      dir,
      policy({
        tools: [ISSUE, REPO],
        github: { repos: ["Octo-Org/Hello", "o/*"], tokenEnv: "GITHUB_TOKEN" },
        secrets: { [REPO]: "OTHER_TOKEN" },
      }),
    );
    assert.deepEqual(plan.github.repos, [
      { match: "Octo-Org/Hello", rule: "/github/repos/0" },
      { match: "o/*", rule: "/github/repos/1" },
    ]);
    assert.deepEqual(plan.credentials, {
      [ISSUE]: { env: "GITHUB_TOKEN", rule: "/github/tokenEnv" },
      [REPO]: { env: "OTHER_TOKEN", rule: `/secrets/${REPO}` },
    });
    assert.deepEqual(plan.env, ["GITHUB_TOKEN", "OTHER_TOKEN"]);
    assert.equal(plan.tools[ISSUE]?.service, "github");
    const alone = await compileIn(
      dir,
      policy({ tools: [ISSUE, REPO], github: { repos: ["o/r"] }, secrets: { [ISSUE]: "T" } }),
    );
    assert.deepEqual(Object.keys(alone.plan.credentials), [ISSUE], "one tool's secret serves no other");
  }));

Deno.test("compile() refuses a github tool without repositories, and what no granted tool uses, each with its fix", () =>
  withProject({}, async (dir) => {
    const one = async (more: Record<string, unknown>, pattern: RegExp): Promise<void> => {
      const issues = await refused(dir, more);
      assert.equal(issues.length, 1, issues.join("\n"));
      assert.match(issues[0] ?? "", pattern);
    };
    const repos = { repos: ["o/r"] };
    await one({ tools: [ISSUE] }, /^policy_tool_without_authority: .*"github\.repos".* -> Add "github"/);
    await one(
      { tools: ["echo"], github: repos },
      /^policy_unused_authority: .*"github".*reads a repository -> .*"github\.issue\.read"/,
    );
    await one(
      { tools: ["echo"], secrets: { [ISSUE]: "T" } },
      /the tool is not granted -> Remove it, or add "github\.issue\.read"/,
    );
    await one({ tools: ["echo"], secrets: { echo: "T" } }, /the tool takes no credential -> Remove it/);
    await one({ tools: ["echo"], secrets: { nothing: "T" } }, /the tool is not granted/);
    await one({ tools: [ISSUE], github: { repos: ["o/r", "O/R"] } }, /^policy_duplicate_repository/);
    await one(
      { tools: [ISSUE], github: { ...repos, tokenEnv: "A" }, secrets: { [ISSUE]: "B" } },
      /^policy_unused_authority: .*"github\.tokenEnv".*no granted tool uses it/,
    );
    await one(
      { tools: [ISSUE], github: { ...repos, tokenEnv: "P" }, network: { proxy: { fromEnv: "P" } } },
      /^policy_shared_variable/,
    );
    await one({ tools: ["must.authenticate"] }, /^policy_tool_without_authority: .*credential -> Add "secrets"/);
    assert.deepEqual(await refused(dir, { tools: ["must.authenticate"], secrets: { "must.authenticate": "K" } }), []);
  }));

Deno.test("a policy's repositories and variables have one form each", () =>
  withProject({}, async (dir) => {
    const bad = [
      "o",
      "o/",
      "/r",
      "*/*",
      "*/r",
      "o/r/x",
      "o/..",
      "../r",
      "./r",
      "o/r*",
      "o/*x",
      "https://github.com/o/r",
      "o r/x",
      "",
    ];
    for (const repo of bad) {
      const issues = await refused(dir, { tools: [ISSUE], github: { repos: [repo] } });
      assert.ok(issues.length > 0, repo);
    }
    for (const repo of [".github/.github", "a..b/..c", "o/*", "O-1/r_2"]) {
      assert.deepEqual(await refused(dir, { tools: [ISSUE], github: { repos: [repo] } }), [], repo);
    }
    assert.ok((await refused(dir, { tools: [ISSUE], github: { repos: [] } })).length > 0);
    for (const name of ["1A", "A-B", "A=B", "", "$A", "ghp_abc.def", "A".repeat(129)]) {
      assert.ok((await refused(dir, { tools: [ISSUE], github: { repos: ["o/r"], tokenEnv: name } })).length > 0, name);
      assert.ok(
        (await refused(dir, { tools: [ISSUE], github: { repos: ["o/r"] }, secrets: { [ISSUE]: name } })).length > 0,
        name,
      );
    }
  }));

Deno.test("comparePlans() takes a repository or a credential more for authority, and case for none", () =>
  withProject({}, async (dir) => {
    const planOf = async (repos: readonly string[], more: Record<string, unknown> = {}) =>
      (await compileIn(dir, policy({ tools: [ISSUE, REPO], github: { repos }, ...more }))).plan;
    const base = await planOf(["o/r"]);
    const kinds = async (repos: readonly string[], more: Record<string, unknown> = {}) =>
      comparePlans(base, await planOf(repos, more)).map(({ kind, subject, text }) => `${kind} ${subject}: ${text}`);
    assert.deepEqual(await kinds(["O/R"]), []);
    assert.deepEqual(await kinds(["o/r", "o/x"]), ["gained repository: the repository o/x"]);
    assert.deepEqual(await kinds(["o/*"]), ["gained repository: the repository o/*"]);
    assert.deepEqual(await kinds(["o/x"]), [
      "gained repository: the repository o/x",
      "lost repository: the repository o/r",
    ]);
    assert.equal(covers(await planOf(["o/*"]), base), true);
    assert.deepEqual(await kinds(["o/r"], { secrets: { [ISSUE]: "T" } }), [
      "gained credential: the credential $T for github.issue.read",
      "gained variable: the variable T",
    ]);
  }));

Deno.test("explain, the grants and the authority manifest name repositories and variables, and no value", () =>
  withProject({}, async (dir) => {
    const { plan, loaded } = await compileIn(
      dir,
      policy({ tools: [ISSUE], github: { repos: ["B/x", "a/*"], tokenEnv: "GITHUB_TOKEN" } }),
    );
    const manifest = authorityManifest(plan);
    assert.deepEqual(manifest.repositories, ["a/*", "b/x"]);
    assert.deepEqual(manifest.secrets, [{ tool: ISSUE, variable: "GITHUB_TOKEN" }]);
    assert.deepEqual(manifest.variables, ["GITHUB_TOKEN"]);
    const lines = grantLines(plan).join("\n");
    assert.match(lines, /may ask {3}about B\/x, a\/\*/);
    assert.match(lines, /may use {3}\$GITHUB_TOKEN for github\.issue\.read/);
    const sections = new Map(explain(plan, loaded.positionOf).sections.map(({ title, lines }) => [title, lines]));
    assert.deepEqual(sections.get("Repositories that may be read")?.map(({ what, tools }) => [what, tools]), [
      ["B/x on GitHub", [ISSUE]],
      ["a/* on GitHub", [ISSUE]],
    ]);
    assert.match(sections.get("Credentials that are sent")?.[0]?.what ?? "", /\$GITHUB_TOKEN/);
  }));

Deno.test("flags grant repositories and credentials, each is authority, and a bad one shows nothing of it", () =>
  withProject({}, async (dir) => {
    const { policy: made } = await policyFromFlags(
      { tool: [ISSUE], githubRepo: ["o/r", "O/R", "a/*"], githubTokenEnv: "GITHUB_TOKEN", secret: [`${ISSUE}=OTHER`] },
      dir,
    );
    assert.deepEqual(made.github, { repos: ["o/r", "a/*"], tokenEnv: "GITHUB_TOKEN" });
    assert.deepEqual({ ...made.secrets }, { [ISSUE]: "OTHER" });
    const { loaded } = await compileIn(dir, policy({ tools: [ISSUE], github: { repos: ["o/r"], tokenEnv: "T" } }));
    const added = async (flags: Parameters<typeof withFlags>[1]) =>
      (await withFlags(loaded, flags, { cwd: dir })).added;
    assert.deepEqual(await added({ githubRepo: ["O/R"], githubTokenEnv: "T" }), []);
    assert.deepEqual(await added({ githubRepo: ["o/x"] }), ["--github-repo"]);
    assert.deepEqual(await added({ githubTokenEnv: "U" }), ["--github-token-env"]);
    assert.deepEqual(await added({ secret: [`${ISSUE}=U`] }), ["--secret"]);
    for (
      const text of [`${ISSUE}`, "=T", `${ISSUE}=`, `${ISSUE}=ghp-secret-value`, "__proto__=T", "a/b=T", "ghp_secret"]
    ) {
      await assert.rejects(policyFromFlags({ secret: [text] }, dir), (error) => {
        assert.ok(error instanceof UsageError && !error.message.includes(text), String(error));
        return true;
      });
    }
    await assert.rejects(policyFromFlags({ tool: [ISSUE], githubTokenEnv: "T" }, dir), UsageError);
  }));

Deno.test("taking the last github tool away takes its repositories and its secret along", () => {
  const before = {
    version: 1 as const,
    tools: [ISSUE, "echo"],
    github: { repos: ["o/r"] },
    secrets: { [ISSUE]: "T" },
  };
  const edits = removeTool(before, ISSUE, { manifests: MANIFESTS });
  assert.deepEqual(edits.map(({ act, path }) => [act, path.join("/")]), [
    ["remove", "tools/0"],
    ["remove", "github"],
    ["remove", "secrets"],
  ]);
  const shared = removeTool({ ...before, tools: [ISSUE, REPO] }, ISSUE, { manifests: MANIFESTS });
  assert.ok(!shared.some(({ path }) => path[0] === "github"));
});

Deno.test("mutantsOf() drops each repository and widens each to its owner", () => {
  const base = { version: 1 as const, tools: [ISSUE], github: { repos: ["o/r", "a/*"], tokenEnv: "T" } };
  const mutants = mutantsOf(base, { others: [], fsOf: () => undefined }).filter(({ rule }) =>
    rule.startsWith("/github")
  );
  assert.deepEqual(mutants.map(({ kind, rule, policy: { github } }) => [kind, rule, github?.repos]), [
    ["dropped", "/github/repos/0", ["a/*"]],
    ["widened", "/github/repos/0", ["o/*", "a/*"]],
    ["dropped", "/github/repos/1", ["o/r"]],
  ]);
  assert.ok(mutants.every(({ policy: { github } }) => github?.tokenEnv === "T"));
});
