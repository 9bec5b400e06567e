import assert from "node:assert/strict";
import { BUNDLE_LIMITS, bundleAgent } from "../../src/launch/bundle.ts";
import { DataError, InputError } from "../../src/errors.ts";
import { sha256 } from "../../src/json.ts";
import { dataUrl, evaluateInCompartment, evaluateInProcess } from "./evaluate.ts";

async function withProject(
  files: Record<string, string | Uint8Array>,
  body: (project: string) => Promise<void>,
): Promise<void> {
  const project = await Deno.realPath(await Deno.makeTempDir({ prefix: "twokey-bundle-" }));
  try {
    for (const [path, content] of Object.entries(files)) {
      const file = `${project}/${path}`;
      await Deno.mkdir(file.slice(0, file.lastIndexOf("/")), { recursive: true });
      await Deno.writeFile(file, typeof content === "string" ? new TextEncoder().encode(content) : content);
    }
    await body(project);
  } finally {
    await Deno.remove(project, { recursive: true });
  }
}

async function refusalOf(options: { entry: string; project: string }): Promise<DataError> {
  try {
    await bundleAgent(options);
  } catch (error) {
    if (error instanceof DataError) return error;
    throw error;
  }
  throw new Error("it was accepted");
}

const LIB = { "lib/a.ts": "export default 1;\nexport const a = 1;\n", "data.json": '{"x":1}' };

// One line each: the agent, then position and code of the refusal.
const REFUSALS: readonly [name: string, source: string, position: string, code: string][] = [
  ["a bare name", 'const é = 1;\nimport x from "lodash"; x(é);', "agent.ts:2:15", "agent_import_refused"],
  ["a column after wide letters", '/* é𝒳 */ import "lodash";', "agent.ts:1:18", "agent_import_refused"],
  ["node:", 'import "node:fs";', "agent.ts:1:8", "agent_import_refused"],
  ["npm:", 'import x from "npm:a"; x();', "agent.ts:1:15", "agent_import_refused"],
  ["jsr:", 'import x from "jsr:@std/path"; x();', "agent.ts:1:15", "agent_import_refused"],
  ["https:", 'import x from "https://example.com/x.ts"; x();', "agent.ts:1:15", "agent_import_refused"],
  ["data:", 'import "data:text/javascript,1";', "agent.ts:1:8", "agent_import_refused"],
  ["file:", 'import "file:///etc/hostname";', "agent.ts:1:8", "agent_import_refused"],
  ["an absolute path", 'import "/etc/hostname";', "agent.ts:1:8", "agent_import_refused"],
  ["a subpath import", 'import "#lib";', "agent.ts:1:8", "agent_import_refused"],
  ["a re-export of node:", 'export * from "node:fs";', "agent.ts:1:15", "agent_import_refused"],
  ["a path out of the project", 'import "../x.ts";', "agent.ts:1:8", "agent_import_refused"],
  ["a path out and back", 'import "./lib/../../x/agent.ts";', "agent.ts:1:8", "agent_import_refused"],
  ["a missing extension", 'import "./lib/a";', "agent.ts:1:8", "agent_import_refused"],
  ["a folder", 'import "./lib";', "agent.ts:1:8", "agent_import_refused"],
  ["another extension", 'import "./lib/a.tsx";', "agent.ts:1:8", "agent_import_refused"],
  ["a query", 'import "./lib/a.ts?x.ts";', "agent.ts:1:8", "agent_import_refused"],
  ["an encoded path", 'import "./lib/%61.ts";', "agent.ts:1:8", "agent_import_refused"],
  ["a backslash", 'import "./lib\\\\a.ts";', "agent.ts:1:8", "agent_import_refused"],
  ["a missing file", 'import "./lib/none.ts";', "agent.ts:1:8", "agent_module_refused"],
  ["JavaScript for TypeScript", 'import "./lib/a.js";', "agent.ts:1:8", "agent_module_refused"],
  ["JSON without its type", 'import x from "./data.json"; x();', "agent.ts:1:15", "agent_import_refused"],
  ["JSON as text", 'import x from "./data.json" with { type: "text" }; x();', "agent.ts:1:15", "agent_import_refused"],
  ["code as JSON", 'import x from "./lib/a.ts" with { type: "json" }; x();', "agent.ts:1:15", "agent_import_refused"],
  ["a literal dynamic import", '\nawait import("./lib/a.ts");', "agent.ts:2:14", "agent_import_refused"],
  ["a caught dynamic import", 'import("./lib/a.ts").catch(() => 1);', "agent.ts:1:8", "agent_import_refused"],
  ["a computed dynamic import", "export const f = (x: string) => import(x);", "agent.ts:1:33", "agent_import_refused"],
  ["a dynamic import by pattern", "const x = 1; import(`./lib/${x}.ts`);", "agent.ts:1:21", "agent_import_refused"],
  ["a require by pattern", 'const x = 1; require("./lib/" + x);', "agent.ts:1:22", "agent_import_refused"],
  ["a deferred import", 'import defer * as x from "./lib/a.ts"; x.a;', "agent.ts:1:8", "agent_syntax"],
  ["import.meta", "export const u = import.meta.url;", "agent.ts:1:18", "agent_import_refused"],
  ["import.meta.resolve", 'import.meta.resolve("node:fs");', "agent.ts:1:1", "agent_import_refused"],
  ["require", 'try { require("./lib/a.ts"); } catch {}', "agent.ts:1:15", "agent_import_refused"],
  ["a computed require", "declare const x: string; require(x);", "agent.ts:1:26", "agent_import_refused"],
  ["require as a value", "export const r = require;", "agent.ts:1:18", "agent_import_refused"],
  ["require.resolve", 'export const r = require.resolve("./x");', "agent.ts:1:18", "agent_import_refused"],
  ["import = require", 'import fs = require("fs"); fs();', "agent.ts:1:21", "agent_import_refused"],
  ["CommonJS", "module.exports = 1;", "agent.ts:1:1", "agent_module_refused"],
  ["module in a module", "export const a = 1;\nmodule.exports = 1;", "agent.ts:2:1", "agent_import_refused"],
  ["direct eval", 'const x = "1";\nexport const y = eval(x);', "agent.ts:2:18", "agent_import_refused"],
  ["a syntax error", "export const a = ;", "agent.ts:1:18", "agent_syntax"],
  ["a missing export", 'import { b } from "./lib/a.ts"; b();', "agent.ts:1:10", "agent_syntax"],
  ["a method named eval", "export const o = {\n  eval() { return 1; },\n};", "agent.ts:2:3", "agent_text_refused"],
  ["a method named import", "export class A { import() { return 2; } }", "agent.ts:1:18", "agent_text_refused"],
  [
    "a private eval",
    "export class A {\n  #eval() {}\n  b = () => this.#eval();\n}",
    "agent.ts:2:4",
    "agent_text_refused",
  ],
  ["a raw template", "export const o = String.raw`a\n -->`;", "agent.ts:2:2", "agent_text_refused"],
];

