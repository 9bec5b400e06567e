import assert from "node:assert/strict";
import { DenialError, InputError } from "../../src/errors.ts";
import { collectSource, MANIFEST_PART_ENTRIES, type Source } from "../../src/host/source.ts";
import type { SourceEntry, SourceTarget } from "../../src/tool/powers.ts";
import { type FsPlan, makeCall, makeRun, plant, withTree } from "./run_context.ts";

function list(source: Source, path?: string, root?: string): readonly SourceEntry[] {
  const targets = source.resolve.sources(path, root);
  for (const { requirement } of targets) assert.equal(requirement.refusal, undefined);
  return source.power(makeCall("listFiles", targets)).list(targets);
}

async function find(source: Source, path: string, root?: string): Promise<SourceTarget> {
  return await source.resolve.source(path, root);
}

async function refusal(source: Source, path: string, root?: string): Promise<string | undefined> {
  return (await find(source, path, root)).requirement.refusal;
}

async function read(source: Source, path: string, root?: string): Promise<string> {
  const target = await find(source, path, root);
  assert.equal(target.requirement.refusal, undefined, path);
  return (await source.power(makeCall("readFile", [target])).read(target)).content;
}

async function readCode(source: Source, target: SourceTarget): Promise<string> {
  try {
    await source.power(makeCall("readFile", [target])).read(target);
    return "admitted";
  } catch (error) {
    if (error instanceof DenialError) return error.code;
    throw error;
  }
}

function kinds(entries: readonly SourceEntry[]): Record<string, string> {
  return Object.fromEntries(entries.map((entry) => [entry.path, `${entry.kind}/${entry.reason}`]));
}

function collect(project: string, fs: FsPlan = { read: [{ root: "." }] }): Promise<Source> {
  return collectSource(makeRun(project, fs));
}

function plantMany(folder: string, count: number): void {
  for (let i = 0; i < count; i++) Deno.writeTextFileSync(`${folder}/f${i}.ts`, `${i}`);
}

async function mkfifo(path: string): Promise<void> {
  const { success } = await new Deno.Command("mkfifo", { args: [path] }).output();
  assert.ok(success);
}

Deno.test("collectSource() gives every name its kind and reason", () =>
  withTree(async (dir) => {
    await plant(dir, {
      "a.md": "hello",
      "binary.md": new Uint8Array([104, 0, 105]),
      "big.md": "x".repeat(101),
      "skip.key": "k",
      ".env.local": "SECRET=1",
      "build/out.md": "b",
      ".gitignore": "build/\n",
      ".git/config": "[core]",
      "other.txt": "t",
      "sub/secrets/x.md": "s",
    });
    await Deno.symlink("/etc/passwd", `${dir}/link.md`);
    await Deno.symlink("/etc", `${dir}/linkdir`);
    await mkfifo(`${dir}/pipe.md`);
    const source = await collect(dir, {
      read: [{ root: ".", include: ["*.md", ".env*"], exclude: ["*.key", "secrets/"] }],
      secret: [".env*"],
      budgets: { readFileBytes: 100 },
    });
    assert.deepEqual(kinds(list(source)), {
      ".env.local": "secret/secret_name",
      ".git": "ignored/gitignore_default",
      ".gitignore": "not_included/include_pattern",
      "a.md": "text/admitted",
      "big.md": "large/large_file_summary_only",
      "binary.md": "binary/binary_refused",
      "build": "ignored/gitignore_default",
      "link.md": "symlink/symlink_refused",
      "linkdir": "symlink/symlink_refused",
      "other.txt": "not_included/include_pattern",
      "pipe.md": "special/non_file_refused",
      "skip.key": "excluded/exclude_pattern",
      "sub/secrets": "excluded/exclude_pattern",
    });
    for (const entry of list(source)) {
      assert.equal(entry.readable, entry.kind === "text");
      const target = await find(source, entry.path);
      assert.equal(target.requirement.refusal, entry.readable ? undefined : entry.reason, entry.path);
      assert.equal(await readCode(source, target), entry.reason, entry.path);
    }
  }));

