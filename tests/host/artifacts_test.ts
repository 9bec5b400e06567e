import assert from "node:assert/strict";
import { type Artifacts, artifactSegments, openArtifacts } from "../../src/host/artifacts.ts";
import { BudgetError, DenialError, ToolError } from "../../src/errors.ts";
import { type FsPlan, makeCall, makeRun, plant, withTree } from "./run_context.ts";

const bytes = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

function open(project: string, fs: FsPlan = { write: ["out"] }): Artifacts {
  return openArtifacts(makeRun(project, fs));
}

/** `written`, or the slug of the refusal or denial. */
async function attempt(artifacts: Artifacts, path: string, text = "x"): Promise<string> {
  const target = await artifacts.resolve.artifact(path);
  const { refusal } = target.requirement;
  if (refusal !== undefined) return refusal;
  try {
    await artifacts.power(makeCall("writeArtifact", [target])).write(target, bytes(text));
    return "written";
  } catch (error) {
    if (error instanceof DenialError || error instanceof ToolError || error instanceof BudgetError) return error.code;
    throw error;
  }
}

async function names(folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (const child of Deno.readDir(folder)) found.push(child.name);
  return found.sort();
}

Deno.test("artifactSegments() normalises a path and refuses what is none", () => {
  assert.deepEqual(artifactSegments("a//./b/"), ["a", "b"]);
  assert.deepEqual(artifactSegments("..a/b..c/..."), ["..a", "b..c", "..."]);
  assert.deepEqual(artifactSegments("%2e%2e/%2f"), ["%2e%2e", "%2f"]);
  for (
    const path of [
      "",
      ".",
      "./",
      "/a",
      "//a",
      "a\\b",
      "\\",
      "..",
      "a/../b",
      "a/..",
      "a\0b",
      "a\nb",
      "a\x7f",
      "a\x85b",
      "a\ud800",
      "x".repeat(256),
      "é".repeat(128),
      "a/".repeat(2000),
      `.twokey-${"0".repeat(32)}.tmp`,
      `.twokey-${"0".repeat(32)}.tmp/a`,
    ]
  ) {
    assert.equal(artifactSegments(path), undefined, JSON.stringify(path));
  }
});

Deno.test("ResolveWrite.artifact() names the canonical place of a new file", () =>
  withTree(async (dir) => {
    await plant(dir, { "out/": "" });
    const { requirement, path } = await open(dir).resolve.artifact("./a//b.md");
    assert.equal(path, "a/b.md");
    assert.deepEqual(requirement, { kind: "filesystem.write", target: `${dir}/out/a/b.md`, description: "a/b.md" });
    const refused = await open(dir).resolve.artifact("\0");
    assert.equal(refused.requirement.refusal, "artifact_path_not_admitted");
    assert.ok(!refused.requirement.target.includes("\0"));
  }));

Deno.test("ResolveWrite.artifact() refuses every name where no root is granted", () =>
  withTree(async (dir) => {
    assert.equal(await attempt(open(dir, {}), "a"), "artifact_root_not_configured");
    assert.equal(await attempt(open(dir, {}), "../a"), "artifact_root_not_configured");
  }));

Deno.test("WritePower.write() creates a file in full, with its folders, and leaves nothing else", () =>
  withTree(async (dir) => {
    await plant(dir, { "out/": "" });
    const artifacts = open(dir);
    assert.equal(await attempt(artifacts, "a/b/c.md", "grüße"), "written");
    assert.equal(await Deno.readTextFile(`${dir}/out/a/b/c.md`), "grüße");
    assert.deepEqual(await names(`${dir}/out/a/b`), ["c.md"]);
    const { mode, nlink } = await Deno.stat(`${dir}/out/a/b/c.md`);
    assert.equal(nlink, 1);
    assert.equal((mode ?? 0) & 0o777, 0o644 & ~Deno.umask());
    assert.equal(await attempt(artifacts, "empty", ""), "written");
    assert.equal(await Deno.readTextFile(`${dir}/out/empty`), "");
  }));

Deno.test("WritePower.write() makes a write root that is missing", () =>
  withTree(async (dir) => {
    const artifacts = open(dir, { write: ["build/reports/out"] });
    assert.equal(await attempt(artifacts, "a/new", "x"), "written");
    assert.equal(await Deno.readTextFile(`${dir}/build/reports/out/a/new`), "x");
  }));

Deno.test("WritePower.write() uses the first write root only", () =>
  withTree(async (dir) => {
    assert.equal(await attempt(open(dir, { write: ["one", "two"] }), "a"), "written");
    assert.deepEqual(await names(dir), ["one"]);
  }));

