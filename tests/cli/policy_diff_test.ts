import assert from "node:assert/strict";
import { type Project, withProject } from "../e2e/run_project.ts";
import { GIT, type GitRepository, repositoryIn } from "../policy/git_repository.ts";
import { withoutGit } from "../policy/without_git.ts";

const READ = { tools: ["readFile"], fs: { read: [{ root: "docs", include: ["*.md"] }] } };
const MORE = { tools: ["readFile", "listFiles"], fs: { read: [{ root: "docs", include: ["*.md", "*.txt"] }] } };
const FILES = { "docs/a.md": "a" };

function text(policy: unknown): string {
  return JSON.stringify({ version: 1, ...policy as object }, null, 2);
}

async function diff(project: Project, ...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const { code, stdout, stderr } = await project.run({ args: ["policy", "diff", ...args] });
  return { code, out: stdout, err: stderr };
}

/** A project that is a repository, with the policy committed on `main`. */
function gitProject(name: string, body: (project: Project, repository: GitRepository) => Promise<void>): void {
  Deno.test({
    name,
    ignore: withoutGit(GIT),
    fn: () =>
      withProject({ agent: "", policy: READ, files: FILES }, async (project) => {
        const repository = repositoryIn(project.dir);
        await repository.git(["init", "--quiet", "--initial-branch=main"]);
        await repository.commit("base");
        await body(project, repository);
      }),
  });
}