Deno.test("collectSource() lists in the order of the paths, whatever the folders are called", () =>
  withTree(async (dir) => {
    await plant(dir, { "a-b": "", "a/x": "", "a.b": "", "a0": "", "Z/y": "", "é": "", "a/b/c": "" });
    const paths = list(await collect(dir)).map((entry) => entry.path);
    assert.deepEqual(paths, [...paths].sort());
    assert.equal(paths.length, 7);
  }));

Deno.test("collectSource() gives names below a folder that was not entered the folder's reason", () =>
  withTree(async (dir) => {
    await plant(dir, { ".gitignore": "node_modules\n", "node_modules/p/index.js": "x", ".git/HEAD": "ref", "a": "" });
    await Deno.symlink("/etc", `${dir}/etc`);
    const source = await collect(dir);
    assert.equal(await refusal(source, "node_modules/p/index.js"), "gitignore_default");
    assert.equal(await refusal(source, ".git/HEAD"), "gitignore_default");
    assert.equal(await refusal(source, "etc/passwd"), "symlink_refused");
    assert.equal(await refusal(source, `${dir}/etc/passwd`), "symlink_refused");
    assert.equal(list(source).filter((entry) => entry.path.startsWith("node_modules")).length, 1);
  }));

Deno.test("collectSource() reads nested ignore files as git does", () =>
  withTree(async (dir) => {
    await plant(dir, {
      ".gitignore": "*.log\nd/\n!d/sub/*\n/*x/\n!/keepx/\n\\#odd\n",
      "a.log": "",
      "#odd": "",
      "d/sub/f": "",
      "dropx/f": "",
      "keepx/f": "",
      "keepx/subx/f": "",
      "pkg/.gitignore": "!b.log\n/only\nout/\n",
      "pkg/b.log": "",
      "pkg/c.log": "",
      "pkg/only": "",
      "pkg/deep/only": "",
      "pkg/deep/out/f": "",
      "only": "",
      "out/f": "",
      "re/.gitignore": "!d/\n",
      "re/d/x": "",
      "re/d/x.log": "",
      "w[1] !/.gitignore": "/top\n",
      "w[1] !/top": "",
      "w[1] !/in/top": "",
      "w1 !/top": "",
    });
    const ignored = list(await collect(dir)).filter((entry) => entry.kind === "ignored").map((entry) => entry.path);
    assert.deepEqual(
      ignored,
      ["#odd", "a.log", "d", "dropx", "pkg/c.log", "pkg/deep/out", "pkg/only", "re/d/x.log", "w[1] !/top"],
    );
  }));

Deno.test("collectSource() follows no .gitignore that is a link, and enters no folder whose rules are too large", () =>
  withTree(async (dir) => {
    await plant(dir, { "rules": "*.txt\n", "a.txt": "", "big/.gitignore": "#".repeat(300_000), "big/f": "" });
    await Deno.symlink("rules", `${dir}/.gitignore`);
    assert.deepEqual(kinds(list(await collect(dir))), {
      ".gitignore": "symlink/symlink_refused",
      "a.txt": "text/admitted",
      "big": "ignored/gitignore_default",
      "rules": "text/admitted",
    });
  }));

Deno.test("collectSource() excludes what a pattern means to people", () =>
  withTree(async (dir) => {
    await plant(dir, {
      "a.key.key": "",
      "x.test.js.test.js": "",
      "secrets/s": "",
      "root.ts": "",
      "lib/deep/in.ts": "",
      "docs/a": "",
      "Docs/a": "",
    });
    const fs = {
      read: [{ root: ".", include: ["**/*.ts", "*.key", "*.js", "docs/*"], exclude: ["*.key", "*.test.js"] }],
    };
    assert.deepEqual(kinds(list(await collect(dir, fs))), {
      "Docs/a": "not_included/include_pattern",
      "a.key.key": "excluded/exclude_pattern",
      "docs/a": "text/admitted",
      "lib/deep/in.ts": "text/admitted",
      "root.ts": "text/admitted",
      "secrets/s": "not_included/include_pattern",
      "x.test.js.test.js": "excluded/exclude_pattern",
    });
  }));

