import assert from "node:assert/strict";
import { Glob } from "../../../src/tools/workspace/glob.ts";
import { Grep } from "../../../src/tools/workspace/grep.ts";
import { ReadFile } from "../../../src/tools/workspace/read_file.ts";
import { plant, withTree } from "../run_context.ts";
import { type Browsed, type BrowseOptions, openBrowse } from "./browse.ts";

interface Found {
  readonly files: readonly string[];
  readonly total: number;
  readonly skipped: Record<string, number>;
  readonly complete: boolean;
}

interface Searched {
  readonly files: readonly { path: string; count: number; lines: readonly { line: number; text: string }[] }[];
  readonly matches: number;
  readonly searched: number;
  readonly skipped: Record<string, number>;
  readonly complete: boolean;
  readonly text: string;
}

interface Read {
  readonly content: string;
  readonly start_line: number;
  readonly end_line: number;
  readonly next_line: number | null;
  readonly total_lines: number;
  readonly cut_lines: number;
  readonly sha256: string;
  readonly encoding: string;
  readonly eol: string;
  readonly final_newline: boolean;
  readonly bytes: number;
}

function resultOf<T>({ outcome, code, result }: Browsed): T {
  assert.equal(outcome, "result", code);
  return result as T;
}

async function glob(project: string, args: object, options: BrowseOptions = {}): Promise<Found> {
  return resultOf(await openBrowse(project, options)(Glob, args));
}

async function grep(project: string, args: object, options: BrowseOptions = {}): Promise<Searched> {
  return resultOf(await openBrowse(project, options)(Grep, args));
}

async function read(project: string, args: object): Promise<Read> {
  return resultOf(await openBrowse(project)(ReadFile, args));
}

async function git(cwd: string, args: readonly string[], stdin = ""): Promise<string> {
  const env = { HOME: cwd, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" };
  const command = new Deno.Command("git", {
    args: [...args],
    cwd,
    env,
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  });
  const child = command.spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(stdin));
  await writer.close();
  return new TextDecoder().decode((await child.output()).stdout);
}

/** Numbers that are the same every time. */
function dice(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return (state >> 8) % below;
  };
}

Deno.test("findFiles() leaves out what git check-ignore names, in generated trees", () =>
  withTree(async (dir) => {
    const names = ["a", "b.log", "build", "c.txt", "keep.log", "x y", "d", "#e", "!f", "tmp"];
    const rules = [
      "*.log",
      "!keep.log",
      "build/",
      "/a",
      "a/b.log",
      "**/d",
      "d/**",
      "tmp/*",
      "!tmp/a",
      "x*",
      "c.???",
      "[ab]",
      "\\#e",
      "\\!f",
      "# comment",
      "",
      "/build/*",
      "!/build/keep.log",
      "a/**/c.txt",
      "*",
      "!*/",
      "!c.txt",
      "d/*.txt ",
      "build",
      "!build/",
    ];
    let left = 0;
    for (let seed = 1; seed <= 12; seed++) {
      const roll = dice(seed);
      const tree = `${dir}/t${seed}`;
      const files: string[] = [];
      for (let i = 0; i < 40; i++) {
        const depth = roll(4);
        const path = Array.from({ length: depth + 1 }, () => names[roll(names.length)] ?? "a").join("/");
        files.push(path);
      }
      for (const path of files) {
        // A file may stand where a folder is wanted: then there is none.
        await plant(tree, { [path]: "x" }).catch(() => {});
      }
      await plant(tree, { "deno.json": "{}" });
      const folders = [tree, ...files.map((path) => `${tree}/${path}`).filter((path) => isFolder(path))];
      for (const folder of [tree, ...folders.filter(() => roll(3) === 0)]) {
        const lines = Array.from({ length: 1 + roll(4) }, () => rules[roll(rules.length)] ?? "");
        await Deno.writeTextFile(`${folder}/.gitignore`, lines.join("\n") + "\n");
      }
      await git(tree, ["init", "-q"]);
      if (seed % 3 === 0) await Deno.writeTextFile(`${tree}/.git/info/exclude`, "c.txt\n");
      const all = (await glob(tree, { pattern: "**", hidden: true, ignored: true, limit: 5000 })).files;
      const ignored = (await git(
        tree,
        ["check-ignore", "--no-index", "--stdin", "-z"],
        all.map((p) => `${p}\0`).join(""),
      ))
        .split("\0").filter((path) => path !== "");
      const expected = all.filter((path) => !ignored.includes(path));
      left += ignored.length;
      assert.deepEqual(
        (await glob(tree, { pattern: "**", hidden: true, limit: 5000 })).files,
        expected,
        `seed ${seed}`,
      );
      // The same from a folder inside: rules above it hold as well.
      for (const folder of new Set(all.filter((path) => path.includes("/")).map((path) => path.split("/")[0] ?? ""))) {
        const below = await glob(tree, { pattern: "**", root: folder, hidden: true, limit: 5000 });
        assert.deepEqual(below.files, expected.filter((path) => path.startsWith(`${folder}/`)), `${seed} ${folder}`);
      }
      // And the same set of files for a search.
      const searched = await grep(tree, { pattern: "x", hidden: true, mode: "files", limit: 5000 });
      const withX = expected.filter((path) => Deno.readTextFileSync(`${tree}/${path}`).includes("x"));
      assert.deepEqual(searched.files.map(({ path }) => path), withX, `seed ${seed}`);
    }
    assert.ok(left > 60, `only ${left} paths were ignored`);
  }));

