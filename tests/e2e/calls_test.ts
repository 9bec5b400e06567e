/** Whole runs: what crosses to a tool and back, what the log keeps of it, and what runs side by side share. */
import assert from "node:assert/strict";
import { verifyAudit } from "../../src/audit/reader.ts";
import type { JsonObject } from "../../src/json.ts";
import { ISOLATIONS } from "../../src/plan/plan.ts";
import { cleanEnv, logsIn, MAIN, readLog, type RunResult, withProject } from "./run_project.ts";

function events({ records }: RunResult): readonly JsonObject[] {
  return records.filter(({ type }) => type === "event").map(({ event }) => event as JsonObject);
}

Deno.test("what a tool gives back is a copy, and so is what it was given, in every isolation", async () => {
  const agent = `
    const args = { list: [1], deep: { a: 1 } };
    const running = callTool("echo", args);
    args.list.push(2);
    args.deep.a = 2;
    const first = await running;
    first.list.push(3);
    first.deep.a = 3;
    emit({ args, first, second: await callTool("echo", { list: [1], deep: { a: 1 } }) });
  `;
  for (const isolation of ISOLATIONS) {
    await withProject({ agent, policy: { tools: ["echo"], isolation } }, async (project) => {
      const run = await project.run();
      assert.deepEqual(events(run), [{
        args: { list: [1, 2], deep: { a: 2 } },
        first: { list: [1, 3], deep: { a: 3 } },
        second: { list: [1], deep: { a: 1 } },
      }], run.stderr);
      const results = run.records.filter(({ type }) => type === "tool_result").map(({ result }) => result);
      assert.deepEqual(results, [{ list: [1], deep: { a: 1 } }, { list: [1], deep: { a: 1 } }]);
    });
  }
});

Deno.test("an agent's module runs once, also where it is one expression and throws", async () => {
  const agent = '(() => { emit({ ran: true }); throw new TypeError("once"); })()';
  for (const isolation of ISOLATIONS) {
    await withProject({ agent, policy: { isolation } }, async (project) => {
      const run = await project.run();
      assert.equal(run.code, 1, run.stderr);
      assert.deepEqual(events(run), [{ ran: true }], isolation);
      assert.deepEqual(run.records.filter(({ type }) => type === "run_end").map(({ reason }) => reason), [
        "agent_error",
      ]);
    });
  }
});

Deno.test("the log lists every name below the read roots, and listFiles says the same of each", async () => {
  const files = {
    "docs/a.md": "a",
    "docs/.env": "S=1",
    "docs/.gitignore": "tmp/\n",
    "docs/tmp/x": "x",
    "docs/b.priv.priv": "k",
    "docs/large.md": "x".repeat(100),
    "docs/nul.md": "a\0b",
    "docs/other.txt": "t",
  };
  const policy = {
    tools: ["listFiles", "readFile"],
    fs: { read: [{ root: "docs", include: ["*.md", ".env*", "*.priv"], exclude: ["*.priv"] }] },
    budgets: { readFileBytes: 50 },
  };
  const agent = `
    const { files } = await callTool("listFiles", {});
    for (const { path } of files) {
      emit(await callTool("readFile", { path }).then(() => [path, "admitted"], ({ code }) => [path, code]));
    }
    emit(files.map(({ path, kind, reason }) => [path, kind, reason]));
  `;
  for (const isolation of ISOLATIONS) {
    const options = { agent, files, links: { "docs/link.md": "a.md" }, policy: { ...policy, isolation } };
    await withProject(options, async (project) => {
      const run = await project.run();
      const [listed, ...read] = (events(run) as unknown as [string, string, string][][]).toReversed();
      const [manifest] = run.records.filter(({ type }) => type === "fs_read_source_manifest");
      assert.ok(manifest !== undefined && run.records.indexOf(manifest) < 4, run.stderr);
      const entries = (manifest.entries as JsonObject[]).map(({ path, kind, reason }) => [path, kind, reason]);
      assert.deepEqual(entries, listed);
      assert.deepEqual(listed, [
        [".env", "secret", "secret_name"],
        [".gitignore", "not_included", "include_pattern"],
        ["a.md", "text", "admitted"],
        ["b.priv.priv", "excluded", "exclude_pattern"],
        ["large.md", "large", "large_file_summary_only"],
        ["link.md", "symlink", "symlink_refused"],
        ["nul.md", "binary", "binary_refused"],
        ["other.txt", "not_included", "include_pattern"],
        ["tmp", "ignored", "gitignore_default"],
      ]);
      assert.deepEqual(read.toReversed(), listed.map(([path, , reason]) => [path, reason]) as unknown);
      const reasons = run.records.filter(({ type }) => type === "tool_denial").map(({ reason }) => reason);
      assert.deepEqual(reasons, listed.filter(([, kind]) => kind !== "text").map(([, , reason]) => reason));
    });
  }
});