Deno.test("collectSource() degrades at the file limit and says that it is incomplete", () =>
  withTree(async (dir) => {
    await plant(dir, { "a": "1", "b": "2", "c/d": "3", "e": new Uint8Array([0]) });
    const source = await collect(dir, { read: [{ root: "." }], budgets: { readFiles: 2 } });
    assert.deepEqual(kinds(list(source)), {
      "a": "text/admitted",
      "b": "text/admitted",
      "c/d": "limit/file_limit",
      "e": "limit/file_limit",
    });
    const [record] = source.manifestRecords();
    assert.equal(record?.["complete"], false);
    assert.deepEqual(record?.["counts"], { text: 2, limit: 2 });
    assert.equal(await read(source, "b"), "2");
    assert.equal(await refusal(source, "c/d"), "file_limit");
  }));

Deno.test("collectSource() takes a single file as a root", () =>
  withTree(async (dir) => {
    await plant(dir, { "docs/one.md": "one", "docs/two.md": "two" });
    const source = await collect(dir, { read: [{ root: "docs/one.md" }] });
    assert.deepEqual(list(source).map((entry) => entry.path), ["one.md"]);
    assert.equal(await read(source, "one.md"), "one");
    assert.equal(await read(source, `${dir}/docs/one.md`), "one");
    assert.equal(await refusal(source, "two.md"), "fs_read_path_not_admitted");
    assert.equal(await refusal(source, `${dir}/docs/two.md`), "fs_read_path_not_admitted");
    assert.equal((await find(source, "one.md")).requirement.target, `${dir}/docs/one.md`);
  }));

Deno.test("collectSource() refuses a root that is gone or became a link", () =>
  withTree(async (dir) => {
    await Deno.symlink("/etc", `${dir}/etc`);
    for (const root of ["missing", "etc"]) {
      await assert.rejects(
        () => collect(dir, { read: [{ root }] }),
        (error) => error instanceof InputError && !error.message.includes(dir),
      );
    }
  }));

Deno.test("ResolveRead.source() accepts three spellings of a name and nothing that leaves the root", () =>
  withTree(async (dir) => {
    await plant(dir, {
      "allowed/x": "in",
      "allowed/..hidden/x": "dots",
      "allowed/docs/..%2f..%2fetc": "literal",
      "allowed-evil/x": "out",
    });
    const source = await collect(dir, { read: [{ root: "allowed" }] });
    for (const name of ["x", "./x", `${dir}/allowed/x`, ".//x", `${dir}//allowed/./x`]) {
      assert.equal(await read(source, name), "in", name);
    }
    assert.equal(await read(source, "..hidden/x"), "dots");
    assert.equal(await read(source, "docs/..%2f..%2fetc"), "literal");
    const outside = [
      `${dir}/allowed-evil/x`,
      "../allowed-evil/x",
      "docs/../x",
      "docs/..%2f..%2fetc/passwd",
      "/etc/passwd",
      "//etc/passwd",
      "X",
      "x\\",
      "..\\x",
      "x\0",
      "docs",
      ".",
      "",
      "/",
      " ",
    ];
    for (const name of outside) {
      const { requirement } = await find(source, name);
      assert.equal(requirement.refusal, "fs_read_path_not_admitted", JSON.stringify(name));
      assert.notEqual(requirement.target.trim(), "");
      assert.ok(!requirement.target.includes("\0"));
    }
  }));

Deno.test("ResolveRead.source() matches a doubled separator after collapsing it", () =>
  withTree(async (dir) => {
    await plant(dir, { ".env": "S=1", "docs/.env": "S=2" });
    const source = await collect(dir, { read: [{ root: "." }], secret: [".env*"] });
    assert.equal(await refusal(source, "docs//.env"), "secret_name");
    assert.equal(await refusal(source, `${dir}//.env`), "secret_name");
    assert.equal(await refusal(source, ".//.env"), "secret_name");
  }));

Deno.test("collectSource() admits a secret name that the policy spells out", () =>
  withTree(async (dir) => {
    await plant(dir, { ".env.example": "1", ".env": "2", "sub/.env.example": "3" });
    const fs = { read: [{ root: ".", include: ["/.env.example", "**"] }], secret: [".env*"] };
    assert.deepEqual(kinds(list(await collect(dir, fs))), {
      ".env": "secret/secret_name",
      ".env.example": "text/admitted",
      "sub/.env.example": "secret/secret_name",
    });
  }));