for (const [name, source, position, code] of REFUSALS) {
  Deno.test(`bundleAgent() refuses ${name}, with its position`, async () => {
    await withProject({ ...LIB, "agent.ts": source }, async (project) => {
      const error = await refusalOf({ entry: `${project}/agent.ts`, project });
      const at = error.position;
      assert.equal(`${at?.file}:${at?.line}:${at?.column} ${error.code}`, `${position} ${code}`);
      assert.ok(error.fix !== undefined && error.fix.length > 5);
      assert.ok(!error.message.includes(project) && !JSON.stringify(at).includes(project));
    });
  });
}

Deno.test("bundleAgent() reports a fault in an imported module there", async () => {
  await withProject({ "agent.ts": 'import "./lib/b.ts";', "lib/b.ts": "let a;\nlet a;" }, async (project) => {
    const error = await refusalOf({ entry: `${project}/agent.ts`, project });
    assert.deepEqual(error.position, { file: "lib/b.ts", line: 2, column: 5 });
  });
  const files = { "agent.ts": 'import x from "./b.json" with { type: "json" }; x();', "b.json": "{\n  x" };
  await withProject(files, async (project) => {
    const error = await refusalOf({ entry: `${project}/agent.ts`, project });
    assert.deepEqual(error.position, { file: "b.json", line: 2, column: 3 });
  });
});

