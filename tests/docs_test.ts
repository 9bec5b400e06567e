import assert from "node:assert/strict";
import { EXIT_TABLE } from "../src/errors.ts";
import { compilePolicy } from "../src/launch/compile_policy.ts";
import { loadPolicy } from "../src/policy/load.ts";
import { withProject } from "./e2e/run_project.ts";
import { generated } from "./generate.ts";
import { fillReadme, readmeParts } from "./readme.ts";

const ROOT = new URL("../", import.meta.url);
const MAIN = new URL("src/cli/main.ts", ROOT).pathname;

/** Documents for people, by path. */
const DOCUMENTS = ["README.md", "CONTRIBUTING.md"];

function read(path: string): Promise<string> {
  return Deno.readTextFile(new URL(path, ROOT));
}

/** The lines of every code block of a language, block by block. */
function blocksOf(text: string, languages: readonly string[]): string[][] {
  const blocks: string[][] = [];
  let open: string[] | undefined;
  for (const line of text.split("\n")) {
    const fence = /^```(\w*)/.exec(line);
    if (fence === null) open?.push(line);
    else if (open !== undefined) open = undefined;
    else if (languages.includes(fence[1] ?? "")) blocks.push(open = []);
    else open = [];
  }
  return blocks;
}

/** Every command that a document tells its reader to type, or names in passing. */
function commandsOf(text: string): string[][] {
  const typed = blocksOf(text, ["sh"]).flat();
  const shown = blocksOf(text, ["console"]).flat().filter((line) => line.startsWith("$ ")).map((line) => line.slice(2));
  const named = text.replaceAll(/^```[\s\S]*?^```/gm, "").matchAll(/`((?:twokey|deno task) [^`]+)`/g);
  return [...typed, ...shown, ...[...named].map(([, command = ""]) => command)]
    .map((line) => line.replace(/^npx -y deno@[0-9.]+ /, "deno ").split(/\s+/).filter((word) => word !== ""))
    .filter(([program]) => program === "twokey" || program === "deno");
}

/** The help of a command, or `undefined` where there is no such command. */
async function helpOf(words: readonly string[]): Promise<string | undefined> {
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-prompt", MAIN, ...words, "--help"],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
    stderr: "null",
  }).output();
  return code === 0 ? new TextDecoder().decode(stdout) : undefined;
}

/** The words of a command line that name the command itself: `policy explain`. */
function routeOf(words: readonly string[]): readonly string[] {
  const end = words.findIndex((word) => !/^[a-z][a-z-]*$/.test(word));
  const route = end < 0 ? words : words.slice(0, end);
  return ["policy", "tool", "audit"].includes(route[0] ?? "") ? route.slice(0, 2) : route.slice(0, 1);
}

Deno.test("README.md holds the tables that the code makes", async () => {
  assert.equal(await read("README.md"), (await generated()).get("README.md"), "run `deno task gen`");
});

Deno.test("fillReadme() refuses a mark without a part and a part without a mark", () => {
  const marked = "<!-- generated:keys -->\nold\n<!-- /generated -->";
  assert.match(fillReadme(marked, new Map([["keys", "new\n"]])), /-->\n\nnew\n\n<!--/);
  assert.throws(() => fillReadme(marked, new Map()), /Cannot fill "keys"/);
  assert.throws(() => fillReadme("", new Map([["keys", "new\n"]])), /Cannot place keys/);
});

Deno.test("readmeParts() escapes what would end a cell", () => {
  const manifest = {
    name: "odd",
    family: "harness",
    summary: "one | two",
    effect: "pure",
    authority: {},
    limits: {},
    audit: { args: {}, result: "keep" },
    nonClaims: [],
    argsSchema: {},
    resultSchema: {},
    digest: "",
  } as const;
  assert.match(readmeParts({ odd: manifest }).get("tools") ?? "", /^\| `odd` +\| one \\\| two +\| nothing/m);
});

Deno.test("no table that the code makes has an empty cell", async () => {
  const manifests = JSON.parse(await read("src/tools/manifests.json"));
  for (const [name, text] of readmeParts(manifests)) {
    for (const line of text.trimEnd().split("\n")) assert.doesNotMatch(line, /\|\s*\|/, `${name}: ${line}`);
  }
  const rows = (readmeParts(manifests).get("grants") ?? "").trimEnd().split("\n").slice(2);
  assert.equal(rows.length, Object.keys(manifests).length, "one row per tool");
});

Deno.test("README.md begins with the two commands", async () => {
  const [, , fence, ...commands] = (await read("README.md")).split("\n");
  assert.equal(fence, "```sh");
  assert.deepEqual(commands.slice(0, 2), ["npx -y deno@2.9.6 task demo", "npx -y deno@2.9.6 task test"]);
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["--version"], env: { NO_COLOR: "1" } }).output();
  assert.match(new TextDecoder().decode(stdout), /^deno 2\.9\.6 /, "the documents name the version that tests run on");
});