Deno.test("ResolveRead.source() refuses a name in two roots until the root is named", () =>
  withTree(async (dir) => {
    await plant(dir, { "one/x": "1", "two/x": "2", "two/y": "3" });
    const source = await collect(dir, { read: [{ root: "one" }, { root: "two" }] });
    assert.equal(await refusal(source, "x"), "fs_read_path_ambiguous");
    assert.equal(await read(source, "x", "one"), "1");
    assert.equal(await read(source, "x", "two"), "2");
    assert.equal(await read(source, "y"), "3");
    assert.equal(await read(source, `${dir}/two/x`), "2");
    assert.equal(await refusal(source, "x", "three"), "fs_read_path_not_admitted");
  }));

Deno.test("ResolveRead.source() takes the granted view of a file that lies in two nested roots", () =>
  withTree(async (dir) => {
    await plant(dir, { "docs/a.md": "a" });
    const source = await collect(dir, { read: [{ root: ".", include: ["*.ts"] }, { root: "docs" }] });
    assert.equal(await read(source, `${dir}/docs/a.md`), "a");
    assert.equal(await refusal(source, "docs/a.md"), "include_pattern");
  }));

Deno.test("ResolveRead.source() does not know a file that came after the start", () =>
  withTree(async (dir) => {
    await plant(dir, { "a": "" });
    const source = await collect(dir);
    await plant(dir, { "later": "x" });
    assert.equal(await refusal(source, "later"), "fs_read_path_not_admitted");
  }));

Deno.test("ResolveRead.source() denies a link by its own name and by the name behind it", () =>
  withTree(async (dir) => {
    await plant(dir, { "secret.txt": "s", "ok.txt": "o" });
    await Deno.symlink("secret.txt", `${dir}/link`);
    const source = await collect(dir, { read: [{ root: ".", exclude: ["secret.txt"] }] });
    assert.equal(await refusal(source, "link"), "symlink_refused");
    assert.equal(await refusal(source, "secret.txt"), "exclude_pattern");
  }));

Deno.test("ResolveRead.sources() narrows to a folder or a file, by whole components", () =>
  withTree(async (dir) => {
    await plant(dir, { "docs/a": "", "docs/sub/b": "", "docs-evil/c": "", "empty/": "", "top": "" });
    const source = await collect(dir);
    const names = (path?: string, root?: string) => list(source, path, root).map((entry) => entry.path);
    assert.deepEqual(names("docs"), ["docs/a", "docs/sub/b"]);
    assert.deepEqual(names("./docs/"), ["docs/a", "docs/sub/b"]);
    assert.deepEqual(names(`${dir}/docs/sub`), ["docs/sub/b"]);
    assert.deepEqual(names("docs/a"), ["docs/a"]);
    assert.deepEqual(names("empty"), []);
    assert.deepEqual(names(".", "."), names());
    for (
      const [path, root] of [["doc"], ["../x"], ["/etc"], ["none"], ["docs", "other"], [undefined, "other"]] as const
    ) {
      const targets = source.resolve.sources(path, root);
      assert.deepEqual(targets.map((target) => target.requirement.refusal), ["fs_read_path_not_admitted"]);
    }
    assert.deepEqual(source.resolve.sources("docs/sub").map((target) => target.requirement.description), ["docs/sub"]);
    assert.deepEqual(source.resolve.sources("docs/sub").map((target) => target.requirement.target), [dir]);
    assert.deepEqual(source.resolve.sources().map((target) => target.requirement.target), [dir]);
  }));

Deno.test("ReadPower.read() gives exact text, size and digest, and remembers the digest", () =>
  withTree(async (dir) => {
    const text = "\ufeffgrüße\r\n𝄞";
    await plant(dir, { "a": text, "empty": "" });
    const source = await collect(dir);
    assert.equal(list(source)[0]?.source_hash, null);
    const target = await find(source, "a");
    const { content, bytes, sha256 } = await source.power(makeCall("readFile", [target])).read(target);
    assert.equal(content, text);
    assert.equal(bytes, new TextEncoder().encode(text).length);
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))).toHex();
    assert.equal(sha256, digest);
    assert.equal(list(source)[0]?.source_hash, `sha256:${digest}`);
    assert.equal(await read(source, "empty"), "");
  }));