Deno.test("WritePower.write() never overwrites and never follows a link", () =>
  withTree(async (dir) => {
    await plant(dir, { "out/file": "old", "out/folder/": "", "elsewhere/": "" });
    await Deno.symlink(`${dir}/elsewhere`, `${dir}/out/link`);
    await Deno.symlink(`${dir}/elsewhere/new`, `${dir}/out/dangling`);
    await Deno.symlink("file", `${dir}/out/alias`);
    const artifacts = open(dir);
    const expected = {
      "file": "artifact_overwrite_denied",
      "./file": "artifact_overwrite_denied",
      "folder": "artifact_overwrite_denied",
      "file/below": "artifact_path_not_admitted",
      "link": "symlink_refused",
      "link/new.txt": "symlink_refused",
      "link/a/b/c": "symlink_refused",
      "dangling": "symlink_refused",
      "alias": "symlink_refused",
    };
    for (const [path, slug] of Object.entries(expected)) assert.equal(await attempt(artifacts, path), slug, path);
    assert.equal(await Deno.readTextFile(`${dir}/out/file`), "old");
    assert.deepEqual(await names(`${dir}/elsewhere`), []);
    assert.deepEqual(await names(`${dir}/out`), ["alias", "dangling", "file", "folder", "link"]);
  }));

Deno.test("WritePower.write() refuses a root that is a link or lies behind one", () =>
  withTree(async (dir) => {
    await plant(dir, { "elsewhere/in/": "" });
    await Deno.symlink("elsewhere", `${dir}/out`);
    assert.equal(await attempt(open(dir), "a"), "symlink_refused");
    assert.equal(await attempt(open(dir, { write: ["out/in"] }), "a"), "symlink_refused");
    assert.equal(await attempt(open(dir, { write: ["out/missing/deep"] }), "a"), "symlink_refused");
    assert.deepEqual(await names(`${dir}/elsewhere/in`), []);
  }));

Deno.test("WritePower.write() refuses a link that came after the gate decided", () =>
  withTree(async (dir) => {
    await plant(dir, { "out/sub/": "", "elsewhere/": "" });
    const artifacts = open(dir);
    const target = await artifacts.resolve.artifact("sub/a");
    assert.equal(target.requirement.refusal, undefined);
    await Deno.remove(`${dir}/out/sub`);
    await Deno.symlink(`${dir}/elsewhere`, `${dir}/out/sub`);
    const power = artifacts.power(makeCall("writeArtifact", [target]));
    await assert.rejects(power.write(target, bytes("x")), { code: "symlink_refused" });
    assert.deepEqual(await names(`${dir}/elsewhere`), []);
  }));

Deno.test("WritePower.write() refuses protected places, present or not, by name, by link and in other spellings", () =>
  withTree(async (folder) => {
    const dir = `${folder}/[p] *`;
    await plant(dir, { "real-git/": "" });
    await Deno.symlink("real-git", `${dir}/.hg`);
    const artifacts = open(dir, {
      write: ["."],
      protected: [
        "${project}/.git",
        "${project}/.hg",
        "${project}/.github/workflows",
        "${project}/agent.lock.json",
        "${project}/agents/[id].ts",
        "*.policy.jsonc",
        "deno.json",
      ],
    });
    const refused = [
      ".git",
      ".git/hooks/pre-commit",
      ".GIT/hooks/x",
      ".g\u200cit/x",
      ".ｇit/x",
      "real-git/hooks/x",
      ".github/workflows/new.yml",
      "agent.lock.json",
      "AGENT.LOCK.JSON",
      "agent.policy.jsonc",
      "deep/er/x.policy.jsonc",
      "agents/[id].ts",
      "deno.json",
      "sub/deno.json",
    ];
    for (const path of refused) assert.equal(await attempt(artifacts, path), "protected_path", path);
    for (
      const path of [".gitx", ".github/other", "agents/id2.ts", "agent.lock.json5"]
    ) {
      assert.equal(await attempt(artifacts, path), "written", path);
    }
  }));

Deno.test("WritePower.write() counts bytes, not characters, and an artifact over budget leaves nothing", () =>
  withTree(async (dir) => {
    await plant(dir, { "out/": "" });
    const artifacts = open(dir, { write: ["out"], budgets: { artifactBytes: 4 } });
    assert.equal(await attempt(artifacts, "over", "ééa"), "artifact_bytes");
    assert.equal(await attempt(artifacts, "fits", "éé"), "written");
    assert.deepEqual(await names(`${dir}/out`), ["fits"]);
  }));

