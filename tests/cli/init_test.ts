import assert from "node:assert/strict";
import { cleanEnv, type Project, withProject } from "../e2e/run_project.ts";

async function filesBelow(folder: string, below = ""): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(`${folder}/${below}`)) {
    if (isDirectory) found.push(...await filesBelow(folder, `${below}${name}/`));
    else found.push(below + name);
  }
  return found.toSorted();
}

async function contents(folder: string): Promise<Record<string, string>> {
  const names = await filesBelow(folder);
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await Deno.readTextFile(`${folder}/${name}`)] as const)),
  );
}

/** Runs a command of Deno itself in a project. */
async function deno(project: Project, cwd: string, args: readonly string[]): Promise<{ code: number; text: string }> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd,
    clearEnv: true,
    env: { ...cleanEnv(project.dir.slice(0, -"/project".length)), NO_COLOR: "1" },
    stdin: "null",
  }).output();
  return { code, text: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
}

Deno.test("init writes a project that validates, type-checks and runs with `deno task agent`", async () => {
  for (const template of ["starter", "supply-chain-review", "blank"]) {
    await withProject({}, async (project) => {
      const { code, stdout, stderr } = await project.run({ args: ["init", "new", `--template=${template}`, "--json"] });
      assert.equal(code, 0, stderr);
      const { created, changed, todo } = JSON.parse(stdout);
      const folder = `${project.dir}/new`;
      assert.deepEqual(created.toSorted(), await filesBelow(folder));
      assert.deepEqual(changed, []);
      assert.match(todo.join("\n"), /^name twokey's repository and a commit of it in \.github\/workflows\/agent\.yml/);
      assert.equal(await Deno.readTextFile(`${folder}/.gitignore`), ".twokey/\n");
      const policy = await Deno.readTextFile(`${folder}/agent.policy.jsonc`);
      const [, schema = ""] = /"\$schema": "([^"]+)"/.exec(policy) ?? [];
      assert.ok(schema.startsWith("../"), policy);
      assert.ok((await Deno.stat(`${folder}/${schema}`)).isFile);
      const { imports } = JSON.parse(await Deno.readTextFile(`${folder}/deno.json`));
      assert.ok(imports.twokey.startsWith("../") && imports.twokey.endsWith("/mod.ts"));
      const valid = await project.run({ args: ["policy", "validate", "new/agent.policy.jsonc"] });
      assert.equal(valid.code, 0, valid.stderr);
      const checked = await deno(project, folder, ["check", "agent.ts"]);
      assert.equal(checked.code, 0, checked.text);
      const ran = await deno(project, folder, ["task", "agent"]);
      assert.equal(ran.code, 0, ran.text);
      assert.match(ran.text, /run ok/);
    });
  }
});

Deno.test("init without a terminal never replaces a file, and then writes nothing at all", async () => {
  await withProject({ files: { "agent.ts": "// mine" } }, async (project) => {
    const before = await contents(project.dir);
    const refused = await project.run({ args: ["init", "--template=blank"] });
    assert.equal(refused.code, 73);
    assert.match(refused.stderr, /"agent\.ts" exists; nothing was written/);
    assert.deepEqual(await contents(project.dir), before);
    const forced = await project.run({ args: ["init", "--template=blank", "--force"] });
    assert.equal(forced.code, 0, forced.stderr);
    assert.match(await Deno.readTextFile(`${project.dir}/agent.ts`), /emit/);
  });
});

Deno.test("init a second time changes nothing", async () => {
  await withProject({}, async (project) => {
    assert.equal((await project.run({ args: ["init"] })).code, 0);
    const before = await contents(project.dir);
    const again = await project.run({ args: ["init"] });
    assert.equal(again.code, 0, again.stderr);
    assert.match(again.stdout, /^everything is there already\n/);
    assert.deepEqual(await contents(project.dir), before);
  });
});

