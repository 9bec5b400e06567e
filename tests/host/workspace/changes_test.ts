import assert from "node:assert/strict";
import { DenialError } from "../../../src/errors.ts";
import { sha256 } from "../../../src/json.ts";
import { makeCall, makeRun, plant, type TestRun, withTree } from "../run_context.ts";
import { openTestWorkspace, type TestWorkspace } from "./run_changes.ts";

const CHILD = new URL("change_child.ts", import.meta.url).pathname;
const CONFIG = new URL("../../../deno.json", import.meta.url).pathname;

function open(dir: string, fs: Parameters<typeof makeRun>[1] = {}): TestWorkspace & { readonly run: TestRun } {
  const run = makeRun(dir, { write: ["out"], ...fs });
  return { ...openTestWorkspace(run), run };
}

function child(...args: string[]): Deno.Command {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-prompt", "--quiet", "--no-check", "--no-lock", `--config=${CONFIG}`, CHILD, ...args],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}

const modeOf = async (path: string): Promise<number> => ((await Deno.lstat(path)).mode ?? 0) & 0o7777;
const textOf = (path: string): Promise<string> => Deno.readTextFile(path);
const namesIn = async (path: string): Promise<string[]> =>
  (await Array.fromAsync(Deno.readDir(path))).map(({ name }) => name).toSorted();

Deno.test("WriteFile replaces what was read, creates what is not there, and refuses the rest", () =>
  withTree(async (dir) => {
    await plant(dir, { "out/a.txt": "a", "out/b.txt": "b" });
    const { write, see, observations } = open(dir);
    assert.equal((await write({ path: "out/a.txt", content: "x" })).code, "not_read");
    await see("out/a.txt");
    assert.equal((await write({ path: "out/a.txt", content: "x" })).code, "result");
    assert.equal((await write({ path: "out/a.txt", content: "y" })).code, "result");
    await Deno.writeTextFile(`${dir}/out/a.txt`, "foreign");
    assert.equal((await write({ path: "out/a.txt", content: "z" })).code, "stale");
    // A conflict takes away what was known: the second attempt is not held to the first one's digest.
    assert.equal((await write({ path: "out/a.txt", content: "z" })).code, "not_read");
    assert.equal(await textOf(`${dir}/out/a.txt`), "foreign");
    await see("out/b.txt");
    await Deno.remove(`${dir}/out/b.txt`);
    assert.equal((await write({ path: "out/b.txt", content: "z" })).code, "stale");
    assert.equal((await write({ path: "out/b.txt", content: "z" })).code, "result");
    observations.delete(`${dir}/out/b.txt`);
    const sha = await sha256(new TextEncoder().encode("z"));
    observations.set(`${dir}/out/b.txt`, { sha256: sha, complete: false });
    assert.equal((await write({ path: "out/b.txt", content: "y" })).code, "not_read");
    // Somebody created what was seen to be absent.
    await Deno.writeTextFile(`${dir}/out/c.txt`, "c");
    observations.set(`${dir}/out/c.txt`, { sha256: null, complete: true });
    assert.equal((await write({ path: "out/c.txt", content: "y" })).code, "stale");
    await Deno.remove(`${dir}/out/c.txt`);
    assert.deepEqual(await namesIn(`${dir}/out`), ["a.txt", "b.txt"]);
  }));

Deno.test("EditFile is content with some lines, but not to replace a text everywhere", () =>
  withTree(async (dir) => {
    await plant(dir, { "out/a.txt": "one\ntwo\n" });
    const { edit, write, observations } = open(dir);
    const sha = await sha256(new TextEncoder().encode("one\ntwo\n"));
    assert.equal((await edit({ path: "out/a.txt", old: "one", new: "1" })).code, "not_read");
    observations.set(`${dir}/out/a.txt`, { sha256: sha, complete: false });
    const everywhere = { path: "out/a.txt", old: "o", new: "0", replace_all: true };
    assert.equal((await edit(everywhere)).code, "not_read");
    assert.equal((await edit({ path: "out/a.txt", old: "one", new: "1" })).code, "result");
    // Knowing a part and one's own change is not knowing all of it.
    assert.equal((await edit(everywhere)).code, "not_read");
    assert.equal((await write({ path: "out/a.txt", content: "x" })).code, "not_read");
    assert.equal((await edit({ path: "out/a.txt", old: "two", new: "2" })).code, "result");
    assert.equal((await edit({ ...everywhere, old: "2", expected_sha256: "0".repeat(64) })).code, "stale");
  }));

Deno.test("the record of a change holds path, size and digests, and no content", () =>
  withTree(async (dir) => {
    await plant(dir, { "out/a.txt": "secret-before" });
    const { edit, see } = open(dir);
    await see("out/a.txt");
    const digest = (text: string) => sha256(new TextEncoder().encode(text));
    const { notes } = await edit({ path: "./out//a.txt", old: "before", new: "after" });
    assert.deepEqual(Object.assign({}, ...notes), {
      path: "out/a.txt",
      bytes: 12,
      sha256_before: await digest("secret-before"),
      sha256_after: await digest("secret-after"),
      written_bytes: 12,
      replacements: 1,
      dry_run: false,
    });
    const missed = await edit({ path: "out/a.txt", old: "secret-afte", new: "x", dry_run: true });
    assert.equal(missed.result?.changed, true);
    const failed = await edit({ path: "out/a.txt", old: "secret  after", new: "x" });
    assert.equal(failed.code, "no_match");
    assert.ok(!failed.message?.includes("secret-after"));
    assert.equal(await textOf(`${dir}/out/a.txt`), "secret-after");
  }));

Deno.test("a changed file keeps its mode, and a new one has 0644", () =>
  withTree(async (dir) => {
    await plant(dir, { "out/run.sh": "#!/bin/sh\necho a\n", "out/open": "a", "out/shut": "a", "out/fixed": "a" });
    const modes = { "out/run.sh": 0o755, "out/open": 0o666, "out/shut": 0o600 };
    const { edit, write, see } = open(dir);
    for (const [path, mode] of Object.entries(modes)) {
      await Deno.chmod(`${dir}/${path}`, mode);
      await see(path);
      assert.equal((await edit({ path, old: "a", new: "b", replace_all: true })).code, "result");
      assert.equal(await modeOf(`${dir}/${path}`), mode, path);
    }
    await write({ path: "out/new", content: "" });
    assert.equal(await modeOf(`${dir}/out/new`), 0o644);
    await Deno.chmod(`${dir}/out/fixed`, 0o444);
    await see("out/fixed");
    assert.equal((await edit({ path: "out/fixed", old: "a", new: "b" })).code, "not_replaceable");
    assert.equal(await textOf(`${dir}/out/fixed`), "a");
  }));

Deno.test("links, further names, folders, devices and FIFOs are refused, each with its own code", () =>
  withTree(async (dir) => {
    await plant(dir, { "out/a.txt": "a", "out/folder/": "", "outside/a.txt": "a", "out/b.txt": "b" });
    await Deno.symlink("a.txt", `${dir}/out/inside`);
    await Deno.symlink("../outside", `${dir}/out/away`);
    await Deno.symlink("nowhere", `${dir}/out/dangling`);
    await Deno.link(`${dir}/out/b.txt`, `${dir}/outside/b.txt`);
    await new Deno.Command("mkfifo", { args: [`${dir}/out/fifo`] }).output();
    using _socket = Deno.listen({ transport: "unix", path: `${dir}/out/socket` });
    const { edit, write } = open(dir);
    const cases = {
      inside: "symlink_refused",
      "away/a.txt": "symlink_refused",
      dangling: "symlink_refused",
      "b.txt": "hard_link_refused",
      folder: "not_a_file",
      fifo: "not_a_file",
      socket: "not_a_file",
      "a.txt/x": "artifact_path_not_admitted",
    };
    for (const [name, code] of Object.entries(cases)) {
      const expected_sha256 = await sha256(new TextEncoder().encode("a"));
      const path = `out/${name}`;
      assert.equal((await write({ path, content: "x", expected_sha256 })).code, code, name);
      assert.equal((await edit({ path, old: "a", new: "x", expected_sha256 })).code, code, name);
    }
    assert.equal(await textOf(`${dir}/outside/a.txt`), "a");
    assert.equal(await textOf(`${dir}/outside/b.txt`), "b");
  }));

Deno.test("the longest names, names of temporary files and protected names are judged before anything is made", () =>
  withTree(async (dir) => {
    await plant(dir, { "out/": "" });
    const { write } = open(dir, { protected: [".git", "deno.json"] });
    const temp = `.twokey-${"0".repeat(32)}.tmp`;
    for (const name of [temp, `${temp}/x`, `${"n".repeat(256)}`, "a\\b"]) {
      assert.equal((await write({ path: `out/${name}`, content: "" })).code, "artifact_path_not_admitted", name);
    }
    for (const path of ["../x", "out/../../x", "/etc/x", "out", ".", "elsewhere/x"]) {
      assert.equal((await write({ path, content: "" })).code, "artifact_path_not_admitted", path);
    }
    for (const name of [".git/config", "deep/.GIT/hooks/x", "deno.json"]) {
      assert.equal((await write({ path: `out/${name}`, content: "" })).code, "protected_path", name);
    }
    assert.deepEqual(await namesIn(`${dir}/out`), []);
  }));

Deno.test("every write root serves, absolute paths inside of them are accepted, and labels name roots outside", () =>
  withTree(async (dir) => {
    await plant(dir, { "project/out/": "", "project/docs/": "", "beside/": "" });
    const run = makeRun(`${dir}/project`, { write: ["out", "docs", `${dir}/beside`] });
    const outside = run.plan.fs.write[2];
    assert.ok(outside !== undefined);
    Object.assign(outside, { label: "beside" });
    const { write } = openTestWorkspace(run);
    const shown = async (path: string) => (await write({ path, content: "" })).result?.path;
    assert.equal(await shown("docs/a"), "docs/a");
    assert.equal(await shown(`${dir}/project/out/b`), "out/b");
    assert.equal(await shown("beside/c"), "beside/c");
    assert.equal(await shown(`${dir}/beside/d`), "beside/d");
    assert.equal((await write({ path: "elsewhere/e", content: "" })).code, "artifact_path_not_admitted");
    assert.equal((await write({ path: `${dir}/e`, content: "" })).code, "artifact_path_not_admitted");
    assert.deepEqual(await namesIn(`${dir}/beside`), ["c", "d"]);
  }));

Deno.test("the budget counts what is written, also where two are written at the same time", () =>
  withTree(async (dir) => {
    await plant(dir, { "out/": "" });
    const { write, edit } = open(dir, { budgets: { artifactBytes: 100 } });
    const [a, b] = await Promise.all([
      write({ path: "out/a", content: "x".repeat(60) }),
      write({ path: "out/b", content: "x".repeat(60) }),
    ]);
    assert.deepEqual([a.code, b.code].toSorted(), ["artifact_bytes", "result"]);
    const path = a.code === "result" ? "out/a" : "out/b";
    assert.equal((await edit({ path, old: "x".repeat(60), new: "y", dry_run: true })).code, "result");
    assert.equal((await edit({ path, old: "x", new: "x", replace_all: true })).code, "result");
    assert.equal((await edit({ path, old: "x".repeat(60), new: "y".repeat(41) })).code, "artifact_bytes");
    assert.equal((await edit({ path, old: "x".repeat(60), new: "y".repeat(40) })).code, "result");
    assert.equal((await write({ path: "out/c", content: "1" })).code, "artifact_bytes");
  }));

Deno.test("a file over the display cap can be edited up to editFileBytes, before and after", () =>
  withTree(async (dir) => {
    await plant(dir, { "out/a": `${"line\n".repeat(100)}end`, "out/b": "x".repeat(600) });
    const { edit, see } = open(dir, { budgets: { readFileBytes: 100, editFileBytes: 550 } });
    await see("out/a");
    await see("out/b");
    assert.equal((await edit({ path: "out/a", old: "end", new: "END" })).code, "result");
    assert.equal((await edit({ path: "out/a", old: "END", new: "x".repeat(51) })).code, "too_large");
    assert.equal((await edit({ path: "out/b", old: "x", new: "y" })).code, "too_large");
    assert.equal(await textOf(`${dir}/out/a`), `${"line\n".repeat(100)}END`);
  }));

Deno.test("a power accepts no target of another call", () =>
  withTree(async (dir) => {
    await plant(dir, { "out/": "" });
    const { changes } = open(dir);
    const target = changes.resolve.fileToChange("out/a");
    const options = { verb: "write", known: "all", mustExist: false, dryRun: false } as const;
    const make = () => ({ bytes: new Uint8Array(1), describe: () => undefined });
    const refused = (error: unknown) => error instanceof DenialError && error.code === "not_in_request";
    await assert.rejects(changes.power(makeCall("WriteFile", [])).change(target, options, make), refused);
    const read = changes.resolve.sameFileToRead(target);
    const half = changes.power(makeCall("EditFile", [target]));
    await assert.rejects(half.change(target, { ...options, read }, make), refused);
    const copy = { ...target, requirement: { ...target.requirement } };
    await assert.rejects(changes.power(makeCall("WriteFile", [copy])).change(copy, options, make), refused);
    assert.deepEqual(await namesIn(`${dir}/out`), []);
  }));

Deno.test("a call that was cancelled changes nothing and leaves nothing", () =>
  withTree(async (dir) => {
    await plant(dir, { "out/a": "a" });
    const { write, see } = open(dir);
    await see("out/a");
    const controller = new AbortController();
    controller.abort(new Error("deadline"));
    await assert.rejects(write({ path: "out/a", content: "b" }, controller.signal), /deadline/);
    // Aborted while the bytes go to the disk.
    const late = new AbortController();
    const writing = write({ path: "out/a", content: "b".repeat(1_000_000) }, late.signal);
    const sync = Deno.FsFile.prototype.sync;
    Deno.FsFile.prototype.sync = async function () {
      late.abort(new Error("late"));
      await sync.call(this);
    };
    try {
      await assert.rejects(writing, /late/);
    } finally {
      Deno.FsFile.prototype.sync = sync;
    }
    assert.equal(await textOf(`${dir}/out/a`), "a");
    assert.deepEqual(await namesIn(`${dir}/out`), ["a"]);
  }));

Deno.test("a change waits for another run's lock, and no longer than its deadline", () =>
  withTree(async (dir) => {
    await plant(dir, { "out/a": "a" });
    const { write, see } = open(dir);
    await see("out/a");
    const other = await Deno.open(`${dir}/out`);
    await other.lock(true);
    const signal = AbortSignal.timeout(100);
    await assert.rejects(write({ path: "out/a", content: "b" }, signal), { name: "TimeoutError" });
    const waiting = write({ path: "out/a", content: "c" });
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(await textOf(`${dir}/out/a`), "a");
    other.close();
    assert.equal((await waiting).code, "result");
    assert.equal(await textOf(`${dir}/out/a`), "c");
  }));

Deno.test("a crash between any two steps leaves the old or the new file, whole", () =>
  withTree(async (dir) => {
    const old = "old ".repeat(1000);
    const made = "new ".repeat(1000);
    let killed = 0;
    for (let fatal = 1;; fatal++) {
      await Deno.remove(`${dir}/out`, { recursive: true }).catch(() => {});
      await plant(dir, { "out/old.txt": old });
      const { success, stderr } = await child("die", dir, String(fatal)).output();
      const text = await textOf(`${dir}/out/old.txt`);
      assert.ok(text === old || text === made, `torn at step ${fatal}`);
      const fresh = await textOf(`${dir}/out/made/new.txt`).catch(() => undefined);
      assert.ok(fresh === undefined || fresh === made, `torn at step ${fatal}`);
      if (success) {
        assert.deepEqual([text, fresh], [made, made]);
        break;
      }
      assert.equal(new TextDecoder().decode(stderr), "", `step ${fatal}`);
      killed++;
      // What is left behind goes as soon as it is old, and is in nobody's way before.
      const past = Date.now() / 1000 - 3600;
      for (const folder of ["out", "out/made"]) {
        for (const name of await namesIn(`${dir}/${folder}`).catch(() => [])) {
          if (name.endsWith(".tmp")) await Deno.utime(`${dir}/${folder}/${name}`, past, past);
        }
      }
      const { edit, see } = open(dir);
      assert.deepEqual((await namesIn(`${dir}/out`)).filter((name) => name.endsWith(".tmp")), []);
      await see("out/old.txt");
      assert.equal((await edit({ path: "out/old.txt", old: text, new: "fine" })).code, "result");
    }
    assert.ok(killed > 20, `${killed} steps`);
  }));

Deno.test("kill -9 at any moment leaves no torn file", () =>
  withTree(async (dir) => {
    await plant(dir, { "out/old.txt": "a".repeat(256 * 1024) });
    const seen = new Set<string>();
    for (let round = 0; round < 12; round++) {
      const running = child("flip", dir).spawn();
      const reader = running.stdout.getReader();
      await reader.read();
      await new Promise((resolve) => setTimeout(resolve, 5 + 17 * round));
      running.kill("SIGKILL");
      await reader.cancel();
      await running.stderr.cancel();
      await running.status;
      const text = await textOf(`${dir}/out/old.txt`);
      assert.match(text, /^(?:a+|b+|c+|d+)$/);
      assert.equal(text.length, 256 * 1024);
      seen.add(text.charAt(0));
    }
    assert.ok(seen.size > 1);
  }));

Deno.test("two runs on one file lose no update", () =>
  withTree(async (dir) => {
    await plant(dir, { "out/count.txt": "0" });
    const ended = await Promise.all([1, 2, 3].map(() => child("count", dir, "25").output()));
    for (const { success, stderr } of ended) assert.ok(success, new TextDecoder().decode(stderr));
    assert.equal(await textOf(`${dir}/out/count.txt`), "75");
    assert.deepEqual(await namesIn(`${dir}/out`), ["count.txt"]);
  }));

/** Runs `act` before the n-th act on the disk of what follows, and gives the original functions back at the end. */
async function withActAt(nth: number, act: () => void, body: () => Promise<unknown>): Promise<boolean> {
  const owners: readonly (readonly [object, string])[] = [
    ...["openSync", "linkSync", "renameSync", "removeSync", "lstatSync", "realPathSync", "readDirSync"].map((name) =>
      [Deno, name] as const
    ),
    ...["writeSync", "readSync", "sync", "tryLockSync", "statSync"].map((name) =>
      [Deno.FsFile.prototype, name] as const
    ),
  ];
  let steps = 0;
  const restore = owners.map(([owner, name]) => {
    const original = Reflect.get(owner, name);
    const wrapped = function (this: unknown, ...args: unknown[]): unknown {
      if (++steps === nth) act();
      return Reflect.apply(original, this, args);
    };
    Object.defineProperty(owner, name, { value: wrapped, configurable: true, writable: true });
    return () => Object.defineProperty(owner, name, { value: original, configurable: true, writable: true });
  });
  try {
    await body();
  } finally {
    for (const give of restore) give();
  }
  return steps >= nth;
}

/** Calls `look` whenever a file was filled and goes to the disk. */
async function withSyncs<T>(look: () => void, body: () => Promise<T>): Promise<T> {
  const { sync } = Deno.FsFile.prototype;
  const faults: unknown[] = [];
  Deno.FsFile.prototype.sync = function () {
    try {
      look();
    } catch (error) {
      faults.push(error);
    }
    return sync.call(this);
  };
  try {
    const value = await body();
    assert.deepEqual(faults, []);
    return value;
  } finally {
    Deno.FsFile.prototype.sync = sync;
  }
}

/** No temporary file in a folder holds a byte, not even for a moment. */
function assertEmpty(folder: string): void {
  for (const { name } of Deno.readDirSync(folder)) {
    if (name !== "a.txt") assert.equal(Deno.lstatSync(`${folder}/${name}`).size, 0, name);
  }
}

Deno.test("what another program changes between the look and the replacement is not overwritten", () =>
  withTree(async (dir) => {
    const { edit, write, see } = open(dir);
    for (const foreign of ["foreign text", "same length!"]) {
      await plant(dir, { "out/a.txt": "what is here" });
      await see("out/a.txt");
      const change = () => Deno.writeTextFileSync(`${dir}/out/a.txt`, foreign);
      const ended = await withSyncs(change, () => edit({ path: "out/a.txt", old: "what", new: "that" }));
      assert.equal(ended.code, "stale");
      assert.equal(await textOf(`${dir}/out/a.txt`), foreign);
      const make = () => Deno.writeTextFileSync(`${dir}/out/${foreign}`, foreign);
      assert.equal((await withSyncs(make, () => write({ path: `out/${foreign}`, content: "x" }))).code, "stale");
      assert.equal(await textOf(`${dir}/out/${foreign}`), foreign);
    }
    assert.deepEqual(await namesIn(`${dir}/out`), ["a.txt", "foreign text", "same length!"]);
  }));

/** Puts a link in the place of what stands at `at`, and that aside. */
function swapper(dir: string, at: string, to: string): () => void {
  const rename = Deno.renameSync;
  return () => {
    rename(`${dir}/${at}`, `${dir}/kept`);
    Deno.symlinkSync(`${dir}/${to}`, `${dir}/${at}`);
  };
}

for (const what of ["folder", "file"] as const) {
  Deno.test(`nothing outside is changed or shown when the ${what} becomes a link at any step`, () =>
    withTree(async (dir) => {
      const codes = new Set<string>();
      const at = what === "folder" ? "out/sub" : "out/sub/a.txt";
      const swap = swapper(dir, at, what === "folder" ? "elsewhere" : "elsewhere/a.txt");
      const outside = await sha256(new TextEncoder().encode("outside inside"));
      let swapped = true;
      for (let step = 1; swapped; step++) {
        swapped = false;
        await plant(dir, { "out/sub/a.txt": "inside", "elsewhere/a.txt": "outside inside" });
        const { edit, write, see } = open(dir);
        await see("out/sub/a.txt");
        const deeds = [
          () => edit({ path: "out/sub/a.txt", old: "inside", new: "changed" }),
          // The digest of what lies outside opens nothing either.
          () => edit({ path: "out/sub/a.txt", old: "inside", new: "x", expected_sha256: outside, dry_run: true }),
          () => write({ path: "out/sub/new.txt", content: "changed" }),
        ];
        for (const deed of deeds) {
          const wasSwapped = await withActAt(step, swap, async () => {
            const ended = await withSyncs(() => assertEmpty(`${dir}/elsewhere`), deed);
            codes.add(ended.code);
            assert.ok(!JSON.stringify(ended).includes("outside"), `step ${step}`);
          });
          swapped ||= wasSwapped;
          assert.equal(await textOf(`${dir}/elsewhere/a.txt`), "outside inside", `step ${step}`);
          for (const name of await namesIn(`${dir}/elsewhere`)) {
            if (name === "a.txt") continue;
            assert.match(name, /^\.twokey-[0-9a-f]{32}\.tmp$/, `step ${step}`);
            assert.equal((await Deno.stat(`${dir}/elsewhere/${name}`)).size, 0, `step ${step}`);
            await Deno.remove(`${dir}/elsewhere/${name}`);
          }
          if ((await Deno.lstat(`${dir}/${at}`)).isSymlink) await Deno.remove(`${dir}/${at}`);
          if (await Deno.stat(`${dir}/kept`).catch(() => undefined) !== undefined) {
            await Deno.remove(`${dir}/${at}`, { recursive: true }).catch(() => {});
            await Deno.rename(`${dir}/kept`, `${dir}/${at}`);
          }
        }
        await Deno.remove(`${dir}/out`, { recursive: true });
      }
      assert.ok(codes.has("symlink_refused") && codes.has("result"), [...codes].join());
    }));
}

Deno.test("nothing outside is changed while another process swaps the file and its folder for links", () =>
  withTree(async (dir) => {
    await plant(dir, { "out/sub/a.txt": "0", "elsewhere/a.txt": "untouched" });
    await Deno.symlink(`${dir}/elsewhere`, `${dir}/sub.link`);
    await Deno.symlink(`${dir}/elsewhere/a.txt`, `${dir}/file.link`);
    const swapper = new Deno.Command(Deno.execPath(), {
      args: ["eval", "--no-config", SWAPPER, dir],
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const { write } = open(dir);
    const counts: Record<string, number> = {};
    try {
      const reader = swapper.stdout.getReader();
      await reader.read();
      reader.releaseLock();
      for (let round = 0; round < 600; round++) {
        const expected_sha256 = await sha256(new TextEncoder().encode(`${round % 3}`));
        for (const args of [{ path: "out/sub/a.txt", expected_sha256 }, { path: `out/sub/new${round}` }]) {
          const { code } = await write({ ...args, content: `${(round + 1) % 3}` });
          counts[code] = (counts[code] ?? 0) + 1;
        }
      }
    } finally {
      swapper.kill("SIGKILL");
      await swapper.stdout.cancel();
      await swapper.status;
    }
    assert.equal(await textOf(`${dir}/elsewhere/a.txt`), "untouched", JSON.stringify(counts));
    for (const name of await namesIn(`${dir}/elsewhere`)) {
      if (name === "a.txt") continue;
      // An empty file of the host's own naming is all that a lost race can leave; no content and no name of the agent's.
      assert.match(name, /^\.twokey-[0-9a-f]{32}\.tmp$/, JSON.stringify(counts));
      assert.equal((await Deno.stat(`${dir}/elsewhere/${name}`)).size, 0);
    }
    assert.ok((counts["result"] ?? 0) > 0 && (counts["symlink_refused"] ?? 0) > 0, JSON.stringify(counts));
  }));

const SWAPPER = `
const dir = Deno.args[0];
const move = (from, to) => { try { Deno.renameSync(dir + from, dir + to); return true; } catch { return false; } };
const clear = (path) => { try { Deno.removeSync(dir + path, { recursive: true }); } catch { /* it is not there */ } };
Deno.stdout.writeSync(new Uint8Array([10]));
for (;;) {
  if (move("/out/sub/a.txt", "/kept.txt")) {
    move("/file.link", "/out/sub/a.txt");
    // the writer may have put a file of its own there meanwhile
    if (!isLink("/file.link")) move("/out/sub/a.txt", "/file.link");
    move("/kept.txt", "/out/sub/a.txt");
  }
  if (!move("/out/sub", "/kept")) continue;
  if (move("/sub.link", "/out/sub")) move("/out/sub", "/sub.link");
  while (!move("/kept", "/out/sub")) clear("/out/sub");
}
function isLink(path) {
  try { return Deno.lstatSync(dir + path).isSymlink; } catch { return false; }
}`;
