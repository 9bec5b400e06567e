import assert from "node:assert/strict";
import { type Project, withProject } from "../e2e/run_project.ts";

const AGENT = 'await state.set("n", ((await state.get("n")) as number ?? 0) + 1); emit({ n: await state.get("n") });';

/** Runs the agent and tells what it counted up to. */
async function count(project: Project): Promise<unknown> {
  const run = await project.run();
  assert.equal(run.code, 0, run.stderr);
  return (run.records.find(({ type }) => type === "event")?.event as { n: number }).n;
}

Deno.test("reset starts anew, --rollback puts back, --dry-run changes nothing, each leaves a log", async () => {
  await withProject({ agent: AGENT, policy: { session: true } }, async (project) => {
    const reset = async (...words: string[]) => {
      const { code, stdout, stderr, records } = await project.run({ args: ["reset", "--json", ...words] });
      return { code, stderr, report: code === 0 ? JSON.parse(stdout) : JSON.parse(stdout).error, records };
    };
    const none = await reset();
    assert.deepEqual([none.code, none.report.existed, none.report.removed], [0, false, false]);
    assert.equal((await reset("--rollback")).code, 66);
    assert.deepEqual([await count(project), await count(project)], [1, 2]);

    const dry = await reset("--dry-run");
    assert.deepEqual([dry.report.existed, dry.report.removed, dry.report.dry_run], [true, false, true]);
    assert.equal(dry.records.find(({ type }) => type === "product_reset")?.dry_run, true);
    assert.equal(await count(project), 3);

    const done = await reset();
    const { audit: _, head, type, ...fields } = done.report;
    assert.deepEqual(fields, {
      session_file: "${state}/sessions/agent.policy.jsonc.session.json",
      backup_file: "${state}/sessions/agent.policy.jsonc.session.json.reset-backup",
      mode: "reset",
      existed: true,
      removed: true,
      unusable_file: null,
      restored: false,
      dry_run: false,
      scope: "session_file_only",
      rollback: "one_backup",
    });
    assert.deepEqual(done.records.map((record) => record.type), ["run_start", type, "run_end"]);
    assert.equal(done.records.at(-1)?.hash, head);
    assert.equal(await count(project), 1);

    const back = await reset("--rollback");
    assert.deepEqual([back.report.mode, back.report.restored, back.report.existed], ["rollback", true, true]);
    assert.equal(await count(project), 4);
    // what the rollback replaced is the backup now
    assert.equal((await reset("--rollback")).code, 0);
    assert.equal(await count(project), 2);
  });
});

Deno.test("reset tells people what would be and what is", async () => {
  await withProject({ agent: AGENT, policy: { session: true } }, async (project) => {
    await count(project);
    const dry = await project.run({ args: ["reset", "--dry-run"] });
    assert.match(dry.stdout, /would be/);
    assert.match(dry.stdout, /session .* turn 1, \d+ bytes, .* none/);
    const real = await project.run({ args: ["reset", "--policy=agent.policy.jsonc"] });
    assert.match(real.stdout, /twokey reset --rollback/);
    const replayed = await project.run({ args: ["replay", "--json", real.auditPath] });
    assert.equal(JSON.parse(replayed.stdout).product_resets, 1);
  });
});

Deno.test("reset needs a policy that keeps a session, and refuses an edited backup", async () => {
  await withProject({ agent: AGENT, policy: {} }, async (project) => {
    const without = await project.run({ args: ["reset"] });
    assert.equal(without.code, 65);
    assert.match(without.stderr, /"session": true/);
    await project.policy({ session: { file: ".twokey/s.json" } });
    await count(project);
    assert.equal((await project.run({ args: ["reset"] })).code, 0);
    const backup = `${project.dir}/.twokey/s.json.reset-backup`;
    await Deno.writeTextFile(backup, (await Deno.readTextFile(backup)).replace('"n":1', '"n":7'));
    const edited = await project.run({ args: ["reset", "--rollback"] });
    assert.equal(edited.code, 65);
    await assert.rejects(Deno.lstat(`${project.dir}/.twokey/s.json`), Deno.errors.NotFound);
    await Deno.remove(`${project.dir}/agent.policy.jsonc`);
    assert.equal((await project.run({ args: ["reset"] })).code, 64);
  });
});

Deno.test("reset of an edited session keeps the good backup, and so does a rollback over one", async () => {
  await withProject({ agent: AGENT, policy: { session: { file: ".twokey/s.json" } } }, async (project) => {
    const file = `${project.dir}/.twokey/s.json`;
    const edit = async () => await Deno.writeTextFile(file, (await Deno.readTextFile(file)).replace('"n":', '"n":1'));
    assert.deepEqual([await count(project), await count(project)], [1, 2]);
    assert.equal((await project.run({ args: ["reset"] })).code, 0);
    const good = await Deno.readTextFile(`${file}.reset-backup`);
    for (const words of [["reset"], ["reset", "--rollback"]]) {
      assert.equal(await count(project), 1);
      await edit();
      const edited = await Deno.readTextFile(file);
      assert.equal((await project.run()).code, 65);
      const { code, stdout } = await project.run({ args: words });
      assert.equal(code, 0);
      assert.match(stdout, /unusable .*s\.json\.unusable /);
      assert.equal(await Deno.readTextFile(`${file}.reset-backup`), good);
      assert.equal(await Deno.readTextFile(`${file}.unusable`), edited);
      if (words.length === 1) {
        assert.match(stdout, /`twokey reset --rollback` then puts the state of turn 2 back/);
        await assert.rejects(Deno.lstat(file), Deno.errors.NotFound);
      }
    }
    assert.equal(await count(project), 3);
  });
});

Deno.test("a session of false is refused with the fix to remove it", async () => {
  await withProject({ agent: AGENT, policy: { session: false } }, async (project) => {
    const run = await project.run({ args: ["policy", "validate"] });
    assert.equal(run.code, 65);
    assert.match(run.stderr, /"session": it is false[^]*fix: Remove it/);
  });
});
