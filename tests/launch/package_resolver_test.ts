import assert from "node:assert/strict";
import { DataError } from "../../src/errors.ts";
import { sha256 } from "../../src/json.ts";
import { bundleAgent } from "../../src/launch/bundle.ts";
import { evaluateInCompartment, evaluateInProcess } from "./evaluate.ts";
import { INTEGRITY, type Layout, type PackageProject, type TestPackage, withPackages } from "./package_tree.ts";

/** Two packages that use most of what packages can: names, patterns, private names, JSON, each other. */
const TREE: Readonly<Record<string, TestPackage>> = {
  "@s/shapes@1.2.3": {
    manifest: {
      exports: {
        ".": { require: "./main.cjs", import: "./lib/main.js" },
        "./parts/*": "./lib/parts/*.mjs",
        "./data.json": "./data.json",
      },
      imports: { "#words": { node: "./node.js", default: "./lib/words.js" } },
      scripts: { test: "exit 1", prepublishOnly: "exit 1" },
    },
    dependencies: ["round"],
    files: {
      "main.cjs": "module.exports = 1;",
      "lib/main.js":
        'import round from "round";\nimport { word } from "#words";\nimport { one } from "@s/shapes/parts/one";\n' +
        "export const area = (r) => `${word} ${round(3.14159 * r * r)} ${one} --> <!-- done`;\n",
      "lib/words.js": 'export { word } from "./deep/../deep/word.js";\n',
      "lib/deep/word.js": 'export const word = "area";\n',
      "lib/parts/one.mjs": "export const one = 1;\n",
      "data.json": '{"n": 5}\n',
    },
  },
  "round@2.0.0": { manifest: { main: "./round.js" }, files: { "round.js": "export default (x) => Math.round(x);\n" } },
};

const AGENT = `
import { area } from "@s/shapes";
import { one } from "@s/shapes/parts/one";
import data from "@s/shapes/data.json" with { type: "json" };
export default () => [area(2), one, data.n];
`;

const RESULT = ["area 13 1 --> <!-- done", 1, 5];

async function bundle(at: PackageProject, names: readonly string[], cacheDir?: string) {
  return await bundleAgent({
    entry: `${at.project}/agent.ts`,
    project: at.project,
    packages: names,
    denoDir: at.denoDir,
    cacheDir,
  });
}

async function refusal(at: PackageProject, names: readonly string[]): Promise<DataError> {
  try {
    await bundle(at, names);
  } catch (error) {
    if (error instanceof DataError) return error;
    throw error;
  }
  throw new Error("it was accepted");
}

function shown({ position, message, fix, code }: DataError): string {
  return `${position?.file}:${position?.line}:${position?.column} ${code} ${message} | ${fix}`;
}

Deno.test("bundleAgent() bundles packages, wherever they are installed, to the same names and digests", async () => {
  const seen = new Set<string>();
  for (const layout of ["npm", "links", "cache"] as const satisfies readonly Layout[]) {
    await withPackages(TREE, { layout, files: { "agent.ts": AGENT } }, async (at) => {
      const { code, modules } = await bundle(at, ["@s/shapes"]);
      assert.deepEqual((await evaluateInProcess(code)).result, RESULT, layout);
      assert.deepEqual((await evaluateInCompartment(code)).result, RESULT, layout);
      for (const { path, sha256: digest } of modules) assert.equal(await sha256(await Deno.readFile(path)), digest);
      const portable = modules.map(({ packaged, path, sha256 }) =>
        `${packaged ?? path.slice(at.project.length)} ${sha256}`
      );
      seen.add(JSON.stringify([code, portable.toSorted()]));
      assert.deepEqual(portable.map((line) => line.split(" ")[0]).toSorted(), [
        "${npm}/@s/shapes@1.2.3/data.json",
        "${npm}/@s/shapes@1.2.3/lib/deep/word.js",
        "${npm}/@s/shapes@1.2.3/lib/main.js",
        "${npm}/@s/shapes@1.2.3/lib/parts/one.mjs",
        "${npm}/@s/shapes@1.2.3/lib/words.js",
        "${npm}/@s/shapes@1.2.3/package.json",
        "${npm}/round@2.0.0/package.json",
        "${npm}/round@2.0.0/round.js",
        "/agent.ts",
      ]);
      assert.ok(!code.includes(at.project) && !code.includes(at.denoDir));
    });
  }
  assert.equal(seen.size, 1);
});

