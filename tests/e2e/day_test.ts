/** The user's day, from an empty project to a merged pull request, on a real git repository. */
import assert from "node:assert/strict";
import { GIT, type GitRepository, repositoryIn } from "../policy/git_repository.ts";
import { withoutGit } from "../policy/without_git.ts";
import { type Project, withProject } from "./run_project.ts";

const POLICY = "agent.policy.jsonc";

/** What one command said. */
interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

type Twokey = (command: string, options?: { readonly ci?: boolean }) => Promise<Said>;

function twokeyIn(project: Project): Twokey {
  return async (command, { ci = false } = {}) => {
    const { code, stdout, stderr } = await project.run({ args: command.split(" "), env: ci ? { CI: "true" } : {} });
    return { code, out: stdout, err: stderr };
  };
}

/** Puts a text in place of another one in a file. */
async function edit(project: Project, file: string, from: string, to: string): Promise<void> {
  const text = await Deno.readTextFile(`${project.dir}/${file}`);
  assert.ok(text.includes(from), `${file} holds ${from}:\n${text}`);
  await project.write(file, text.replace(from, () => to));
}

async function startProject(project: Project, twokey: Twokey): Promise<GitRepository> {
  const repository = repositoryIn(project.dir);
  await repository.git(["init", "--quiet", "--initial-branch=main"]);
  await project.write("README.md", "# Project\n\nWords.\n");
  const { code, err } = await twokey("init");
  assert.equal(code, 0, err);
  return repository;
}

/** The first run is denied and says which line is missing; with the line it is not. */
async function firstRuns(project: Project, twokey: Twokey): Promise<void> {
  const denied = await twokey("run");
  assert.equal(denied.code, 0, denied.err);
  const advice = /"include": (\["\/\*\.md", "\/deno\.json"\])/.exec(denied.out);
  assert.ok(advice?.[1] !== undefined, denied.out);
  await edit(project, POLICY, '["/*.md"]', advice[1]);
  const allowed = await twokey("run --fail-on-denial");
  assert.equal(allowed.code, 0, allowed.out + allowed.err);
}

/** Without a lock nothing runs in CI; with a reviewed one it does. */
async function lockAndCommit(repository: GitRepository, twokey: Twokey): Promise<void> {
  const tested = await twokey("policy test");
  assert.equal(tested.code, 0, tested.out + tested.err);
  assert.match(tested.out, /^5 passed, 0 failed$/m);
  const unlocked = await twokey("run", { ci: true });
  assert.equal(unlocked.code, 65);
  assert.match(unlocked.err, /policy lock/);
  assert.equal((await twokey("policy lock")).code, 0);
  await repository.commit("Let an agent look at the project");
  const ci = await twokey("run", { ci: true });
  assert.equal(ci.code, 0, ci.out + ci.err);
}