function isFolder(path: string): boolean {
  try {
    return Deno.lstatSync(path).isDirectory;
  } catch {
    return false;
  }
}

Deno.test("findFiles() and searchFiles() bind a rule for one file in a folder above it", () =>
  withTree(async (dir) => {
    await plant(dir, {
      "src/a.ts": "key one\nbeside\n",
      "src/deny.ts": "beside\nkey two\nbeside\n",
      "src/ask.ts": "key three\n",
      "src/ex.priv": "key four\n",
      "src/.env.local": "key five\n",
      "src/sub/deny/b.ts": "key six\n",
    });
    const options: BrowseOptions = {
      read: [{ root: ".", exclude: ["*.priv"] }],
      gate: [{ effect: "deny", match: "/src/deny.ts" }, { effect: "deny", match: "deny/" }, {
        effect: "ask",
        match: "/src/ask.ts",
      }],
    };
    const args = { include_all: true, context_lines: 5 };
    const found = await grep(dir, { pattern: "key", ...args }, options);
    assert.deepEqual(found.files.map(({ path }) => path), ["src/a.ts"]);
    assert.deepEqual(found.skipped, { approval_required: 1, denied: 4 });
    assert.doesNotMatch(JSON.stringify(found), /two|three|four|five|six/);
    const all = await glob(dir, { pattern: "**", hidden: true, ignored: true }, options);
    assert.deepEqual(all.files, ["src/a.ts"]);
    const run = openBrowse(dir, options);
    assert.equal((await run(Grep, { pattern: "key", path: "src/deny.ts" })).code, "gate_deny_rule");
    assert.equal((await run(Grep, { pattern: "key", path: "src/sub/deny" })).code, "gate_deny_rule");
    assert.equal((await run(ReadFile, { path: "src/ask.ts" })).code, "ask");
  }));

Deno.test("findFiles() takes in every granted root, each file once and in order", () =>
  withTree(async (dir) => {
    await plant(dir, {
      "p/docs/a.md": "a",
      "p/docs/in/b.ts": "b",
      "p/docs-b/c.md": "c",
      "p/no/d.md": "d",
      "beside/e.md": "e",
      "one.txt": "f",
    });
    const options: BrowseOptions = {
      read: [
        { root: `${dir}/beside`, label: "beside" },
        { root: "docs", include: ["*.md"] },
        { root: "docs/in", label: "docs/in" },
        { root: "docs-b" },
        { root: `${dir}/one.txt`, label: "one.txt" },
      ],
    };
    const project = `${dir}/p`;
    const everything = ["beside/e.md", "docs-b/c.md", "docs/a.md", "docs/in/b.ts", "one.txt"];
    assert.deepEqual((await glob(project, { pattern: "**" }, options)).files, everything);
    assert.deepEqual((await glob(project, { pattern: "docs*/*.md" }, options)).files, ["docs-b/c.md", "docs/a.md"]);
    // The project is not granted itself; the granted roots in it are what it stands for.
    const inside = ["docs-b/c.md", "docs/a.md", "docs/in/b.ts"];
    assert.deepEqual((await glob(project, { pattern: "**", root: "." }, options)).files, inside);
    assert.deepEqual((await glob(project, { pattern: "*.md", root: "beside" }, options)).files, ["beside/e.md"]);
    const run = openBrowse(project, options);
    assert.equal((await run(Glob, { pattern: "**", root: "no" })).code, "fs_read_path_not_admitted");
  }));

Deno.test("the tools that browse show no absolute path, whatever they are asked", () =>
  withTree(async (dir) => {
    await plant(dir, { "p/src/a.ts": "one\n", "p/bin": "\0", "beside/b.ts": "two\n" });
    await Deno.symlink(`${dir}/beside`, `${dir}/p/out`);
    await Deno.symlink(`${dir}/p/src`, `${dir}/p/in`);
    const project = `${dir}/p`;
    const run = openBrowse(project, { read: [{ root: "." }, { root: `${dir}/beside`, label: "beside" }] });
    const paths = [
      ".",
      "src",
      "src/a.ts",
      "bin",
      "in/a.ts",
      "out/b.ts",
      "beside",
      "none",
      "..",
      "/etc",
      `${dir}/p/src`,
    ];
    for (const path of [...paths, `${dir}/p/src/a.ts`, `${dir}/none`, `${dir}/beside/b.ts`]) {
      const calls = [
        run(ReadFile, { path }),
        run(Glob, { pattern: "**", root: path }),
        run(Grep, { pattern: ".", path }),
      ];
      for (const { result } of await Promise.all(calls)) {
        assert.ok(!JSON.stringify(result ?? "").includes(dir), `${path}: ${JSON.stringify(result)}`);
      }
    }
  }));