Deno.test("bundleAgent() lets the project import what the policy lists, not what comes along with it", async () => {
  await withPackages(TREE, { files: { "agent.ts": 'import round from "round";\nround(1);' } }, async (at) => {
    assert.equal(
      shown(await refusal(at, ["@s/shapes"])),
      'agent.ts:1:19 agent_import_refused Cannot bundle the agent: the import of "round" is of a package that the ' +
        'policy does not list | the policy needs: "packages": ["@s/shapes", "round"]',
    );
  });
});

// What an agent imports, what the policy lists, and the fix
const UNLISTED: readonly [string, readonly string[], RegExp][] = [
  ["round", [], /^the policy needs: "packages": \["round"\]$/],
  ["@s/shape", ["@s/shapes"], /^write "@s\/shapes", which the policy lists$/],
  ["rounde", [], /^write "round"; the policy needs: "packages": \["round"\]$/],
  ["round", ["rounds"], /^the policy needs: "packages": \["round"\]$/],
  [
    "elsewhere/sub",
    ["round"],
    /^run "deno add npm:elsewhere", .* the policy needs: "packages": \["round", "elsewhere"\]$/,
  ],
  ["npm:round@2", ["round"], /^write "round", and list the package$/],
  ["npm:@s/shapes@^1/data.json", [], /^write "@s\/shapes\/data\.json", and list the package$/],
  ["node:fs", ["round"], /^agents have no built-in modules/],
  ["fs/promises", ["round"], /^agents have no built-in modules/],
  ["round/../../x.js", ["round"], /for everything else use callTool$/],
  ["round/%2e%2e/x.js", ["round"], /for everything else use callTool$/],
  ["ROUND", ["round"], /for everything else use callTool$/],
  ["#words", ["round"], /for everything else use callTool$/],
];

Deno.test("an import that is not listed is refused with the line that would admit it", async () => {
  await withPackages(TREE, {}, async (at) => {
    for (const [specifier, names, fix] of UNLISTED) {
      await at.write("agent.ts", `import * as x from ${JSON.stringify(specifier)};\nx;`);
      const error = await refusal(at, names);
      assert.equal(error.position?.column, 20, specifier);
      assert.match(error.fix ?? "", fix, specifier);
    }
  });
});

