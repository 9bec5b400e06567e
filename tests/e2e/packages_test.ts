import assert from "node:assert/strict";
import { ISOLATIONS } from "../../src/plan/plan.ts";
import { type Project, withProject } from "./run_project.ts";

/** A lock that asks for the one package of ours that has no dependencies, as our own lock does. */
async function realLock(): Promise<string> {
  const ours = JSON.parse(await Deno.readTextFile(new URL("../../deno.lock", import.meta.url)));
  const [id = ""] = Object.keys(ours.npm).filter((key) => key.startsWith("canonicalize@"));
  const version = id.slice("canonicalize@".length);
  return JSON.stringify({
    version: ours.version,
    specifiers: { [`npm:${id}`]: version },
    npm: { [id]: ours.npm[id] },
    workspace: { dependencies: [`npm:${id}`] },
  });
}

const AGENT = `
import canonicalize from "canonicalize";
emit({ kind: "text", text: canonicalize({ b: [2, "é"], a: 1e21 }) });
`;

async function emitted(project: Project, args: readonly string[]): Promise<unknown> {
  const { code, stdout, stderr, records } = await project.run({ args: ["run", "--json", ...args] });
  assert.equal(code, 0, `${stdout}${stderr}`);
  const [event] = records.filter(({ type }) => type === "event");
  return (event?.event as { text?: unknown } | undefined)?.text;
}

Deno.test("an agent uses a real package from Deno's cache, the same in every isolation, locked and in the log", async () => {
  const policy = { packages: ["canonicalize"] };
  await withProject({ policy, agent: AGENT, files: { "deno.lock": await realLock() } }, async (project) => {
    for (const isolation of ISOLATIONS) {
      assert.equal(await emitted(project, [`--isolation=${isolation}`]), '{"a":1e+21,"b":[2,"é"]}', isolation);
    }
    assert.equal((await project.run({ args: ["policy", "lock"] })).code, 0);
    const { code, records } = await project.run({ args: ["run", "--json", "--locked"] });
    assert.equal(code, 0);
    const { modules } = records[0]?.agent as { modules: { path: string; sha256: string }[] };
    assert.deepEqual(modules.map(({ path }) => path.replace(/@[^/]+/, "@x")), [
      "${npm}/canonicalize@x/lib/canonicalize.js",
      "${npm}/canonicalize@x/package.json",
      "${project}/agent.ts",
    ]);
    const explained = await project.run({ args: ["policy", "explain"] });
    assert.match(explained.stdout, /May be imported:\n {2}canonicalize \d+\.\d+\.\d+ \(sha512-/);
    const lock = JSON.parse(await Deno.readTextFile(`${project.dir}/agent.lock.json`));
    assert.deepEqual(Object.keys(lock.modules), modules.map(({ path }) => path));
  });
});

Deno.test("a changed file of a package is named, and nothing runs under --locked", async () => {
  const policy = { packages: ["canonicalize"] };
  await withProject({ policy, agent: AGENT, files: { "deno.lock": await realLock() } }, async (project) => {
    const lock = JSON.parse(await realLock());
    const [version = ""] = Object.values<string>(lock.specifiers);
    const folder = "node_modules/canonicalize";
    await project.write(`${folder}/package.json`, JSON.stringify({ name: "canonicalize", version, exports: "./x.js" }));
    await project.write(`${folder}/x.js`, "export default (value) => JSON.stringify(value);\n");
    assert.equal((await project.run({ args: ["policy", "lock"] })).code, 0);
    assert.equal(await emitted(project, ["--locked"]), '{"b":[2,"é"],"a":1e+21}');
    await project.write(`${folder}/x.js`, 'export default () => "changed";\n');
    const { code, stdout, records } = await project.run({ args: ["run", "--json", "--locked"] });
    assert.equal(code, 65);
    assert.match(stdout, /changed: agent module \$\{npm\}\/canonicalize@[\d.]+\/x\.js/);
    assert.deepEqual(records, []);
    assert.equal(await emitted(project, []), "changed");
  });
});

Deno.test("no tool and no agent can write a package that the agent imports", async () => {
  const agent = `
    import canonicalize from "canonicalize";
    const outcome = async (path) => {
      try {
        await callTool("writeArtifact", { path, content: "x" });
        return "ok";
      } catch (error) {
        return error.code;
      }
    };
    emit({
      kind: "text",
      text: [canonicalize(1), await outcome("node_modules/canonicalize/new.js"), await outcome("node_modules/n/x.js"),
        await outcome("fine.txt")].join(" "),
    });
  `;
  const policy = { packages: ["canonicalize"], tools: ["writeArtifact"], fs: { write: [{ root: "." }] } };
  const files = { "deno.lock": await realLock(), "node_modules/other/": "" };
  await withProject({ policy, agent, files }, async (project) => {
    assert.equal(await emitted(project, []), "1 protected_path protected_path ok");
  });
});