Deno.test("WritePower.write() counts the bytes of all files of a run, and none that was not written", () =>
  withTree(async (dir) => {
    await plant(dir, { "out/": "" });
    const artifacts = open(dir, { write: ["out"], budgets: { artifactBytes: 5 } });
    assert.equal(await attempt(artifacts, "a", "123"), "written");
    assert.equal(await attempt(artifacts, "a", "12"), "artifact_overwrite_denied");
    assert.equal(await attempt(artifacts, "b", "123"), "artifact_bytes");
    assert.equal(await attempt(artifacts, "c", "12"), "written");
    assert.equal(await attempt(artifacts, "d", "1"), "artifact_bytes");
    assert.deepEqual(await names(`${dir}/out`), ["a", "c"]);
  }));

Deno.test("WritePower.write() refuses a target of another call and does nothing after the call's end", () =>
  withTree(async (dir) => {
    await plant(dir, { "out/": "" });
    const artifacts = open(dir);
    const [a, b] = [await artifacts.resolve.artifact("a"), await artifacts.resolve.artifact("b")];
    await assert.rejects(artifacts.power(makeCall("t", [a])).write(b, bytes("x")), { code: "not_in_request" });
    const ended = makeCall("t", [a], AbortSignal.abort(new Error("over")));
    await assert.rejects(artifacts.power(ended).write(a, bytes("x")), { message: "over" });
    assert.deepEqual(await names(`${dir}/out`), []);
  }));

Deno.test("WritePower.write() lets exactly the first of many writers of one path win", () =>
  withTree(async (dir) => {
    await plant(dir, { "out/": "" });
    const artifacts = open(dir);
    const target = await artifacts.resolve.artifact("a");
    const power = artifacts.power(makeCall("writeArtifact", [target]));
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) => power.write(target, bytes(`writer ${index}`))),
    );
    assert.deepEqual(outcomes.map(({ status }) => status), ["fulfilled", ...Array(19).fill("rejected")]);
    for (const outcome of outcomes.slice(1)) {
      assert.equal(outcome.status === "rejected" && outcome.reason.code, "artifact_overwrite_denied");
    }
    assert.equal(await Deno.readTextFile(`${dir}/out/a`), "writer 0");
    assert.deepEqual(await names(`${dir}/out`), ["a"]);
  }));

const WRITER = `
import { openArtifacts } from "${import.meta.resolve("../../src/host/artifacts.ts")}";
import { makeCall, makeRun } from "${import.meta.resolve("./run_context.ts")}";
const [dir, id, count, size] = Deno.args;
const artifacts = openArtifacts(makeRun(dir, { write: ["out"], budgets: { artifactBytes: 1e8 } }));
const content = new TextEncoder().encode(id.repeat(Number(size)));
Deno.stdout.writeSync(new TextEncoder().encode("ready\\n"));
let won = 0;
for (let i = 0; i < Number(count); i++) {
  const target = await artifacts.resolve.artifact("f" + i);
  if (target.requirement.refusal !== undefined) continue;
  try {
    await artifacts.power(makeCall("writeArtifact", [target])).write(target, content);
    won++;
  } catch (error) {
    if (error.code !== "artifact_overwrite_denied") throw error;
  }
}
Deno.stdout.writeSync(new TextEncoder().encode(String(won)));
`;

/** Starts a process that writes `count` artifacts of `size` bytes, each holding only the digit `id`. */
async function startWriter(dir: string, id: string, count: number, size: number): Promise<Deno.ChildProcess> {
  const script = `${dir}/writer.ts`;
  await Deno.writeTextFile(script, WRITER);
  return new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--no-prompt",
      "--no-check",
      "--quiet",
      "--config",
      CONFIG,
      script,
      dir,
      id,
      `${count}`,
      `${size}`,
    ],
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
}

const CONFIG = new URL("../../deno.json", import.meta.url).pathname;

Deno.test("WritePower.write() lets one of two processes win each path", () =>
  withTree(async (dir) => {
    await plant(dir, { "out/": "" });
    const writers = await Promise.all(["1", "2"].map((id) => startWriter(dir, id, 200, 100)));
    const outputs = await Promise.all(writers.map((writer) => writer.output()));
    const won = outputs.map(({ stdout }) => Number(new TextDecoder().decode(stdout).replace("ready\n", "")));
    assert.equal((won[0] ?? 0) + (won[1] ?? 0), 200);
    assert.equal((await names(`${dir}/out`)).length, 200);
  }));