// One package, and the refusal: where, and what
const REFUSED: readonly [string, TestPackage, RegExp][] = [
  [
    "CommonJS",
    { files: { "index.js": "module.exports = 1;" } },
    /^\$\{npm\}\/bad@1\.0\.0\/index\.js:1:1 .*is a CommonJS/,
  ],
  [
    "a .cjs",
    { manifest: { exports: "./a.cjs" }, files: { "a.cjs": "" } },
    /^agent\.ts:1:20 .*a CommonJS module: bad@1/,
  ],
  [
    "only require",
    { manifest: { exports: { require: "./a.cjs" } }, files: {} },
    /^agent\.ts:1:20 .*exports no ES module/,
  ],
  ["an add-on", { manifest: { main: "a.node" }, files: { "a.node": "" } }, /^agent\.ts:1:20 .*a native add-on: bad@1/],
  ["binding.gyp", { files: { "index.js": "export {}", "binding.gyp": "" } }, /^agent\.ts:1:20 .*a native add-on/],
  ["gypfile", { manifest: { gypfile: true }, files: { "index.js": "export {}" } }, /^agent\.ts:1:20 .*a native add-on/],
  [
    "a script",
    { manifest: { scripts: { postinstall: "x" } }, files: { "index.js": "export {}" } },
    /^agent\.ts:1:20 .*runs a script when it is installed: "scripts\.postinstall"/,
  ],
  [
    "TypeScript",
    { manifest: { main: "a.ts" }, files: { "a.ts": "" } },
    /^agent\.ts:1:20 .*not a \.js, \.mjs or \.json/,
  ],
  [
    "a built-in module",
    { files: { "index.js": 'export const a = 1;\nimport fs from "node:fs"; fs;' } },
    /^\$\{npm\}\/bad@1\.0\.0\/index\.js:2:16 .*"node:fs" is of a module that is built into Node/,
  ],
  ["a built-in name", { files: { "index.js": 'import "fs";' } }, /index\.js:1:8 .*"fs" is of a module that is built/],
  [
    "a dynamic import",
    { files: { "index.js": 'export const f = () => import("./x.js");' } },
    /index\.js:1:31 .*dynamic/,
  ],
  ["a computed import", { files: { "index.js": "export const f = (x) => import(x);" } }, /index\.js:1:25 .*dynamic/],
  ["require", { files: { "index.js": 'export const x = require("x");' } }, /index\.js:1:26 .*require is refused/],
  ["import.meta", { files: { "index.js": "export const u = import.meta.url;" } }, /index\.js:1:18 .*import\.meta/],
  ["eval", { files: { "index.js": "export const e = eval('1');" } }, /index\.js:1:18 .*eval is refused/],
  [
    "a method named import",
    { files: { "index.js": "globalThis.x = { import() {} };" } },
    /^\$\{npm\}\/bad@1\.0\.0\/index\.js:1:18 agent_text_refused/,
  ],
  [
    "what it does not bring",
    { files: { "index.js": 'import "round";' } },
    /index\.js:1:8 .*no dependency of bad@1\.0\.0/,
  ],
  ["a way out", { files: { "index.js": 'import "../round/round.js";' } }, /index\.js:1:8 .*leads out of the package/],
  ["a way out and back", { files: { "index.js": 'import "../bad/index.js";' } }, /index\.js:1:8 .*leads out/],
  ["a package inside", { files: { "index.js": 'import "./node_modules/x/x.js";' } }, /index\.js:1:8 .*leads out/],
  ["an encoded way", { files: { "index.js": 'import "./%2e%2e/x.js";' } }, /index\.js:1:8 .*leads out/],
  ["an absolute path", { files: { "index.js": 'import "/etc/hostname";' } }, /index\.js:1:8 .*neither of a relative/],
  ["a URL", { files: { "index.js": 'import "https://example.com/x.js";' } }, /index\.js:1:8 .*neither of a relative/],
  [
    "no extension",
    { files: { "index.js": 'import "./x";', "x.js": "" } },
    /index\.js:1:8 .*not a \.js, \.mjs or \.json/,
  ],
  ["a missing file", { files: { "index.js": 'import "./x.js";' } }, /index\.js:1:8 agent_module_refused .*not there/],
  ["untyped JSON", { files: { "index.js": 'import "./package.json";' } }, /index\.js:1:8 .*not typed as JSON/],
  ["an unknown private name", { files: { "index.js": 'import "#x";' } }, /index\.js:1:8 .*no entry in "imports"/],
  [
    "a private way out",
    { manifest: { imports: { "#x": "../round/round.js" } }, files: { "index.js": 'import "#x";' } },
    /index\.js:1:8 .*no entry in "imports"/,
  ],
  [
    "a private name of a private name",
    { manifest: { imports: { "#x": "#x" } }, files: { "index.js": 'import "#x";' } },
    /index\.js:1:8 .*no entry in "imports"/,
  ],
  ["no UTF-8", { files: { "index.js": new Uint8Array([0xff]) } }, /^agent\.ts:1:20 .*not UTF-8 text/],
  ["a syntax error", { files: { "index.js": "export const = 1;" } }, /index\.js:1:14 agent_syntax/],
  [
    "another name",
    { manifest: { name: "worse" }, files: {} },
    /^agent\.ts:1:20 .*of version "1\.0\.0" in node_modules/,
  ],
  [
    "another version",
    { manifest: { version: "1.0.1" }, files: {} },
    /^agent\.ts:1:20 .*of version "1\.0\.1" .*not 1\.0\.0/,
  ],
];