Deno.test("diff() compares two files by what they grant: 3 where authority is gained, else 0", () =>
  withProject({ files: FILES }, async (project) => {
    await project.write("a.policy.jsonc", text(READ));
    await project.write("b.policy.jsonc", text(MORE));
    const gained = await diff(project, "a.policy.jsonc", "b.policy.jsonc");
    assert.equal(gained.code, 3, gained.err);
    assert.match(gained.out, /^authority of b\.policy\.jsonc compared with a\.policy\.jsonc\n/);
    assert.match(gained.out, /^gained {4}the tool listFiles {3}\[.*b\.policy\.jsonc:\d+\]$/m);
    assert.match(gained.out, /^gained {4}may now read docs\/\*\*\/\*\.txt, for example docs\/example\.txt {3}\[/m);
    assert.match(gained.out, /^2 grants gained\n$/m);
    const lost = await diff(project, "b.policy.jsonc", "a.policy.jsonc");
    assert.equal(lost.code, 0);
    assert.match(
      lost.out,
      /^lost {6}the tool listFiles {3}\[.*b\.policy\.jsonc:\d+\]$/m,
      "what is gone stood in the base",
    );
    assert.equal((await diff(project, "a.policy.jsonc", "a.policy.jsonc")).code, 0);
  }));

Deno.test("diff() prints JSON for programs and Markdown for a pull request", () =>
  withProject({ files: FILES }, async (project) => {
    await project.write("a.policy.jsonc", text(READ));
    await project.write("b.policy.jsonc", text(MORE));
    const json = await diff(project, "--json", "a.policy.jsonc", "b.policy.jsonc");
    assert.equal(json.code, 3);
    const { base, head, gained, changes } = JSON.parse(json.out);
    assert.deepEqual([base, head, gained, changes.length], ["a.policy.jsonc", "b.policy.jsonc", 2, 2]);
    const markdown = await diff(project, "--markdown", "a.policy.jsonc", "b.policy.jsonc");
    assert.match(markdown.out, /^### Authority of .*\n\n\*\*2 grants gained\.\*\*/);
  }));

gitProject("diff() compares revisions with each other and with the work tree", async (project, repository) => {
  await project.policy(MORE);
  const tree = await diff(project, "main");
  assert.equal(tree.code, 3, tree.err);
  assert.match(tree.out, /^authority of the work tree compared with main\n/);
  await repository.git(["switch", "--quiet", "--create", "topic"]);
  await repository.commit("more");
  await project.policy(READ);
  assert.equal((await diff(project, "main")).code, 0);
  const revisions = await diff(project, "main", "topic");
  assert.equal(revisions.code, 3);
  assert.match(revisions.out, /\[topic:agent\.policy\.jsonc:\d+\]/);
  assert.equal((await diff(project, "topic", "main")).code, 0);
  assert.equal((await diff(project, "main...topic", "topic")).code, 3);
  assert.equal((await diff(project, "main", "main", "--policy=agent.policy.jsonc")).code, 0);
});

gitProject("diff() takes a policy that a revision lacks for one that grants nothing", async (project, repository) => {
  await repository.git(["rm", "--quiet", "--cached", "agent.policy.jsonc"]);
  await repository.git(["commit", "--quiet", "--message", "without"]);
  const gained = await diff(project, "main");
  assert.equal(gained.code, 3);
  assert.match(gained.out, /^gained {4}the tool readFile/m);
  await Deno.remove(`${project.dir}/agent.policy.jsonc`);
  const gone = await diff(project, "main^", "main", "--policy=agent.policy.jsonc");
  assert.equal(gone.code, 0);
  assert.match(gone.out, /^lost {6}may no longer read docs/m);
});

gitProject(
  "diff() and run --base look at files as the base had them: fixtures, links, what git ignores",
  async (project, repository) => {
    const recorded = { tools: ["osv.query"], network: { fixtures: ["answers.json"] } };
    await project.write("answers.json", '{ "a": 1 }');
    await project.policy(recorded);
    await repository.commit("recorded");
    assert.equal((await diff(project, "main")).code, 0);
    await project.write("answers.json", '{ "a": 2 }');
    const changed = await diff(project, "main");
    assert.equal(changed.code, 3);
    assert.match(changed.out, /^gained {4}the recorded answers \$\{project\}\/answers\.json \(sha256 [0-9a-f]{12}\)/m);
    // a folder that no revision holds is the same for both
    await project.write(".gitignore", "/cache/\n");
    await project.write("cache/x.md", "x");
    await project.policy({ tools: ["readFile"], fs: { read: [{ root: "cache" }] } });
    await repository.commit("ignored");
    assert.equal((await diff(project, "main")).code, 0);
  },
);

gitProject("diff() compares tools with the definitions that the base locked", async (project, repository) => {
  await project.run({ args: ["policy", "lock"] });
  await repository.commit("lock");
  assert.equal((await diff(project, "main")).code, 0);
  const path = `${project.dir}/agent.lock.json`;
  const lock = JSON.parse(await Deno.readTextFile(path));
  await Deno.writeTextFile(path, JSON.stringify({ ...lock, tools: { readFile: "0".repeat(64) } }));
  await repository.commit("made by another version");
  const other = await diff(project, "main");
  assert.equal(other.code, 3);
  assert.match(other.out, /^gained {4}another definition of the tool readFile/m);
  await Deno.writeTextFile(path, "{");
  await repository.commit("broken");
  assert.equal((await diff(project, "main")).code, 65);
});

gitProject("diff() says what is wrong with what it is given", async (project, repository) => {
  const said = async (...args: string[]) => {
    const { code, err } = await diff(project, ...args);
    return `${code} ${err}`;
  };
  assert.match(await said("nowhere"), /^65 error: Cannot find the revision "nowhere"[^]*fetch-depth: 0/);
  assert.match(await said("--upload-pack=touch x"), /^64 /);
  assert.match(await said("--", "--upload-pack=touch x"), /^65 error: Cannot find the revision/);
  assert.match(await said("main", "--policy=none/agent.policy.jsonc"), /^66 error: Cannot/);
  await project.write("agent.policy.jsonc", "{ nonsense");
  assert.match(await said("main"), /^65 error: Cannot read the policy/);
  await repository.commit("wrong");
  await project.policy(READ);
  const base = await said("main");
  assert.match(base, /^65 error: Cannot read the policy/);
  assert.match(base, /main:agent\.policy\.jsonc:1/);
});

Deno.test("diff() needs a repository for revisions", () =>
  withProject({ agent: "", policy: READ, files: FILES }, async (project) => {
    const { code, err } = await diff(project, "main");
    assert.equal(code, 66);
    assert.match(err, /this is no git repository/);
  }));