Deno.test("bundleAgent() names the first of several faults, each time the same", async () => {
  const files = {
    "agent.ts": 'import "./b.ts";\nimport "./a.ts";\nimport "./c.ts";',
    "a.ts": 'import "node:a";',
    "b.ts": 'import "node:b";',
    "c.ts": 'import "node:c";',
  };
  await withProject(files, async (project) => {
    for (let i = 0; i < 5; i++) {
      const error = await refusalOf({ entry: `${project}/agent.ts`, project });
      assert.equal(error.position?.file, "a.ts");
    }
  });
});

Deno.test("bundleAgent() refuses modules that are not plain files", async () => {
  await withProject({ "agent.ts": 'import "./m.ts";', "lib/a.ts": "1;", "lib/deep/b.ts": "1;" }, async (project) => {
    const options = { entry: `${project}/agent.ts`, project };
    const refuses = async (pattern: RegExp): Promise<void> => {
      const error = await refusalOf(options);
      assert.match(error.message, pattern);
      assert.deepEqual(error.position, { file: "agent.ts", line: 1, column: 8 });
      assert.ok(!error.message.includes(project));
      await Deno.remove(`${project}/m.ts`, { recursive: true });
    };
    const outside = await Deno.makeTempFile({ suffix: ".ts" });
    try {
      await Deno.symlink(outside, `${project}/m.ts`);
      await refuses(/symlink/);
    } finally {
      await Deno.remove(outside);
    }
    await Deno.symlink(`${project}/lib/a.ts`, `${project}/m.ts`);
    await refuses(/symlink/);
    await Deno.mkdir(`${project}/m.ts`);
    await refuses(/not a regular file/);
    await new Deno.Command("mkfifo", { args: [`${project}/m.ts`] }).output();
    await refuses(/not a regular file/);
    await Deno.writeFile(`${project}/m.ts`, new Uint8Array([0x22, 0xff, 0x22]));
    await refuses(/not UTF-8/);
    await Deno.writeTextFile(`${project}/m.ts`, " ".repeat(BUNDLE_LIMITS.moduleBytes + 1));
    await refuses(/larger than/);
    await Deno.symlink("lib/deep", `${project}/link`);
    await Deno.writeTextFile(`${project}/agent.ts`, 'import "./link/b.ts";');
    assert.match((await refusalOf(options)).message, /symlink/);
  });
});

Deno.test("bundleAgent() accepts a module of exactly the limit and refuses too many bytes in total", async () => {
  const full = "//" + " ".repeat(BUNDLE_LIMITS.moduleBytes - 2);
  const names = Array.from({ length: 5 }, (_, i) => `m${i}.ts`);
  const files = Object.fromEntries(names.map((name) => [name, full]));
  await withProject({ ...files, "agent.ts": 'import "./m0.ts";' }, async (project) => {
    const options = { entry: `${project}/agent.ts`, project };
    assert.equal((await bundleAgent(options)).modules.length, 2);
    await Deno.writeTextFile(options.entry, names.map((name) => `import "./${name}";`).join("\n"));
    const error = await refusalOf(options);
    assert.match(error.message, /bytes of modules in total/);
  });
});