for (const [name, bad, expected] of REFUSED) {
  Deno.test(`bundleAgent() refuses a package with ${name}, with its position and a fix`, async () => {
    const tree = { ...TREE, "bad@1.0.0": bad };
    await withPackages(tree, { files: { "agent.ts": 'import * as x from "bad";\nx;' } }, async (at) => {
      const error = await refusal(at, ["bad"]);
      assert.match(shown(error), expected);
      assert.ok((error.fix ?? "").length > 5);
      assert.ok(!shown(error).includes(at.project));
    });
  });
}

const GOOD: TestPackage = { files: { "index.js": "export default 1;\n" } };
const IMPORTS_GOOD = { "agent.ts": 'import x from "good";\nexport default () => x;' };

Deno.test("a link out of node_modules is refused, by the package, by its scope, by node_modules itself", async () => {
  for (const [name, path] of [["good", "good"], ["@s/good", "@s"]] as const) {
    const files = { "agent.ts": `import x from "${name}";\nexport default () => x;` };
    await withPackages({ [`${name}@1.0.0`]: GOOD }, { files }, async (at) => {
      const outside = `${at.project}-outside`;
      await Deno.rename(`${at.project}/node_modules/${path}`, outside);
      await Deno.symlink(outside, `${at.project}/node_modules/${path}`);
      assert.match(shown(await refusal(at, [name])), /a link out of the project's node_modules/);
    });
  }
  await withPackages({ "good@1.0.0": GOOD }, { files: IMPORTS_GOOD }, async (at) => {
    await Deno.rename(`${at.project}/node_modules`, `${at.project}-outside`);
    await Deno.symlink(`${at.project}-outside`, `${at.project}/node_modules`);
    assert.match(shown(await refusal(at, ["good"])), /a link out of the project's node_modules/);
  });
});

Deno.test("a link inside of a package is refused, and so is one to a file elsewhere", async () => {
  await withPackages(
    { "good@1.0.0": GOOD },
    { files: { ...IMPORTS_GOOD, "secret.js": "export default 2;" } },
    async (at) => {
      const file = `${at.folderOf("good@1.0.0")}/index.js`;
      await Deno.rename(file, `${at.folderOf("good@1.0.0")}/other.js`);
      for (const target of ["other.js", `${at.project}/secret.js`, "/etc/hostname"]) {
        await Deno.symlink(target, file);
        assert.match(shown(await refusal(at, ["good"])), /reached through a symlink/, target);
        await Deno.remove(file);
      }
    },
  );
});

Deno.test("a package in Deno's cache counts only if the cache notes the integrity that the lock names", async () => {
  await withPackages({ "good@1.0.0": GOOD }, { layout: "cache", files: IMPORTS_GOOD }, async (at) => {
    assert.equal((await evaluateInProcess((await bundle(at, ["good"])).code)).result, 1);
    const noted = `${at.denoDir}/npm/registry.test/good/registry.json`;
    const text = await Deno.readTextFile(noted);
    for (const wrong of [text.replace(INTEGRITY, INTEGRITY.replaceAll("A", "B")), "{}", "not JSON"]) {
      await Deno.writeTextFile(noted, wrong);
      assert.match(shown(await refusal(at, ["good"])), /neither in node_modules nor in Deno's cache \| install what/);
    }
  });
});

Deno.test("a stale version in node_modules gives way to the right one in Deno's cache", async () => {
  await withPackages({ "good@1.0.0": GOOD }, { layout: "cache", files: IMPORTS_GOOD }, async (at) => {
    await at.write("node_modules/good/package.json", '{"name":"good","version":"0.9.0","type":"module"}');
    await at.write("node_modules/good/index.js", "export default 0;");
    assert.equal((await evaluateInProcess((await bundle(at, ["good"])).code)).result, 1);
  });
});

Deno.test("a relative path into node_modules is no way around the policy's list", async () => {
  await withPackages({ "good@1.0.0": GOOD }, {}, async (at) => {
    await at.write("lib/a.ts", 'export * from "../node_modules/good/index.js";');
    for (const path of ["./node_modules/good/index.js", "./lib/../node_modules/good/index.js", "./lib/a.ts"]) {
      await at.write("agent.ts", `import x from "${path}";\nx;`);
      assert.match(
        shown(await refusal(at, ["good"])),
        /leads into node_modules \| list the package in "packages"/,
        path,
      );
    }
  });
});

Deno.test("a file of the project cannot pass for one of a package", async () => {
  const files = { "agent.ts": 'import x from "./${npm}/good@1.0.0/index.js";\nexport default () => x;' };
  await withPackages({ "good@1.0.0": GOOD }, { files }, async (at) => {
    await at.write("${npm}/good@1.0.0/index.js", "export default 2;");
    assert.match(shown(await refusal(at, ["good"])), /agent\.ts:1:15 .*outside of the project/);
  });
});

Deno.test("a finished bundle is used again until a file of a package, its package.json, the lock or the list changes", async () => {
  await withPackages({ "good@1.0.0": GOOD, ...TREE }, { files: IMPORTS_GOOD }, async (at) => {
    const cacheDir = `${at.project}-cache`;
    await Deno.mkdir(cacheDir, { mode: 0o700 });
    const entries = async () => (await Array.fromAsync(Deno.readDir(cacheDir))).length;
    const first = await bundle(at, ["good"], cacheDir);
    const [entry] = await Array.fromAsync(Deno.readDir(cacheDir));
    // what is in the cache says whether it was used
    const path = `${cacheDir}/${entry?.name}`;
    const marked = (await Deno.readTextFile(path)).replace('"modules":', '"mark":1,"modules":');
    const isHit = async (names: readonly string[]) => {
      await Deno.writeTextFile(path, marked);
      await bundle(at, names, cacheDir);
      return (await Deno.readTextFile(path)).includes('"mark"') && await entries() === 1;
    };
    assert.equal((await evaluateInProcess(first.code)).result, 1);
    assert.equal(await isHit(["good"]), true);
    const folder = at.folderOf("good@1.0.0");
    const manifest = await Deno.readTextFile(`${folder}/package.json`);
    await Deno.writeTextFile(`${folder}/package.json`, manifest.replace("{", '{"x":1,'));
    assert.equal(await isHit(["good"]), false);
    await Deno.writeTextFile(`${folder}/package.json`, manifest);
    assert.equal(await isHit(["good"]), true);
    await Deno.writeTextFile(`${folder}/index.js`, "export default 2;\n");
    assert.equal((await evaluateInProcess((await bundle(at, ["good"], cacheDir)).code)).result, 2);
    await Deno.writeTextFile(`${folder}/index.js`, "export default 1;\n");
    assert.equal(await isHit(["good"]), true);
    assert.equal(await isHit(["good", "round"]), false);
  });
});

Deno.test("a package that fails when it runs is named in the stack, without a path of this machine", async () => {
  const files = { "agent.ts": 'import "good";\nexport default () => 1;' };
  const good: TestPackage = { files: { "index.js": '\nthrow new Error("no");\n' } };
  await withPackages({ "good@1.0.0": good }, { files }, async (at) => {
    const { code } = await bundle(at, ["good"]);
    const failure = await evaluateInProcess(code).then(() => "", (error) => String(error));
    assert.match(failure, /agent:\/\/\/\S*good@1\.0\.0\/index\.js:2:7/);
    assert.ok(!failure.includes(at.project));
  });
});