Deno.test("runs side by side share nothing that one of them could spoil for another", async () => {
  const agent = `
    const mine = String((context as { n: number }).n);
    for (let i = 0; i < 20; i++) {
      await Promise.all([
        callTool("echo", { mine, i }),
        callTool("writeArtifact", { path: mine + "/" + i + ".txt", content: mine }),
        state.set("mine", mine),
      ]);
    }
    emit({ mine, state: await state.get("mine") });
  `;
  const policy = { tools: ["echo", "writeArtifact"], fs: { write: [{ root: "out" }] } };
  await withProject({ agent, policy }, async (project) => {
    const root = project.dir.slice(0, -"/project".length);
    const before = await Deno.readTextFile(`${project.dir}/agent.policy.jsonc`);
    const numbers = [0, 1, 2, 3, 4, 5];
    const runs = await Promise.all(
      numbers.map((n) => project.run({ args: ["run", "--json", `--run-id=run-${n}`, `--context-json={"n":${n}}`] })),
    );
    for (const { code, stderr } of runs) assert.equal(code, 0, stderr);
    const logs = await logsIn(root);
    assert.equal(logs.length, numbers.length);
    for (const n of numbers) {
      const path = `${project.dir}/.twokey/runs/run-${n}/audit.jsonl`;
      assert.equal((await verifyAudit(path)).verdict, "consistent");
      const records = await readLog(path);
      assert.ok(records.every(({ run_id }) => run_id === `run-${n}`));
      assert.deepEqual(records.find(({ type }) => type === "event")?.event, { mine: String(n), state: String(n) });
      const own = records.filter(({ type, tool }) => type === "tool_result" && tool === "echo");
      assert.deepEqual(new Set(own.map(({ result }) => (result as JsonObject).mine)), new Set([String(n)]));
    }
    // What a person wrote is as it was, and nothing stands beside it.
    assert.equal(await Deno.readTextFile(`${project.dir}/agent.policy.jsonc`), before);
    const names = (await Array.fromAsync(Deno.readDir(project.dir))).map(({ name }) => name).toSorted();
    assert.deepEqual(names, [".twokey", "agent.policy.jsonc", "agent.ts", "deno.json", "out"]);
  });
});

Deno.test("a log that the disk does not take any more ends the run before its next effect", async () => {
  const agent = `
    const note = "x".repeat(20_000);
    for (let i = 0; ; i++) {
      emit({ note });
      await callTool("writeArtifact", { path: i + ".txt", content: "x" });
    }
  `;
  for (const isolation of ISOLATIONS) {
    const policy = { tools: ["writeArtifact"], fs: { write: [{ root: "out" }] }, isolation };
    await withProject({ agent, policy }, async (project) => {
      const root = project.dir.slice(0, -"/project".length);
      // no file of the run may grow over 512 KiB, and nobody is ended for trying
      const { code, stdout, stderr } = await new Deno.Command("/bin/sh", {
        args: [
          "-c",
          'trap "" XFSZ; ulimit -f 1024; exec "$0" run -A --no-prompt --quiet "$1" run --json',
          Deno.execPath(),
          MAIN,
        ],
        cwd: project.dir,
        clearEnv: true,
        env: cleanEnv(root),
        stdin: "null",
      }).output();
      const said = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("\n");
      assert.equal(code, 74, said);
      const [log = ""] = await logsIn(root);
      const records = await readLog(log);
      const called = records.filter(({ type }) => type === "tool_call").length;
      const written = (await Array.fromAsync(Deno.readDir(`${project.dir}/out`))).length;
      assert.ok(called > 5 && written <= called, `${written} files after ${called} calls in the log`);
    });
  }
});
