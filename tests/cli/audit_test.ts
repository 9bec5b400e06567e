import assert from "node:assert/strict";
import { RUN, writeLog } from "../audit/log_maker.ts";
import { withProject } from "../e2e/run_project.ts";

Deno.test("audit verify tells authentic, consistent, unfinished and broken apart", async () => {
  await withProject({}, async (project) => {
    const whole = `${project.dir}/whole.jsonl`;
    const head = writeLog(whole, RUN);
    const verdictOf = async (...args: string[]): Promise<[string, number]> => {
      const { code, stdout, stderr } = await project.run({ args: ["audit", "verify", "--json", ...args] });
      assert.equal(stderr, "");
      return [JSON.parse(stdout).verdict, code];
    };
    assert.deepEqual(await verdictOf(whole, "--head", head), ["authentic", 0]);
    assert.deepEqual(await verdictOf(whole), ["consistent", 0]);
    assert.deepEqual(await verdictOf(whole, `--head=${"0".repeat(64)}`), ["broken", 65]);
    const unfinished = `${project.dir}/unfinished.jsonl`;
    writeLog(unfinished, RUN.slice(0, 2));
    assert.deepEqual(await verdictOf(unfinished), ["unfinished", 0]);
    await Deno.writeTextFile(whole, (await Deno.readTextFile(whole)).slice(0, -5));
    assert.deepEqual(await verdictOf(whole), ["broken", 65]);
  });
});

Deno.test("audit verify names the calls in flight of an unfinished log, and the first bad record of a broken one", async () => {
  await withProject({}, async (project) => {
    const path = `${project.dir}/a.jsonl`;
    writeLog(path, RUN.slice(0, 2));
    const unfinished = await project.run({ args: ["audit", "verify", "a.jsonl"] });
    assert.equal(unfinished.code, 0);
    assert.match(unfinished.stdout, /^unfinished: .*\n/);
    assert.match(unfinished.stdout, /in flight readFile \(c1, record 2\)/);
    const lines = (await Deno.readTextFile(path)).split("\n");
    await Deno.writeTextFile(path, [lines[1], lines[0], ""].join("\n"));
    const broken = await project.run({ args: ["audit", "verify", "a.jsonl"] });
    assert.equal(broken.code, 65);
    assert.match(broken.stdout, /damage {4}\w+ at line 1 /);
  });
});

Deno.test("audit verify of a missing log is exit 66, of a wrong head 64", async () => {
  await withProject({}, async (project) => {
    assert.equal((await project.run({ args: ["audit", "verify", "none.jsonl"] })).code, 66);
    writeLog(`${project.dir}/a.jsonl`, RUN);
    assert.equal((await project.run({ args: ["audit", "verify", "a.jsonl", "--head", "xyz"] })).code, 64);
  });
});
