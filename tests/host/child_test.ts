import assert from "node:assert/strict";
import { BudgetError, ToolError } from "../../src/errors.ts";
import { type ChildOptions, runChild } from "../../src/host/child.ts";
import { Output } from "../../src/host/output.ts";
import { eventually, processesNaming } from "../e2e/run_project.ts";

const PLAIN = { push: (piece: string) => piece, end: () => "" };

function outputOf(stream: "stdout" | "stderr", limit: number, mode: "full" | "summary" = "full"): Output {
  return new Output({ stream, mode, limit, chunkBytes: 1024, scrub: PLAIN, record: () => {}, now: () => 0 });
}

function optionsOf(script: string, own: Partial<ChildOptions> = {}): ChildOptions & { readonly told: string[] } {
  const told: string[] = [];
  return {
    command: "sh",
    run: "/bin/sh",
    args: ["-c", script],
    env: { PATH: "/usr/bin:/bin" },
    cwd: "/",
    confined: false,
    ownSession: false,
    signal: new AbortController().signal,
    stdout: outputOf("stdout", 1_000_000),
    stderr: outputOf("stderr", 1_000_000),
    tell: (word) => told.push(word),
    told,
    ...own,
  };
}

Deno.test("runChild() gives exit, output and an end to the launcher", async () => {
  const options = optionsOf("echo out; echo err >&2; exit 3");
  assert.deepEqual(await runChild(options), { exitCode: 3, signal: null, descendantsLeft: false });
  assert.equal(options.stdout.end().text, "out\n");
  assert.equal(options.stderr.end().text, "err\n");
  assert.deepEqual(options.told, ["child", "stop", "gone"]);
  assert.deepEqual(await runChild(optionsOf("kill -9 $$")), {
    exitCode: null,
    signal: "SIGKILL",
    descendantsLeft: false,
  });
});

Deno.test("runChild() starts programs with nothing on standard input and nothing in their environment", async () => {
  const options = optionsOf("cat; env | grep -v ^PWD= | grep -v ^_=", { env: { A: "1" }, run: "/bin/sh" });
  await runChild({ ...options, args: ["-c", "/bin/cat; /usr/bin/env | /bin/grep -v -e ^PWD= -e ^_= -e ^SHLVL="] });
  assert.equal(options.stdout.end().text, "A=1\n");
});

Deno.test("runChild() cuts pipes that outlive their program, after they were silent", async () => {
  const started = performance.now();
  const options = optionsOf("sleep 30 & echo early; (sleep 0.4; echo late) & exit 0");
  const end = await runChild(options);
  const took = performance.now() - started;
  assert.deepEqual(end, { exitCode: 0, signal: null, descendantsLeft: true });
  assert.ok(took < 10_000, String(took));
  assert.match(options.stdout.end().text, /^early\n/);
});

Deno.test("runChild() ends a program that ignores SIGTERM, and never waits longer than it says", async () => {
  const mark = `mark${crypto.getRandomValues(new Uint8Array(6)).toHex()}`;
  const controller = new AbortController();
  const options = optionsOf(`trap '' TERM; : ${mark}; while :; do sleep 0.05; done`, { signal: controller.signal });
  const running = runChild(options);
  setTimeout(() => controller.abort(new Error("late")), 150);
  const started = performance.now();
  await assert.rejects(running, /late/);
  assert.ok(performance.now() - started < 6_000);
  assert.ok(await eventually(async () => (await processesNaming(mark)).length === 0, 5_000));
});

Deno.test("runChild() ends a program that writes too much, in constant memory", async () => {
  const before = Deno.memoryUsage().rss;
  await assert.rejects(
    runChild(optionsOf("exec yes", { stdout: outputOf("stdout", 1_000_000) })),
    (error) => error instanceof BudgetError && error.code === "process_output_bytes",
  );
  const summary = optionsOf("yes | head -c 400000000", { stdout: outputOf("stdout", 1_000, "summary") });
  assert.equal((await runChild(summary)).exitCode, 0);
  assert.equal(summary.stdout.bytes, 400_000_000);
  assert.ok(Deno.memoryUsage().rss - before < 200 * 1_048_576);
});

Deno.test("runChild() says that a program could not be started", async () => {
  for (const own of [{ run: "/nowhere/program" }, { cwd: "/nowhere/folder" }, { args: ["x\0y"] }]) {
    await assert.rejects(
      runChild(optionsOf("true", own)),
      (error) => error instanceof ToolError && error.code === "process_spawn_failed" && !error.message.includes("/"),
    );
  }
  const aborted = optionsOf("true", { signal: AbortSignal.abort(new Error("over")) });
  await assert.rejects(runChild(aborted), /over/);
  assert.deepEqual(aborted.told, []);
});

Deno.test("runChild() leaves no zombie and no open file behind many programs", async () => {
  const count = () => [...Deno.readDirSync("/proc/self/fd")].length;
  await runChild(optionsOf("true"));
  const before = count();
  for (let round = 0; round < 25; round++) {
    await Promise.all(Array.from({ length: 8 }, () => runChild(optionsOf("true"))));
  }
  assert.ok(await eventually(() => count() <= before + 4, 3_000), `${count()} open files, before ${before}`);
  assert.deepEqual(zombies(), []);
});

/** Names of ended children of this process that nobody has waited for. */
function zombies(): readonly string[] {
  return [...Deno.readDirSync("/proc")].map(({ name }) => name).filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      const stat = Deno.readTextFileSync(`/proc/${name}/stat`);
      const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return state === "Z" && Number(parent) === Deno.pid;
    } catch {
      return false;
    }
  });
}