Deno.test("ReadPower.read() refuses a target that this call's gate did not allow", () =>
  withTree(async (dir) => {
    await plant(dir, { "a": "1", "b": "2" });
    const source = await collect(dir);
    const [a, b] = [await find(source, "a"), await find(source, "b")];
    const power = source.power(makeCall("readFile", [a]));
    await assert.rejects(power.read(b), { code: "not_in_request" });
    await assert.rejects(power.read({ requirement: { ...a.requirement } }), { code: "not_in_request" });
    assert.throws(() => power.list(source.resolve.sources()), { code: "not_in_request" });
    const forged = { requirement: { kind: "filesystem.read", target: "/etc/passwd", description: "x" } } as const;
    await assert.rejects(source.power(makeCall("readFile", [forged])).read(forged), { code: "not_in_request" });
  }));

Deno.test("ReadPower.read() refuses what changed since it was collected or first read", () =>
  withTree(async (dir) => {
    await plant(dir, { "a": "one", "b": "one", "c": "one", "d": "one", "e": "one", "sub/f": "one" });
    const source = await collect(dir);
    await plant(dir, { "a": "longer" });
    await Deno.utime(`${dir}/b`, 1, 1);
    await plant(dir, { "fresh": "one" });
    await Deno.rename(`${dir}/fresh`, `${dir}/c`);
    await Deno.remove(`${dir}/d`);
    await Deno.remove(`${dir}/e`);
    await Deno.symlink("/etc/hostname", `${dir}/e`);
    await Deno.rename(`${dir}/sub`, `${dir}/moved`);
    await Deno.symlink("moved", `${dir}/sub`);
    for (const name of ["a", "b", "c", "d", "e", "sub/f"]) {
      assert.equal(await readCode(source, await find(source, name)), "content_changed", name);
    }
  }));

Deno.test("ReadPower.read() holds later reads to the first one, whatever the times say", () =>
  withTree(async (dir) => {
    await plant(dir, { "a": "one" });
    const source = await collect(dir);
    assert.equal(await read(source, "a"), "one");
    await Deno.utime(`${dir}/a`, 1, 1);
    assert.equal(await read(source, "a"), "one");
    const { mtime } = await Deno.stat(`${dir}/a`);
    assert.ok(mtime);
    await plant(dir, { "a": "two" });
    await Deno.utime(`${dir}/a`, mtime, mtime);
    assert.equal(await readCode(source, await find(source, "a")), "content_changed");
    await plant(dir, { "a": "one" });
    assert.equal(await read(source, "a"), "one");
  }));

Deno.test("ReadPower.read() finds out late that a file is not UTF-8, and says so from then on", () =>
  withTree(async (dir) => {
    const bytes = new Uint8Array(10_000).fill(97);
    bytes[9_999] = 0xff;
    const nul = new Uint8Array(10_000).fill(97);
    nul[9_000] = 0;
    await plant(dir, { "bad": bytes, "nul": nul });
    const source = await collect(dir);
    assert.equal(await readCode(source, await find(source, "bad")), "binary_refused");
    assert.deepEqual(kinds(list(source, "bad")), { "bad": "binary/binary_refused" });
    assert.equal(await refusal(source, "bad"), "binary_refused");
    assert.equal((await read(source, "nul")).length, 10_000);
  }));

Deno.test("ReadPower.read() reads a hard link inside the root, and never follows a re-targeted link", () =>
  withTree(async (dir) => {
    await plant(dir, { "outside": "o", "root/a": "in", "other/secret": "s" });
    await Deno.link(`${dir}/outside`, `${dir}/root/hard`);
    await Deno.symlink("../root", `${dir}/root/loop`);
    const source = await collect(dir, { read: [{ root: "root" }] });
    assert.equal(await read(source, "hard"), "o");
    assert.equal(await refusal(source, "loop/a"), "symlink_refused");
    await Deno.remove(`${dir}/root/loop`);
    await Deno.symlink("../other", `${dir}/root/loop`);
    assert.equal(await refusal(source, "loop/secret"), "symlink_refused");
  }));