Deno.test("bundleAgent() reads no secret and nothing of the runner's own as a module, and code may be called like a key", async () => {
  const kept = [
    ".docker/config.json",
    ".aws/c.json",
    ".twokey/session.json",
    ".env.json",
    ".git/x/a.json",
    ".ssh/a.ts",
  ];
  const files = { ...Object.fromEntries(kept.map((name) => [name, "{}"])), "id_map.ts": "export const a = 1;" };
  await withProject({ ...files, "agent.ts": 'import { a } from "./id_map.ts"; emit(a);' }, async (project) => {
    const options = { entry: `${project}/agent.ts`, project };
    assert.equal((await bundleAgent(options)).modules.length, 2);
    for (const name of kept) {
      const typed = name.endsWith(".json") ? "import a from" : "import";
      const attributes = name.endsWith(".json") ? ' with { type: "json" }' : "";
      for (const spelling of [name, name.toUpperCase().replace(/(JSON|TS)$/, (end) => end.toLowerCase())]) {
        await Deno.writeTextFile(options.entry, `${typed} "./${spelling}"${attributes}; emit(typeof a);`);
        assert.match((await refusalOf(options)).message, /secrets or the runner's own files are kept/, spelling);
      }
    }
  });
});

Deno.test("bundleAgent() refuses entries that are no modules of the project", async () => {
  await withProject({ "agent.json": "{}", "agent.py": "", "a/agent.ts": "" }, async (project) => {
    for (const name of ["agent.json", "agent.py"]) {
      const error = await refusalOf({ entry: `${project}/${name}`, project });
      assert.deepEqual(error.position, { file: name, line: 1, column: 1 });
    }
    for (const entry of [`${project}/../agent.ts`, "/etc/agent.ts", `${project}/agent.py`, `${project}/a-b/agent.ts`]) {
      const error = await refusalOf({ entry, project: `${project}/a` });
      assert.match(error.message, /lies outside of the project/);
    }
    await assert.rejects(bundleAgent({ entry: `${project}/none.ts`, project }), (error: unknown) => {
      assert.ok(error instanceof InputError);
      assert.equal(error.message, "Cannot bundle the agent: there is no file none.ts in the project");
      return true;
    });
    await assert.rejects(bundleAgent({ entry: `${project}/x/agent.ts`, project: `${project}/x` }), InputError);
  });
});

Deno.test("bundleAgent() is not influenced by configuration in and above the project", async () => {
  const agent = {
    "p/agent.ts": [
      'import { a } from "./lib/a.ts";',
      'import "./lib/effect.ts";',
      'import pkg from "./package.json" with { type: "json" };',
      "class A { x = 1; }",
      "export default () => [a, (globalThis as any).effect, Object.keys(new A()), pkg.name];",
    ].join("\n"),
    "p/lib/a.ts": "export const a = 1;",
    "p/lib/effect.ts": "(globalThis as any).effect = 2;",
    "p/evil.ts": "export const a = 666;",
    "p/package.json": '{"name":"n"}',
  };
  const configuration = {
    "p/deno.json": '{"imports":{"./lib/a.ts":"./evil.ts"},"compilerOptions":{"jsx":"react"}}',
    "p/tsconfig.json":
      '{"compilerOptions":{"paths":{"./lib/a.ts":["./evil.ts"]},"baseUrl":".","target":"es5","useDefineForClassFields":false,"verbatimModuleSyntax":true}}',
    "p/lib/package.json":
      '{"sideEffects":false,"type":"commonjs","browser":{"./a.ts":"../evil.ts"},"imports":{"#x":"../evil.ts"}}',
    "package.json": '{"sideEffects":false,"browser":{"./p/lib/a.ts":"./p/evil.ts"}}',
    "tsconfig.json": '{"compilerOptions":{"paths":{"*":["./p/evil.ts"]}}}',
    "p/node_modules/lodash/index.js": "export default 1;",
  };
  const digests: string[] = [];
  for (const files of [agent, { ...agent, ...configuration }]) {
    await withProject(files, async (folder) => {
      const project = `${folder}/p`;
      const bundle = await bundleAgent({ entry: `${project}/agent.ts`, project });
      digests.push(bundle.digest);
      assert.deepEqual(
        bundle.modules.map(({ path }) => path.slice(project.length + 1)),
        ["agent.ts", "lib/a.ts", "lib/effect.ts", "package.json"],
      );
    });
  }
  assert.equal(digests[0], digests[1]);
});

Deno.test("bundleAgent() lists what was read with its digest and holds no path of the machine", async () => {
  const files = { "sub dir/agent.ts": 'import { a } from "../lib/a.ts";\nexport default () => a;', ...LIB };
  await withProject(files, async (project) => {
    const bundle = await bundleAgent({ entry: `${project}/sub dir/agent.ts`, project });
    assert.deepEqual(bundle.modules, [
      { path: `${project}/lib/a.ts`, sha256: await sha256(files["lib/a.ts"]) },
      { path: `${project}/sub dir/agent.ts`, sha256: await sha256(files["sub dir/agent.ts"]) },
    ]);
    assert.equal(bundle.digest, await sha256(bundle.code));
    const map = bundle.code.slice(bundle.code.lastIndexOf(",") + 1).trim();
    assert.ok(!bundle.code.includes(project));
    assert.ok(!new TextDecoder().decode(Uint8Array.fromBase64(map)).includes(project));
  });
});

const LANGUAGE = {
  "agent.ts": [
    'import data from "./data.json" with { type: "json" };',
    'import type { Nothing } from "npm:nothing";',
    'import { even } from "./even.ts";',
    'import { plain } from "./plain.js";',
    'import { later } from "./later.mjs";',
    "enum Color { Red, Green = 5, Blue, '-->' }",
    "const enum Size { Small = 'import(' }",
    "namespace Space { export const inner = 3; }",
    "function logged(_: unknown, context: ClassMethodDecoratorContext) { names.push(String(context.name)); }",
    "const names: string[] = [];",
    "class Base { constructor(readonly kept: number) {} accessor level = 4; @logged act(): number { return this.level; } }",
    "abstract class More extends Base { #secret = 7; static { names.push('static'); } get secret() { return this.#secret; } }",
    "class Most extends More {}",
    "let count = 3; const down: number[] = [];",
    "while (count-->0) down.push(count);",
    "const here = typeof this;",
    "const top = await Promise.resolve('top' as string satisfies string);",
    "export const other = `<!-- ${top} --> eval (x) import /* y */`;",
    "export { other as 'a \"-->\" name' };",
    "export default async function main(_?: Nothing) {",
    "  return [data, even(10), plain, later, Color, Size.Small, Space.inner, names, new Most(1).act(), new Most(2).secret,",
    "    new Most(3).kept, down, top, other, /<!--(?=-->)|[<!--z]|import(x)|eval(y)/.source.length > 0,",
    "    ['a-->b', '<!--', 'import(x)', 'eval(y)', 'importx', '$'].map((x) => /^(?:<!--|.*-->b|import(\\(x\\))|eval(\\(y\\))|[ -<!--\\$]+)$/.test(x)),",
    "    [3, 2, 1].toSorted(), here, typeof this, 10n ** 20n + ''];",
    "}",
  ].join("\n"),
  "data.json": '{"text":"<!-- import(x) -->","__proto__":{"own":1},"deep":[1,{"eval(":true}]}',
  "even.ts": 'import { odd } from "./odd.ts";\nexport const even = (n: number): boolean => n === 0 || odd(n - 1);',
  "odd.ts":
    'import { even } from "./even.ts";\nexport function odd(n: number): boolean { return n !== 0 && even(n - 1); }',
  "plain.js": "export let plain = 1;\nplain++;",
  "later.mjs": "export const later = await new Promise((resolve) => resolve('later'));",
};

Deno.test("bundleAgent() takes the whole language, with equal results in a process and in a compartment", async () => {
  await withProject(LANGUAGE, async (project) => {
    const { code } = await bundleAgent({ entry: `${project}/agent.ts`, project });
    const inProcess = await evaluateInProcess(code);
    assert.deepEqual((inProcess.result as unknown[]).slice(1, 4), [true, 2, "later"]);
    assert.deepEqual((inProcess.result as unknown[])[5], "import(");
    assert.deepEqual((inProcess.result as unknown[])[11], [2, 1, 0]);
    assert.deepEqual((inProcess.result as unknown[])[13], "<!-- top --> eval (x) import /* y */");
    assert.deepEqual((inProcess.result as unknown[])[15], [true, true, true, true, false, true]);
    assert.deepEqual(inProcess.exports, ['a "-->" name', "other"]);
    assert.deepEqual(await evaluateInCompartment(code), inProcess);
  });
});

Deno.test("bundleAgent() keeps positions in stacks, also behind a rewritten literal", async () => {
  const files = {
    "a b/agent.ts": [
      "interface Lost { a: 1 }",
      "const tell = (...parts: string[]): never => { throw new Error(parts.join()); };",
      'export default function main(): void { tell("import(", "-->", fail()); }',
      'function fail(): string { return tell("<!-->") ; }',
    ].join("\n"),
  };
  await withProject(files, async (project) => {
    const { code } = await bundleAgent({ entry: `${project}/a b/agent.ts`, project });
    await assert.rejects(
      evaluateInProcess(code),
      (error: unknown) => {
        const frames = (error as Error).message.match(/agent:\/\/\/[^)\n]+/g);
        assert.deepEqual(frames?.slice(0, 3), [
          "agent:///a b/agent.ts:2:53",
          "agent:///a b/agent.ts:4:34",
          "agent:///a b/agent.ts:3:63",
        ]);
        return true;
      },
    );
    assert.ok(dataUrl(code).startsWith("data:"));
  });
});