Deno.test("WritePower.write() leaves whole files only when its process is killed, and sweepTemps() the rest", () =>
  withTree(async (dir) => {
    await plant(dir, { "out/": "" });
    const size = 400_000;
    for (let round = 0; round < 8; round++) {
      const writer = await startWriter(dir, "7", 1000, size);
      const reader = writer.stdout.getReader();
      await reader.read();
      await new Promise((resolve) => setTimeout(resolve, 1 + round * 3));
      writer.kill("SIGKILL");
      while (!(await reader.read()).done);
      await writer.status;
      for (const name of await names(`${dir}/out`)) {
        if (name.endsWith(".tmp")) continue;
        assert.equal((await Deno.stat(`${dir}/out/${name}`)).size, size, name);
      }
    }
    const artifacts = open(dir);
    artifacts.sweepTemps({ maxAgeMs: -1000 });
    assert.deepEqual((await names(`${dir}/out`)).filter((name) => name.endsWith(".tmp")), []);
  }));

Deno.test("Artifacts.sweepTemps() removes old files of the host's own naming, and nothing else", () =>
  withTree(async (dir) => {
    const temp = (digit: string) => `.twokey-${digit.repeat(32)}.tmp`;
    await plant(dir, {
      [`out/${temp("a")}`]: "old",
      [`out/sub/${temp("b")}`]: "old",
      [`out/${temp("c")}`]: "fresh",
      [`out/${temp("d")}/`]: "",
      [`out/.twokey-short.tmp`]: "",
      [`out/keep.tmp`]: "",
      [`elsewhere/${temp("e")}`]: "",
    });
    await Deno.symlink("../elsewhere", `${dir}/out/link`);
    await Deno.symlink(`../elsewhere/${temp("e")}`, `${dir}/out/${temp("f")}`);
    for (const path of [`out/${temp("a")}`, `out/sub/${temp("b")}`, `elsewhere/${temp("e")}`, "out/keep.tmp"]) {
      await Deno.utime(`${dir}/${path}`, 1, 1);
    }
    assert.equal(open(dir).sweepTemps(), 2);
    assert.deepEqual(
      await names(`${dir}/out`),
      [".twokey-short.tmp", temp("c"), temp("d"), temp("f"), "keep.tmp", "link", "sub"].sort(),
    );
    assert.deepEqual(await names(`${dir}/elsewhere`), [temp("e")]);
    assert.equal(open(dir, { write: ["missing"] }).sweepTemps(), 0);
    assert.equal(open(dir, {}).sweepTemps(), 0);
  }));

Deno.test("WritePower.write() writes nothing outside while another process swaps folders for links", () =>
  withTree(async (dir) => {
    await plant(dir, { "out/sub/": "", "elsewhere/": "" });
    await Deno.symlink(`${dir}/elsewhere`, `${dir}/sub.link`);
    const swapper = new Deno.Command(Deno.execPath(), {
      args: ["eval", "--no-config", SWAPPER, dir],
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const artifacts = open(dir);
    const counts: Record<string, number> = {};
    try {
      const reader = swapper.stdout.getReader();
      await reader.read();
      reader.releaseLock();
      for (let i = 0; i < 1000; i++) {
        const outcome = await attempt(artifacts, `sub/f${i}`);
        counts[outcome] = (counts[outcome] ?? 0) + 1;
      }
    } finally {
      swapper.kill("SIGKILL");
      await swapper.stdout.cancel();
      await swapper.status;
    }
    for (const name of await names(`${dir}/elsewhere`)) {
      // An empty file of the host's own naming is all that a lost race can leave; no content and no name of the agent's.
      assert.match(name, /^\.twokey-[0-9a-f]{32}\.tmp$/, JSON.stringify(counts));
      assert.equal((await Deno.stat(`${dir}/elsewhere/${name}`)).size, 0);
    }
    assert.ok((counts["written"] ?? 0) > 0, JSON.stringify(counts));
  }));

const SWAPPER = `
const dir = Deno.args[0];
Deno.stdout.writeSync(new Uint8Array([10]));
for (;;) {
  try { Deno.renameSync(dir + "/out/sub", dir + "/kept"); } catch { continue; }
  try { Deno.renameSync(dir + "/sub.link", dir + "/out/sub"); } catch { /* the writer made the folder anew */ }
  try { Deno.renameSync(dir + "/out/sub", dir + "/sub.link"); } catch { /* see above */ }
  try { Deno.removeSync(dir + "/out/sub", { recursive: true }); } catch { /* it is not there */ }
  Deno.renameSync(dir + "/kept", dir + "/out/sub");
}`;