Deno.test("searchFiles() cuts long lines around the match and stops at its limit of text", () =>
  withTree(async (dir) => {
    await plant(dir, {
      "a.txt": `${"x".repeat(3000)}NEEDLE${"y".repeat(3000)}\n`,
      "b.txt": `${"NEEDLE z\n".repeat(40_000)}`,
    });
    const found = await grep(dir, { pattern: "NEEDLE", limit: 5000 });
    const first = found.files[0]?.lines[0]?.text ?? "";
    assert.match(first, /^\[2900 characters cut\] x{100}NEEDLEy{394} \[2606 characters cut\]$/);
    assert.equal(found.files.reduce((sum, { lines }) => sum + lines.length, 0), 5000);
    assert.equal(found.complete, false);
    const counted = await grep(dir, { pattern: "NEEDLE", mode: "counts" });
    assert.deepEqual(counted.files.map(({ count }) => count), [1, 40_000]);
    assert.deepEqual([counted.matches, counted.complete], [40_001, true]);
  }));

Deno.test("searchFiles() shows each line once, in order, with what stands around it", () =>
  withTree(async (dir) => {
    const roll = dice(7);
    for (let round = 0; round < 60; round++) {
      const lines = Array.from({ length: roll(14) }, () => roll(3) === 0 ? "M" : roll(4) === 0 ? "" : "-");
      const text = lines.join("\n") + (roll(2) === 0 ? "\n" : "");
      await plant(dir, { "a.txt": text });
      const context = roll(4);
      const real = text === "" ? [] : text.replace(/\n$/, "").split("\n");
      const expected = real.flatMap((line, index) => {
        const near = real.slice(Math.max(0, index - context), index + context + 1).includes("M");
        return near ? [{ line: index + 1, text: line, match: line === "M" }] : [];
      });
      const found = await grep(dir, { pattern: "M", context_lines: context });
      assert.deepEqual(found.files.flatMap((file) => file.lines), expected, JSON.stringify(text));
    }
  }));

Deno.test("searchFiles() releases no line of a file outside while links are swapped", () =>
  withTree(async (dir) => {
    await plant(dir, { "p/d/a.txt": "fine\n", "out/a.txt": "SECRET\n", "out/only.txt": "SECRET\n" });
    const project = `${dir}/p`;
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        "eval",
        "--no-config",
        `
        const [dir] = Deno.args;
        Deno.symlinkSync(dir + "/out", dir + "/link");
        const rest = new Int32Array(new SharedArrayBuffer(4));
        for (let i = 0;; i++) {
          // Now and then both sides stand still for a moment: some looks must come through.
          if (i % 20 === 0) Atomics.wait(rest, 0, 0, 2);
          Deno.renameSync(dir + "/p/d", dir + "/kept");
          Deno.renameSync(dir + "/link", dir + "/p/d");
          Deno.renameSync(dir + "/p/d", dir + "/link");
          Deno.renameSync(dir + "/kept", dir + "/p/d");
        }`,
        dir,
      ],
      stdout: "null",
      stderr: "null",
    }).spawn();
    let fine = 0;
    let raced = 0;
    try {
      const run = openBrowse(project);
      const until = Date.now() + 3000;
      while (Date.now() < until || fine === 0 || raced === 0) {
        assert.ok(Date.now() < until + 20_000, `the race was none: ${fine} fine, ${raced} raced`);
        const outcomes = [
          await run(Grep, { pattern: ".", include_all: true }),
          await run(ReadFile, { path: "d/a.txt" }),
          await run(Glob, { pattern: "**" }),
        ];
        for (const { outcome, code, result } of outcomes) {
          assert.doesNotMatch(JSON.stringify(result ?? ""), /SECRET|only/);
          if (outcome === "result" && JSON.stringify(result).includes("fine")) fine++;
          if (outcome !== "result" || !/fine|a\.txt/.test(JSON.stringify(result))) raced++;
          if (outcome !== "result") {
            assert.match(code ?? "", /^(?:content_changed|symlink_refused|file_not_found|not_found)$/);
          }
        }
      }
    } finally {
      child.kill("SIGKILL");
      await child.status;
    }
  }));

