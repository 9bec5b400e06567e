import assert from "node:assert/strict";
import { RUN, writeLog } from "../audit/log_maker.ts";
import { type Project, withProject } from "../e2e/run_project.ts";

async function log(project: Project, id: string, bodies = RUN): Promise<{ path: string; head: string }> {
  await project.write(`.twokey/runs/${id}/`, "");
  const path = `${project.dir}/.twokey/runs/${id}/audit.jsonl`;
  return { path, head: writeLog(path, bodies, id) };
}

Deno.test("replay takes a log, its folder and the id of a run", async () => {
  await withProject({}, async (project) => {
    const { path, head } = await log(project, "run-1");
    for (const word of [path, path.slice(0, path.lastIndexOf("/")), "run-1", ".twokey/runs/run-1/"]) {
      const { code, stdout, stderr } = await project.run({ args: ["replay", word, "--head", head] });
      assert.equal(code, 0, stderr);
      const summary = JSON.parse(stdout);
      assert.equal(summary.type, "agent_replay");
      assert.equal(summary.verdict, "authentic");
      assert.equal(summary.tool_denials, 2);
    }
  });
});

Deno.test("replay --human prints text, --json and --human together are refused", async () => {
  await withProject({}, async (project) => {
    const { path } = await log(project, "run-1");
    const human = await project.run({ args: ["replay", path, "--human"] });
    assert.equal(human.code, 0);
    assert.match(human.stdout, /^run run-1\n/);
    assert.equal((await project.run({ args: ["replay", path, "--human", "--json"] })).code, 64);
  });
});

Deno.test("replay of a damaged log counts what stands before the damage and exits 65", async () => {
  await withProject({}, async (project) => {
    const { path } = await log(project, "run-1");
    const lines = (await Deno.readTextFile(path)).split("\n");
    lines[3] = (lines[3] ?? "").replace("readFile", "readFilf");
    await Deno.writeTextFile(path, lines.join("\n"));
    const { code, stdout } = await project.run({ args: ["replay", path] });
    assert.equal(code, 65);
    const summary = JSON.parse(stdout);
    assert.equal(summary.verdict, "broken");
    assert.equal(summary.records, 3);
    assert.equal(summary.verification.damage.line, 4);
  });
});

Deno.test("replay refuses what is no log with the exit code of its reason", async () => {
  await withProject({ files: { "empty/": "" } }, async (project) => {
    const codes: [string[], number][] = [
      [["nothing"], 66],
      [["../../etc"], 66],
      [["empty"], 66],
      [["deno.json"], 65],
      [["deno.json", "other"], 64],
      [[], 64],
      [["deno.json", "--head", "12"], 64],
      [["--diff", "deno.json"], 64],
    ];
    for (const [words, expected] of codes) {
      const { code, stderr } = await project.run({ args: ["replay", ...words] });
      assert.equal(code, expected, `${words.join(" ")}: ${stderr}`);
    }
  });
});

Deno.test("replay --diff compares two runs", async () => {
  await withProject({}, async (project) => {
    await log(project, "run-1");
    await log(project, "run-2");
    const more = [...RUN.slice(0, -1), { type: "event", event: { kind: "late" } }, ...RUN.slice(-1)];
    await log(project, "run-3", more);
    const same = await project.run({ args: ["replay", "--diff", "run-1", "run-2"] });
    assert.equal(same.code, 0, same.stderr);
    assert.equal(JSON.parse(same.stdout).changed_fields, 0);
    const changed = await project.run({ args: ["replay", "--diff", "run-1", "run-3", "--human"] });
    assert.equal(changed.code, 0, changed.stderr);
    assert.match(changed.stdout, /\+ \{"kind":"late"\}/);
  });
});