Deno.test("Source.manifestRecords() cuts a root of many files into parts", () =>
  withTree(async (dir) => {
    await Deno.mkdir(`${dir}/many`);
    plantMany(`${dir}/many`, 2 * MANIFEST_PART_ENTRIES + 1);
    await Deno.mkdir(`${dir}/none`);
    const source = await collect(dir, { read: [{ root: "many" }, { root: "none" }] });
    const records = source.manifestRecords();
    assert.deepEqual(
      records.map(({ type, part, parts, root, complete }) => [type, part, parts, root, complete]),
      [
        ["fs_read_source_manifest", 1, 3, "many", true],
        ["fs_read_source_manifest", 2, 3, "many", true],
        ["fs_read_source_manifest", 3, 3, "many", true],
        ["fs_read_source_manifest", 1, 1, "none", true],
      ],
    );
    const entries = records.map((record) => record["entries"] as unknown as SourceEntry[]);
    assert.deepEqual(entries.map((part) => part.length), [1000, 1000, 1, 0]);
    assert.deepEqual(Object.keys(entries[0]?.[0] ?? {}), [
      "path",
      "bytes",
      "kind",
      "readable",
      "reason",
      "source_hash",
    ]);
    assert.ok(!JSON.stringify(records).includes(dir));
  }));

Deno.test("collectSource() collects a repository of 20,000 files", () =>
  withTree(async (dir) => {
    for (let d = 0; d < 200; d++) {
      await Deno.mkdir(`${dir}/pkg${d}/src/lib`, { recursive: true });
      plantMany(`${dir}/pkg${d}/src/lib`, 100);
    }
    await plant(dir, { ".gitignore": "node_modules/\ndist\n*.tmp\n" });
    const start = performance.now();
    const source = await collect(dir, { read: [{ root: ".", exclude: ["*.key"] }], secret: [".env*", "*.pem"] });
    const elapsed = performance.now() - start;
    const records = source.manifestRecords();
    assert.equal(records.length, 21);
    assert.deepEqual(records[0]?.["counts"], { text: 20_001 });
    assert.equal(await read(source, "pkg199/src/lib/f99.ts"), "99");
    assert.ok(elapsed < 6000, `${elapsed} ms`);
  }));

Deno.test("ReadPower.read() leaks nothing while another process swaps files, folders and links", () =>
  withTree(async (dir) => {
    await plant(dir, { "root/file": "inside", "root/sub/file": "inside", "out/file": "LEAKED" });
    // Each name flips, by atomic renames, between what was collected and a link that leads out.
    await Deno.symlink(`${dir}/out/file`, `${dir}/file.link`);
    await Deno.symlink(`${dir}/out`, `${dir}/sub.link`);
    const source = await collect(dir, { read: [{ root: "root" }] });
    const swapper = new Deno.Command(Deno.execPath(), {
      args: ["eval", "--no-config", SWAPPER, dir],
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const counts: Record<string, number> = {};
    try {
      const reader = swapper.stdout.getReader();
      await reader.read();
      reader.releaseLock();
      const sawBoth = () => "inside" in counts && "content_changed" in counts;
      for (let i = 0; i < 2000 || (!sawBoth() && i < 100_000); i++) {
        const target = await find(source, i % 2 === 0 ? "file" : "sub/file");
        let seen: string;
        try {
          seen = (await source.power(makeCall("readFile", [target])).read(target)).content;
        } catch (error) {
          if (!(error instanceof DenialError)) throw error;
          seen = error.code;
        }
        counts[seen] = (counts[seen] ?? 0) + 1;
      }
    } finally {
      swapper.kill("SIGKILL");
      await swapper.stdout.cancel();
      await swapper.status;
    }
    assert.deepEqual(Object.keys(counts).sort(), ["content_changed", "inside"], JSON.stringify(counts));
  }));

const SWAPPER = `
const dir = Deno.args[0];
Deno.stdout.writeSync(new Uint8Array([10]));
for (;;) {
  for (const name of ["file", "sub"]) {
    Deno.renameSync(dir + "/root/" + name, dir + "/" + name + ".kept");
    Deno.renameSync(dir + "/" + name + ".link", dir + "/root/" + name);
    Deno.renameSync(dir + "/root/" + name, dir + "/" + name + ".link");
    Deno.renameSync(dir + "/" + name + ".kept", dir + "/root/" + name);
  }
}`;