Deno.test("init adds to a deno.json and a .gitignore that are there", async () => {
  const config = '{\n  // tasks of the team\n  "tasks": { "agent": "mine", "dev": "x" }\n}\n';
  await withProject({ files: { "deno.json": config, ".gitignore": "node_modules" } }, async (project) => {
    const { code, stdout, stderr } = await project.run({ args: ["init", "--template=blank", "--json"] });
    assert.equal(code, 0, stderr);
    assert.deepEqual(JSON.parse(stdout).changed, [".gitignore", "deno.json"]);
    assert.equal(await Deno.readTextFile(`${project.dir}/.gitignore`), "node_modules\n.twokey/\n");
    const after = await Deno.readTextFile(`${project.dir}/deno.json`);
    assert.match(after, /\/\/ tasks of the team\n {2}"tasks": \{ "agent": "mine", "dev": "x" \}/);
    assert.match(after, /"imports": \{ "twokey": /);
  });
});

Deno.test("init prints the lines to add where a deno.json cannot be edited", async () => {
  await withProject({ files: { "deno.json": "[]" } }, async (project) => {
    const { code, stdout } = await project.run({ args: ["init", "--template=blank"] });
    assert.equal(code, 0);
    assert.match(stdout, /to do {4}add to "tasks" of deno\.json: "agent": "deno run /);
    assert.equal(await Deno.readTextFile(`${project.dir}/deno.json`), "[]");
  });
});

Deno.test("init writes through no link", async () => {
  await withProject({ files: { "outside/x": "" }, links: { "review": "outside" } }, async (project) => {
    const args = ["init", "--force", "--template=supply-chain-review"];
    const { code, stderr } = await project.run({ args });
    assert.equal(code, 73, stderr);
    assert.deepEqual(await filesBelow(`${project.dir}/outside`), ["x"]);
  });
  await withProject({ files: { "outside/workflows/x": "" }, links: { ".github": "outside" } }, async (project) => {
    assert.equal((await project.run({ args: ["init", "--force"] })).code, 73);
    assert.deepEqual(await filesBelow(`${project.dir}/outside`), ["workflows/x"]);
  });
  await withProject({ links: { "agent.ts": "nowhere", "dangling": "nothing" } }, async (project) => {
    assert.equal((await project.run({ args: ["init", "--force"] })).code, 73);
    assert.equal((await project.run({ args: ["init", "dangling/x"] })).code, 73);
    assert.deepEqual(await filesBelow(project.dir), ["agent.ts", "dangling", "deno.json"]);
  });
});

Deno.test("init --list names the templates, an unknown one is refused with the nearest", async () => {
  await withProject({}, async (project) => {
    const { stdout } = await project.run({ args: ["init", "--list", "--json"] });
    assert.deepEqual(JSON.parse(stdout).templates.map(({ name }: { name: string }) => name), [
      "starter",
      "supply-chain-review",
      "blank",
    ]);
    const unknown = await project.run({ args: ["init", "--template=blnk"] });
    assert.equal(unknown.code, 64);
    assert.match(unknown.stderr, /did you mean blank\?/);
  });
});

Deno.test("the first run after init is a denial with the line to add, the second works; locked, the first is 77", async () => {
  await withProject({ files: { "README.md": "# notes\n" } }, async (project) => {
    assert.equal((await project.run({ args: ["init"] })).code, 0);
    const tested = await project.run({ args: ["policy", "test"] });
    assert.equal(tested.code, 0, tested.stdout);
    const first = await project.run({ args: ["run"] });
    assert.equal(first.code, 0, first.stderr);
    assert.match(first.stdout, /^denied {4}readFile deno\.json: /m);
    assert.match(first.stdout, /to allow it: "fs": .*"include": \["\/\*\.md", "\/deno\.json"\]/);
    assert.equal((await project.run({ args: ["policy", "lock"] })).code, 0);
    assert.equal((await project.run({ args: ["run", "--locked"] })).code, 77);

    assert.equal((await project.run({ args: ["policy", "add-read", ".", "--include=/deno.json"] })).code, 0);
    const second = await project.run({ args: ["run", "--json"] });
    assert.equal(second.code, 0, second.stderr);
    assert.deepEqual(JSON.parse(second.stdout).summary.tool_denials, 0);
    assert.match(second.stderr, /deno\.json: the tasks agent/);
    assert.equal((await project.run({ args: ["run", "--locked"] })).code, 65);
    assert.equal((await project.run({ args: ["policy", "lock"] })).code, 0);
    assert.equal((await project.run({ args: ["run", "--locked"] })).code, 0);
    assert.equal((await project.run({ args: ["policy", "test"] })).code, 0);
  });
});

Deno.test("init in a folder of a repository writes no workflow that nobody would run", async () => {
  await withProject({ files: { ".git/HEAD": "" } }, async (project) => {
    const { code, stdout } = await project.run({ args: ["init", "part", "--json"] });
    assert.equal(code, 0);
    const { created, todo } = JSON.parse(stdout);
    assert.ok(!created.some((name: string) => name.startsWith(".github")), created.join());
    assert.match(todo.at(-1), /for CI, run the action .* with policy: part\/agent\.policy\.jsonc$/);
  });
});

Deno.test("init finds twokey from a folder inside of it and from one whose name needs quoting", async () => {
  const root = await Deno.realPath(await Deno.makeTempDir());
  try {
    const twokey = `${root}/my project/.tools/two#key`;
    await Deno.mkdir(`${root}/my project/.tools`, { recursive: true });
    await Deno.symlink(new URL("../../", import.meta.url).pathname, twokey);
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-prompt", `${twokey}/src/cli/main.ts`, "init", "--template=blank"],
      cwd: `${root}/my project`,
    }).output();
    assert.equal(code, 0, new TextDecoder().decode(stderr));
    const { tasks, imports } = JSON.parse(await Deno.readTextFile(`${root}/my project/deno.json`));
    // A link is no part of a checkout.
    assert.match(
      await Deno.readTextFile(`${root}/my project/.github/workflows/agent.yml`),
      /repository: OWNER\/twokey/,
    );
    assert.equal(
      await Deno.realPath(new URL(imports.twokey, `file://${root}/my%20project/`)),
      await Deno.realPath(`${twokey}/mod.ts`),
    );
    assert.match(tasks.agent, /'\.\/\.tools\/two#key\/src\/cli\/main\.ts' run$/);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