Deno.test("every policy in README.md compiles", async () => {
  const policies = blocksOf(await read("README.md"), ["jsonc"]);
  assert.ok(policies.length > 0);
  for (const lines of policies) {
    const dir = await Deno.realPath(await Deno.makeTempDir({ prefix: "twokey-docs-" }));
    try {
      await Deno.writeTextFile(`${dir}/deno.json`, "{}");
      await Deno.copyFile(new URL("../deno.lock", import.meta.url), `${dir}/deno.lock`);
      await Deno.writeTextFile(`${dir}/agent.ts`, "");
      for (const [folder, name] of [["skills", "review"], [".skills", "release"]]) {
        await Deno.mkdir(`${dir}/${folder}/${name}`, { recursive: true });
        const text = `---\nname: ${name}\ndescription: x\n---\nx\n`;
        await Deno.writeTextFile(`${dir}/${folder}/${name}/SKILL.md`, text);
      }
      await Deno.writeTextFile(`${dir}/agent.policy.jsonc`, lines.join("\n"));
      const { plan } = await compilePolicy(await loadPolicy(`${dir}/agent.policy.jsonc`));
      assert.ok(Object.keys(plan.tools).length > 0);
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  }
});

Deno.test("every command in the documents exists, with its flags", async () => {
  const { tasks } = JSON.parse(await read("deno.json")) as { tasks: Record<string, string> };
  const lines = (await Promise.all(DOCUMENTS.map(read))).flatMap(commandsOf);
  lines.push(...EXIT_TABLE.map(({ next }) => next.split(" ")));
  assert.ok(lines.length > 20);
  const helps = new Map<string, Promise<string | undefined>>();
  const help = (route: readonly string[]): Promise<string | undefined> => {
    const key = route.join(" ");
    const text = helps.get(key) ?? helpOf(route);
    helps.set(key, text);
    return text;
  };
  for (const [program, word = "", ...rest] of lines.filter(([, word]) => word !== "<command>")) {
    const line = [program, word, ...rest].join(" ");
    if (program === "deno") {
      if (word === "task") assert.ok(Object.hasOwn(tasks, rest[0] ?? ""), `${line}: no such task`);
      const flags = rest[0] === "demo" ? rest.slice(1) : [];
      for (const flag of flags) assert.ok((await help(["run"]))?.includes(`[${flag}]`), `${line}: no such flag`);
      continue;
    }
    const text = await help(routeOf([word, ...rest]));
    assert.ok(text !== undefined, `${line}: no such command`);
    for (const flag of rest.flatMap((each) => /^--[a-z-]+/.exec(each) ?? [])) {
      // a flag that must be given stands without brackets
      assert.ok(text.includes(`[${flag}]`) || text.includes(` ${flag} `), `${line}: no such flag`);
    }
  }
});

Deno.test("the agent in README.md runs under the policy beside it", async () => {
  const text = await read("README.md");
  const [agent = [], policy = []] = [blocksOf(text, ["ts"])[0], blocksOf(text, ["jsonc"])[0]];
  const files = {
    "agent.ts": agent.join("\n"),
    "agent.policy.jsonc": policy.join("\n"),
    "a.md": "# A\n",
    "b.txt": "b",
  };
  await withProject({ files }, async ({ dir, run }) => {
    const { code, stderr, records } = await run();
    assert.equal(code, 0, stderr);
    assert.equal(await Deno.readTextFile(`${dir}/out/index.txt`), "a.md");
    assert.deepEqual(records.find(({ type }) => type === "event")?.event, { kind: "indexed", files: 1 });
  });
});

/** A line without what differs from run to run, and from lock to lock. */
function shapeOf(line: string): string {
  return line.trim().replaceAll(/[0-9a-f]{64}|\d{8}[-T]\d{6}\w*-[0-9a-f]+/g, "#").replaceAll(/\d+/g, "#")
    .replace(/sha256 [0-9a-f#]+…/, "sha256 #").replace(/ in [#.]+ m?s$/, "").replace(/^replay .* replay /, "replay ");
}

Deno.test("the demonstration prints what README.md shows of it", async () => {
  const [, ...shown] = blocksOf(await read("README.md"), ["console"])[0] ?? [];
  const runsDir = await Deno.makeTempDir({ prefix: "twokey-docs-" });
  let printed = "";
  try {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "-A",
        "--no-prompt",
        MAIN,
        "run",
        "--policy=policies/demo/agent.policy.jsonc",
        `--runs-dir=${runsDir}`,
      ],
      cwd: ROOT,
      env: { NO_COLOR: "1", CI: "", XDG_STATE_HOME: runsDir },
    }).output();
    printed = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("\n");
    assert.equal(code, 0, printed);
    const shapes = new Set(printed.replaceAll(runsDir, ".twokey/runs").split("\n").map(shapeOf));
    for (const line of shown) assert.ok(shapes.has(shapeOf(line)), `${line}\n\nis not in\n\n${printed}`);
  } finally {
    const folder = /^wrote +([\w-]+)\//m.exec(printed)?.[1];
    if (folder !== undefined) await Deno.remove(new URL(`out/demo/${folder}`, ROOT), { recursive: true });
    await Deno.remove(runsDir, { recursive: true });
  }
});

Deno.test("every link of the documents to a file leads to one", async () => {
  for (const document of DOCUMENTS) {
    const links = (await read(document)).matchAll(/\]\(([^)\s]+)\)/g);
    const targets = [...links].map(([, target = ""]) => target).filter((target) => !/^[a-z]+:/.test(target));
    assert.ok(targets.length > 0, document);
    for (const target of targets) {
      const [path = "", anchor] = target.split("#");
      const text = path === "" ? await read(document) : await read(path).catch(() => undefined);
      assert.ok(text !== undefined, `${document}: ${target} leads nowhere`);
      if (anchor === undefined) continue;
      const anchors = [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
        title.toLowerCase().replaceAll(" ", "-")
      );
      assert.ok(anchors.includes(anchor), `${document}: ${target} names no heading`);
    }
  }
});

Deno.test("every dependency has its reason in README.md", async () => {
  const { imports } = JSON.parse(await read("deno.json")) as { imports: Record<string, string> };
  const section = (await read("README.md")).split("\n## Dependencies\n")[1]?.split("\n## ")[0] ?? "";
  const named = [...section.matchAll(/^\| `([^`]+)`/gm)].map(([, name = ""]) => name);
  assert.deepEqual(named.toSorted(), Object.keys(imports).toSorted());
});