Deno.test("readLines() reads any file in pieces as it would in one", () =>
  withTree(async (dir) => {
    const line = (index: number) => `${index} ${"\u00fc\u{1f600}x".repeat(index % 40)}`;
    const lines = Array.from({ length: 60_000 }, (_, index) => line(index + 1));
    const text = lines.join("\r\n");
    await Deno.writeTextFile(`${dir}/big.txt`, text);
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", await Deno.readFile(`${dir}/big.txt`))).toHex();
    const first = await read(dir, { path: "big.txt" });
    assert.equal(first.content, lines.slice(0, 2000).join("\n"));
    assert.deepEqual([first.total_lines, first.next_line, first.eol, first.sha256], [60_000, 2001, "crlf", hash]);
    const middle = await read(dir, { path: "big.txt", start_line: 30_000, end_line: 30_002 });
    assert.equal(middle.content, lines.slice(29_999, 30_002).join("\n"));
    const last = await read(dir, { path: "big.txt", start_line: 60_000 });
    assert.deepEqual([last.content, last.next_line, last.final_newline], [lines.at(-1), null, false]);
    const many = await read(dir, { path: "big.txt", start_line: 1, end_line: 60_000 });
    assert.ok(many.content.length <= 256 * 1024 && many.next_line !== null && many.next_line === many.end_line + 1);
  }));

Deno.test("readLines() says what a file is written in", () =>
  withTree(async (dir) => {
    const wide = (text: string, isLittle: boolean) =>
      new Uint8Array([...text].flatMap((char) => {
        const unit = char.charCodeAt(0);
        return isLittle ? [unit & 255, unit >> 8] : [unit >> 8, unit & 255];
      }));
    const table: readonly (readonly [string, Uint8Array | string, string, string, string, boolean])[] = [
      ["lf", "a\nb\n", "a\nb", "utf-8", "lf", true],
      ["returns", "a\rb\n\r", "a\rb\n\r", "utf-8", "lf", false],
      ["blank", "\n\n", "\n", "utf-8", "lf", true],
      ["one", "a", "a", "utf-8", "none", false],
      ["mixed", "a\r\nb\nc", "a\nb\nc", "utf-8", "mixed", false],
      ["bom", "\ufeffa\n", "a", "utf-8-bom", "lf", true],
      ["latin", new Uint8Array([0x67, 0x72, 0xfc, 0x0a]), "gr\ufffd", "unknown", "lf", true],
      ["cut", new Uint8Array([0x61, 0xe2, 0x82]), "a\ufffd", "unknown", "none", false],
      ["little", wide("\ufeffa\r\nb", true), "a\nb", "utf-16le", "crlf", false],
      ["big", wide("\ufeffa\n", false), "a", "utf-16be", "lf", true],
      ["binary", new Uint8Array([0x61, 0, 0x62]), "", "binary", "none", false],
    ];
    for (const [name, bytes, content, encoding, eol, final] of table) {
      await plant(dir, { [name]: bytes });
      const found = await read(dir, { path: name });
      assert.deepEqual(
        [found.content, found.encoding, found.eol, found.final_newline],
        [content, encoding, eol, final],
        name,
      );
      assert.equal(found.bytes, (await Deno.stat(`${dir}/${name}`)).size);
    }
  }));

Deno.test("readLines() holds no more of an endless line than it shows", () =>
  withTree(async (dir) => {
    await plant(dir, { "line.txt": "z".repeat(3_000_000) });
    const { content, cut_lines, total_lines } = await read(dir, { path: "line.txt" });
    assert.equal(content, `${"z".repeat(2000)} [2998000 characters cut]`);
    assert.deepEqual([cut_lines, total_lines], [1, 1]);
  }));

Deno.test("no tool that browses opens a FIFO or a folder as a file", () =>
  withTree(async (dir) => {
    await plant(dir, { "sub/a.txt": "a" });
    await new Deno.Command("mkfifo", { args: [`${dir}/pipe`] }).output();
    const run = openBrowse(dir);
    assert.equal((await run(ReadFile, { path: "pipe" })).code, "not_a_file");
    assert.equal((await run(ReadFile, { path: "sub" })).code, "not_a_file");
    assert.deepEqual((await grep(dir, { pattern: "a" })).skipped, { special: 1 });
    assert.deepEqual((await glob(dir, { pattern: "**" })).files, ["sub/a.txt"]);
  }));

Deno.test("a look that runs out of time ends with what it has", () =>
  withTree(async (dir) => {
    const files: Record<string, string> = {};
    for (let i = 0; i < 3000; i++) files[`d${i % 50}/f${i}.txt`] = "a\n";
    await plant(dir, files);
    const found = await glob(dir, { pattern: "**", limit: 1 }, { timeoutMs: 1 });
    assert.equal(found.complete, false);
    assert.ok(found.total < 3000);
  }));