Deno.test("bundleAgent() caches by what every module holds", async () => {
  const cacheDir = await Deno.makeTempDir({ prefix: "twokey-cache-" });
  try {
    await withProject(
      { ...LIB, "agent.ts": 'import { a } from "./lib/a.ts";\nexport default () => a;' },
      async (project) => {
        const options = { entry: `${project}/agent.ts`, project, cacheDir };
        const first = await bundleAgent(options);
        const [name, ...others] = await Array.fromAsync(Deno.readDir(cacheDir), (entry) => entry.name);
        assert.ok(name !== undefined && others.length === 0);
        const file = `${cacheDir}/${name}`;
        assert.equal(((await Deno.stat(file)).mode ?? 0) & 0o777, 0o600);

        // A planted bundle with right digests shows whether the cache was used.
        const plant = async (): Promise<void> => {
          const code = "export default () => 'cached';\n";
          await Deno.writeTextFile(file, JSON.stringify({ ...first, code, digest: await sha256(code) }));
        };
        const isUsed = async (): Promise<boolean> => (await bundleAgent(options)).code.includes("cached");
        await plant();
        assert.ok(await isUsed());

        await Deno.chmod(cacheDir, 0o755);
        assert.ok(!await isUsed(), "others can read the folder");
        await Deno.chmod(cacheDir, 0o700);
        await plant();
        await Deno.chmod(file, 0o644);
        assert.ok(!await isUsed(), "others can read the file");
        await plant();
        await Deno.chmod(file, 0o600);
        await Deno.rename(file, `${cacheDir}/real`);
        await Deno.symlink(`${cacheDir}/real`, file);
        assert.ok(!await isUsed(), "the file is a symlink");
        await Deno.remove(`${cacheDir}/real`);

        await plant();
        await Deno.chmod(file, 0o600);
        await Deno.writeTextFile(`${project}/lib/a.ts`, "export const a = 2;");
        const edited = await bundleAgent(options);
        assert.match(edited.code, /a = 2/);
        assert.notEqual(edited.digest, first.digest);

        const torn = await Deno.readTextFile(file);
        const empty = { ...edited, modules: [] };
        const foreign = { ...edited, modules: [{ path: "/etc/hostname", sha256: "0".repeat(64) }] };
        const changed = { ...edited, code: edited.code + "//cached" };
        for (
          const text of [
            torn.slice(0, -9),
            "",
            "null",
            "{}",
            ...[empty, foreign, changed].map((v) => JSON.stringify(v)),
          ]
        ) {
          await Deno.writeTextFile(file, text);
          assert.deepEqual(await bundleAgent(options), edited);
          assert.equal(await Deno.readTextFile(file), torn, "a bad file is replaced");
        }
        await Deno.remove(`${project}/lib/a.ts`);
        assert.equal((await refusalOf(options)).code, "agent_module_refused");
      },
    );
  } finally {
    await Deno.remove(cacheDir, { recursive: true });
  }
});

Deno.test("bundleAgent() takes a project that is named through a symlink, by its real path", async () => {
  await withProject({ "real/agent.ts": "export default () => 1;" }, async (folder) => {
    await Deno.symlink(`${folder}/real`, `${folder}/link`);
    for (const [entry, project] of [["link", "link"], ["real", "link"], ["link", "link/"]]) {
      const bundle = await bundleAgent({ entry: `${folder}/${entry}/agent.ts`, project: `${folder}/${project}` });
      assert.deepEqual(bundle.modules.map(({ path }) => path), [`${folder}/real/agent.ts`]);
    }
  });
});

Deno.test("bundleAgent() works without a usable cache folder", async () => {
  await withProject({ "agent.ts": "export default () => 1;" }, async (project) => {
    const options = { entry: `${project}/agent.ts`, project };
    const plain = await bundleAgent(options);
    assert.deepEqual(await bundleAgent({ ...options, cacheDir: `${project}/none` }), plain);
    assert.deepEqual(await bundleAgent({ ...options, cacheDir: `${project}/agent.ts` }), plain);
  });
});