/** A pull request that widens the policy is stopped twice: by the lock, and, locked again, by its base. */
async function widen(project: Project, repository: GitRepository, twokey: Twokey): Promise<void> {
  await repository.git(["switch", "--quiet", "--create", "widen"]);
  await edit(project, POLICY, '["/*.md", "/deno.json"]', '["/*.md", "/deno.json", "/src/**", "/.env"]');
  await edit(project, POLICY, '["listFiles", "readFile"]', '["listFiles", "readFile", "writeArtifact"]');
  await edit(project, POLICY, '"expectEvents"', '"budgets": { "toolCalls": 100000 },\n  "expectEvents"');
  await edit(project, POLICY, '"/.env"] }]', '"/.env"] }],\n    "write": [{ "root": "out" }]');
  await repository.commit("Only a little more");
  const drifted = await twokey("run --locked --base main");
  assert.equal(drifted.code, 65, drifted.out + drifted.err);
  assert.match(drifted.err, /not what agent\.lock\.json says\n {2}changed: policy\n {2}added: tool writeArtifact/);

  assert.equal((await twokey("policy lock")).code, 0);
  await repository.commit("Lock it myself");
  assert.equal((await twokey("run", { ci: true })).code, 0, "the lock alone cannot tell who wrote it");
  for (const ci of [false, true]) {
    const stopped = await twokey(`run${ci ? "" : " --locked"} --base main`, { ci });
    assert.equal(stopped.code, 3, stopped.out + stopped.err);
    const lines = [
      "error: Cannot run: the policy grants more than its base",
      "authority of the work tree compared with main",
      "gained    the tool writeArtifact   [",
      "gained    may now read src/**, .env, for example ",
      "gained    may now create out/**, for example out/example   [",
      "gained    toolCalls: 100000 instead of ",
      "4 grants gained",
    ];
    for (const line of lines) assert.ok(stopped.err.includes(`${line}`), `${line} in\n${stopped.err}`);
    assert.doesNotMatch(stopped.out, /did|calls/, "nothing ran");
  }
  const diff = await twokey("policy diff main");
  assert.equal(diff.code, 3);
  const markdown = await twokey("policy diff main HEAD --markdown");
  assert.equal(markdown.code, 3);
  assert.match(markdown.out, /^\*\*4 grants gained\.\*\* Review each one/m);
  // the tests of the policy say so too, in the words of their author
  const tested = await twokey("policy test");
  assert.equal(tested.code, 1);
  assert.match(tested.out, /^FAILED {2}nothing is written: expected deny, got allow {3}\[/m);
}

/** A pull request that changes only the agent is free, once its lock is made again; it is merged. */
async function changeAgent(project: Project, repository: GitRepository, twokey: Twokey): Promise<void> {
  await repository.git(["switch", "--quiet", "--create", "better", "main"]);
  await edit(project, "agent.ts", 'emit({ kind: "looked"', 'auditNote({ better: true });\nemit({ kind: "looked"');
  await repository.commit("Take a note");
  const drifted = await twokey("run --base main", { ci: true });
  assert.equal(drifted.code, 65);
  assert.match(drifted.err, /changed: agent module \$\{project\}\/agent\.ts/);
  assert.equal((await twokey("policy lock")).code, 0);
  await repository.commit("Lock the agent");
  const diff = await twokey("policy diff main");
  assert.deepEqual([diff.code, diff.out.trimEnd().split("\n").at(-1)], [0, "the same authority"]);
  const passed = await twokey("run --base main", { ci: true });
  assert.equal(passed.code, 0, passed.out + passed.err);

  await repository.git(["switch", "--quiet", "main"]);
  await repository.git(["merge", "--quiet", "--no-ff", "--message", "Merge better", "better"]);
  const merged = await twokey("run --base HEAD^1", { ci: true });
  assert.equal(merged.code, 0, merged.out + merged.err);
}

/** What narrows is free as well, and a clone without the base says what it needs. */
async function narrow(project: Project, repository: GitRepository, twokey: Twokey): Promise<void> {
  await repository.git(["switch", "--quiet", "--create", "narrow", "main"]);
  await edit(project, POLICY, '["/*.md", "/deno.json"]', '["/README.md", "/deno.json"]');
  assert.equal((await twokey("policy lock")).code, 0);
  const diff = await twokey("policy diff main");
  assert.equal(diff.code, 0);
  assert.match(diff.out, /^narrowed {2}may read README\.md instead of \/\*\.md, for example example\.md no longer/m);
  assert.equal((await twokey("run --base main", { ci: true })).code, 0);
  const shallow = await twokey("run --base origin/main", { ci: true });
  assert.equal(shallow.code, 65);
  assert.match(shallow.err, /Cannot find the revision "origin\/main"[^]*fetch-depth: 0/);
}

Deno.test({
  name: "a user's day: a denial, its line, a lock, a pull request that widens, one that does not, a merge",
  ignore: withoutGit(GIT),
  fn: () =>
    withProject({}, async (project) => {
      const twokey = twokeyIn(project);
      const repository = await startProject(project, twokey);
      await firstRuns(project, twokey);
      await lockAndCommit(repository, twokey);
      await widen(project, repository, twokey);
      await changeAgent(project, repository, twokey);
      await narrow(project, repository, twokey);
    }),
});
